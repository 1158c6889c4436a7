//! Experiments and their results as tables for people and rows for programs.

use serde::Serialize;

use super::{Experiment, Findings, Paper, Quantity, Settings};
use bench::measure::Summary;
use bench::report::{Format, csv, json, table};
use commands::Result;

/// Returns the experiments that can be run, one row each.
///
/// # Errors
/// [`Error::Input`](commands::Error::Input) for settings out of range, and where the machine is too
/// small.
pub fn list(
    format: Format,
    experiments: &[&'static Experiment],
    settings: &Settings,
) -> Result<String> {
    #[derive(Serialize)]
    struct Row {
        experiment: &'static str,
        paper: &'static str,
        section: &'static str,
        figure: &'static str,
        title: &'static str,
        seconds: u64,
    }
    let rows = experiments.iter().map(|experiment| {
        Ok(Row {
            experiment: experiment.id,
            paper: experiment.paper.name(),
            section: experiment.section,
            figure: experiment.figure,
            title: experiment.title,
            seconds: settings.duration(experiment)?.as_secs(),
        })
    });
    let rows: Vec<_> = rows.collect::<Result<_>>()?;
    match format {
        Format::Csv => csv::text(&rows),
        Format::Json => json::array(&rows),
        Format::Table => {
            let mut list = table::table(&["id", "paper", "where", "what", "takes"]);
            for row in &rows {
                list.add_row([
                    row.experiment.to_owned(),
                    row.paper.to_owned(),
                    row.figure.to_owned(),
                    row.title.to_owned(),
                    format!("{} s", row.seconds),
                ]);
            }
            table::align(&mut list, 4);
            let minutes = rows.iter().map(|row| row.seconds).sum::<u64>().div_ceil(60);
            Ok(format!(
                "{list}\nAll of them take about {minutes} minutes. `weft-bench paper ID...` runs \
                 some, `weft-bench paper all` all.\n"
            ))
        }
    }
}

/// Returns the results of several experiments.
///
/// # Errors
/// [`Error::Run`](commands::Error::Run) when a result cannot be written.
pub fn results(format: Format, findings: &[Findings]) -> Result<String> {
    match format {
        Format::Table => Ok(findings.iter().map(tables).collect::<Vec<_>>().join("\n")),
        Format::Json => rows(findings),
        Format::Csv => {
            let runs = findings.iter().flat_map(|findings| {
                let experiment = findings.experiment;
                findings.points.iter().flat_map(move |point| {
                    point.runs.iter().map(move |(_, outcome)| {
                        let fields = [experiment.id, experiment.x.name].map(str::to_owned);
                        let [id, name] = fields;
                        ([id, name, point.x.to_string()], outcome)
                    })
                })
            });
            csv::outcomes(["experiment", "x_name", "x"], runs)
        }
    }
}

/// Returns one object per series and value of the axis, with the fields that all benchmarks have.
fn rows(findings: &[Findings]) -> Result<String> {
    #[derive(Serialize)]
    struct Row<'a> {
        experiment: &'static str,
        x_name: &'static str,
        x: f64,
        series: String,
        paper_series: Option<&'static str>,
        #[serde(flatten)]
        summary: &'a Summary,
    }
    let mut rows = Vec::new();
    for one in findings {
        let experiment = one.experiment;
        for point in &one.points {
            for series in experiment.series {
                rows.extend(point.summary(series).map(|summary| Row {
                    experiment: experiment.id,
                    x_name: experiment.x.name,
                    x: point.x,
                    series: series.name(),
                    paper_series: series.paper,
                    summary,
                }));
            }
        }
    }
    json::array(&rows)
}

/// Returns the quantity of each series at each value of the axis, and the published ratios.
fn tables(findings: &Findings) -> String {
    let experiment = findings.experiment;
    let labels = findings.labels();
    let header = std::iter::once(experiment.x.title).chain(labels.iter().map(String::as_str));
    let mut values = table::table(&header.collect::<Vec<_>>());
    for series in experiment.series {
        let cells = findings.cells(series);
        values.add_row(std::iter::once(series.name()).chain(cells));
    }
    table::align(&mut values, 1);
    let mut text = format!(
        "{}: {}, {}\n{values}\n{}.\n",
        experiment.id,
        experiment.source(),
        experiment.title,
        legend(findings)
    );
    if !experiment.published.is_empty() {
        let mut beside = table::table(&["ratio", "published", "here"]);
        for published in experiment.published {
            beside.add_row([
                published.ours(),
                published.value.to_string(),
                published.found(findings),
            ]);
        }
        text += &format!("{beside}\n");
    }
    if !findings.verified() {
        text += "WRONG ANSWERS: these numbers mean nothing.\n";
    }
    text
}

/// Returns a line that explains the cells of an experiment's table.
pub(super) fn legend(findings: &Findings) -> String {
    let experiment = findings.experiment;
    let unit = match experiment.quantity {
        Quantity::Operations => "Million operations per second",
        Quantity::Transactions => "Thousand transactions per second",
        Quantity::Latency => "Microseconds that half the transactions take at most",
    };
    format!(
        "{unit} (times {}); medians, the ratios taken within each repeat",
        experiment.series[0].name()
    )
}

/// Returns the papers that the experiments are from, each once.
pub(super) fn papers(findings: &[Findings]) -> Vec<Paper> {
    let has = |paper: &Paper| findings.iter().any(|one| one.experiment.paper == *paper);
    Paper::ALL.into_iter().filter(has).collect()
}
