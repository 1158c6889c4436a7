//! `weft-bench smallbank`: short transactions of a bank.

use applications::smallbank::{Hotspot, LOAD, Settings};
use commands::number::{parse_count, with_commas};

use crate::application::Clients;

const EXAMPLES: &str = "\
Kinds of transactions, and how often they are chosen by default:
  balance           15 %  reads a customer's two holdings
  deposit_checking  15 %  pays into checking
  transact_savings  15 %  pays into or withdraws from savings
  amalgamate        15 %  moves all of one customer's money to another
  write_check       15 %  withdraws from checking, with a penalty if both are too low
  send_payment      25 %  moves money between two checking accounts

Examples:
  All modes on a million customers:
    weft-bench smallbank
  What serializable costs where customers are hot:
    weft-bench smallbank --accounts 100k --hotspot 0.9:1k \\
        --isolation snapshot,serializable --modes interleaved
  Checks alone, on two workers, durable:
    weft-bench smallbank --mix write_check=100 --workers 2 --data-dir DIR";

/// Runs SmallBank: six kinds of short transactions over customers with two holdings each.
///
/// The bank is loaded once. Then each repeat runs every mode for some seconds; after each run all
/// money is counted: the sum must be all deposits less all withdrawals. Results go to standard
/// output, progress and notes to standard error.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Customers.
    #[arg(long, value_name = "N", default_value = "1M", value_parser = parse_count)]
    accounts: u64,

    /// Weights of the kinds of transactions: KIND=WEIGHT,..; a kind left out is not chosen.
    #[arg(long, value_name = "KIND=WEIGHT,..")]
    mix: Option<String>,

    /// Share of the accesses that go to the first so many customers.
    #[arg(long, value_name = "SHARE:N")]
    hotspot: Option<String>,

    /// Have balances and checks record the sums that they read: one more condition, which
    /// serializable transactions meet and others may not.
    #[arg(long)]
    statements: bool,

    #[command(flatten)]
    clients: Clients,
}

impl Arguments {
    pub(crate) fn run(self) -> commands::Result<()> {
        let default = Settings::default();
        let settings = Settings {
            accounts: self.accounts,
            mix: match &self.mix {
                Some(text) => Settings::parse_mix(text)?,
                None => default.mix,
            },
            hotspot: self.hotspot.as_deref().map(hotspot).transpose()?,
            statements: self.statements,
        };
        settings.check()?;
        let mix = self.mix.as_deref().unwrap_or("standard");
        let description = format!(
            "SmallBank: {} customers, mix {mix}",
            with_commas(self.accounts)
        );
        self.clients.run(mix, &description, &settings, LOAD)
    }
}

fn hotspot(text: &str) -> commands::Result<Hotspot> {
    let parts = text.split_once(':');
    let parsed = parts.and_then(|(share, accounts)| {
        Some(Hotspot {
            share: share.parse().ok()?,
            accounts: parse_count(accounts).ok()?,
        })
    });
    parsed.ok_or_else(|| {
        commands::Error::input(format!(
            "`{text}` is not a hotspot; give a share and a number of customers, as in 0.9:1000"
        ))
    })
}
