//! Statements about the session itself: transactions, settings, prepared statements, cursors,
//! roles, locks, and what is refused by name.
//!
//! They are sequences of words with hardly an expression in them, and `sqlparser` knows a few forms
//! of each only; so they are read here, in PostgreSQL's whole grammar and with its errors. What
//! begins as none of them is left to the parser.

mod cursor;
mod lock;
mod prepared;
mod reader;
mod role;
mod setting;
mod transaction;

use engine::TableLockMode;
use sqlparser::ast;
use types::{Result, SqlError};

use self::reader::Reader;
use super::Source;

pub use self::{
    cursor::{Declared, Direction, Scroll},
    role::{Password, RoleName, RoleOptions},
    setting::{Assigned, Scope},
    transaction::{Level, Modes},
};

/// A statement about the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// BEGIN, or with the longer name START TRANSACTION.
    Begin {
        modes: Modes,
        is_start: bool,
    },
    Commit {
        chains: bool,
    },
    Rollback {
        chains: bool,
    },
    Savepoint(String),
    Release(String),
    RollbackTo(String),
    /// SET TRANSACTION.
    SetTransaction(Modes),
    /// SET SESSION CHARACTERISTICS AS TRANSACTION.
    SetCharacteristics(Modes),
    Set {
        name: String,
        scope: Scope,
        value: Assigned,
    },
    Reset(String),
    ResetAll,
    Show(String),
    ShowAll,
    DiscardAll,
    DiscardPlans,
    DiscardSequences,
    DiscardTemporary,
    /// The statement begins with this token.
    Prepare {
        name: String,
        types: Vec<ast::DataType>,
        begins: usize,
    },
    Execute {
        name: String,
        arguments: Vec<ast::Expr>,
    },
    Deallocate(String),
    DeallocateAll,
    Declare(Declared),
    /// FETCH, or MOVE.
    Fetch {
        name: String,
        direction: Direction,
        is_move: bool,
    },
    Close(String),
    CloseAll,
    CreateRole {
        name: String,
        options: RoleOptions,
    },
    AlterRole {
        role: RoleName,
        options: RoleOptions,
    },
    RenameRole {
        role: RoleName,
        name: String,
    },
    DropRoles {
        names: Vec<String>,
        if_exists: bool,
    },
    Lock {
        tables: Vec<ast::ObjectName>,
        mode: TableLockMode,
        waits: bool,
    },
}

impl Command {
    /// Whether a transaction that has failed lets it through: it ends it, or returns to before.
    pub fn heals(&self) -> bool {
        matches!(
            self,
            Command::Commit { .. } | Command::Rollback { .. } | Command::RollbackTo(_)
        )
    }
}

impl Command {
    /// The token that the statement within it begins with.
    pub fn begins(&self) -> Option<usize> {
        match self {
            Command::Prepare { begins, .. } => Some(*begins),
            Command::Declare(declared) => Some(declared.begins),
            _ => None,
        }
    }
}

impl Source<'_> {
    /// The statement, if it is one about the session.
    ///
    /// # Errors
    /// 42601 with the position of what was not expected, 0A000 for what is not there.
    pub fn command(&self) -> Result<Option<Command>> {
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
