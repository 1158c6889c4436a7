//! Knowledge of a database across crashes, and the state that must have survived one.
//!
//! Transactions committed in some order, which the timestamps tell. A crash at a moment
//! leaves, at every level of durability, the state after some commit `up_to`: all that
//! came before, nothing that came after. `up_to` is not older than any commit that was
//! acknowledged as durable, nor than anything that an acknowledged reader saw.
//!
//! A round's history begins with the state recovered before it, as one transaction.

use std::collections::BTreeMap;

use engine::{Durability, Error, Isolation, Timestamp, Transaction};
use interleave::{Sequential, run_inline};
use io::SimulatedDisk;

use super::{indexes, recovery::Opened, run_waiting};
use crate::{
    check::{self, LiveTables, Rules, Versions},
    failure::Reason,
    history::{Action, Event, Key, Outcome, Record, Value},
    workload::{
        bank,
        expiring::{self, has_expired, is_expiring},
        tables,
    },
};

/// Stored bytes of a record that expires: a value behind its expiry.
const EXPIRING_BYTES: usize = 8 + expiring::VALUE_BYTES;

/// Name of the table of all keys that do not name another table.
pub(super) const MAIN_TABLE: &str = "records";

/// Knowledge of a run's database across crashes.
#[derive(Default)]
pub(super) struct Ledger {
    /// The last recovered state, and the commit up to which it goes.
    base: u64,
    state: BTreeMap<Key, Value>,
    /// Surviving transactions of all rounds.
    survivors: Vec<Record>,
    /// Records of that state that had expired when they were recovered.
    expired: u64,
}

/// Results of a round.
pub(super) struct End {
    pub(super) records: Vec<Record>,
    /// The clock: no commit is newer.
    pub(super) newest: u64,
    /// Whether everything was written, so that nothing may be lost.
    pub(super) complete: bool,
    pub(super) backups: Vec<Backup>,
    pub(super) begun: u64,
    pub(super) order: u64,
}

/// A backup that was made in a round, on a disk of its own.
pub(super) struct Backup {
    pub(super) disk: SimulatedDisk,
    /// Commit up to which everything was durable when the backup began.
    pub(super) durable: u64,
    /// Commit up to which the backup claims to go.
    pub(super) up_to: u64,
}

/// A round that is over.
pub(super) struct Past {
    records: Vec<Record>,
    versions: Versions,
    base: u64,
    newest: u64,
    /// The newest commit that must have survived.
    durable: u64,
    pub(super) backups: Vec<Backup>,
    rules: Rules,
}

impl Ledger {
    /// Returns whether the accounts and other initial records were loaded.
    pub(super) fn is_loaded(&self) -> bool {
        !self.state.is_empty()
    }

    /// Returns how many records of the last recovered state had expired, and how many
    /// had not.
    pub(super) fn expiring(&self) -> (u64, u64) {
        let unexpired = self.state.keys().filter(|key| is_expiring(key)).count();
        (self.expired, unexpired as u64)
    }

    /// Returns the surviving transactions of all rounds, by number.
    pub(super) fn survivors(&mut self) -> &[Record] {
        self.survivors.sort_by_key(|record| record.number);
        &self.survivors
    }

    /// Checks and returns the history of a round that has ended.
    pub(super) fn past(&self, end: End, rules: Rules) -> Result<Past, Reason> {
        let mut records = end.records;
        records.insert(0, self.recovered());
        let versions = Versions::of(&records).map_err(Reason::Violation)?;
        let acknowledged = records
            .iter()
            .filter(|record| end.complete || is_durable(record))
            .filter_map(Record::written_at);
        let durable = acknowledged.max().unwrap_or(self.base).max(self.base);
        Ok(Past {
            durable,
            records,
            versions,
            base: self.base,
            newest: end.newest,
            backups: end.backups,
            rules,
        })
    }

    /// Returns the last recovered state as a transaction.
    fn recovered(&self) -> Record {
        let before = self.base.saturating_sub(1);
        let events = self.state.iter().map(|(key, value)| Event {
            clock: (before, before),
            order: (0, 0),
            joined: false,
            action: Action::Insert {
                key: key.clone(),
                value: value.clone(),
                done: true,
            },
        });
        Record {
            number: 0,
            begun: 0,
            label: "recovered",
            isolation: Isolation::Snapshot,
            durability: Durability::None,
            snapshot: before,
            events: events.collect(),
            claims: Vec::new(),
            outcome: Outcome::Committed(self.base),
            ended: 0,
            told: 0,
        }
    }

    /// Compares the contents of a backup with the state after the commit that it names,
    /// which must not be older than the durable state when it began.
    pub(super) fn compare_backup(
        &self,
        past: &Past,
        opened: &Opened,
        backup: &Backup,
    ) -> Result<(), Reason> {
        let up_to = self.compare(past, opened)?;
        if up_to == backup.up_to && up_to >= backup.durable {
            return Ok(());
        }
        Err(Reason::Recovered(format!(
            "a backup up to {} has {up_to}, and {} was durable when it began",
            backup.up_to, backup.durable
        )))
    }

