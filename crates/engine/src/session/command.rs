//! Writes of the command under way, which its own reads do not see.
//!
//! A *command* is a statement of several parts, each of which sees the tables as they were when the
//! statement began (PostgreSQL's command ids). While a command is open, the context keeps, for each
//! record that the command writes, the version that the transaction had there before: an own
//! version, or none, in which case the versions that others have committed count.
//!
//! Own versions that the command replaces are kept in place by a savepoint that is made when the
//! command begins and released when it ends (`savepoints.rs`).
//!
//! The list is bounded by the writes of the command, and charged with them ([`super::Account`]).

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
};

use crate::{indirection::Slot, version::Version};

/// Writes of a command: see the module text.
#[derive(Default)]
pub(crate) struct CommandWrites {
    is_open: Cell<bool>,
    before: RefCell<HashMap<*const Slot, Option<Version>>>,
}

/// State before the command of a record whose newest version is the transaction's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    /// The newest version: it was there before the command.
    Same,
    /// Another own version.
    Own(Version),
    /// No own version.
    Others,
}

impl CommandWrites {
    #[inline(always)]
    pub(crate) fn is_open(&self) -> bool {
        self.is_open.get()
    }

    /// Opens a command. Returns false if one was open already.
    pub(crate) fn open(&self) -> bool {
        !self.is_open.replace(true)
    }

    pub(crate) fn close(&self) {
        self.is_open.set(false);
        let mut before = self.before.borrow_mut();
        before.clear();
        before.shrink_to(1 << 10);
    }

    /// Notes that the command writes the record in `slot`, in which the transaction had the own
    /// version `before`, or none.
    #[inline(always)]
    pub(crate) fn wrote(&self, slot: *const Slot, before: Option<Version>) {
        if self.is_open.get() {
            self.before.borrow_mut().entry(slot).or_insert(before);
        }
    }

    /// Notes that the record in `slot` is as it was before the transaction wrote it.
    pub(crate) fn took_back(&self, slot: *const Slot) {
        if self.is_open.get() {
            self.before.borrow_mut().remove(&slot);
        }
    }

    /// Notes that the record in `slot` has an own version again, perhaps that from before the
    /// command.
    pub(crate) fn restored(&self, slot: *const Slot, version: Version) {
        if self.is_open.get() {
            let mut before = self.before.borrow_mut();
            if before.get(&slot) == Some(&Some(version)) {
                before.remove(&slot);
            }
        }
    }

    /// Returns the state before the command of the record in `slot`.
    pub(crate) fn before(&self, slot: *const Slot) -> Before {
        match self.before.borrow().get(&slot) {
            None => Before::Same,
            Some(Some(own)) => Before::Own(*own),
            Some(None) => Before::Others,
        }
    }

    /// Whether the command under way has written the record in `slot`.
    pub(crate) fn has_written(&self, slot: *const Slot) -> bool {
        self.is_open.get() && self.before.borrow().contains_key(&slot)
    }

    pub(super) fn list_bytes(&self) -> usize {
        self.before.borrow().capacity() * size_of::<(*const Slot, Option<Version>)>()
    }
}
