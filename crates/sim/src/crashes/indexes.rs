//! Indexes across crashes: made and attached beside the transactions, compared with their
//! tables, and looked for after recovery.
//!
//! The transaction that records a new index is in the history, like transactions that drop it or
//! rename it (`workload/tables.rs`). Attaching a recorded index changes nothing that a
//! history knows. While an index is missing, writers are refused; so attaching a unique
//! index never finds two records with one key.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::{Future, poll_fn},
    pin::pin,
    rc::Rc,
    sync::{Arc, Mutex, MutexGuard},
};

use engine::{
    BuildError, Durability, Error, IndexBuild, IndexDefinition, IndexState, Isolation, Session,
    Transaction,
};
use interleave::{Interleaved, Sequential, run_inline};

use super::{CrashReport, recovery::Opened, run_waiting};
use crate::{
    check,
    dice::Dice,
    failure::Reason,
    history::{Action, Event, Key, Outcome, Record, Value},
    parameters::Planted,
    simulation::Simulation,
    workload::{
        expiring,
        tables::{self, INDEXES, index_name},
    },
    world::World,
};

/// Counters of the tasks.
#[derive(Clone, Default)]
pub(super) struct Indexes(Arc<Mutex<CrashReport>>);

/// Draws a table that may have indexes.
fn any_table(dice: &mut Dice) -> String {
    match dice.below(tables::NAMES + 1) {
        tables::NAMES => expiring::TABLE.to_owned(),
        name => tables::table_name(name as u8),
    }
}

/// A transaction that records an index, as far as it has come.
struct Recording {
    world: Arc<World>,
    /// The transaction's record, once it has committed.
    record: Option<Record>,
}

impl Drop for Recording {
    fn drop(&mut self) {
        if let Some(mut record) = self.record.take() {
            record.told = self.world.recorder.next();
            self.world.recorder.push(record);
        }
    }
}

impl Indexes {
    fn count(&self) -> MutexGuard<'_, CrashReport> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Takes the counters since the last call.
    pub(super) fn take_report(&self) -> CrashReport {
        std::mem::take(&mut *self.count())
    }

    /// Begins to attach a missing index of some table, or else to make one.
    pub(super) fn begin_one(&self, simulation: &mut Simulation, dice: &mut Dice) {
        let (table, choice) = (any_table(dice), dice.below(tables::INDEX_NAMES));
        self.begin_building(simulation, dice, table, choice);
    }

    /// Begins to attach all missing indexes.
    pub(super) fn begin_attaching(
        &self,
        simulation: &mut Simulation,
        dice: &mut Dice,
    ) -> Result<(), Reason> {
        let failed = |error: Error| Reason::Setup(format!("listing indexes: {error}"));
        let session = simulation.berths[0].session();
        let transaction = session.begin(Isolation::Snapshot).map_err(failed)?;
        let tables = simulation.world.database.table_names().into_iter();
        let missing: Result<Vec<(String, usize)>, Error> = tables
            .map(|name| {
                let listed = run_inline(transaction.list_indexes::<Sequential>(&name))?;
                Ok((name, listed.len()))
            })
            .collect();
        drop(transaction);
        for (table, count) in missing.map_err(failed)? {
            for choice in 0..count {
                self.begin_building(simulation, dice, table.clone(), choice);
            }
        }
        Ok(())
    }

    fn begin_building(
        &self,
        simulation: &mut Simulation,
        dice: &mut Dice,
        table: String,
        choice: usize,
    ) {
        simulation.begun += 1;
        simulation.begun_max += 1;
        let (indexes, world, number) = (self.clone(), simulation.world.clone(), simulation.begun);
        let mut own = Dice::new(dice.seed());
        let worker = dice.below(simulation.berths.len());
        let task = simulation.berths[worker].submit(move |session| {
            let session = session.clone();
            async move {
                let begun = begin(&session, number, &table, choice, &mut own);
                if let Some(begun) = begun {
                    indexes.build(world, number, begun).await;
                }
            }
        });
        simulation.tasks.push(task);
    }

