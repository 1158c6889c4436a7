//! Statements about the session itself: transactions, settings, prepared statements, cursors,
//! roles, locks, and what is refused by name.
//!
//! They are sequences of words with hardly an expression in them, and `sqlparser` knows a few forms
//! of each only; they are read here therefore, in PostgreSQL's whole grammar and with its errors. What
//! begins as none of them is left to the parser.

mod cursor;
mod lock;
mod prepared;
mod reader;
mod role;
mod setting;
mod transaction;

use engine::TableLockMode;
use types::{Result, SqlError};

use self::reader::Reader;
use super::{
    Source,
    name::DottedName,
    statement::{Execute, TypeName},
};

pub use self::{
    cursor::{Declared, Direction, Scroll},
    role::{Password, RoleName, RoleOptions},
    setting::{Assigned, Scope},
    transaction::{Level, Modes},
};

/// A statement about the session.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// BEGIN, or with the longer name START TRANSACTION.
    Begin {
        /// The transaction modes of the statement, as its isolation level.
        modes: Modes,
        /// Whether the statement is `START TRANSACTION`, which its command tag repeats.
        is_start: bool,
    },
    /// `COMMIT`, also written `END`.
    Commit {
        /// Whether `AND CHAIN` opens a new transaction block with equal modes.
        chains: bool,
    },
    /// `ROLLBACK` of the whole transaction, also written `ABORT`.
    Rollback {
        /// Whether `AND CHAIN` opens a new transaction block with equal modes.
        chains: bool,
    },
    /// `SAVEPOINT name`.
    Savepoint(String),
    /// `RELEASE [SAVEPOINT] name`.
    Release(String),
    /// `ROLLBACK TO [SAVEPOINT] name`.
    RollbackTo(String),
    /// SET TRANSACTION.
    SetTransaction(Modes),
    /// `SET [SESSION | LOCAL] SESSION CHARACTERISTICS AS TRANSACTION`.
    SetCharacteristics {
        /// The transaction modes of the statement.
        modes: Modes,
        /// The scope of the modes: the session, or for `LOCAL` the transaction.
        scope: Scope,
    },
    /// `SET [SESSION | LOCAL] name TO value`, and its special forms, as `SET TIME ZONE`.
    Set {
        /// The name of the setting; a special form has its setting's name, as `TimeZone`.
        name: String,
        /// The scope of the new value: the session, or for `LOCAL` the transaction.
        scope: Scope,
        /// The new value.
        value: Assigned,
    },
    /// `RESET name`.
    Reset(String),
    /// `RESET ALL`.
    ResetAll,
    /// `SHOW name`.
    Show(String),
    /// `SHOW ALL`.
    ShowAll,
    /// `DISCARD ALL`.
    DiscardAll,
    /// `DISCARD PLANS`.
    DiscardPlans,
    /// `DISCARD SEQUENCES`.
    DiscardSequences,
    /// `DISCARD TEMPORARY`, also written `DISCARD TEMP`.
    DiscardTemporary,
    /// The statement begins with this token.
    Prepare {
        /// The name of the prepared statement.
        name: String,
        /// The declared types of the first parameters; empty without a list of types.
        types: Vec<TypeName>,
        /// The index in [`Source::tokens`] of the first token behind `AS`, for [`Source::part`].
        begins: usize,
    },
    /// `EXECUTE`.
    Execute(Execute),
    /// `DEALLOCATE [PREPARE] name`.
    Deallocate(String),
    /// `DEALLOCATE [PREPARE] ALL`.
    DeallocateAll,
    /// `DECLARE name CURSOR FOR query`.
    Declare(Declared),
    /// FETCH, or MOVE.
    Fetch {
        /// The name of the cursor.
        name: String,
        /// The movement of the cursor, with the number of rows.
        direction: Direction,
        /// Whether the statement is `MOVE`, which returns no rows.
        is_move: bool,
    },
    /// `CLOSE name`.
    Close(String),
    /// `CLOSE ALL`.
    CloseAll,
    /// `CREATE ROLE`, `CREATE USER` or `CREATE GROUP`.
    CreateRole {
        /// The name of the new role.
        name: String,
        /// The options of the new role; `can_login` is always set: without `LOGIN` and `NOLOGIN`,
        /// to true for `CREATE USER` and to false otherwise.
        options: RoleOptions,
    },
    /// `ALTER ROLE`, `ALTER USER` or `ALTER GROUP`, with a list of options.
    AlterRole {
        /// The role to alter.
        role: RoleName,
        /// The options to change; an option of `None` keeps its value.
        options: RoleOptions,
    },
    /// `ALTER ROLE .. RENAME TO`.
    RenameRole {
        /// The role to rename.
        role: RoleName,
        /// The new name of the role.
        name: String,
    },
    /// `DROP ROLE`, `DROP USER` or `DROP GROUP`.
    DropRoles {
        /// The names of the roles, at least one; words for a role of the session are no error of grammar.
        names: Vec<RoleName>,
        /// Whether `IF EXISTS` has missing roles skipped with a notice.
        if_exists: bool,
    },
    /// `LOCK [TABLE]`.
    Lock {
        /// The names of the tables, at least one.
        tables: Vec<DottedName>,
        /// The lock mode; `ACCESS EXCLUSIVE` if the statement names none.
        mode: TableLockMode,
        /// Whether the statement waits for conflicting locks; false for `NOWAIT`.
        waits: bool,
    },
}

