//! Arguments that all measurements have in common.

use bench::report::Format;

/// Number of repeats, and form of the results.
#[derive(Debug, clap::Args)]
pub(crate) struct Series {
    /// Repeats; the median and the range of them are reported.
    #[arg(long, value_name = "R", default_value = "3", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeats: u32,

    /// Form of the results: table, csv or json.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: Format,
}
