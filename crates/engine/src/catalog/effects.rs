//! Effects of a transaction with DDL besides the records of the catalog: they take place when the
//! transaction commits, and are taken back when it is undone.
//!
//! The order of a commit, under the latch of `Catalog::commits`:
//! 1. storages that are made or dropped become `Committing`, and if some are dropped, every
//!    transaction that commits is told to look (`Catalog::last_drop`),
//! 2. the transaction takes its timestamp, and its status says that it has committed (`commit.rs`),
//! 3. storages become `Live` or `Dropped`, names change, dropped storages go to the graveyard, and
//!    indexes become ready, or go.
//!
//! No step suspends.

use std::{
    any::Any,
    cell::Cell,
    sync::{Arc, MutexGuard},
};

use crate::{
    catalog::{Stage, event::TableEvent},
    database::Database,
    error::{Abort, Error},
    secondary::{Index, IndexState},
    table::Table,
    timestamp::Timestamp,
    transaction::Transaction,
};

/// Effect of a transaction with DDL.
#[derive(Debug)]
pub(crate) enum Effect {
    /// The transaction has made a storage.
    Made(Arc<Table>),
    /// The transaction drops a storage; if it truncates, the successor takes the storage's place.
    Gone {
        table: Arc<Table>,
        successor: Option<Arc<Table>>,
    },
    /// A name becomes that of a table, or of none.
    Named(String, Option<Arc<Table>>),
    /// Followers of the change stream are told of the event; key and value are what is logged.
    Event {
        event: TableEvent,
        key: [u8; 4],
        value: Vec<u8>,
    },
    /// An index is recorded that was built, or is being built `within` the transaction.
    IndexMade { index: Index, within: bool },
    /// The index of this number in the catalog is dropped.
    IndexGone { table: Arc<Table>, number: u32 },
    /// The index of this number in the catalog is renamed.
    IndexNamed {
        table: Arc<Table>,
        number: u32,
        name: String,
    },
    /// The observer of commits is told of the note.
    Note(CommitNote),
}

/// Note of a transaction for the observer of the database's commits.
pub type CommitNote = Box<dyn Any + Send>;

/// Observer of commits, called with a transaction's commit timestamp and its notes, in the order of
/// the notes: before another transaction can have a lock that this one had, and in commit order.
/// The observer must not panic, nor wait for anything.
pub type CommitObserver = Box<dyn Fn(Timestamp, Vec<CommitNote>) + Send + Sync>;

/// Commit between steps 1 and 3. If dropped before step 3, it takes step 1 back.
pub(crate) struct EffectsCommit<'t> {
    transaction: &'t Transaction,
    /// Newest drop: the one before, until this one has taken place.
    last_drop: Cell<Timestamp>,
    _latch: MutexGuard<'t, ()>,
}

/// Effect of a transaction on a storage, if any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Own {
    Nothing,
    Made,
    Gone,
}

/// Permission of a transaction to use a storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Allowed,
    /// The storage was made, or committed, after the snapshot.
    TooNew,
    Gone,
}

impl Transaction {
    /// Checks whether an operation may use a table that is not simply live at its snapshot.
    ///
    /// # Errors
    /// [`Error::TableDropped`]; [`Abort::SnapshotTooOld`].
    #[cold]
    pub(crate) fn check_use(&self, table: &Table) -> Result<(), Error> {
        match self.use_at(table, self.context().snapshot()) {
            Use::Allowed => Ok(()),
            Use::TooNew => Err(self.doom(Abort::SnapshotTooOld)),
            Use::Gone => {
                // The refusal is an answer of which nothing is noted: another transaction may just
                // be making the table, and the snapshot must not move to where the table is.
                self.context().dependencies.settle();
                Err(Error::TableDropped)
            }
        }
    }

    /// Whether the transaction may use `table` at its anchor.
    pub(crate) fn may_use_at_anchor(&self, table: &Table) -> bool {
        self.use_at(table, self.context().anchor()) == Use::Allowed
    }

