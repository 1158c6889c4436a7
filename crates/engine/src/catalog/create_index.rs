//! Creating an index as a part of a transaction.
//!
//! The transaction locks the table against writers ([`TableLockMode::Share`]), adds the index to
//! the list that writers go by, and claims the entries of all records in its own name. The entries
//! are therefore uncommitted like all other writes of the transaction, and its end decides about
//! them. The commit makes the index ready for snapshots from there on (`effects.rs`); an undo, even
//! a return to a savepoint, takes the index out of the list again.
//!
//! # Why the index is complete
//! A writer of the table has locked it ([`TableLockMode::RowExclusive`]) until its end. Once this
//! transaction has its lock, all other writers have therefore ended, and each record's newest
//! version is committed or its own. The transaction reads those versions, whatever its snapshot:
//! later writers find the index in the list. (A transaction that wrote without a lock, and has not
//! ended, is met here as an uncommitted version, and this transaction aborts; a transaction without
//! a lock that has yet to write, by the list before, is not met.)
//!
//! The entries are those of the newest versions alone. Transactions with older snapshots cannot use
//! the index, not even this one, if its snapshot is older than the lock.

use std::sync::Arc;

use interleave::Policy;

use super::ddl::Operation;
use crate::{
    catalog::{
        Effect,
        definition::{Definition, Kind, ObjectKey},
    },
    error::Error,
    locks::{IfLocked, TableLockMode},
    secondary::{BuildError, Extractor, Index, IndexCore, IndexOptions, IndexState, list::Indexes},
    table::Table,
    transaction::{Isolation, Transaction},
};

impl Transaction {
    /// Creates an index of `table` and builds it: this transaction maintains the index from now on,
    /// and other transactions do once this one has committed. Until then they cannot write the
    /// table.
    ///
    /// Every writer of the table must lock it before, by [`Transaction::lock_table`]; this
    /// operation locks the table against them.
    ///
    /// # Errors
    /// [`BuildError::Duplicate`], [`BuildError::Exists`]; [`Error::OperationUnderWay`],
    /// [`Error::NameTooLong`], [`Error::TableDropped`], [`Error::IndexKeyTooLong`],
    /// [`Error::MemoryExhausted`]; any error of [`Transaction::lock_table`]. The transaction can go
    /// on as it was before, except for the lock. Aborts.
    ///
    /// # Suspension
    /// Memory waits and an event wait for other transactions.
    ///
    /// # Cancellation
    /// Dropping the future may end the transaction, without effect.
    pub async fn create_index<P: Policy>(
        &self,
        table: &Arc<Table>,
        name: &str,
        description: &[u8],
        options: IndexOptions,
        extract: Extractor,
    ) -> Result<Index, BuildError> {
        self.lock_table(table, TableLockMode::Share, IfLocked::Wait)
            .await?;
        let savepoint = self.savepoint()?;
        let added = self.add_index::<P>(table, name, description, options, extract);
        let built = match added.await {
            Ok(index) => self.fill_index::<P>(&index).await.map(|()| index),
            Err(error) => Err(error.into()),
        };
        if built.is_err() && self.check_open().is_ok() {
            self.rollback_to_in_turns(&savepoint).await?;
        }
        if self.check_open().is_ok() {
            self.release_savepoint(&savepoint)?;
        }
        built
    }

    /// Whether this transaction can read by `index` now: the index is ready and not newer than the
    /// snapshot, or this transaction has made it.
    pub fn can_read_by(&self, index: &Index) -> bool {
        match index.state() {
            IndexState::Ready => index.core.is_complete_for(self.snapshot_or_present()),
            IndexState::Building => self.reads_own_index(&index.core),
            IndexState::Dropped => false,
        }
    }

    fn snapshot_or_present(&self) -> crate::timestamp::Timestamp {
        match self.isolation() {
            Isolation::ReadCommitted => self.session().take_snapshot(),
            Isolation::Snapshot | Isolation::Serializable => self.context().snapshot(),
        }
    }

    /// Whether the transaction has made `index` itself, and reads no older records by it.
    pub(crate) fn reads_own_index(&self, index: &IndexCore) -> bool {
        self.with_effects(|effects| {
            let made = effects.iter().find_map(|effect| match effect {
                Effect::IndexMade {
                    index: made,
                    within: true,
                } if std::ptr::eq(&*made.core, index) => Some(&made.base),
                _ => None,
            });
            made.is_some_and(|base| {
                self.isolation() == Isolation::ReadCommitted
                    || effects.iter().any(|effect| {
                        matches!(effect, Effect::Made(table) if table.number() == base.number())
                    })
            })
        })
    }

    /// Whether the transaction drops `index`, and so need not maintain it: if the drop is undone,
    /// so are all later writes of the transaction.
    #[inline]
    pub(crate) fn drops_index(&self, index: &IndexCore) -> bool {
        let effects = self.context().effects.borrow();
        effects.iter().any(|effect| {
            matches!(effect, Effect::IndexGone { number, .. } if *number == index.catalog_number)
        })
    }

    async fn add_index<P: Policy>(
        &self,
        table: &Arc<Table>,
        name: &str,
        description: &[u8],
        options: IndexOptions,
        extract: Extractor,
    ) -> Result<Index, Error> {
        let operation = Operation::begin(self).await;
        let database = self.session().database();
        let objects = &database.catalog.objects;
        let _snapshot = self.statement(objects)?;
        let key = table.object().ok_or(Error::TableDropped)?;
        let found = self.find_object::<P>(key).await?;
        let found = found.ok_or(Error::TableDropped)?;
        if self.storage(&found.definition)?.number() != table.number() {
            return Err(Error::TableDropped);
        }
        let number = database.catalog.take_number()?;
        let key = ObjectKey {
            index: number,
            ..found.key
        };
        self.take_name::<P>(&operation, name, key).await?;
        let definition = Definition {
            kind: Kind::Index {
                unique: options.unique,
            },
            name: name.to_owned(),
            description: description.to_vec(),
        };
        self.insert::<P>(objects, &key.encode(), &definition.encode())
            .await?;
        self.change_object::<P>(found.key, &found.definition)
            .await?;
        let local = &self.session().memory;
        let index = Index::begin(database, local, table, name, number, options, extract)?;
        let is_added = self.add_own_index(&table.indexes, &index);
        // On failure the caller returns to a savepoint.
        operation.end(is_added.then_some(index).ok_or(Error::TableExists))
    }

    fn add_own_index(&self, list: &Indexes, index: &Index) -> bool {
        let is_added = list.add(&index.core);
        if is_added {
            self.note_effect(Effect::IndexMade {
                index: index.clone(),
                within: true,
            });
        }
        is_added
    }

    /// Gives the new, empty storage the indexes that this transaction has made of the storage
    /// `old`, whose place it takes.
    pub(super) fn copy_own_indexes(&self, new: &Arc<Table>, old: &Arc<Table>) -> Result<(), Error> {
        let database = self.session().database();
        let effects = self.context().effects.borrow();
        let own = effects.iter().filter_map(|effect| match effect {
            Effect::IndexMade {
                index,
                within: true,
            } if Arc::ptr_eq(&index.base, old) => Some(index.core.clone()),
            _ => None,
        });
        let own: Vec<_> = own.collect();
        drop(effects);
        for core in own.into_iter().filter(|core| !self.drops_index(core)) {
            let (name, number) = (core.name(), core.catalog_number);
            let (local, extract) = (&self.session().memory, core.extract.clone());
            let copy = Index::begin(database, local, new, &name, number, core.options, extract)?;
            self.add_own_index(&new.indexes, &copy);
        }
        Ok(())
    }
}
