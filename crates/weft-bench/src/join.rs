//! `weft-bench join`: index joins, by every technique that hides their cache misses.

use std::path::PathBuf;

use commands::number::{parse_count, parse_percent};
use commands::progress::Progress;
use experiments::join::{self, Experiment, Keys, Outcome, Settings, Technique};

use crate::series::Series;

const EXAMPLES: &str = "\
Examples:
  A short selection:
    weft-bench join
  Binary searches in arrays of integers up to 2 GiB, with a chart (paper 003, figure 3a):
    weft-bench join --experiment sizes --bytes 1Mi,4Mi,16Mi,64Mi,256Mi,1Gi,2Gi --chart sizes.svg
  The same with strings, and lists that are sorted (figure 4b):
    weft-bench join --experiment sizes --keys string15 --sorted
  How many lookups should be under way (figure 7):
    weft-bench join --experiment group-sizes --bytes 256Mi --techniques \\
        branch-free,group-prefetching,amac,coroutines
  Trees and hash tables of 2 GiB:
    weft-bench join --experiment csb,hash-probe,hash-build --bytes 2Gi
  IN-predicates on columns with large dictionaries (figure 8):
    weft-bench join --experiment in-predicate --bytes 1Mi,2Gi --list 1k,5k,10k,50k
  How many lines of code each technique takes (table 5):
    weft-bench join --experiment lines";

/// Measures index joins: many lookups at once in one structure.
///
/// Paper 003's experiments: sorted arrays by size (sizes) and by the number of lookups under way
/// (group-sizes), CSB+-trees (csb), hash tables that are probed and built (hash-probe, hash-build),
/// queries with IN-predicates on dictionary-encoded columns (in-predicate), structures that fit
/// the cache (small), and lines of code (lines, by itself).
///
/// Techniques take turns on lists that are drawn anew each time; each is measured at the best of
/// the group sizes. Every answer is verified.
///
/// Numbers may have underscores and suffixes: k, M, G for thousands, Ki, Mi, Gi for powers of
/// 1024.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Experiments to measure: sizes, group-sizes, csb, hash-probe, hash-build, in-predicate, small
    /// or lines; several, separated by commas, one after another.
    #[arg(
        long,
        value_name = "NAME,..",
        value_delimiter = ',',
        default_value = "sizes,csb,hash-probe,in-predicate,small"
    )]
    experiment: Vec<Experiment>,

    /// Bytes of the array, table or dictionary, growing; tables have up to twice as many.
    /// group-sizes takes the largest.
    #[arg(
        long,
        value_name = "N,..",
        value_delimiter = ',',
        default_value = "1Mi,256Mi",
        value_parser = parse_count
    )]
    bytes: Vec<u64>,

    /// Keys of sorted arrays: int, of 4 bytes, or string15, of 15 characters in 16 bytes.
    #[arg(long, value_name = "NAME", default_value = "int")]
    keys: Keys,

    /// Keys looked up at once; in-predicate takes them all, the others 10k if it is among them,
    /// otherwise the first number.
    #[arg(
        long,
        value_name = "N,..",
        value_delimiter = ',',
        default_value = "10k",
        value_parser = parse_count
    )]
    list: Vec<u64>,

    /// Sort lists before they are looked up, out of the time that is measured.
    #[arg(long)]
    sorted: bool,

    /// Share of keys that are absent.
    #[arg(
        long,
        value_name = "PERCENT",
        default_value = "0",
        allow_negative_numbers = true,
        value_parser = parse_percent
    )]
    absent_percent: f64,

    /// Techniques to compare; each experiment takes those of them that apply to it.
    #[arg(
        long,
        value_name = "NAME,..",
        value_delimiter = ',',
        default_value = "std,branch-free,sequential,group-prefetching,software-pipelining,amac,\
            coroutines,coroutines-from-root,coroutines-boxed,auto"
    )]
    techniques: Vec<Technique>,

    /// Numbers of lookups under way, 1 to 64, of which each technique gets the best; group-sizes
    /// tries 1 to 64 by itself.
    #[arg(
        long,
        value_name = "N,..",
        value_delimiter = ',',
        default_value = "4,8,12,16,24,32,48",
        value_parser = parse_count
    )]
    groups: Vec<u64>,

    /// Rows of the columns that in-predicate queries. Rows refer to values at random; where there
    /// are fewer rows than values, they refer to a part of the dictionary, as in a partition that
    /// shares one.
    #[arg(long, value_name = "N", default_value = "10M", value_parser = parse_count)]
    rows: u64,

    /// Lists for each technique in each repeat; the median over them counts.
    #[arg(long, value_name = "N", default_value = "20", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    batches: u32,

    #[command(flatten)]
    series: Series,

    /// Also draw a chart of one experiment into this file: nanoseconds by the quantity that was
    /// varied.
    #[arg(long, value_name = "FILE.svg")]
    chart: Option<PathBuf>,

    /// Seed of every random choice; equal seeds draw the same lists.
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
}

impl Arguments {
    pub(crate) fn run(self) -> commands::Result<()> {
        let settings = Settings {
            experiments: self.experiment,
            bytes: self.bytes,
            keys: self.keys,
            lists: self.list,
            is_sorted: self.sorted,
            absent_percent: self.absent_percent,
            techniques: self.techniques,
            groups: self.groups,
            rows: self.rows,
            batches: self.batches,
            repeats: self.series.repeats,
            seed: self.seed,
        };
        settings.check()?;
        if self.chart.is_some() {
            settings.check_chart()?;
        }
        let progress = Progress::stderr();
        progress.note(&settings.description());
        let outcome = join::measure(&settings, &progress)?;
        commands::write_results(&join::report(self.series.format, &outcome)?)?;
        if let (Some(path), Outcome::Measured(results)) = (&self.chart, &outcome) {
            crate::write_chart(path, &join::chart(&settings.description(), results)?)?;
        }
        if outcome.is_verified() {
            Ok(())
        } else {
            Err(commands::Error::run("answers were wrong; please report it"))
        }
    }
}
