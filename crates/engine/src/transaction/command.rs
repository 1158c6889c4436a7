//! Commands: statements of several parts, none of which sees what another one writes.
//!
//! While a [`Command`] is open, reads of its transaction pass over what was written since, and see
//! of each record what the transaction saw before; writes go on to take the newest version. So a
//! statement whose parts read what other parts write (`WITH ... RETURNING`), or that reads its
//! table while it writes it, sees the table as it was when it began.
//!
//! Whether the command has written a row before is told by the writes that are meant for rows
//! ([`super::RowOutcome::Already`]), as PostgreSQL tells by `cmax`.
//!
//! # Cost
//! Reads and writes without a command look at one cell, and only where they meet a version of
//! their own. Within one, each write of a record or an index entry is noted
//! (`session/command.rs`), and each read of one's own versions looks there.

use super::{Transaction, visibility::Look};
use crate::{
    error::Error,
    indirection::Slot,
    session::{Before, State},
    version::Version,
};

/// While it is there, its transaction's reads do not see what is written.
#[must_use = "the command ends with it"]
#[derive(Debug)]
pub struct Command<'t> {
    transaction: &'t Transaction,
    /// Of the savepoint that keeps what the command replaces; within another command, none.
    savepoint: Option<u32>,
}

impl Transaction {
    /// From now on, until the answer is dropped, reads do not see what the transaction writes.
    /// Within another command, it is that one that goes on. To be ended before the transaction
    /// returns to a savepoint.
    ///
    /// # Errors
    /// [`Error::Abort`] and [`Error::Ended`] if the transaction is over;
    /// [`Error::MemoryExhausted`] after 2^32 commands and savepoints.
    pub fn command(&self) -> Result<Command<'_>, Error> {
        self.check_open()?;
        let context = &self.context;
        // What has a name gives its lists back when it ends.
        self.id();
        let savepoint = match context.command.open() {
            false => None,
            true => {
                let lengths = self.list_lengths();
                let made = context.savepoints.borrow_mut().make(lengths);
                if made.is_none() {
                    context.command.close();
                    return Err(Error::MemoryExhausted);
                }
                made
            }
        };
        Ok(Command {
            transaction: self,
            savepoint,
        })
    }

    /// What the command saw of a record whose newest version is the transaction's own.
    #[cold]
    pub(super) fn look_before_command(&self, slot: &Slot, version: Version) -> Look {
        match self.context.command.before(slot) {
            Before::Same => Look::Over(Some(version)),
            Before::Own(before) => Look::Over(Some(before)),
            Before::Others => match version.next() {
                Some(older) => Look::Further(older),
                None => Look::Over(None),
            },
        }
    }
}

impl Drop for Command<'_> {
    fn drop(&mut self) {
        let Some(number) = self.savepoint else {
            return;
        };
        let context = &self.transaction.context;
        context.command.close();
        if context.state.get() != State::Open {
            // Its end has freed what was kept.
            return;
        }
        let mut savepoints = context.savepoints.borrow_mut();
        // It is gone if a savepoint around the command was released.
        savepoints.release(number, |version| self.transaction.discard(version));
    }
}
