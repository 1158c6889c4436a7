//! The transaction that the statements of a session run in, and all that ends with it.
//!
//! A transaction begins with the first statement after the last one's end ([`SessionTransaction::enter`]), and has a
//! transaction of the engine's from the first statement on that needs one ([`SessionTransaction::begin`]). Changes of
//! the catalog, plans that were made with them, deferred checks and the transaction's advisory locks last as long, and
//! a savepoint has a mark of each: they are begun, returned and ended here together.
//!
//! | part | file |
//! | --- | --- |
//! | blocks and savepoints | `transaction/block.rs` |
//! | BEGIN, COMMIT, ROLLBACK, savepoints | `transaction/statements.rs` |

mod block;
mod statements;

use std::{cell::RefCell, rc::Rc, sync::Arc};

use engine::{IfLocked, TableLockMode, Transaction};
use types::{Charge, Memory, Result, SqlError, SqlState};

pub(super) use self::block::Characteristics;
use self::block::{Savepoint, TransactionBlock};
use super::{
    changed_rows::ChangedRows,
    deferred::Deferred,
    environment::SessionEnvironment,
    plan_cache::{PlanKey, PrivatePlanCache},
    query::CachedPlan,
    settings::{Effects, SessionSettings, Values},
};
use crate::database::Database;
use advisory::SessionLocks;
use catalog::{Catalog, Changes, Ddl, ObjectId, Table, from_engine};
use logical::bind::Inputs;
use syntax::command::Modes;

pub use self::block::Status;

/// A session's transaction: see the module text.
pub(super) struct SessionTransaction {
    engine: Rc<engine::Session>,
    block: TransactionBlock,
    /// Whether the statement is one of several of a text.
    is_batch: bool,
    /// Whether no statement ends the block.
    is_kept: bool,
    open: Option<Transaction>,
    changes: Changes,
    /// Plans of a transaction that has changed the catalog.
    private_plan_cache: RefCell<PrivatePlanCache>,
    deferred: Deferred,
    advisory: SessionLocks,
    changed_rows: ChangedRows,
}

impl SessionTransaction {
    pub(super) fn new(database: &Database, engine: &Rc<engine::Session>) -> Self {
        Self {
            engine: engine.clone(),
            block: TransactionBlock::default(),
            is_batch: false,
            is_kept: false,
            open: None,
            changes: Changes::new(&database.catalogs),
            private_plan_cache: RefCell::default(),
            deferred: Deferred::default(),
            advisory: SessionLocks::new(&database.advisory),
            changed_rows: ChangedRows::default(),
        }
    }

    /// Returns the engine's session, in which further transactions can be begun.
    pub(super) fn engine(&self) -> &Rc<engine::Session> {
        &self.engine
    }

    /// Returns whether a transaction is open, and whether it has failed.
    pub(super) fn status(&self) -> Status {
        self.block.status()
    }

    /// Returns whether BEGIN has opened a block.
    pub(super) fn is_explicit(&self) -> bool {
        self.block.is_explicit()
    }

    /// Checks that the transaction has not failed.
    ///
    /// # Errors
    /// 25P02 in a block that has failed.
    pub(super) fn check(&self) -> Result<()> {
        self.block.check()
    }

    /// Notes whether the next statements are several of one text.
    pub(super) fn set_batch(&mut self, is_batch: bool) {
        self.is_batch = is_batch;
    }

    pub(super) fn is_batch(&self) -> bool {
        self.is_batch
    }

    /// Notes whether statements that end the block are refused.
    pub(super) fn keep_block(&mut self, is_kept: bool) {
        self.is_kept = is_kept;
    }

    /// Checks that a statement may end the block.
    ///
    /// # Errors
    /// 2D000 if the session's owner alone ends it.
    fn may_end(&self) -> Result<()> {
        if !self.is_kept {
            return Ok(());
        }
        let message = "a statement cannot end the transaction of its program";
        Err(
            SqlError::new(SqlState::INVALID_TRANSACTION_TERMINATION, message)
                .hint("Commit the transaction or roll it back by a call of the program."),
        )
    }

    /// Returns whether state that is kept to the end of the transaction is kept beyond the
    /// statement: several statements of one text are a transaction too.
    pub(super) fn is_in_block(&self) -> bool {
        self.is_explicit() || self.is_batch
    }

    /// Checks that a statement of this name is not alone in its transaction.
    ///
    /// # Errors
    /// 25P01 if it is.
    pub(super) fn needs_block(&self, what: &str) -> Result<()> {
        match self.is_in_block() {
            true => Ok(()),
            false => self.block.in_block(what),
        }
    }

    /// Returns the number of open savepoints.
    pub(super) fn depth(&self) -> usize {
        self.block.depth()
    }