    fn use_at(&self, table: &Table, snapshot: Timestamp) -> Use {
        let life = &table.life;
        let is_there = loop {
            break match life.stage() {
                Stage::Creating if self.own(table) == Own::Made => return Use::Allowed,
                Stage::Creating | Stage::Never => false,
                Stage::Live => true,
                Stage::Dropping => self.own(table) != Own::Gone,
                // A storage that one transaction has made and dropped was never there.
                Stage::Dropped(at) if snapshot < at && life.made() < at => true,
                // A transaction that is told so depends on the drop.
                Stage::Dropped(at) => {
                    self.saw(at);
                    false
                }
                // A commit on another thread, which does not suspend.
                Stage::Committing => {
                    std::hint::spin_loop();
                    continue;
                }
            };
        };
        match is_there {
            true if life.made() <= snapshot => {
                self.saw(life.made());
                Use::Allowed
            }
            true => Use::TooNew,
            false => Use::Gone,
        }
    }

    fn own(&self, table: &Table) -> Own {
        let last = self.with_effects(|effects| {
            effects.iter().rev().find_map(|effect| match effect {
                Effect::Made(made) if made.number() == table.number() => Some(Own::Made),
                Effect::Gone { table: gone, .. } if gone.number() == table.number() => {
                    Some(Own::Gone)
                }
                _ => None,
            })
        });
        last.unwrap_or(Own::Nothing)
    }

    /// Returns the storage that takes the place of `table`, if the transaction cannot use that any
    /// more because the table was truncated; otherwise `table` itself.
    ///
    /// # Errors
    /// [`Error::TableDropped`].
    pub fn current(&self, table: &Arc<Table>) -> Result<Arc<Table>, Error> {
        let mut table = table.clone();
        loop {
            if self.use_at(&table, self.context().snapshot()) != Use::Gone {
                return Ok(table);
            }
            let own = self.own_successor(&table);
            let next = own.or_else(|| table.successor().cloned());
            table = next.ok_or(Error::TableDropped)?;
        }
    }

    fn own_successor(&self, table: &Table) -> Option<Arc<Table>> {
        let effects = self.context().effects.borrow();
        effects.iter().find_map(|effect| match effect {
            Effect::Gone {
                table: gone,
                successor,
            } if gone.number() == table.number() => successor.clone(),
            _ => None,
        })
    }

    /// Checks, once the commit has taken its timestamp, that no written table is dropped. Returns
    /// the time of the first drop of a table that a serializable transaction has used, if that was
    /// before `at`, otherwise `at`. Argued in `life.rs`.
    ///
    /// # Errors
    /// [`Abort::TableDropped`]; [`Abort::NotSerializable`] if the outcome of a drop is not known
    /// yet.
    #[inline]
    pub(crate) fn certify_tables(&self, at: Timestamp) -> Result<Timestamp, Abort> {
        let since = self.context().anchor();
        if self.session().database().catalog.last_drop.is_after(since) {
            return self.look_at_tables(since, at);
        }
        Ok(at)
    }

    #[cold]
    fn look_at_tables(&self, since: Timestamp, at: Timestamp) -> Result<Timestamp, Abort> {
        let catalog = &self.session().database().catalog;
        // Entries of an index count as the records they lead to.
        let is_gone = |number: u32| {
            // A table that the transaction drops itself is dropped by no other transaction.
            catalog.by_number(number).is_none_or(|table| {
                let stage = table.life.stage();
                let is_gone = matches!(stage, Stage::Dropped(_) | Stage::Committing);
                is_gone && self.own(&table) == Own::Nothing
            })
        };
        let written = self.context().written_tables.borrow();
        let gone: Vec<u32> = written
            .iter()
            .copied()
            .filter(|&table| is_gone(table))
            .collect();
        // Writes to these tables may have been undone.
        let writes = self.context().writes.borrow();
        if !gone.is_empty() && writes.iter().any(|write| gone.contains(&write.table)) {
            return Err(Abort::TableDropped);
        }
        if self.context().dependencies.has_nothing_to_certify() {
            return Ok(at);
        }
        let mut first = at;
        for table in catalog.registry().by_number.values() {
            if !self.context().has_used(table.number()) {
                continue;
            }
            match table.life.stage() {
                Stage::Dropped(dropped) if dropped > since => first = first.min(dropped),
                Stage::Committing if self.own(table) == Own::Nothing => {
                    return Err(Abort::NotSerializable);
                }
                _ => {}
            }
        }
        Ok(first)
    }

