//! What the command under way has written, so that its own reads do not see it.
//!
//! A *command* is a statement of several parts, each of which sees the tables as they were when
//! the statement began (PostgreSQL's command ids). While one is open, the context keeps, for each
//! record that it writes, what the transaction had there before: a version of its own, or nothing
//! of its own, which leaves what others have committed.
//!
//! Versions of the transaction's own that the command replaces are kept in place by a savepoint
//! that is made when the command begins and released when it ends (`savepoints.rs`).
//!
//! Bounded by the writes of the command, and charged with them ([`super::Account`]).

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
};

use crate::{indirection::Slot, version::Version};

/// See the module text.
#[derive(Default)]
pub(crate) struct CommandWrites {
    is_open: Cell<bool>,
    before: RefCell<HashMap<*const Slot, Option<Version>>>,
}

/// What a read has to do about a version that its transaction has made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    /// The version was there before the command.
    Same,
    /// This one was.
    Own(Version),
    /// Nothing of the transaction's own was.
    Others,
}

impl CommandWrites {
    #[inline(always)]
    pub(crate) fn is_open(&self) -> bool {
        self.is_open.get()
    }

    /// Whether that was news.
    pub(crate) fn open(&self) -> bool {
        !self.is_open.replace(true)
    }

    pub(crate) fn close(&self) {
        self.is_open.set(false);
        let mut before = self.before.borrow_mut();
        before.clear();
        before.shrink_to(1 << 10);
    }

    /// The command writes a record that the transaction had not written, or had as this version.
    #[inline(always)]
    pub(crate) fn wrote(&self, slot: *const Slot, before: Option<Version>) {
        if self.is_open.get() {
            self.before.borrow_mut().entry(slot).or_insert(before);
        }
    }

    /// A record is as it was before the transaction wrote it.
    pub(crate) fn took_back(&self, slot: *const Slot) {
        if self.is_open.get() {
            self.before.borrow_mut().remove(&slot);
        }
    }

    /// A record has a version of the transaction's own again, perhaps that from before the command.
    pub(crate) fn restored(&self, slot: *const Slot, version: Version) {
        if self.is_open.get() {
            let mut before = self.before.borrow_mut();
            if before.get(&slot) == Some(&Some(version)) {
                before.remove(&slot);
            }
        }
    }

    /// What was there before the command.
    pub(crate) fn before(&self, slot: *const Slot) -> Before {
        match self.before.borrow().get(&slot) {
            None => Before::Same,
            Some(Some(own)) => Before::Own(*own),
            Some(None) => Before::Others,
        }
    }

    /// Whether the command under way has written a record.
    pub(crate) fn has_written(&self, slot: *const Slot) -> bool {
        self.is_open.get() && self.before.borrow().contains_key(&slot)
    }

    pub(super) fn list_bytes(&self) -> usize {
        self.before.borrow().capacity() * size_of::<(*const Slot, Option<Version>)>()
    }
}
