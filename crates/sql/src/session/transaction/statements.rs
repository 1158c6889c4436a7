//! BEGIN, COMMIT, ROLLBACK and savepoints, and the end of a transaction that none of them has opened.
//!
//! Cursors, suspended queries and settings, which are in other parts of the session, end with the transaction here.

use std::pin::pin;

use types::{Result, SqlError, SqlState};

use super::Characteristics;
use crate::session::{CommandTag, Notice, Session, Sink, interrupt::interruptible};
use syntax::command::{Command, Modes};

impl Session {
    /// Begins a statement, which is the first of a transaction if none has begun.
    pub(in crate::session) fn enter(&mut self) {
        self.transaction.enter(&self.settings);
    }

    /// Returns the characteristics of the transaction, or of the next one if none is open.
    pub(in crate::session) fn characteristics(&self) -> Characteristics {
        self.transaction.characteristics(&self.settings)
    }

    /// Checks that the transaction may write, which a statement of this name does.
    ///
    /// # Errors
    /// 25006 if the transaction only reads.
    pub(in crate::session) fn may_write(&self, statement: &str) -> Result<()> {
        self.characteristics().may_write(statement)
    }

    pub(in crate::session) async fn control(
        &mut self,
        command: &Command,
        sink: &mut impl Sink,
    ) -> Result<()> {
        match command {
            Command::Begin { modes, .. } => {
                if self.transaction.is_explicit() {
                    let message = "there is already a transaction in progress";
                    let notice = Notice::warning(SqlState::ACTIVE_SQL_TRANSACTION, message);
                    self.tell(sink, &notice);
                }
                self.transaction.block.open();
                self.set_modes(*modes)
            }
            Command::RollbackTo(name) => {
                self.transaction.block.in_block("ROLLBACK TO SAVEPOINT")?;
                self.return_to(name).await
            }
            Command::Savepoint(name) => {
                self.transaction.block.in_block("SAVEPOINT")?;
                self.begin()?;
                self.transaction
                    .save(name, &self.settings, self.memory.kept())
            }
            Command::Release(name) => {
                self.transaction.block.in_block("RELEASE SAVEPOINT")?;
                let depth = self.transaction.release(name)?;
                self.suspended.release(depth);
                Ok(())
            }
            _ => Err(SqlError::new(
                SqlState::INTERNAL_ERROR,
                "not a transaction's statement",
            )),
        }
    }

    /// Carries out COMMIT, which rolls a failed transaction back.
    pub(in crate::session) async fn commit_block(
        &mut self,
        chains: bool,
        sink: &mut impl Sink,
    ) -> Result<()> {
        let commits = self.transaction.block.is_sound();
        self.end_block("COMMIT", commits, chains, sink).await
    }

    /// Carries out ROLLBACK.
    pub(in crate::session) async fn roll_back_block(
        &mut self,
        chains: bool,
        sink: &mut impl Sink,
    ) -> Result<()> {
        self.end_block("ROLLBACK", false, chains, sink).await
    }

    async fn return_to(&mut self, name: &str) -> Result<()> {
        let depth = self.transaction.leave_savepoints(name)?;
        self.cursors.return_to(depth);
        self.suspended.return_to(depth);
        if let Some(settings) = self.transaction.return_to_savepoint().await? {
            self.restore(settings);
        }
        Ok(())
    }

    /// Carries out COMMIT or ROLLBACK, and with AND CHAIN begins another block of the same kind.
    ///
    /// # Errors
    /// 2D000 if the session's owner alone ends the block; errors of the commit.
    async fn end_block(
        &mut self,
        word: &'static str,
        commits: bool,
        chains: bool,
        sink: &mut impl Sink,
    ) -> Result<()> {
        self.transaction.may_end()?;
        if !self.transaction.is_explicit() {
            if chains {
                self.transaction
                    .block
                    .in_block(&format!("{word} AND CHAIN"))?;
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
            self.transaction.chain(characteristics, &self.settings);
        }
        sink.complete(CommandTag::Word(if commits {
            "COMMIT"
        } else {
            "ROLLBACK"
        }))
    }

    /// Changes the characteristics of the transaction.
    ///
    /// # Errors
    /// 25001 if it is too late for that; 0A000 for DEFERRABLE.
    pub(in crate::session) fn set_modes(&mut self, modes: Modes) -> Result<()> {
        self.enter();
        self.transaction.set_modes(modes)
    }

    /// Commits a transaction that no BEGIN has opened: the end of a series of prepared statements.
    ///
    /// # Errors
    /// 40001 and others if it could not be committed.
    pub async fn end_implicit(&mut self) -> Result<()> {
        if self.transaction.is_explicit() {
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
        if self.cursors.any_held() {
            kept = self.complete_held_cursors().await;
        }
        if kept.is_ok() && self.transaction.deferred().is_any() {
            let keeping = pin!(self.keep_deferred(None));
            kept = interruptible(&mut self.limits(), keeping).await;
        }
        // The commit itself follows, which cannot be given up.
        if kept.is_ok() {
            kept = self.transaction.commit().await;
        }
        if let Err(error) = kept {
            self.roll_back().await;
            return Err(error);
        }
        self.cursors.commit();
        self.suspended.end();
        self.keep_settings();
        Ok(())
    }

    /// Rolls the transaction back.
    ///
    /// # Cancellation
    /// Dropping the future undoes the rest at once; locks of the session's own are given up the
    /// next time.
    pub(in crate::session) async fn roll_back(&mut self) {
        let began_with = self.transaction.leave();
        self.cursors.roll_back();
        self.suspended.end();
        self.environment.forget_pending();
        self.forget_settings(began_with);
        self.transaction.roll_back().await;
    }
}
