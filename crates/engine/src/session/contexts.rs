//! Contexts: the private side of open transactions, reused from one to the next
//! so that a transaction allocates nothing once the worker is warm.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use crate::{
    indirection::{Rid, Slot},
    timestamp::{CONTEXTS_MAX, Timestamp},
    version::Version,
};

const NO_SNAPSHOT: u64 = u64::MAX;

/// The private side of one open transaction.
pub(crate) struct Context {
    pub(crate) number: u16,
    snapshot: Cell<u64>,
    /// Operations under way (counted under read committed only).
    statements: Cell<u32>,
    pub(crate) writes: RefCell<Vec<Write>>,
    /// Keys that commit or undo will need, one after the other.
    pub(crate) keys: RefCell<Vec<u8>>,
}

/// What an undo has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteKind {
    /// A version in front of an older one.
    Version,
    /// The first version of a new record, with an index entry.
    Record,
}

/// One record written by the transaction.
pub(crate) struct Write {
    pub(crate) kind: WriteKind,
    /// The record's slot; tables outlive transactions.
    pub(crate) slot: *const Slot,
    pub(crate) version: Version,
    /// The committed version it replaces, and the bytes of its block.
    pub(crate) old: Option<(Version, u32)>,
    pub(crate) table: u32,
    pub(crate) rid: Rid,
    /// Range in `keys`; empty until somebody needs the key.
    pub(crate) key: (u32, u32),
}

impl Write {
    /// The key that was kept, among the `keys` of the context.
    pub(crate) fn key<'k>(&self, keys: &'k [u8]) -> &'k [u8] {
        &keys[self.key.0 as usize..self.key.1 as usize]
    }
}

impl Context {
    pub(crate) fn snapshot(&self) -> Timestamp {
        Timestamp(self.snapshot.get())
    }

    pub(crate) fn set_snapshot(&self, snapshot: Timestamp) {
        self.snapshot.set(snapshot.0);
    }

    pub(crate) fn drop_snapshot(&self) {
        self.snapshot.set(NO_SNAPSHOT);
    }

    /// Counts an operation in; whether it is the only one.
    pub(crate) fn open_statement(&self) -> bool {
        let open = self.statements.get();
        self.statements.set(open + 1);
        open == 0
    }

    /// Counts an operation out; whether it was the last one.
    pub(crate) fn close_statement(&self) -> bool {
        let open = self.statements.get() - 1;
        self.statements.set(open);
        open == 0
    }

    /// Stores a key; its range.
    pub(crate) fn keep_key(&self, key: &[u8]) -> (u32, u32) {
        let mut keys = self.keys.borrow_mut();
        let start = keys.len() as u32;
        keys.extend_from_slice(key);
        (start, keys.len() as u32)
    }
}

/// All contexts of a session.
pub(crate) struct Contexts {
    all: RefCell<Vec<Rc<Context>>>,
    free: RefCell<Vec<u16>>,
}

impl Contexts {
    pub(crate) fn new() -> Contexts {
        Contexts {
            all: RefCell::default(),
            free: RefCell::default(),
        }
    }

    /// A context for a new transaction; `None` when 65,536 are open.
    #[inline]
    pub(crate) fn take(&self) -> Option<Rc<Context>> {
        if let Some(number) = self.free.borrow_mut().pop() {
            return Some(self.all.borrow()[usize::from(number)].clone());
        }
        let mut all = self.all.borrow_mut();
        if all.len() == CONTEXTS_MAX {
            return None;
        }
        let context = Rc::new(Context {
            number: all.len() as u16,
            snapshot: Cell::new(NO_SNAPSHOT),
            statements: Cell::new(0),
            writes: RefCell::default(),
            keys: RefCell::default(),
        });
        all.push(context.clone());
        Some(context)
    }

    #[inline]
    pub(crate) fn give_back(&self, context: &Context) {
        context.drop_snapshot();
        context.statements.set(0);
        let mut keys = context.keys.borrow_mut();
        keys.clear();
        // One huge transaction should not keep its memory for ever.
        keys.shrink_to(1 << 20);
        let mut writes = context.writes.borrow_mut();
        writes.clear();
        writes.shrink_to(1 << 14);
        self.free.borrow_mut().push(context.number);
    }

    pub(crate) fn open(&self) -> usize {
        self.all.borrow().len() - self.free.borrow().len()
    }

    /// The oldest snapshot that is open.
    pub(crate) fn oldest_snapshot(&self) -> Option<Timestamp> {
        let oldest = self
            .all
            .borrow()
            .iter()
            .map(|context| context.snapshot.get())
            .min();
        oldest
            .filter(|&snapshot| snapshot != NO_SNAPSHOT)
            .map(Timestamp)
    }
}
