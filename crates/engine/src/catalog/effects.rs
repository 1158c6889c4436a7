//! What a transaction with DDL does besides writing records of the catalog: it takes
//! place when the transaction commits, and is taken back when it is undone.
//!
//! The order of a commit, under the latch of `Catalog::commits`:
//! 1. storages that are made or dropped become `Committing`, those that are dropped
//!    are counted as dying,
//! 2. the transaction takes its timestamp and stamps its versions (`commit.rs`),
//! 3. storages become `Live` or `Dropped`, names change, and what was dropped goes to
//!    the graveyard.
//!
//! None of it suspends.

use std::sync::{Arc, MutexGuard, atomic::Ordering};

use crate::{
    catalog::Stage,
    error::{Abort, Error},
    secondary::derived::is_derived,
    table::Table,
    timestamp::Timestamp,
    transaction::Transaction,
};

/// One of them.
#[derive(Debug)]
pub(crate) enum Effect {
    /// The transaction has made a storage.
    Made(Arc<Table>),
    /// The transaction drops a storage; the other takes its place, if it truncates.
    Gone {
        table: Arc<Table>,
        successor: Option<Arc<Table>>,
    },
    /// A name becomes that of a table, or of none.
    Named(String, Option<Arc<Table>>),
}

/// A commit between steps 1 and 3. Dropped before step 3, it takes step 1 back.
pub(crate) struct EffectsCommit<'t> {
    transaction: &'t Transaction,
    _latch: MutexGuard<'t, ()>,
}

/// What a transaction has done to a storage, if anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Own {
    Nothing,
    Made,
    Gone,
}

impl Transaction {
    /// Whether the transaction may use a table, which is not simply live.
    #[cold]
    pub(crate) fn may_use(&self, table: &Table) -> bool {
        loop {
            return match table.life.stage() {
                Stage::Live => true,
                Stage::Never => false,
                Stage::Creating => self.own(table) == Own::Made,
                Stage::Dropping => self.own(table) != Own::Gone,
                Stage::Dropped(at) if self.snapshot() < at => true,
                // Who is told that depends on the drop.
                Stage::Dropped(at) => {
                    self.saw(at);
                    false
                }
                // A commit, on another thread: it does not suspend.
                Stage::Committing => {
                    std::hint::spin_loop();
                    continue;
                }
            };
        }
    }

    fn own(&self, table: &Table) -> Own {
        let effects = self.context().effects.borrow();
        let last = effects.iter().rev().find_map(|effect| match effect {
            Effect::Made(made) if made.number() == table.number() => Some(Own::Made),
            Effect::Gone { table: gone, .. } if gone.number() == table.number() => Some(Own::Gone),
            _ => None,
        });
        last.unwrap_or(Own::Nothing)
    }

