//! SmallBank: customers with two holdings each, and six short transactions over them.
//!
//! The benchmark is that of Alomari, Cahill, Fekete and Röhm ("The Cost of Serializability on
//! Platforms That Use Snapshot Isolation", ICDE 2008), with the sixth transaction, the mix and the
//! amounts of H-Store's version. Choices of ours, and differences from them, are:
//!
//! - Money is in cents.
//! - `TransactSavings` withdraws as often as it pays in (H-Store only pays in), so the rule that
//!   savings are never below 0 is exercised.
//! - Customers are chosen uniformly unless a [`Hotspot`] is asked for. The paper sends 90 %
//!   of the accesses to 1,000 of 18,000 customers.
//!
//! # Tables
//! | table | key | value |
//! | --- | --- | --- |
//! | account | name, 16 bytes | number of the customer |
//! | savings, checking | number of the customer | `Holding`: money, number of changes |
//! | ledger | worker, stripe | money that came in from outside, less withdrawals |
//! | statement, check | number of the customer | `Seen` by the last one |
//!
//! # The ledger
//! At any time the bank's money must be all deposits from outside less all withdrawals, so each
//! transaction that moves money in or out records that. One row for all would be a hot row that
//! SmallBank does not have, a row per transaction would fill the memory, and a field of the holding
//! that it changes anyway would be lost together with it if an update was ever lost. Each worker
//! therefore goes round a number of rows of its own, its *stripes*: more than it has transactions
//! in flight, so a row comes up again only when the transaction that used it last has long ended,
//! and no two meet there. The price is one read and one write of a row that is mostly in the cache.
//!
//! The loaded money is in the ledger too, hence the condition needs the tables only.
//!
//! # Statements
//! At snapshot isolation SmallBank is not serializable: a `Balance` may see that savings have gone,
//! and yet a later check may be cleared without penalty, because it does not see that. No table
//! shows the anomaly, as `Balance` only reads. With [`Settings::statements`] `Balance` records what
//! it has seen of the customer's two holdings, and so does `WriteCheck`; of any two of them, one
//! must have seen everything that the other has. Snapshot isolation and read committed may break
//! this condition, serializable may not. It is off by default, because it makes `Balance` a
//! transaction that writes.

mod conditions;
mod load;
mod settings;
mod source;
mod transactions;

use weft::{Database, Policy, Table, Transaction};
use zerocopy::little_endian::{I64, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

pub use self::settings::{Hotspot, Settings};
pub use self::source::{Request, Stripe};
use crate::application::driver::{self, Load};
use crate::application::{Application, Reads, Source, Tally};
use crate::row::row_values;
use bench::{databases, keys::write_digits};
use commands::Result;
use commands::progress::Step;

/// Names of the kinds of transactions, in the order of [`Request`]'s.
const KINDS: [&str; 6] = [
    "balance",
    "deposit_checking",
    "transact_savings",
    "amalgamate",
    "write_check",
    "send_payment",
];

/// A loaded bank.
#[derive(Clone)]
pub struct SmallBank {
    settings: Settings,
    accounts: Table<Name, u64>,
    savings: Table<u64, Holding>,
    checking: Table<u64, Holding>,
    ledger: Table<(u32, u32), i64>,
    statements: Table<u64, Seen>,
    checks: Table<u64, Seen>,
}

/// Name of a customer.
type Name = [u8; 16];

/// Returns the name of a customer: `C` and the number in 15 digits, so names sort as numbers do.
fn name(customer: u64) -> Name {
    let mut name = [b'0'; 16];
    name[0] = b'C';
    write_digits(&mut name[1..], customer);
    name
}

/// Money of a customer in savings, or in checking.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
struct Holding {
    cents: I64,
    /// Number of changes.
    changes: U64,
}

impl Holding {
    /// Returns the loaded holding.
    fn opening(cents: i64) -> Self {
        Self {
            cents: I64::new(cents),
            changes: U64::new(0),
        }
    }

    /// Returns the holding after a change to another balance.
    fn changed_to(self, cents: i64) -> Self {
        Self {
            cents: I64::new(cents),
            changes: self.changes + U64::new(1),
        }
    }

    /// Returns the holding after a change by `cents`.
    fn plus(self, cents: i64) -> Self {
        self.changed_to(self.cents.get() + cents)
    }
}

/// The changes of a customer's holdings that a statement or a check has seen; a check has
/// seen its own.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
struct Seen {
    savings: U64,
    checking: U64,
}

row_values! {
    Holding = "smallbank.holding";
    Seen = "smallbank.seen";
}

/// Function that loads a bank, to be measured.
pub static LOAD: Load<Settings> = driver::load::<SmallBank>;

impl Application for SmallBank {
    type Settings = Settings;
    type Request = Request;

    const NAME: &'static str = "smallbank";
    const KINDS: &'static [&'static str] = &KINDS;

    fn load(settings: &Settings, database: &Database, step: &Step) -> Result<Self> {
        load::load(settings, database, step)
    }

    fn open(settings: &Settings, database: &Database) -> Result<Self> {
        load::open(settings, database).map_err(databases::failure)
    }

    fn load_steps(settings: &Settings) -> u64 {
        settings.accounts
    }

    fn source(&self, worker: usize, _workers: usize, seed: u64) -> Source<Request> {
        Box::new(source::requests(&self.settings, worker, seed))
    }

    fn execute<P: Policy>(
        &self,
        txn: &Transaction<P>,
        request: &Request,
        reads: Reads,
    ) -> impl Future<Output = weft::Result<u32>> {
        self.transact(txn, request, reads)
    }

    fn frame_bytes<P: Policy>(&self, txn: &Transaction<P>) -> Vec<usize> {
        self.frames(txn).to_vec()
    }

    fn inconsistencies<P: Policy>(
        &self,
        txn: &Transaction<P>,
    ) -> impl Future<Output = weft::Result<Vec<String>>> {
        self.violations(txn)
    }

    async fn tallies<P: Policy>(&self, txn: &Transaction<P>) -> weft::Result<Vec<Tally>> {
        Ok(vec![
            Tally {
                what: "changes of savings",
                count: self.changes(txn, &self.savings).await?,
                added: &[0, 0, 1, 1, 0, 0],
            },
            Tally {
                what: "changes of checking",
                count: self.changes(txn, &self.checking).await?,
                added: &[0, 1, 0, 2, 1, 2],
            },
        ])
    }
}

#[cfg(test)]
mod tests;
