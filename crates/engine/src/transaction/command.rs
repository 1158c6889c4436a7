//! Commands: statements of several parts, none of which sees the writes of another part.
//!
//! While a [`Command`] is open, reads of its transaction skip the writes made since it was opened,
//! and see of each record what the transaction saw before; writes still take the newest version. A
//! statement whose parts read what other parts write (`WITH ... RETURNING`), or that reads its
//! table while writing it, therefore sees the table as of its beginning.
//!
//! Writes that are meant for rows report whether the command has written a row before
//! ([`super::RowOutcome::Already`]), as PostgreSQL does by `cmax`.
//!
//! # Cost
//! Without a command, reads and writes look at one cell, and only where they meet a version of
//! their own transaction. Within a command, each write of a record or an index entry is noted
//! (`session/command.rs`), and each read of an own version looks there.

use super::{Transaction, visibility::Look};
use crate::{
    error::Error,
    indirection::Slot,
    session::{Before, State},
    version::Version,
};

/// Open command: while it lives, reads of its transaction do not see the writes made since.
#[must_use = "the command ends with it"]
#[derive(Debug)]
pub struct Command<'t> {
    transaction: &'t Transaction,
    /// Number of the savepoint that keeps what the command replaces; none for a nested command.
    savepoint: Option<u32>,
}

impl Transaction {
    /// Opens a command: until the result is dropped, reads do not see what the transaction writes
    /// from now on. Within another command, the outer command simply goes on. The command must end
    /// before the transaction returns to a savepoint.
    ///
    /// # Errors
    /// [`Error::Abort`] and [`Error::Ended`] if the transaction is over; [`Error::MemoryExhausted`]
    /// after 2^32 commands and savepoints.
    pub fn command(&self) -> Result<Command<'_>, Error> {
        self.check_open()?;
        let context = &self.context;
        // A transaction with a name gives its lists back when it ends.
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

    /// Returns what the command saw of the record in `slot`, whose newest version is an own one.
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
            // The end of the transaction has freed what was kept.
            return;
        }
        let mut savepoints = context.savepoints.borrow_mut();
        // The savepoint is gone if a savepoint around the command was released.
        savepoints.release(number, |version| self.transaction.discard(version));
    }
}
