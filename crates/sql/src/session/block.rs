//! Transaction blocks: opened by BEGIN, and failed by the error of a statement.

use std::pin::pin;

use engine::{Isolation, TransactionOptions};
use types::{Result, SqlError, SqlState};

use super::{Notice, Session, Sink, Tag, cursor::Cursor, deferred, settings::Values};
use catalog::{Mark, from_engine};
use syntax::command::{Command, Level, Modes};

/// The state of a session between its statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// No transaction is open.
    Idle,
    /// A transaction block is open.
    Open,
    /// A failed transaction block is open: every statement is refused but those that end the block.
    Failed,
}

/// The characteristics of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Characteristics {
    pub(super) level: Level,
    pub(super) read_only: bool,
}

impl Default for Characteristics {
    fn default() -> Self {
        Self {
            level: Level::ReadCommitted,
            read_only: false,
        }
    }
}

impl Characteristics {
    fn options(self) -> TransactionOptions {
        TransactionOptions {
            isolation: match self.level {
                Level::ReadUncommitted | Level::ReadCommitted => Isolation::ReadCommitted,
                Level::RepeatableRead => Isolation::Snapshot,
                Level::Serializable => Isolation::Serializable,
            },
            read_only: self.read_only,
        }
    }
}

/// A transaction, from its first statement or BEGIN on.
#[derive(Debug, Default)]
pub(super) struct TransactionBlock {
    is_explicit: bool,
    is_failed: bool,
    /// State at the beginning of the transaction; `None` between transactions.
    began: Option<Began>,
    savepoints: Vec<Savepoint>,
}

#[derive(Debug, Clone)]
struct Began {
    characteristics: Characteristics,
    settings: Values,
}

#[derive(Debug)]
struct Savepoint {
    name: String,
    mark: Mark,
    read_only: bool,
    settings: Values,
    /// Mark of the advisory locks.
    locks: usize,
    /// Mark of the deferred checks, and of SET CONSTRAINTS.
    constraints: deferred::Mark,
}

impl TransactionBlock {
    pub(super) fn status(&self) -> Status {
        match (self.is_explicit, self.is_failed) {
            (false, _) => Status::Idle,
            (true, false) => Status::Open,
            (true, true) => Status::Failed,
        }
    }

    pub(super) fn is_explicit(&self) -> bool {
        self.is_explicit
    }

    /// Returns the settings that are restored when the block is rolled back.
    pub(super) fn began_with(&self) -> Option<&Values> {
        self.began.as_ref().map(|began| &began.settings)
    }

    /// Returns the number of open savepoints.
    pub(super) fn depth(&self) -> usize {
        self.savepoints.len()
    }

    /// Notes that a statement has failed; returns whether there is a block that goes on until its
    /// end.
    pub(super) fn fail(&mut self) -> bool {
        self.is_failed = self.is_explicit;
        self.is_explicit
    }

    /// Checks that the block has not failed.
    ///
    /// # Errors
    /// 25P02 in a block that has failed.
    pub(super) fn check(&self) -> Result<()> {
        if !self.is_failed {
            return Ok(());
        }
        Err(SqlError::new(
            SqlState::IN_FAILED_SQL_TRANSACTION,
            "current transaction is aborted, commands ignored until end of transaction block",
        ))
    }

    fn savepoint(&self, name: &str) -> Result<usize> {
        let mut savepoints = self.savepoints.iter();
        let found = savepoints.rposition(|savepoint| savepoint.name == name);
        found.ok_or_else(|| {
            let message = format!("savepoint \"{name}\" does not exist");
            SqlError::new(SqlState::INVALID_SAVEPOINT_SPECIFICATION, message)
        })
    }
}

fn active(message: &'static str) -> SqlError {
    SqlError::new(SqlState::ACTIVE_SQL_TRANSACTION, message)
}

impl Session {
    /// Begins a statement, which is the first of a transaction if none has begun.
    pub(super) fn enter(&mut self) {
        if self.block.began.is_none() {
            self.block.began = Some(Began {
                characteristics: self.settings.effects().characteristics,
                settings: self.settings.values().clone(),
            });
        }
    }

    /// Returns the characteristics of the transaction, or of the next one if none is open.
    pub(super) fn characteristics(&self) -> Characteristics {
        let began = self.block.began.as_ref();
        began.map_or(self.settings.effects().characteristics, |began| {
            began.characteristics
        })
    }

    pub(super) fn options(&self) -> TransactionOptions {
        self.characteristics().options()
    }