    async fn build(
        self,
        world: Arc<World>,
        number: u64,
        (build, attaches, action): (IndexBuild, bool, Action),
    ) {
        let index = build.index().clone();
        let mut recording = Recording {
            world: world.clone(),
            record: None,
        };
        let mut run = pin!(build.run(|_| {}));
        let made = poll_fn(|context| {
            let (clock, order) = (world.database.now().0, world.recorder.next());
            let was_building = index.state() == IndexState::Building;
            let polled = run.as_mut().poll(context);
            if was_building && index.state() == IndexState::Ready && !attaches {
                // One thread: this commit moved the clock last.
                let at = world.database.now().0;
                let is_hidden = world.parameters.planted == Some(Planted::HiddenIndex);
                let events = match is_hidden {
                    true => Vec::new(),
                    false => vec![Event {
                        clock: (clock, at),
                        order: (order, world.recorder.next()),
                        joined: false,
                        action: action.clone(),
                    }],
                };
                recording.record = Some(Record {
                    number,
                    label: "index",
                    isolation: Isolation::Snapshot,
                    durability: Durability::Synchronous,
                    begun: order,
                    snapshot: clock,
                    events,
                    claims: Vec::new(),
                    outcome: Outcome::InDoubt(at),
                    ended: world.recorder.next(),
                    told: 0,
                });
            }
            polled
        })
        .await;
        match made {
            Ok(_) if attaches => self.count().attached += 1,
            Ok(_) => {
                let record = recording.record.as_mut().expect("its commit was seen");
                if let Outcome::InDoubt(at) = record.outcome {
                    record.outcome = Outcome::Committed(at);
                }
            }
            Err(BuildError::Duplicate { key }) if attaches => {
                panic!("a unique index cannot be attached: two records have {key:?}")
            }
            Err(_) => {}
        }
    }

    /// Begins to compare an index with its table.
    pub(super) fn begin_comparing(&self, simulation: &mut Simulation, dice: &mut Dice) {
        let (indexes, name) = (self.clone(), any_table(dice));
        let (world, choice) = (simulation.world.clone(), dice.below(tables::INDEX_NAMES));
        let worker = dice.below(simulation.berths.len());
        let task = simulation.berths[worker].submit(move |session| {
            let session = session.clone();
            async move {
                let Some(table) = world.database.table(&name) else {
                    return;
                };
                let all = table.indexes();
                let Some(index) = all.get(choice % all.len().max(1)) else {
                    return;
                };
                // Refused if the index is not ready yet, or no longer.
                if let Ok(report) = session.check_index::<Interleaved>(index).await {
                    let (flaws, name) = (&report.flaws, index.name());
                    assert_eq!(report.flaw_count, 0, "{name:?}: {flaws:?}");
                    indexes.count().compared += 1;
                }
            }
        });
        simulation.tasks.push(task);
    }

    /// Compares all indexes with their tables, when no task is left.
    pub(super) fn compare_all(&self, simulation: &Simulation) -> Result<(), Reason> {
        let (database, session) = (&simulation.world.database, simulation.berths[0].session());
        let tables = database.table_names().into_iter();
        let tables = tables.filter_map(|name| database.table(&name));
        for index in tables.flat_map(|table| table.indexes()) {
            if index.state() != IndexState::Ready {
                continue;
            }
            let check = session.check_index::<Sequential>(&index);
            let report = run_waiting(&session, check);
            let report = report.map_err(|error| Reason::Setup(error.to_string()))?;
            if report.flaw_count > 0 {
                let (name, flaws) = (index.name(), &report.flaws);
                return Err(Reason::Index(format!("{name:?}: {flaws:?}")));
            }
            self.count().compared += 1;
        }
        Ok(())
    }
}

