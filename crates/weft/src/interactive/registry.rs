//! Registry of the open interactive transactions: closing the database ends them, as they would
//! otherwise wait for their clients for ever.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard},
};

use async_channel::{Sender, WeakSender};

use super::Command;
use crate::{context::Shared, error::Result};

#[derive(Default)]
pub(crate) struct Registry {
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    next: u64,
    /// Senders of commands, weak: the registry must not keep a dropped transaction open.
    commands: BTreeMap<u64, WeakSender<Command>>,
}

impl Registry {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Remembers a transaction, unless the database is closed.
    ///
    /// The check of `shared` is under the latch that [`Registry::close_all`] takes after the
    /// database was marked closed: either the mark is seen here, or the transaction is seen there.
    pub(super) fn register(&self, shared: &Shared, commands: &Sender<Command>) -> Result<u64> {
        let mut open = self.open();
        shared.check_open()?;
        let number = open.next;
        open.next += 1;
        open.commands.insert(number, commands.downgrade());
        Ok(number)
    }

    pub(super) fn deregister(&self, number: u64) {
        self.open().commands.remove(&number);
    }

    /// Makes every transaction refuse further commands. Commands that were sent are carried out;
    /// then the transactions roll back.
    pub(crate) fn close_all(&self) {
        let commands = std::mem::take(&mut self.open().commands);
        for commands in commands.values().filter_map(WeakSender::upgrade) {
            commands.close();
        }
    }
}