    /// Compares a recovered database with the state after some commit, of the round or
    /// before it; returns that commit.
    pub(super) fn compare(&self, past: &Past, opened: &Opened) -> Result<u64, Reason> {
        let Timestamp(up_to) = opened.report.recovered_up_to;
        if up_to > past.newest.max(1) {
            return Err(Reason::Recovered(format!(
                "up to {up_to}, which is after {}",
                past.newest
            )));
        }
        let found = read_all(opened)?;
        // An earlier state is a loss, but perhaps an undetectable one: `rot.rs`.
        let earlier = if up_to < past.base {
            Versions::of(&self.survivors).map_err(Reason::Violation)?
        } else {
            Versions::default()
        };
        let versions = if up_to < past.base {
            &earlier
        } else {
            &past.versions
        };
        let live = LiveTables::of(versions.state(up_to));
        let now = opened.wall.now();
        let is_left =
            |key: &Key, value: &Value| live.have(key, value) && !has_expired(key, value, now);
        let state = versions.state(up_to);
        let mut expected = state.filter(|(key, value)| is_left(key, value));
        let mut there = found.iter();
        loop {
            let (expected, there) = (expected.next(), there.next());
            if expected != there {
                return Err(Reason::Recovered(format!(
                    "at {up_to}, {there:?} is where {expected:?} was committed"
                )));
            }
            if expected.is_none() {
                break;
            }
        }
        bank::check(&found).map_err(Reason::Recovered)?;
        indexes::check_unique(&found)?;
        Ok(up_to)
    }

    /// Continues with the state recovered, up to a commit of the round.
    pub(super) fn settle(
        &mut self,
        past: Past,
        mut opened: Opened,
        up_to: u64,
    ) -> Result<Opened, Reason> {
        self.state = read_all(&opened)?;
        self.base = up_to;
        self.survivors.extend(past.survivors(up_to));
        let versions = Versions::of(&self.survivors).map_err(Reason::Violation)?;
        let now = opened.wall.now();
        let records = versions.state(up_to);
        self.expired = records
            .filter(|(key, value)| has_expired(key, value, now))
            .count() as u64;
        self.compare_memory(&mut opened)?;
        Ok(opened)
    }

    /// Checks that recovery leaves in memory only the data that the records need.
    fn compare_memory(&self, opened: &mut Opened) -> Result<(), Reason> {
        for _ in 0..100 {
            for berth in &mut opened.berths {
                berth.housekeep();
            }
            let mut berths = opened.berths.iter_mut();
            if berths.all(|berth| berth.is_clean()) {
                break;
            }
        }
        let live = opened.database.memory().version_bytes;
        let records = self.state.iter();
        let records = records.filter(|(key, _)| !check::is_name(key));
        let stored = |(key, value): (&Key, &Value)| match is_expiring(key) {
            true => EXPIRING_BYTES,
            false => value.len(),
        };
        let needed = check::block_bytes(records.map(stored)) + self.catalog_bytes(opened);
        // An expired record may remain until it is deleted.
        let each = check::block_bytes(std::iter::once(EXPIRING_BYTES));
        // A record on the device needs no memory.
        if opened.has_cold && live <= needed + each * self.expired {
            return Ok(());
        }
        let beyond = live.checked_sub(needed);
        if beyond.is_some_and(|beyond| beyond % each == 0 && beyond / each <= self.expired) {
            return Ok(());
        }
        Err(Reason::Memory(format!(
            "{live} bytes of versions are live after recovery, the records need {needed}, and \
             {} may have expired",
            self.expired
        )))
    }

    /// Returns the bytes of the versions that describe tables and indexes (`engine`,
    /// `catalog/definition.rs`).
    fn catalog_bytes(&self, opened: &Opened) -> u64 {
        let tables = opened.database.table_names().into_iter();
        let tables = tables.flat_map(|name| {
            let table = opened.database.table(&name);
            let description = table.as_ref().map_or(0, |table| table.description().len());
            let expiry = table.and_then(|table| table.ttl()).map_or(0, |_| 8);
            [16 + name.len() + description + expiry, 8]
        });
        let names = self.state.iter();
        let indexes = names.filter(|(key, _)| key.first() == Some(&tables::INDEXES));
        let indexes = indexes.flat_map(|(key, _)| {
            let description = tables::index_description(0, false).len();
            [16 + tables::index_name(key[1]).len() + description, 8]
        });
        check::block_bytes(tables.chain(indexes))
    }
}