/// Begins to build an index of table `name`: a missing index chosen by `choice`, or else a
/// new one described by `number`. Returns the build, whether it attaches a missing index,
/// and the history's action for a new one. Nothing else acts meanwhile.
fn begin(
    session: &Rc<Session>,
    number: u64,
    name: &str,
    choice: usize,
    dice: &mut Dice,
) -> Option<(IndexBuild, bool, Action)> {
    let further = dice.below(tables::INDEX_NAMES) as u8;
    let transaction = session.begin(Isolation::Snapshot).ok()?;
    let table = run_inline(transaction.open_table::<Sequential>(name)).ok()?;
    let listed = run_inline(transaction.list_indexes::<Sequential>(name)).ok()?;
    drop(transaction);
    let missing = listed.into_iter().filter(|index| !index.is_attached);
    let missing: Vec<IndexDefinition> = missing.collect();
    let attaches = !missing.is_empty();
    let (index, description, unique) = match attaches {
        true => {
            let index = &missing[choice % missing.len()];
            (index.name.clone(), index.description.clone(), index.unique)
        }
        false => {
            let unique = dice.chance(500);
            let description = tables::index_description(number, unique);
            (index_name(further), description, unique)
        }
    };
    let (options, extract) = tables::index_kind(unique);
    let build = session.begin_index_described(&table, &index, &description, options, extract);
    let action = Action::Upsert {
        key: vec![INDEXES, further],
        value: tables::index_value(&table, &description),
    };
    match build {
        // Small batches: a few records suffice for several workers.
        Ok(build) if attaches => {
            let build = build.in_batches_of(dice.between(1, 4));
            Some((build, attaches, action))
        }
        Ok(build) => Some((build, attaches, action)),
        Err(BuildError::Different) => panic!("{index:?} is recorded as something else"),
        Err(_) => None,
    }
}

/// Reads the indexes of a database that was recovered, as records of a history. None is
/// attached, and tables that have indexes cannot be written.
pub(super) fn read_missing(
    opened: &Opened,
    transaction: &Transaction,
) -> Result<BTreeMap<Key, Value>, Reason> {
    let wrong = |what: String| Err(Reason::Recovered(what));
    let mut found = BTreeMap::new();
    for name in opened.database.table_names() {
        let Some(table) = opened.database.table(&name) else {
            continue;
        };
        let listed = run_inline(transaction.list_indexes::<Sequential>(&name));
        let listed = listed.map_err(|error| Reason::Recovered(error.to_string()))?;
        for index in &listed {
            let further =
                (0..tables::INDEX_NAMES as u8).find(|&name| index_name(name) == index.name);
            let value = tables::index_value(&table, &index.description);
            let is_unique = tables::indexed(&value).is_some_and(|(_, unique)| unique);
            let (Some(further), false, true) =
                (further, index.is_attached, is_unique == index.unique)
            else {
                return wrong(format!("table {name:?} has the index {index:?}"));
            };
            found.insert(vec![INDEXES, further], value);
        }
        let session = opened.berths[0].session();
        let failed = |error| Reason::Setup(format!("nobody can write: {error}"));
        let writer = session.begin(Isolation::Snapshot).map_err(failed)?;
        let written = run_inline(writer.delete::<Sequential>(&table, b"of nobody"));
        let is_refused = matches!(written, Err(Error::IndexNotAttached { .. }));
        if is_refused == listed.is_empty() {
            return wrong(format!(
                "table {name:?} with {listed:?}: a write came to {written:?}"
            ));
        }
    }
    Ok(found)
}

/// Checks that no two records have one key in a unique index.
pub(super) fn check_unique(found: &BTreeMap<Key, Value>) -> Result<(), Reason> {
    let names = found.iter().filter(|(key, _)| check::is_name(key));
    let unique = names
        .clone()
        .filter(|(key, _)| key.first() == Some(&INDEXES));
    let unique = unique.filter_map(|(_, value)| tables::indexed(value));
    let unique: BTreeSet<_> = unique
        .filter(|&(_, unique)| unique)
        .map(|(tag, _)| tag)
        .collect();
    let tables = names.filter(|(key, _)| key.first() == Some(&tables::CATALOG));
    let tags: BTreeMap<_, _> = tables
        .filter_map(|(_, value)| tables::named(value))
        .collect();
    let mut columns = BTreeSet::new();
    for (key, value) in found {
        let tag = match tables::storage_of(key) {
            Some(storage) => tags.get(&storage).copied(),
            None => expiring::is_expiring(key).then(|| expiring::TAG.to_be_bytes()),
        };
        let Some(tag) = tag.filter(|tag| unique.contains(tag)) else {
            continue;
        };
        if !columns.insert((tag, tables::column(value))) {
            return Err(Reason::Index(format!(
                "{key:?} with {value:?} is not the only one of its key"
            )));
        }
    }
    Ok(())
}
