//! The state of a transaction block: opened by BEGIN, failed by the error of a statement, with its savepoints.

use engine::{Isolation, TransactionOptions};
use types::{Charge, Result, SqlError, SqlState};

use crate::session::{deferred, settings::Values};
use catalog::Mark;
use syntax::command::{Level, Modes};

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
pub(in crate::session) struct Characteristics {
    pub(in crate::session) level: Level,
    pub(in crate::session) read_only: bool,
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
    pub(super) fn options(self) -> TransactionOptions {
        TransactionOptions {
            isolation: match self.level {
                Level::ReadUncommitted | Level::ReadCommitted => Isolation::ReadCommitted,
                Level::RepeatableRead => Isolation::Snapshot,
                Level::Serializable => Isolation::Serializable,
            },
            read_only: self.read_only,
        }
    }

    /// Checks that a transaction may write, which a statement of this name does.
    ///
    /// # Errors
    /// 25006 if it only reads.
    pub(in crate::session) fn may_write(self, statement: &str) -> Result<()> {
        if !self.read_only {
            return Ok(());
        }
        let message = format!("cannot execute {statement} in a read-only transaction");
        Err(SqlError::new(SqlState::READ_ONLY_SQL_TRANSACTION, message))
    }
}

/// A transaction, from its first statement or BEGIN on.
#[derive(Debug, Default)]
pub(in crate::session) struct TransactionBlock {
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

/// The state to which ROLLBACK TO returns.
#[derive(Debug)]
pub(super) struct Savepoint {
    pub(super) name: String,
    pub(super) mark: Mark,
    pub(super) settings: Values,
    /// Mark of the advisory locks.
    pub(super) locks: usize,
    /// Mark of the deferred checks, and of SET CONSTRAINTS.
    pub(super) constraints: deferred::Mark,
    /// Whether the transaction only read then.
    pub(super) read_only: bool,
    /// Charge for the savepoint and its name.
    pub(super) _charge: Charge,
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

    /// Begins the first statement of a transaction, with these characteristics and settings.
    pub(super) fn enter(&mut self, characteristics: Characteristics, settings: &Values) {
        if self.began.is_none() {
            self.began = Some(Began {
                characteristics,
                settings: settings.clone(),
            });
        }
    }

    /// Opens a block. Earlier statements of the text belong to it from now on.
    pub(super) fn open(&mut self) {
        self.is_explicit = true;
    }

    /// Returns whether COMMIT would commit the block.
    pub(super) fn is_sound(&self) -> bool {
        !self.is_failed
    }

    /// Returns the characteristics of the transaction, if it has begun.
    pub(super) fn characteristics(&self) -> Option<Characteristics> {
        self.began.as_ref().map(|began| began.characteristics)
    }

    /// Checks that there is a block.
    ///
    /// # Errors
    /// 25P01 if there is none, for a statement of this name.
    pub(super) fn in_block(&self, what: &str) -> Result<()> {
        if self.is_explicit {
            return Ok(());
        }
        let message = format!("{what} can only be used in transaction blocks");
        Err(SqlError::new(SqlState::NO_ACTIVE_SQL_TRANSACTION, message))
    }

    /// Changes the characteristics of the transaction; `has_begun` in the engine's terms.
    ///
    /// # Errors
    /// 25001 if it is too late for that; 0A000 for DEFERRABLE.
    pub(super) fn set_modes(&mut self, modes: Modes, has_begun: bool) -> Result<()> {
        let is_nested = !self.savepoints.is_empty();
        if modes.deferrable == Some(true) {
            return Err(SqlError::unsupported("DEFERRABLE"));
        }
        let Some(began) = &mut self.began else {
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

    /// Returns the innermost savepoint.
    pub(super) fn last_savepoint(&self) -> Option<&Savepoint> {
        self.savepoints.last()
    }

    pub(super) fn push_savepoint(&mut self, savepoint: Savepoint) {
        self.savepoints.push(savepoint);
    }

    /// Releases a savepoint by its number, and those within it.
    pub(super) fn release(&mut self, at: usize) {
        if let Some(savepoint) = self.savepoints.get(at)
            && let Some(began) = &mut self.began
        {
            // SET TRANSACTION holds as long as its savepoint.
            began.characteristics.read_only = savepoint.read_only;
        }
        self.savepoints.truncate(at);
    }

    /// Forgets the savepoints within the one with this number.
    pub(super) fn leave_savepoints(&mut self, at: usize) {
        self.savepoints.truncate(at + 1);
    }

    /// Heals the block after the return to its innermost savepoint; returns the settings then.
    pub(super) fn heal(&mut self) -> Option<Values> {
        let savepoint = self.savepoints.last()?;
        if let Some(began) = &mut self.began {
            began.characteristics.read_only = savepoint.read_only;
        }
        self.is_failed = false;
        Some(savepoint.settings.clone())
    }

    /// Returns the number and the savepoint of a name.
    ///
    /// # Errors
    /// 3B001 if there is none.
    pub(super) fn savepoint(&self, name: &str) -> Result<(usize, &Savepoint)> {
        let mut savepoints = self.savepoints.iter().enumerate();
        let found = savepoints.rfind(|(_, savepoint)| savepoint.name == name);
        found.ok_or_else(|| {
            let message = format!("savepoint \"{name}\" does not exist");
            SqlError::new(SqlState::INVALID_SAVEPOINT_SPECIFICATION, message)
        })
    }

    /// Returns the settings at the beginning of the transaction, which ends.
    pub(super) fn into_began_with(self) -> Option<Values> {
        self.began.map(|began| began.settings)
    }
}

fn active(message: &'static str) -> SqlError {
    SqlError::new(SqlState::ACTIVE_SQL_TRANSACTION, message)
}