    /// Checks that the transaction may write, which a statement of this name does.
    ///
    /// # Errors
    /// 25006 if the transaction only reads.
    pub(super) fn may_write(&self, statement: &str) -> Result<()> {
        if !self.characteristics().read_only {
            return Ok(());
        }
        let message = format!("cannot execute {statement} in a read-only transaction");
        Err(SqlError::new(SqlState::READ_ONLY_SQL_TRANSACTION, message))
    }

    pub(super) async fn control(&mut self, command: &Command, sink: &mut impl Sink) -> Result<()> {
        match command {
            Command::Begin { modes, .. } => {
                if self.block.is_explicit {
                    let message = "there is already a transaction in progress";
                    let notice = Notice::warning(SqlState::ACTIVE_SQL_TRANSACTION, message);
                    self.tell(sink, &notice);
                }
                // Earlier statements of the text belong to the block from now on.
                self.block.is_explicit = true;
                self.set_modes(*modes)
            }
            Command::RollbackTo(name) => {
                self.in_block("ROLLBACK TO SAVEPOINT")?;
                self.return_to(name).await
            }
            Command::Savepoint(name) => {
                self.in_block("SAVEPOINT")?;
                self.begin()?;
                if let Some(transaction) = &self.transaction {
                    let savepoint = Savepoint {
                        name: name.clone(),
                        mark: self.changes.mark(transaction)?,
                        read_only: self.characteristics().read_only,
                        settings: self.settings.values().clone(),
                        locks: self.advisory.mark(),
                        constraints: self.deferred.mark(),
                    };
                    self.block.savepoints.push(savepoint);
                }
                Ok(())
            }
            Command::Release(name) => {
                self.in_block("RELEASE SAVEPOINT")?;
                let at = self.block.savepoint(name)?;
                if let (Some(transaction), Some(savepoint)) =
                    (&self.transaction, self.block.savepoints.get(at))
                {
                    self.changes.release(transaction, &savepoint.mark)?;
                    // SET TRANSACTION holds as long as its savepoint.
                    if let Some(began) = &mut self.block.began {
                        began.characteristics.read_only = savepoint.read_only;
                    }
                }
                self.block.savepoints.truncate(at);
                self.suspended.release(at);
                Ok(())
            }
            _ => Err(SqlError::new(
                SqlState::INTERNAL_ERROR,
                "not a transaction's statement",
            )),
        }
    }

    /// Carries out COMMIT, which rolls a failed transaction back.
    pub(super) async fn commit_block(&mut self, chains: bool, sink: &mut impl Sink) -> Result<()> {
        let commits = !self.block.is_failed;
        self.end_block("COMMIT", commits, chains, sink).await
    }

    /// Carries out ROLLBACK.
    pub(super) async fn roll_back_block(
        &mut self,
        chains: bool,
        sink: &mut impl Sink,
    ) -> Result<()> {
        self.end_block("ROLLBACK", false, chains, sink).await
    }

    async fn return_to(&mut self, name: &str) -> Result<()> {
        let at = self.block.savepoint(name)?;
        self.block.savepoints.truncate(at + 1);
        // Cursors that were declared after the savepoint are gone; the positions of others stay.
        self.cursors.retain(|cursor| cursor.depth() <= at);
        self.suspended.return_to(at);
        let Some(savepoint) = self.block.savepoints.last() else {
            return Ok(());
        };
        if let Some(transaction) = &self.transaction {
            self.changes.return_to(transaction, &savepoint.mark).await?;
        }
        self.advisory.return_to(savepoint.locks);
        self.deferred.return_to(&savepoint.constraints);
        let (read_only, settings) = (savepoint.read_only, savepoint.settings.clone());
        if let Some(began) = &mut self.block.began {
            began.characteristics.read_only = read_only;
        }
        self.block.is_failed = false;
        self.restore(settings);
        Ok(())
    }

    /// Returns whether state that is kept to the end of the transaction is kept beyond the
    /// statement: several statements of one text are a transaction too.
    pub(super) fn is_in_block(&self) -> bool {
        self.block.is_explicit || self.is_batch
    }

    pub(super) fn needs_block(&self, what: &str) -> Result<()> {
        match self.is_in_block() {
            true => Ok(()),
            false => self.in_block(what),
        }
    }

    fn in_block(&self, what: &str) -> Result<()> {
        if self.block.is_explicit {
            return Ok(());
        }
        let message = format!("{what} can only be used in transaction blocks");
        Err(SqlError::new(SqlState::NO_ACTIVE_SQL_TRANSACTION, message))
    }

