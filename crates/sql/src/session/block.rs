//! Transaction blocks: what BEGIN opens, and what a failed statement does to it.

use engine::{Isolation, TransactionOptions};
use sqlparser::ast::{
    Statement, TransactionAccessMode, TransactionIsolationLevel, TransactionMode,
};
use types::{Result, SqlError, SqlState};

use super::{Session, Sink, Tag};
use crate::{
    catalog::{Mark, from_engine},
    name,
};

/// Where a session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Between transactions.
    Idle,
    /// In a transaction block.
    Open,
    /// In one that has failed: all but its end is refused.
    Failed,
}

/// A transaction block, and how its transaction is begun.
#[derive(Debug, Default)]
pub(super) struct Block {
    is_explicit: bool,
    is_failed: bool,
    isolation: Option<Isolation>,
    read_only: bool,
    savepoints: Vec<(String, Mark)>,
}

impl Block {
    pub(super) fn status(&self) -> Status {
        match (self.is_explicit, self.is_failed) {
            (false, _) => Status::Idle,
            (true, false) => Status::Open,
            (true, true) => Status::Failed,
        }
    }

    pub(super) fn options(&self) -> TransactionOptions {
        TransactionOptions {
            isolation: self.isolation.unwrap_or(Isolation::ReadCommitted),
            read_only: self.read_only,
        }
    }

    /// A statement has failed; whether there is a block that goes on until its end.
    pub(super) fn fail(&mut self) -> bool {
        self.is_failed = self.is_explicit;
        self.is_explicit
    }

    /// # Errors
    /// 25P02 for a statement that a failed block refuses.
    pub(super) fn check(&self, statement: &Statement) -> Result<()> {
        match statement {
            Statement::Commit { .. } | Statement::Rollback { .. } => Ok(()),
            _ => self.check_open(),
        }
    }

    /// The same for any statement but an end.
    ///
    /// # Errors
    /// 25P02.
    pub(super) fn check_open(&self) -> Result<()> {
        if !self.is_failed {
            return Ok(());
        }
        Err(SqlError::new(
            SqlState::IN_FAILED_SQL_TRANSACTION,
            "current transaction is aborted, commands ignored until end of transaction block",
        ))
    }

    fn savepoint(&self, name: &str) -> Result<usize> {
        let found = self.savepoints.iter().rposition(|(other, _)| other == name);
        found.ok_or_else(|| {
            let message = format!("savepoint \"{name}\" does not exist");
            SqlError::new(SqlState::INVALID_SAVEPOINT_SPECIFICATION, message)
        })
    }
}

impl Session {
    pub(super) async fn control(
        &mut self,
        statement: &Statement,
        sink: &mut impl Sink,
    ) -> Result<()> {
        match statement {
            Statement::StartTransaction { modes, .. } => {
                if !self.block.is_explicit {
                    self.end_implicit().await?;
                    self.block = Block {
                        is_explicit: true,
                        ..Block::default()
                    };
                    self.set_modes(modes)?;
                }
                sink.complete(Tag::Word("BEGIN"))
            }
            Statement::Commit { .. } => {
                let failed = self.block.is_failed;
                self.end(!failed).await?;
                sink.complete(Tag::Word(if failed { "ROLLBACK" } else { "COMMIT" }))
            }
            Statement::Rollback {
                savepoint: None, ..
            } => {
                self.end(false).await?;
                sink.complete(Tag::Word("ROLLBACK"))
            }
            Statement::Rollback {
                savepoint: Some(name),
                ..
            } => {
                let at = self.block.savepoint(&name::fold(name))?;
                self.block.savepoints.truncate(at + 1);
                if let (Some(transaction), Some((_, mark))) =
                    (&self.transaction, self.block.savepoints.last())
                {
                    self.changes.return_to(transaction, mark)?;
                }
                self.deferred.look_again();
                self.block.is_failed = false;
                sink.complete(Tag::Word("ROLLBACK"))
            }
            Statement::Savepoint { name } => {
                self.in_block("SAVEPOINT")?;
                self.begin()?;
                if let Some(transaction) = &self.transaction {
                    let mark = self.changes.mark(transaction)?;
                    self.block.savepoints.push((name::fold(name), mark));
                }
                sink.complete(Tag::Word("SAVEPOINT"))
            }
            Statement::ReleaseSavepoint { name } => {
                self.in_block("RELEASE SAVEPOINT")?;
                let at = self.block.savepoint(&name::fold(name))?;
                if let (Some(transaction), Some((_, mark))) =
                    (&self.transaction, self.block.savepoints.get(at))
                {
                    self.changes.release(transaction, mark)?;
                }
                self.block.savepoints.truncate(at);
                sink.complete(Tag::Word("RELEASE"))
            }
            _ => Err(SqlError::new(
                SqlState::INTERNAL_ERROR,
                "not a transaction's statement",
            )),
        }
    }

    fn in_block(&self, what: &str) -> Result<()> {
        if self.block.is_explicit {
            return Ok(());
        }
        let message = format!("{what} can only be used in transaction blocks");
        Err(SqlError::new(SqlState::NO_ACTIVE_SQL_TRANSACTION, message))
    }

    pub(super) fn set_modes(&mut self, modes: &[TransactionMode]) -> Result<()> {
        for mode in modes {
            match mode {
                TransactionMode::AccessMode(access) => {
                    self.block.read_only = *access == TransactionAccessMode::ReadOnly;
                }
                TransactionMode::IsolationLevel(level) => {
                    self.block.isolation = Some(match level {
                        TransactionIsolationLevel::ReadUncommitted
                        | TransactionIsolationLevel::ReadCommitted => Isolation::ReadCommitted,
                        TransactionIsolationLevel::RepeatableRead
                        | TransactionIsolationLevel::Snapshot => Isolation::Snapshot,
                        TransactionIsolationLevel::Serializable => Isolation::Serializable,
                    });
                }
            }
        }
        Ok(())
    }

    /// Commits what no BEGIN has opened: the end of a series of prepared statements.
    ///
    /// # Errors
    /// 40001 and the like: it could not be committed.
    pub async fn end_implicit(&mut self) -> Result<()> {
        if self.block.is_explicit {
            return Ok(());
        }
        self.end(true).await
    }

    async fn end(&mut self, commits: bool) -> Result<()> {
        if commits && let Err(error) = self.keep_deferred(None).await {
            self.roll_back();
            return Err(error);
        }
        self.deferred.clear();
        self.block = Block::default();
        let Some(transaction) = self.transaction.take() else {
            return Ok(());
        };
        if !commits {
            transaction.rollback();
            self.changes.clear();
            return Ok(());
        }
        let committed = transaction.commit().await;
        self.changes.clear();
        committed.map(drop).map_err(from_engine)
    }

    pub(super) fn roll_back(&mut self) {
        self.deferred.clear();
        self.block = Block::default();
        if let Some(transaction) = self.transaction.take() {
            transaction.rollback();
        }
        self.changes.clear();
    }
}