/// Reads the names in the catalog: the storage that each leads to. Fails where
/// transactions and the database disagree.
fn read_names(opened: &Opened, transaction: &Transaction) -> Result<BTreeMap<Key, Value>, Reason> {
    let mut names = BTreeMap::new();
    for name in opened.database.table_names() {
        let Some(further) = (0..=u8::MAX).find(|&further| tables::table_name(further) == name)
        else {
            if name != MAIN_TABLE && name != expiring::TABLE {
                return Err(Reason::Recovered(format!("nobody made table {name:?}")));
            }
            continue;
        };
        let found = run_inline(transaction.open_table::<Sequential>(&name));
        let number = found.as_ref().map(|table| table.number());
        let known = opened.database.table(&name);
        if number != Ok(known.as_ref().map_or(0, |table| table.number())) {
            return Err(Reason::Recovered(format!(
                "table {name:?} is {found:?} and {known:?}"
            )));
        }
        if let Ok(table) = found {
            let key = vec![tables::CATALOG, further];
            names.insert(key, tables::name_value(&table));
        }
    }
    let listed = run_inline(transaction.list_tables::<Sequential>());
    let listed = listed.map_err(|error| Reason::Recovered(error.to_string()))?;
    let listed: Vec<String> = listed.into_iter().map(|(name, _)| name).collect();
    if listed != opened.database.table_names() {
        return Err(Reason::Recovered(format!("the catalog lists {listed:?}")));
    }
    Ok(names)
}

/// Reads all records of all tables, and the names of the tables.
fn read_all(opened: &Opened) -> Result<BTreeMap<Key, Value>, Reason> {
    let failed = |error| Reason::Setup(format!("reading what was recovered failed: {error}"));
    let session = opened.berths[0].session();
    let transaction = session.begin(Isolation::Snapshot).map_err(failed)?;
    let mut found = read_names(opened, &transaction)?;
    found.extend(indexes::read_missing(opened, &transaction)?);
    for name in opened.database.table_names() {
        let Some(table) = opened.database.table(&name) else {
            continue;
        };
        let ttl = (name == expiring::TABLE).then_some(expiring::TTL);
        if table.ttl() != ttl {
            return Err(Reason::Recovered(format!(
                "records of {name:?} live for {:?}",
                table.ttl()
            )));
        }
        let all = (std::ops::Bound::Unbounded, std::ops::Bound::Unbounded);
        let mut strays = 0;
        let scan = transaction.scan::<Sequential>(
            &table,
            all,
            engine::Direction::Forward,
            |key, value| {
                let belongs = match tables::storage_of(key) {
                    Some(storage) => storage == table.number(),
                    None if is_expiring(key) => name == expiring::TABLE,
                    None => name == MAIN_TABLE,
                };
                strays += u32::from(!belongs);
                found.insert(key.to_vec(), value.to_vec());
                std::ops::ControlFlow::Continue(())
            },
        );
        run_waiting(&session, scan).map_err(|error| match error {
            Error::ColdRecord { .. } => Reason::Unreadable(error),
            error => failed(error),
        })?;
        if strays > 0 {
            return Err(Reason::Recovered(format!(
                "{strays} records of other tables are in {name:?}"
            )));
        }
    }
    Ok(found)
}

/// Returns whether the transaction was acknowledged as being on the device.
fn is_durable(record: &Record) -> bool {
    matches!(record.outcome, Outcome::Committed(_)) && record.durability == Durability::Synchronous
}

impl Past {
    pub(super) fn records(&self) -> &[Record] {
        &self.records
    }

    /// Checks that everything that was acknowledged is part of the state after commit
    /// `up_to`.
    pub(super) fn check_acknowledged(&self, up_to: u64) -> Result<(), Reason> {
        if up_to < self.durable {
            return Err(Reason::Lost(format!(
                "recovered up to {up_to}, but {} had to survive",
                self.durable
            )));
        }
        let saw_more = |record: &&Record| {
            is_durable(record) && record.written_at().is_none() && is_newer(record, up_to)
        };
        for reader in self.records.iter().filter(saw_more) {
            let reader = as_of(reader, up_to);
            check::answers(&self.versions, &self.records, &reader, &self.rules).map_err(
                |violation| Reason::Lost(format!("what was read by somebody: {violation}")),
            )?;
        }
        Ok(())
    }

    /// Returns the transactions that are part of the state after commit `up_to`, and the
    /// readers that saw nothing else.
    fn survivors(self, up_to: u64) -> impl Iterator<Item = Record> {
        let records = self.records.into_iter().skip(1);
        records.filter_map(move |record| match record.outcome {
            Outcome::Committed(at) | Outcome::InDoubt(at) => {
                let writes = record.written_at().is_some();
                if !is_newer(&record, up_to) && at <= up_to {
                    Some(record)
                } else {
                    (!writes && is_durable(&record)).then(|| as_of(&record, up_to))
                }
            }
            _ => None,
        })
    }
}

/// Returns whether a transaction may have seen anything newer than commit `up_to`.
fn is_newer(record: &Record, up_to: u64) -> bool {
    let operations = record.events.iter().map(|event| event.clock.1);
    let last = match record.isolation {
        Isolation::Snapshot | Isolation::Serializable => None,
        Isolation::ReadCommitted => operations.max(),
    };
    last.unwrap_or(record.snapshot) > up_to
}

/// Returns a reader's record as if it had run after commit `up_to` at the latest.
fn as_of(record: &Record, up_to: u64) -> Record {
    let mut record = record.clone();
    record.snapshot = record.snapshot.min(up_to);
    for event in &mut record.events {
        event.clock = (event.clock.0.min(up_to), event.clock.1.min(up_to));
    }
    if let Outcome::Committed(at) = &mut record.outcome {
        *at = (*at).min(up_to);
    }
    record
}
