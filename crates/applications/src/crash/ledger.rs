//! Ledger of the transactions that each client has committed, written by the transactions
//! themselves.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use weft::{Database, Policy, Result, Table, Transaction};

use super::word::Entry;

/// Client and kind.
type Key = (u32, u32);

/// Table of the ledger. A client has a row of its own for each kind, so no two transactions meet
/// there.
#[derive(Clone)]
pub(super) struct Ledger {
    rows: Table<Key, u64>,
}

impl Ledger {
    const NAME: &'static str = "crash_ledger";

    pub(super) fn create(database: &Database) -> Result<Self> {
        let rows = database.create_table(Self::NAME)?;
        Ok(Self { rows })
    }

    pub(super) fn open(database: &Database) -> Result<Self> {
        let rows = database.open_table(Self::NAME)?;
        Ok(Self { rows })
    }

    /// Records the number of transactions that the client has committed if this transaction
    /// commits.
    pub(super) async fn enter<P: Policy>(&self, txn: &Transaction<P>, entry: Entry) -> Result<()> {
        let key = (entry.client, entry.kind);
        txn.upsert(&self.rows, &key, &entry.number).await
    }

    /// Returns all entries.
    pub(super) async fn read<P: Policy>(&self, txn: &Transaction<P>) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        txn.scan(&self.rows, ..)
            .for_each(|(client, kind), number| {
                entries.push(Entry {
                    client,
                    kind,
                    number,
                });
                ControlFlow::Continue(())
            })
            .await?;
        Ok(entries)
    }
}

/// Numbers of transactions that children have acknowledged, or found in the ledger.
#[derive(Clone, Debug, Default)]
pub(super) struct Promises {
    by_client: BTreeMap<u32, BTreeMap<u32, u64>>,
}

/// Faults of a ledger.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Compared {
    /// Number of acknowledged transactions that are missing.
    pub(super) lost: u64,
    pub(super) sentences: Vec<String>,
}

impl Promises {
    pub(super) fn take_in(&mut self, entry: Entry) {
        let kinds = self.by_client.entry(entry.client).or_default();
        let known = kinds.entry(entry.kind).or_default();
        *known = entry.number.max(*known);
    }

    /// Compares all entries of a ledger with the promised numbers.
    pub(super) fn compare(&self, entries: &[Entry], kinds: &[&str]) -> Compared {
        let mut found = Promises::default();
        for &entry in entries {
            found.take_in(entry);
        }
        let none = BTreeMap::new();
        let of = |promises: &'_ Self, client: u32, kind: u32| {
            let kinds = promises.by_client.get(&client).unwrap_or(&none);
            kinds.get(&kind).copied().unwrap_or(0)
        };
        let mut compared = Compared::default();
        let clients = self.by_client.keys().chain(found.by_client.keys());
        for &client in clients.collect::<std::collections::BTreeSet<_>>() {
            let (mut promised_all, mut found_all) = (0, 0);
            for (kind, name) in (0..).zip(kinds) {
                let (promised, found) = (of(self, client, kind), of(&found, client, kind));
                promised_all += promised;
                found_all += found;
                if found < promised {
                    compared.lost += promised - found;
                    compared.sentences.push(format!(
                        "client {client} was told that {promised} transactions {name} are \
                         durable, and {found} are there"
                    ));
                }
            }
            // One transaction may have been under way.
            if found_all > promised_all + 1 {
                compared.sentences.push(format!(
                    "client {client} was told of {promised_all} transactions, and {found_all} \
                     are there: more than it can have had"
                ));
            }
        }
        compared
    }
}