    /// Notes `note` for the observer of commits ([`Database::observe_commits`]), which is told of
    /// it if this transaction commits, but not if it is rolled back, even to an earlier savepoint.
    ///
    /// # Errors
    /// [`Error::Abort`] and [`Error::Ended`] if the transaction is over.
    pub fn note_for_commit(&self, note: CommitNote) -> Result<(), Error> {
        self.check_open()?;
        self.note_effect(Effect::Note(note));
        Ok(())
    }

    /// Makes the acknowledgement of this transaction wait until `commit`, of which it has heard
    /// other than by reading, is durable.
    pub fn depends_on(&self, commit: Timestamp) {
        self.saw(commit);
    }

    /// Whether the transaction drops or truncates a table.
    pub(crate) fn drops_tables(&self) -> bool {
        let effects = self.context().effects.borrow();
        effects
            .iter()
            .any(|effect| matches!(effect, Effect::Gone { .. }))
    }

    /// Does step 1 of the commit, for a transaction with effects.
    ///
    /// # Errors
    /// [`Abort::WriteConflict`] if another transaction has made or dropped an index of a table that
    /// is being truncated, or if an index that is being recorded was given up. Step 1 is taken back
    /// then.
    pub(crate) fn begin_effects(&self) -> Result<Option<EffectsCommit<'_>>, Abort> {
        if self.context().effects.borrow().is_empty() {
            return Ok(None);
        }
        let catalog = &self.session().database().catalog;
        let latch = catalog.lock_commits();
        let last_drop = catalog.last_drop.get();
        for effect in self.context().effects.borrow().iter() {
            match effect {
                Effect::Made(table) => table.life.set(Stage::Committing),
                Effect::Gone { table, .. } => {
                    catalog.last_drop.begin();
                    table.life.set(Stage::Committing);
                }
                _ => {}
            }
        }
        let begun = EffectsCommit {
            transaction: self,
            last_drop: Cell::new(last_drop),
            _latch: latch,
        };
        let fits_indexes = |effect: &Effect| match effect {
            Effect::Gone {
                table,
                successor: Some(successor),
            } => successor.has_indexes_of(table),
            Effect::IndexMade { index, .. } => index.state() == IndexState::Building,
            _ => true,
        };
        match self.context().effects.borrow().iter().all(fits_indexes) {
            true => Ok(Some(begun)),
            false => Err(Abort::WriteConflict),
        }
    }

    /// Takes back all effects from the place `from` in the list on, newest first, before the writes
    /// are undone: as long as the writes stand, no other transaction changes the objects.
    pub(crate) fn undo_effects(&self, from: usize) {
        let mut effects = self.context().effects.borrow_mut();
        if effects.len() <= from {
            return;
        }
        let database = self.session().database().clone();
        for effect in effects.drain(from..).rev() {
            match effect {
                Effect::Made(table) => {
                    table.life.set(Stage::Never);
                    database.bury(table, Timestamp(0));
                }
                // For a storage that the transaction has made itself, the making alone counts.
                Effect::Gone { table, .. } if table.life.stage() == Stage::Dropping => {
                    table.life.set(Stage::Live);
                }
                Effect::IndexMade {
                    index,
                    within: true,
                } => drop(database.give_up_index(&index)),
                _ => {}
            }
        }
    }
}

