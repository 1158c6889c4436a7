//! The indexes that the writers of a table maintain, and those that they wait for: a list behind
//! one pointer.
//!
//! An index that the catalog records is *missing* from the opening of the database until it is
//! attached, that is, built again with its key function. While an index is missing, no transaction
//! writes the table, so that none can violate the index: writers find it in the list that they load
//! anyhow; writers of tables without indexes find no list.
//!
//! A list is replaced, never changed, and lives as long as the table, so that readers need no
//! protection. The builder finds out which writers still go by an earlier list (`build.rs`).

use std::{
    ptr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicPtr, Ordering},
    },
};

use crate::secondary::IndexCore;

/// List of indexes that writers go by.
#[derive(Clone, Default)]
pub(crate) struct List {
    /// Indexes to maintain, in the order of their making.
    pub(crate) attached: Vec<Arc<IndexCore>>,
    /// Indexes without which no transaction writes; an index that is being attached is in both
    /// lists.
    pub(crate) missing: Vec<Missing>,
}

/// Index that the catalog records, and that is not there.
#[derive(Clone, Debug)]
pub(crate) struct Missing {
    /// Number of the index in the catalog.
    pub(crate) number: u32,
    pub(crate) name: Arc<str>,
    pub(crate) unique: bool,
    pub(crate) description: Arc<[u8]>,
}

/// Indexes of a table.
#[derive(Default)]
pub(crate) struct Indexes {
    /// List in force; null: no indexes.
    current: AtomicPtr<List>,
    /// All lists so far; the last one is in force.
    lists: Mutex<Vec<Arc<List>>>,
}

impl Indexes {
    /// Returns the list, if it is not empty.
    #[inline(always)]
    pub(crate) fn current(&self) -> Option<&List> {
        // Acquire: pairs with the Release in `change`.
        let list = self.current.load(Ordering::Acquire);
        // SAFETY: null, or from an `Arc` that `lists` keeps as long as `self`; a list is never
        // changed.
        unsafe { list.as_ref() }
    }

    /// Whether `list` is still the result of [`Indexes::current`].
    #[inline(always)]
    pub(crate) fn is_current(&self, list: Option<&List>) -> bool {
        let address = |list: Option<&List>| list.map(ptr::from_ref);
        address(self.current()) == address(list)
    }

    /// Returns the indexes to maintain.
    pub(crate) fn attached(&self) -> &[Arc<IndexCore>] {
        self.current().map_or(&[], |list| &list.attached)
    }

    /// Returns the indexes that are missing.
    pub(crate) fn missing(&self) -> &[Missing] {
        self.current().map_or(&[], |list| &list.missing)
    }

    /// Whether an index, attached or missing, has this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.attached().iter().any(|index| *index.name() == *name)
            || self.missing().iter().any(|missing| *missing.name == *name)
    }

    /// Adds an index, unless there is another of its name. Returns whether it was added.
    pub(crate) fn add(&self, index: &Arc<IndexCore>) -> bool {
        self.change(|list| {
            let (number, mut missing) = (index.catalog_number, list.missing.iter());
            // The index may have been renamed since it was looked up.
            if let Some(missing) = missing.find(|missing| missing.number == number) {
                index.set_name(&missing.name);
            }
            let name = index.name();
            let is_taken = list.attached.iter().any(|other| other.name() == name)
                || (list.missing.iter()).any(|other| other.name == name && other.number != number);
            if !is_taken {
                list.attached.push(index.clone());
            }
            !is_taken
        })
    }

    /// Removes an index, by its own number. Returns whether it was there.
    pub(crate) fn remove(&self, number: u32) -> bool {
        self.change(|list| {
            let before = list.attached.len();
            list.attached.retain(|index| index.number() != number);
            list.attached.len() < before
        })
    }

    /// Adds a missing index: before any transaction writes the table.
    pub(crate) fn miss(&self, missing: Missing) {
        self.change(|list| {
            list.missing.push(missing);
            true
        });
    }

    /// Removes a missing index, by its number in the catalog.
    pub(crate) fn miss_no_more(&self, number: u32) {
        self.change(|list| {
            let before = list.missing.len();
            list.missing.retain(|missing| missing.number != number);
            list.missing.len() < before
        });
    }

    /// Renames an index, by its number in the catalog.
    pub(crate) fn rename(&self, number: u32, name: &str) {
        self.change(|list| {
            let attached = list.attached.iter();
            for index in attached.filter(|index| index.catalog_number == number) {
                index.set_name(name);
            }
            let missing = list.missing.iter_mut();
            let mut missing = missing.filter(|missing| missing.number == number);
            let found = missing.next();
            found.map(|found| found.name = Arc::from(name)).is_some()
        });
    }

    /// Replaces the list by the one that `change` makes, if it returns that it changed it. Returns
    /// the result of `change`.
    fn change(&self, change: impl FnOnce(&mut List) -> bool) -> bool {
        let mut lists = self.lists.lock().unwrap_or_else(|e| e.into_inner());
        let mut list = self.current().cloned().unwrap_or_default();
        if !change(&mut list) {
            return false;
        }
        let list = Arc::new(list);
        let current = match list.attached.is_empty() && list.missing.is_empty() {
            true => ptr::null_mut(),
            false => Arc::as_ptr(&list).cast_mut(),
        };
        lists.push(list);
        // Release: pairs with the Acquire in `current`.
        self.current.store(current, Ordering::Release);
        true
    }
}
