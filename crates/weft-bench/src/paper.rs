//! `weft-bench paper`: the experiments of published papers.

use std::path::{Path, PathBuf};

use bench::machine::Description;
use commands::number::parse_seconds;
use commands::progress::Progress;
use experiments::paper::{self, Findings, Settings, output, report};

use crate::series::Series;

const EXAMPLES: &str = "\
Examples:
  What there is, and how long it takes:
    weft-bench paper
  Two experiments, as tables with the published figures beside ours:
    weft-bench paper 000-5.2 000-5.7
  All of them on tables ten times as large, as pages with charts:
    weft-bench paper all --scale 10 --report docs/results
  A look at one within seconds, for further processing:
    weft-bench paper 000-5.3 --scale 0.1 --seconds 0.1 --repeats 1 --format json";

/// Repeats published experiments with Weft in the place of their engines.
///
/// Without arguments the command lists the experiments. An experiment runs its series by turns on
/// one loaded database and sets the ratios between them beside the published ones. Every answer is
/// verified.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Experiments to run, as listed, or all.
    #[arg(value_name = "ID")]
    experiments: Vec<String>,

    /// Size of the tables, as a multiple of the size that suits a small machine.
    #[arg(
        long,
        value_name = "X",
        default_value = "1",
        allow_negative_numbers = true
    )]
    scale: f64,

    /// Seconds for each series in each repeat, at each value of the axis.
    #[arg(
        long,
        value_name = "S",
        default_value = "1",
        allow_negative_numbers = true,
        value_parser = parse_seconds
    )]
    seconds: f64,

    #[command(flatten)]
    series: Series,

    /// Also draw each experiment into a file of its own, ID.svg, in this directory.
    #[arg(long, value_name = "DIR")]
    charts: Option<PathBuf>,

    /// Also write a page for each paper, with charts, and an index into this directory.
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,

    /// Directory for the databases of experiments that write a log, made anew and removed
    /// afterwards [default: among the system's temporary files, which may be in memory].
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,

    /// Seed of every random choice; equal seeds ask for the same records.
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
}

impl Arguments {
    pub(crate) fn run(self) -> commands::Result<()> {
        let settings = Settings {
            scale: self.scale,
            seconds: self.seconds,
            repeats: self.series.repeats,
            seed: self.seed,
        };
        settings.check()?;
        let format = self.series.format;
        if self.experiments.is_empty() {
            let all: Vec<_> = paper::all().collect();
            return commands::write_results(&output::list(format, &all, &settings)?);
        }
        let experiments = paper::named(&self.experiments)?;
        for directory in [&self.charts, &self.report].into_iter().flatten() {
            std::fs::create_dir_all(directory).map_err(|error| {
                commands::Error::input(format!(
                    "cannot make the directory {}: {error}; choose another",
                    directory.display()
                ))
            })?;
        }
        let data_dir = self.data_dir.clone().unwrap_or_else(|| {
            std::env::temp_dir().join(format!("weft-bench-paper-{}", std::process::id()))
        });
        let progress = Progress::stderr();
        let mut findings = Vec::new();
        for (number, experiment) in (1..).zip(&experiments) {
            progress.note(&format!(
                "experiment {number} of {}: {}, {}; about {} s",
                experiments.len(),
                experiment.id,
                experiment.title,
                settings.duration(experiment)?.as_secs()
            ));
            findings.push(paper::run(experiment, &settings, &data_dir, &progress)?);
            // The files are written after each experiment, so an interrupted series keeps the
            // results so far.
            self.write_files(&findings, &settings)?;
        }
        commands::write_results(&output::results(format, &findings)?)?;
        let wrong = findings.iter().filter(|one| !one.verified());
        let wrong: Vec<_> = wrong.map(|one| one.experiment.id).collect();
        if wrong.is_empty() {
            Ok(())
        } else {
            Err(commands::Error::run(format!(
                "answers were wrong in {}; these numbers mean nothing, please report it",
                wrong.join(", ")
            )))
        }
    }

    fn write_files(&self, findings: &[Findings], settings: &Settings) -> commands::Result<()> {
        if let Some(directory) = &self.charts {
            write_all(directory, report::charts(findings)?)?;
        }
        if let Some(directory) = &self.report {
            let machine = Description::here();
            write_all(directory, report::files(findings, settings, &machine)?)?;
        }
        Ok(())
    }
}

fn write_all(directory: &Path, files: Vec<report::File>) -> commands::Result<()> {
    files.into_iter().try_for_each(|file| {
        let path = directory.join(file.name);
        std::fs::write(&path, file.text).map_err(|error| {
            commands::Error::run(format!(
                "cannot write {}: {error}; choose another directory",
                path.display()
            ))
        })
    })
}