impl Effect {
    /// Does step 3 for an index, on all storages of its table: the transaction may have truncated
    /// the table before or after.
    fn change_index(&self, database: &Database, timestamp: Timestamp) {
        match self {
            Effect::IndexMade { index, .. } => {
                index.core.set_ready(timestamp);
                let number = index.core.catalog_number;
                index.base.indexes.miss_no_more(number);
            }
            Effect::IndexGone { table, number } => {
                for table in table.with_successors() {
                    database.end_indexes_of(table, *number);
                }
            }
            Effect::IndexNamed {
                table,
                number,
                name,
            } => {
                for table in table.with_successors() {
                    table.indexes.rename(*number, name);
                }
            }
            _ => {}
        }
    }
}

impl EffectsCommit<'_> {
    /// Does step 3 of the commit.
    pub(crate) fn committed(self, timestamp: Timestamp) {
        let database = self.transaction.session().database();
        let effects = std::mem::take(&mut *self.transaction.context().effects.borrow_mut());
        for effect in &effects {
            if let Effect::Made(table) = effect {
                table.life.begin(timestamp);
                database.catalog.count_expiring(table, true);
            }
        }
        for effect in &effects {
            if let Effect::Gone {
                table,
                successor: Some(successor),
            } = effect
            {
                table.set_successor(successor.clone());
            }
        }
        for effect in &effects {
            effect.change_index(database, timestamp);
        }
        let (mut events, mut notes) = (Vec::new(), Vec::new());
        for effect in effects {
            match effect {
                Effect::Note(note) => notes.push(note),
                Effect::Event { event, .. } => events.push(event),
                Effect::Gone { table, .. } => {
                    table.life.set(Stage::Dropped(timestamp));
                    self.last_drop.set(timestamp);
                    database.catalog.count_expiring(&table, false);
                    database.bury(table, timestamp);
                }
                Effect::Named(name, table) => database.catalog.name(name, table),
                _ => {}
            }
        }
        database.catalog.events.note(timestamp, events);
        if let Some(observer) = database.commit_observer()
            && !notes.is_empty()
        {
            observer(timestamp, notes);
        }
    }
}

impl Drop for EffectsCommit<'_> {
    fn drop(&mut self) {
        let catalog = &self.transaction.session().database().catalog;
        // No effects are left after step 3.
        let effects = self.transaction.context().effects.borrow();
        for effect in effects.iter() {
            if let Effect::Gone { table, .. } = effect {
                table.life.set(Stage::Dropping);
            }
        }
        for effect in effects.iter() {
            if let Effect::Made(table) = effect {
                table.life.set(Stage::Creating);
            }
        }
        catalog.last_drop.end(self.last_drop.get());
    }
}

impl super::Catalog {
    /// Gives a name to a table, or to none.
    fn name(&self, name: String, table: Option<Arc<Table>>) {
        let mut registry = self.registry_mut();
        match table {
            Some(table) => {
                table.set_name(&name);
                registry.by_name.insert(name, table);
            }
            None => drop(registry.by_name.remove(&name)),
        }
    }
}

impl Database {
    /// Hands a storage that was dropped at `timestamp` to the graveyard, and the entries of its
    /// indexes.
    pub(super) fn bury(&self, table: Arc<Table>, timestamp: Timestamp) {
        for index in table.indexes.attached() {
            self.bury_entries(&index.entries, timestamp);
        }
        self.catalog.add_grave(table);
    }

    /// Hands the entries of an index that was dropped at `timestamp` to the graveyard, unless they
    /// are there. The index is in no list any more, or its table in no catalog.
    pub(crate) fn bury_entries(&self, entries: &Arc<Table>, timestamp: Timestamp) {
        if entries.life.end(timestamp) {
            self.catalog.add_grave(entries.clone());
        }
    }
}