    /// Carries out COMMIT or ROLLBACK, and with AND CHAIN begins another block of the same kind.
    async fn end_block(
        &mut self,
        word: &'static str,
        commits: bool,
        chains: bool,
        sink: &mut impl Sink,
    ) -> Result<()> {
        if !self.block.is_explicit {
            if chains {
                self.in_block(&format!("{word} AND CHAIN"))?;
            }
            let message = "there is no transaction in progress";
            self.tell(
                sink,
                &Notice::warning(SqlState::NO_ACTIVE_SQL_TRANSACTION, message),
            );
        }
        let characteristics = self.characteristics();
        self.end(commits).await?;
        if chains {
            self.enter();
            self.block.is_explicit = true;
            if let Some(began) = &mut self.block.began {
                began.characteristics = characteristics;
            }
        }
        sink.complete(Tag::Word(if commits { "COMMIT" } else { "ROLLBACK" }))
    }

    /// Changes the characteristics of the transaction.
    ///
    /// # Errors
    /// 25001 if it is too late for that; 0A000 for DEFERRABLE.
    pub(super) fn set_modes(&mut self, modes: Modes) -> Result<()> {
        self.enter();
        let has_begun = self.transaction.is_some();
        let is_nested = !self.block.savepoints.is_empty();
        if modes.deferrable == Some(true) {
            return Err(SqlError::unsupported("DEFERRABLE"));
        }
        let Some(began) = &mut self.block.began else {
            return Ok(());
        };
        let now = &mut began.characteristics;
        if let Some(level) = modes.level
            && level != now.level
        {
            if has_begun {
                return Err(active(match is_nested {
                    true => {
                        "SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction"
                    }
                    false => "SET TRANSACTION ISOLATION LEVEL must be called before any query",
                }));
            }
            now.level = level;
        }
        if let Some(read_only) = modes.read_only {
            if now.read_only && !read_only && has_begun {
                return Err(active(match is_nested {
                    true => "cannot set transaction read-write mode inside a read-only transaction",
                    false => "transaction read-write mode must be set before any query",
                }));
            }
            now.read_only = read_only;
        }
        Ok(())
    }

    /// Commits a transaction that no BEGIN has opened: the end of a series of prepared statements.
    ///
    /// # Errors
    /// 40001 and others if it could not be committed.
    pub async fn end_implicit(&mut self) -> Result<()> {
        if self.block.is_explicit {
            return Ok(());
        }
        self.end(true).await
    }

    async fn end(&mut self, commits: bool) -> Result<()> {
        if !commits {
            self.roll_back().await;
            return Ok(());
        }
        let mut kept = Ok(());
        if self.cursors.iter().any(|cursor| cursor.is_held) {
            kept = self.complete_held_cursors().await;
        }
        if kept.is_ok() && self.deferred.is_any() {
            let keeping = pin!(self.keep_deferred(None));
            kept = self.interruptibly(keeping).await;
        }
        // The commit itself follows, which cannot be given up.
        if let Err(error) = kept {
            self.roll_back().await;
            return Err(error);
        }
        self.deferred.clear();
        if let Some(transaction) = self.transaction.take() {
            let committed = transaction.commit().await;
            self.forget_changes();
            if let Err(error) = committed {
                self.roll_back().await;
                return Err(from_engine(error));
            }
        }
        self.advisory.return_to(0);
        self.block = TransactionBlock::default();
        self.cursors.retain(|cursor| cursor.is_held);
        self.cursors.iter_mut().for_each(Cursor::commit);
        self.suspended.end();
        self.keep_settings();
        Ok(())
    }

    /// Undoes the writes of a failed block, up to its last savepoint, and releases its locks: the
    /// client may take any time to say ROLLBACK.
    ///
    /// # Cancellation
    /// Dropping the future undoes the rest at once.
    pub(super) async fn undo_failed(&mut self) {
        let Some(savepoint) = self.block.savepoints.last() else {
            if let Some(transaction) = self.transaction.take() {
                transaction.rollback_in_turns().await;
            }
            self.advisory.return_to(0);
            return;
        };
        if let Some(transaction) = &self.transaction {
            // An error says that the transaction is over: then all of it is undone, if it is not
            // yet.
            if self
                .changes
                .return_to(transaction, &savepoint.mark)
                .await
                .is_err()
            {
                transaction.undo_aborted_in_turns().await;
            }
        }
        self.advisory.return_to(savepoint.locks);
    }

    /// Rolls the transaction back.
    ///
    /// # Cancellation
    /// Dropping the future undoes the rest at once; locks of the session's own are given up the
    /// next time.
    pub(super) async fn roll_back(&mut self) {
        let block = std::mem::take(&mut self.block);
        self.deferred.clear();
        self.forget_changes();
        self.cursors.retain(Cursor::is_committed);
        self.suspended.end();
        self.forget_settings(block.began.map(|began| began.settings));
        if let Some(transaction) = self.transaction.take() {
            transaction.rollback_in_turns().await;
        }
        self.advisory.return_to(0);
    }
}