    /// What the transaction finds in place of a storage that it cannot use any more: that
    /// of the same table, after it was truncated.
    ///
    /// # Errors
    /// [`Error::TableDropped`].
    pub fn current(&self, table: &Arc<Table>) -> Result<Arc<Table>, Error> {
        let mut table = table.clone();
        loop {
            if table.life.is_live() || self.may_use(&table) {
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

    /// Before the commit takes its timestamp: no table that was written to is dropped.
    ///
    /// # Errors
    /// [`Abort::TableDropped`]; the transaction was undone.
    #[inline]
    pub(crate) fn check_written_tables(&self) -> Result<(), Error> {
        if self.session().database().catalog.has_dying() {
            return self.look_at_written_tables();
        }
        Ok(())
    }

    #[cold]
    fn look_at_written_tables(&self) -> Result<(), Error> {
        let catalog = &self.session().database().catalog;
        let is_gone = |number: u32| {
            // Entries of an index are as good as the records they lead to.
            if is_derived(number) {
                return false;
            }
            let Some(table) = catalog.by_number(number) else {
                return true;
            };
            // What it made and dropped itself is nobody else's.
            let stage = table.life.stage();
            matches!(stage, Stage::Dropped(_) | Stage::Never | Stage::Committing)
        };
        let lost = {
            let writes = self.context().writes.borrow();
            let mut last = None;
            let mut numbers = writes.iter().map(|write| write.table);
            // Mostly many in a row are of one table.
            numbers.any(|number| last.replace(number) != Some(number) && is_gone(number))
        };
        if lost {
            return Err(self.doom(Abort::TableDropped));
        }
        Ok(())
    }

    /// Step 1 of the commit, for a transaction with effects.
    pub(crate) fn begin_effects(&self) -> Option<EffectsCommit<'_>> {
        if self.context().effects.borrow().is_empty() {
            return None;
        }
        let catalog = &self.session().database().catalog;
        let latch = catalog.lock_commits();
        for effect in self.context().effects.borrow().iter() {
            match effect {
                Effect::Made(table) => table.life.set(Stage::Committing),
                Effect::Gone { table, .. } => {
                    // SeqCst, as the clock after it: `life.rs`.
                    catalog.dying.fetch_add(1, Ordering::SeqCst);
                    table.life.set(Stage::Committing);
                }
                Effect::Named(..) => {}
            }
        }
        Some(EffectsCommit {
            transaction: self,
            _latch: latch,
        })
    }

    /// Takes back all effects from the given place on, newest first, before the writes
    /// are taken back: as long as those stand, nobody else changes the objects.
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
                    database.catalog.dying.fetch_add(1, Ordering::SeqCst);
                    database.bury(table, Timestamp(0));
                }
                // Of a storage that it has made itself, that alone counts.
                Effect::Gone { table, .. } if table.life.stage() == Stage::Dropping => {
                    table.life.set(Stage::Live);
                }
                Effect::Gone { .. } | Effect::Named(..) => {}
            }
        }
    }
}

impl EffectsCommit<'_> {
    /// Step 3.
    pub(crate) fn committed(self, timestamp: Timestamp) {
        let database = self.transaction.session().database();
        let effects = std::mem::take(&mut *self.transaction.context().effects.borrow_mut());
        for effect in &effects {
            if let Effect::Made(table) = effect {
                table.life.set(Stage::Live);
            }
        }
        for effect in effects {
            match effect {
                Effect::Made(_) => {}
                Effect::Gone { table, successor } => {
                    if let Some(successor) = successor {
                        table.set_successor(successor);
                    }
                    table.life.set(Stage::Dropped(timestamp));
                    database.bury(table, timestamp);
                }
                Effect::Named(name, table) => database.catalog.name(name, table),
            }
        }
    }
}

impl Drop for EffectsCommit<'_> {
    fn drop(&mut self) {
        let catalog = &self.transaction.session().database().catalog;
        // None are left after step 3.
        let effects = self.transaction.context().effects.borrow();
        for effect in effects.iter() {
            if let Effect::Gone { table, .. } = effect {
                catalog.dying.fetch_sub(1, Ordering::SeqCst);
                table.life.set(Stage::Dropping);
            }
        }
        for effect in effects.iter() {
            if let Effect::Made(table) = effect {
                table.life.set(Stage::Creating);
            }
        }
    }
}

impl super::Catalog {
    /// A name becomes that of a table, or of none.
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

impl crate::Database {
    /// Hands a storage that was dropped at a timestamp to the graveyard, and the entries
    /// of its indexes. It is counted as dying.
    pub(super) fn bury(&self, table: Arc<Table>, timestamp: Timestamp) {
        for index in table.indexes.current().unwrap_or_default() {
            self.bury_entries(&index.entries, timestamp);
        }
        self.catalog.add_grave(table);
    }

    /// Hands the entries of an index that was dropped at a timestamp to the graveyard,
    /// unless they are there. The index is in no list any more, or its table in none.
    pub(crate) fn bury_entries(&self, entries: &Arc<Table>, timestamp: Timestamp) {
        if entries.life.end(timestamp) {
            self.catalog.dying.fetch_add(1, Ordering::SeqCst);
            self.catalog.add_grave(entries.clone());
        }
    }
}
