//! Which indexes the writers of a table maintain: a list behind one pointer.
//!
//! A list is replaced, never changed, and lives as long as the table, so that
//! readers need no protection. Which writers still go by an earlier list is the
//! builder's business (`build.rs`).

use std::{
    ptr,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicPtr, Ordering},
    },
};

use crate::secondary::IndexCore;

type List = Vec<Arc<IndexCore>>;

/// The indexes of one table.
#[derive(Default)]
pub(crate) struct Indexes {
    /// The list in force; null: no indexes.
    current: AtomicPtr<List>,
    /// All lists there ever were; the last one is in force.
    lists: Mutex<Vec<Arc<List>>>,
}

impl Indexes {
    /// The indexes to maintain, if there are any.
    #[inline(always)]
    pub(crate) fn current(&self) -> Option<&[Arc<IndexCore>]> {
        // Acquire: pairs with the Release in `publish`.
        let list = self.current.load(Ordering::Acquire);
        // SAFETY: null, or from an `Arc` that `lists` keeps as long as `self`; nobody
        // changes a list.
        unsafe { list.as_ref() }.map(Vec::as_slice)
    }

    /// Whether this is still the answer of [`Indexes::current`].
    #[inline(always)]
    pub(crate) fn is_current(&self, list: Option<&[Arc<IndexCore>]>) -> bool {
        let address = |list: Option<&[Arc<IndexCore>]>| list.map(<[_]>::as_ptr);
        address(self.current()) == address(list)
    }

    /// Adds an index, unless there is one of its name.
    pub(crate) fn add(&self, index: &Arc<IndexCore>) -> bool {
        let lists = self.lock();
        let mut list = self.current().unwrap_or_default().to_vec();
        if list.iter().any(|other| other.name == index.name) {
            return false;
        }
        list.push(index.clone());
        self.publish(lists, list);
        true
    }

    /// Removes an index; whether it was there.
    pub(crate) fn remove(&self, number: u32) -> bool {
        let lists = self.lock();
        let mut list = self.current().unwrap_or_default().to_vec();
        let before = list.len();
        list.retain(|index| index.number() != number);
        let found = list.len() < before;
        if found {
            self.publish(lists, list);
        }
        found
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<List>>> {
        self.lists.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn publish(&self, mut lists: MutexGuard<'_, Vec<Arc<List>>>, list: List) {
        let list = Arc::new(list);
        let current = match list.is_empty() {
            true => ptr::null_mut(),
            false => Arc::as_ptr(&list).cast_mut(),
        };
        lists.push(list);
        // Release: pairs with the Acquire in `current`.
        self.current.store(current, Ordering::Release);
    }
}
