//! BEGIN, COMMIT, ROLLBACK, savepoints, and the modes of transactions.

use sqlparser::tokenizer::Token;
use types::{Result, SqlError};

use super::{Command, Reader};

/// How much of others a transaction sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Runs as read committed.
    ReadUncommitted,
    /// `READ COMMITTED`.
    ReadCommitted,
    /// `REPEATABLE READ`, which is snapshot isolation.
    RepeatableRead,
    /// `SERIALIZABLE`.
    Serializable,
}

impl Level {
    /// Returns the name of the isolation level in lower case, as `transaction_isolation` shows it.
    pub fn name(self) -> &'static str {
        match self {
            Level::ReadUncommitted => "read uncommitted",
            Level::ReadCommitted => "read committed",
            Level::RepeatableRead => "repeatable read",
            Level::Serializable => "serializable",
        }
    }

    /// Finds the isolation level called `name`, in upper or lower case; `None` if there is none.
    pub fn named(name: &str) -> Option<Level> {
        let levels = [
            Level::ReadUncommitted,
            Level::ReadCommitted,
            Level::RepeatableRead,
            Level::Serializable,
        ];
        levels
            .into_iter()
            .find(|level| level.name().eq_ignore_ascii_case(name))
    }
}

/// The modes that a statement gives a transaction; `None` where it says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Modes {
    /// The isolation level.
    pub level: Option<Level>,
    /// Whether the transaction is `READ ONLY`; false for `READ WRITE`.
    pub read_only: Option<bool>,
    /// Whether the transaction is `DEFERRABLE`; false for `NOT DEFERRABLE`.
    pub deferrable: Option<bool>,
}

pub(super) fn read(reader: &mut Reader<'_, '_>) -> Result<Option<Command>> {
    let command = if reader.eat(&["begin"]) {
        skip_noise(reader);
        Command::Begin {
            modes: modes(reader)?,
            is_start: false,
        }
    } else if reader.eat(&["start", "transaction"]) {
        Command::Begin {
            modes: modes(reader)?,
            is_start: true,
        }
    } else if reader.eat(&["commit", "prepared"])
        || reader.eat(&["rollback", "prepared"])
        || reader.eat(&["prepare", "transaction"])
    {
        let error = SqlError::unsupported("two-phase commit");
        return Err(match reader.first_position() {
            Some(position) => error.at(position),
            None => error,
        });
    } else if reader.eat(&["commit"]) || reader.eat(&["end"]) {
        skip_noise(reader);
        Command::Commit {
            chains: chains(reader)?,
        }
    } else if reader.eat(&["abort"]) {
        skip_noise(reader);
        Command::Rollback {
            chains: chains(reader)?,
        }
    } else if reader.eat(&["rollback"]) {
        skip_noise(reader);
        if reader.eat(&["to"]) {
            savepoint_word(reader);
            Command::RollbackTo(reader.name()?)
        } else {
            Command::Rollback {
                chains: chains(reader)?,
            }
        }
    } else if reader.eat(&["savepoint"]) {
        Command::Savepoint(reader.name()?)
    } else if reader.eat(&["release"]) {
        savepoint_word(reader);
        Command::Release(reader.name()?)
    } else {
        return Ok(None);
    };
    Ok(Some(command))
}

fn skip_noise(reader: &mut Reader<'_, '_>) {
    if !reader.eat(&["work"]) {
        reader.eat(&["transaction"]);
    }
}

/// The word may stand before a savepoint's name; and it may be the name.
fn savepoint_word(reader: &mut Reader<'_, '_>) {
    let before = reader.eat(&["savepoint"]);
    if before && reader.token().is_none() {
        reader.back();
    }
}

fn chains(reader: &mut Reader<'_, '_>) -> Result<bool> {
    if !reader.eat(&["and"]) {
        return Ok(false);
    }
    let chains = !reader.eat(&["no"]);
    reader.expect(&["chain"])?;
    Ok(chains)
}

/// Modes up to the statement's end, with or without commas between them.
pub(super) fn modes(reader: &mut Reader<'_, '_>) -> Result<Modes> {
    let mut modes = Modes::default();
    while reader.token().is_some() {
        if reader.eat(&["isolation", "level"]) {
            modes.level = Some(level(reader)?);
        } else if reader.eat(&["read", "only"]) {
            modes.read_only = Some(true);
        } else if reader.eat(&["read", "write"]) {
            modes.read_only = Some(false);
        } else if reader.eat(&["not", "deferrable"]) {
            modes.deferrable = Some(false);
        } else if reader.eat(&["deferrable"]) {
            modes.deferrable = Some(true);
        } else {
            return Err(reader.unexpected());
        }
        if reader.eat_token(&Token::Comma) && reader.token().is_none() {
            return Err(reader.unexpected());
        }
    }
    Ok(modes)
}

fn level(reader: &mut Reader<'_, '_>) -> Result<Level> {
    Ok(if reader.eat(&["read", "uncommitted"]) {
        Level::ReadUncommitted
    } else if reader.eat(&["read", "committed"]) {
        Level::ReadCommitted
    } else if reader.eat(&["repeatable", "read"]) {
        Level::RepeatableRead
    } else if reader.eat(&["serializable"]) {
        Level::Serializable
    } else {
        return Err(reader.unexpected());
    })
}