    /// Returns the settings that are restored when the transaction is rolled back.
    pub(super) fn began_with(&self) -> Option<&Values> {
        self.block.began_with()
    }

    /// Begins a statement, which is the first of a transaction if none has begun.
    fn enter(&mut self, settings: &SessionSettings) {
        self.block
            .enter(settings.effects().characteristics, settings.values());
    }

    /// Returns the characteristics of the transaction, or of the next one if none has begun.
    fn characteristics(&self, settings: &SessionSettings) -> Characteristics {
        let own = self.block.characteristics();
        own.unwrap_or(settings.effects().characteristics)
    }

    fn set_modes(&mut self, modes: Modes) -> Result<()> {
        self.block.set_modes(modes, self.open.is_some())
    }

    /// Begins another block with the characteristics of the one that has ended.
    fn chain(&mut self, characteristics: Characteristics, settings: &SessionSettings) {
        self.block.enter(characteristics, settings.values());
        self.block.open();
    }

    /// Begins a transaction of the engine's if there is none; returns whether it did.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(super) fn begin(
        &mut self,
        settings: &SessionSettings,
        environment: &SessionEnvironment,
    ) -> Result<bool> {
        if self.open.is_some() {
            return Ok(false);
        }
        let options = self.characteristics(settings).options();
        let transaction = self.engine.begin(options).map_err(from_engine)?;
        transaction.set_on_conflict(engine::OnConflict::Wait);
        transaction.will_be_undone_in_turns();
        settings.effects().apply(&transaction);
        self.forget_changes();
        environment.begin_transaction();
        self.open = Some(transaction);
        Ok(true)
    }

    /// Returns the transaction of the engine's, if it has begun.
    pub(super) fn begun(&self) -> Option<&Transaction> {
        self.open.as_ref()
    }

    /// Returns the transaction of the engine's, which the statement has begun.
    ///
    /// # Errors
    /// XX000 if it has not.
    pub(super) fn open(&self) -> Result<&Transaction> {
        let open = self.begun();
        open.ok_or_else(|| SqlError::new(SqlState::INTERNAL_ERROR, "no transaction"))
    }

    /// Applies settings that were set or restored.
    pub(super) fn follow(&self, effects: &Effects) {
        if let Some(transaction) = self.begun() {
            effects.apply(transaction);
        }
        self.advisory.set_limit(effects.lock_limit);
    }

    /// Returns the changes that the transaction has made to the catalog.
    pub(super) fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Returns the catalog as the transaction sees it now.
    pub(super) fn catalog(&self) -> Arc<Catalog> {
        self.changes.catalog()
    }

    /// Returns whether the transaction sees this version of the catalog.
    pub(super) fn is_current(&self, catalog: &Catalog) -> bool {
        self.changes.is_current(catalog)
    }

    /// Begins a definition: names in its texts are looked up from now on.
    pub(super) fn begin_definition(&self) {
        self.changes.begin_definition();
    }

    /// Returns the operations that change the catalog.
    ///
    /// # Errors
    /// XX000 if the statement has begun no transaction.
    pub(super) fn ddl(&self) -> Result<Ddl<'_>> {
        Ok(Ddl::new(self.open()?, &self.changes).sparing(&self.deferred))
    }

    /// Locks a table; returns it as it is then, unless it is gone.
    ///
    /// # Errors
    /// 55P03, 40P01 and others of the engine.
    pub(super) async fn lock_table(
        &self,
        table: ObjectId,
        mode: TableLockMode,
        if_locked: IfLocked,
    ) -> Result<Option<Arc<Table>>> {
        let locking = self
            .changes
            .lock_table(self.open()?, table, mode, if_locked);
        locking.await
    }

    /// Returns the checks that are put off until the commit.
    pub(super) fn deferred(&self) -> &Deferred {
        &self.deferred
    }

    /// Returns the rows that the transaction has changed.
    pub(super) fn changed_rows(&self) -> &ChangedRows {
        &self.changed_rows
    }

    /// Returns the advisory locks of the session; some last until the transaction ends.
    pub(super) fn advisory(&self) -> &SessionLocks {
        &self.advisory
    }

    /// Returns a plan that was kept for the transaction alone, made with its own changes of the catalog.
    pub(super) fn private_plan(
        &self,
        plan_key: PlanKey<'_>,
        inputs: &Arc<Inputs>,
    ) -> Option<Arc<CachedPlan>> {
        self.private_plan_cache.borrow().find(plan_key, inputs)
    }

    /// Keeps a plan for the transaction alone, charged to `memory`.
    pub(super) fn keep_private_plan(
        &self,
        plan_key: PlanKey<'_>,
        cached_plan: &Arc<CachedPlan>,
        memory: &Rc<Memory>,
    ) {
        let mut cache = self.private_plan_cache.borrow_mut();
        cache.keep(plan_key, cached_plan, memory);
    }

    /// Drops the plans that were kept for the transaction alone.
    pub(super) fn forget_private_plans(&self) {
        self.private_plan_cache.borrow_mut().clear();
    }

    /// Drops what there is of the transaction's changes of the catalog, when it ends.
    fn forget_changes(&self) {
        self.changes.clear();
        self.forget_private_plans();
    }

    /// Makes a savepoint, charged to `memory`.
    ///
    /// # Errors
    /// 53200 if there is no memory for it.
    fn save(&mut self, name: &str, settings: &SessionSettings, memory: &Rc<Memory>) -> Result<()> {
        let mut charge = Charge::default();
        // The list of savepoints may be twice as long as it is full.
        charge.set(memory, 2 * size_of::<Savepoint>() + name.len())?;
        let savepoint = Savepoint {
            _charge: charge,
            name: name.to_owned(),
            mark: self.changes.mark(self.open()?)?,
            read_only: self.characteristics(settings).read_only,
            settings: settings.values().clone(),
            locks: self.advisory.mark(),
            constraints: self.deferred.mark(),
        };
        self.block.push_savepoint(savepoint);
        Ok(())
    }

    /// Releases a savepoint and those within it; returns how many are left.
    ///
    /// # Errors
    /// 3B001 if there is none with the name.
    fn release(&mut self, name: &str) -> Result<usize> {
        let (depth, savepoint) = self.block.savepoint(name)?;
        if let Some(transaction) = &self.open {
            self.changes.release(transaction, &savepoint.mark)?;
        }
        self.block.release(depth);
        Ok(depth)
    }

    /// Forgets the savepoints within the one of a name; returns its number. [`Self::return_to_savepoint`] follows.
    ///
    /// # Errors
    /// 3B001 if there is none with the name.
    fn leave_savepoints(&mut self, name: &str) -> Result<usize> {
        let (depth, _) = self.block.savepoint(name)?;
        self.block.leave_savepoints(depth);
        Ok(depth)
    }

    /// Returns to the innermost savepoint; returns the settings then.
    async fn return_to_savepoint(&mut self) -> Result<Option<Values>> {
        let Some(savepoint) = self.block.last_savepoint() else {
            return Ok(None);
        };
        if let Some(transaction) = &self.open {
            self.changes.return_to(transaction, &savepoint.mark).await?;
        }
        self.advisory.return_to(savepoint.locks);
        self.deferred.return_to(&savepoint.constraints);
        Ok(self.block.heal())
    }

    /// Notes that a statement has failed. In a block, which goes on until its end, the writes up to the last
    /// savepoint are undone, and their locks released: the client may take any time to say ROLLBACK. Returns whether
    /// there is a block; a transaction without one is to be rolled back.
    ///
    /// # Cancellation
    /// Dropping the future undoes the rest at once.
    pub(super) async fn fail(&mut self) -> bool {
        self.is_batch = false;
        if !self.block.fail() {
            return false;
        }
        let Some(savepoint) = self.block.last_savepoint() else {
            self.roll_back().await;
            return true;
        };
        if let Some(transaction) = &self.open {
            // An error says that the transaction is over: then all of it is undone, if it is not yet.
            let returned = self.changes.return_to(transaction, &savepoint.mark);
            if returned.await.is_err() {
                transaction.undo_aborted_in_turns().await;
            }
        }
        self.advisory.return_to(savepoint.locks);
        true
    }

    /// Commits. All that lasts as long has ended then.
    ///
    /// # Errors
    /// 40001 and others; the transaction is to be rolled back then.
    async fn commit(&mut self) -> Result<()> {
        self.deferred.clear();
        if let Some(transaction) = self.open.take() {
            let committed = transaction.commit().await;
            self.forget_changes();
            committed.map_err(from_engine)?;
            self.changed_rows.publish();
        }
        self.advisory.return_to(0);
        self.block = TransactionBlock::default();
        Ok(())
    }

    /// Ends the block of a transaction that is about to be rolled back; returns the settings at its beginning.
    fn leave(&mut self) -> Option<Values> {
        self.deferred.clear();
        self.changed_rows.forget();
        self.forget_changes();
        std::mem::take(&mut self.block).into_began_with()
    }

    /// Undoes what the engine's transaction has written, and releases its locks.
    async fn roll_back(&mut self) {
        if let Some(transaction) = self.open.take() {
            transaction.rollback_in_turns().await;
        }
        self.advisory.return_to(0);
    }
}