impl Command {
    /// Returns whether a transaction that has failed lets the statement through: it ends the
    /// transaction, or returns to before the failure.
    pub fn heals(&self) -> bool {
        matches!(
            self,
            Command::Commit { .. } | Command::Rollback { .. } | Command::RollbackTo(_)
        )
    }
}

impl Command {
    /// Returns how the statement has ended if it has done what it asks for; `None` where that depends
    /// on what was done, as for EXECUTE.
    pub fn tag(&self) -> Option<&'static str> {
        Some(match self {
            Self::Begin {
                is_start: false, ..
            } => "BEGIN",
            Self::Begin { is_start: true, .. } => "START TRANSACTION",
            Self::Commit { .. } => "COMMIT",
            Self::Rollback { .. } | Self::RollbackTo(_) => "ROLLBACK",
            Self::Savepoint(_) => "SAVEPOINT",
            Self::Release(_) => "RELEASE",
            Self::SetTransaction(_) | Self::SetCharacteristics { .. } | Self::Set { .. } => "SET",
            Self::Reset(_) | Self::ResetAll => "RESET",
            Self::Show(_) | Self::ShowAll => "SHOW",
            Self::DiscardAll => "DISCARD ALL",
            Self::DiscardPlans => "DISCARD PLANS",
            Self::DiscardSequences => "DISCARD SEQUENCES",
            Self::DiscardTemporary => "DISCARD TEMP",
            Self::Prepare { .. } => "PREPARE",
            Self::Deallocate(_) => "DEALLOCATE",
            Self::DeallocateAll => "DEALLOCATE ALL",
            Self::Declare(_) => "DECLARE CURSOR",
            Self::Close(_) => "CLOSE CURSOR",
            Self::CloseAll => "CLOSE CURSOR ALL",
            Self::CreateRole { .. } => "CREATE ROLE",
            Self::AlterRole { .. } | Self::RenameRole { .. } => "ALTER ROLE",
            Self::DropRoles { .. } => "DROP ROLE",
            Self::Lock { .. } => "LOCK TABLE",
            Self::Execute(_) | Self::Fetch { .. } => return None,
        })
    }

    /// Returns the token that the statement within it begins with.
    pub fn begins(&self) -> Option<usize> {
        match self {
            Command::Prepare { begins, .. } => Some(*begins),
            Command::Declare(declared) => Some(declared.begins),
            _ => None,
        }
    }
}

impl Source<'_> {
    /// Reads the statement, if it is one about the session.
    ///
    /// # Errors
    /// 42601 with the position of what was not expected, 0A000 for what is not there.
    pub(crate) fn command(&self) -> Result<Option<Command>> {
        let mut reader = Reader::new(self);
        if let Some(command) = transaction::read(&mut reader)? {
            return reader.end().map(|()| Some(command));
        }
        if let Some(command) = setting::read(&mut reader)? {
            return reader.end().map(|()| Some(command));
        }
        // These may end with a statement, of which no more is read here.
        if let Some(command) = prepared::read(&mut reader)? {
            return Ok(Some(command));
        }
        if let Some(command) = cursor::read(&mut reader)? {
            return Ok(Some(command));
        }
        if let Some(command) = role::read(&mut reader)? {
            return Ok(Some(command));
        }
        if let Some(command) = lock::read(&mut reader)? {
            return Ok(Some(command));
        }
        refused(&mut reader).map(|()| None)
    }
}

/// Statements of PostgreSQL that are not there, and that the parser does not know or knows in
/// part.
const REFUSED: &[&[&str]] = &[
    &["listen"],
    &["unlisten"],
    &["notify"],
    &["grant"],
    &["revoke"],
    &["do"],
    &["call"],
    &["load"],
    &["reassign", "owned"],
    &["drop", "owned"],
    &["security", "label"],
    &["import", "foreign", "schema"],
    &["alter", "system"],
    &["alter", "default", "privileges"],
    &["create", "rule"],
    &["create", "extension"],
    &["create", "language"],
    &["create", "database"],
    &["drop", "database"],
    &["create", "tablespace"],
    &["set", "transaction", "snapshot"],
    &["set", "local", "transaction", "snapshot"],
    &["set", "session", "transaction", "snapshot"],
    &["set", "xml", "option"],
];

fn refused(reader: &mut Reader<'_, '_>) -> Result<()> {
    for words in REFUSED {
        if reader.eat(words) {
            let name = words.join(" ").to_uppercase();
            let error = SqlError::unsupported(name);
            return Err(match reader.first_position() {
                Some(position) => error.at(position),
                None => error,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
