//! `weft-bench tatp`: the home location register of a telephone network.

use applications::tatp::{Choice, LOAD, Settings};
use commands::number::{parse_count, with_commas};

use crate::application::Clients;

const EXAMPLES: &str = "\
Kinds of transactions, and how often they are chosen by default:
  get_subscriber_data     35 %  reads a subscriber
  get_new_destination     10 %  reads where calls are forwarded to
  get_access_data         35 %  reads access information
  update_subscriber_data   2 %  changes a subscriber and a facility
  update_location         14 %  changes a subscriber found by number
  insert_call_forwarding   2 %
  delete_call_forwarding   2 %

Examples:
  All modes on a hundred thousand subscribers:
    weft-bench tatp
  More than the caches hold, all subscribers alike:
    weft-bench tatp --subscribers 5M --uniform --modes sequential,interleaved";

/// Runs TATP: seven kinds of very short transactions over four tables.
///
/// The tables are loaded once. Then each repeat runs every mode for some seconds; after each run
/// every row must have the rows that it belongs to. A transaction whose row does not exist has done
/// its work, as TATP's description says. Results go to standard output, progress and notes to
/// standard error.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Subscribers.
    #[arg(long, value_name = "N", default_value = "100k", value_parser = parse_count)]
    subscribers: u64,

    /// Weights of the kinds of transactions: KIND=WEIGHT,..; a kind left out is not chosen.
    #[arg(long, value_name = "KIND=WEIGHT,..")]
    mix: Option<String>,

    /// Choose each subscriber as often as any other, instead of some far more often.
    #[arg(long)]
    uniform: bool,

    #[command(flatten)]
    clients: Clients,
}

impl Arguments {
    pub(crate) fn run(self) -> commands::Result<()> {
        let default = Settings::default();
        let settings = Settings {
            subscribers: u32::try_from(self.subscribers).unwrap_or(u32::MAX),
            mix: match &self.mix {
                Some(text) => Settings::parse_mix(text)?,
                None => default.mix,
            },
            choice: match self.uniform {
                true => Choice::Uniform,
                false => Choice::NonUniform,
            },
        };
        settings.check()?;
        let mix = self.mix.as_deref().unwrap_or("standard");
        let description = format!(
            "TATP: {} subscribers, mix {mix}{}",
            with_commas(self.subscribers),
            if self.uniform { ", uniform" } else { "" }
        );
        self.clients.run(mix, &description, &settings, LOAD)
    }
}
