//! A column that is shared by threads.
//!
//! Its parts are a [`Main`], at most one *frozen* Delta, which is being merged into it, and the *active* Delta, to
//! which rows are appended. Rows are numbered through the parts in this order.
//!
//! # Life of the parts
//! ```text
//! append ──► active ──begin_merge──► frozen ──┐
//!                └──► a new active            ├─ Merge::step .. ──► a new Main
//!                                     Main ───┘
//! ```
//! A Main never changes. A Delta changes by appending, under its own latch, until it is frozen; then it does not change
//! any more. The last step of a merge puts the new Main, whose rows are those of the old one and then those of the
//! frozen Delta, in the place of both. A row therefore keeps its number.
//!
//! # Why a snapshot sees each row once
//! 1. The parts are a triple under one latch, `parts`: its holder sees them before a freeze or a swap, or after, never
//!    between. Before a swap a row of the frozen Delta is in that Delta only, after the swap in the new Main only.
//! 2. A row is appended to the Delta that is active at that moment: the appender checks, under the Delta's latch,
//!    whether the Delta is frozen, and if so starts again with the present parts. `begin_merge` marks a Delta frozen
//!    under the same latch, and has `parts` to itself meanwhile.
//! 3. A snapshot reads the number of active rows while it holds `parts`. A row that was appended before, which means
//!    that `append` has returned, is in the active Delta below that number, or in a part before it. The snapshot never
//!    looks at rows of that Delta with greater numbers, and it does not hold a later Delta.
//! 4. A part lives as long as a snapshot holds it, and the rows that the snapshot may look at do not change.
//!
//! The order of latches: `parts`, then a Delta's. No thread takes `parts` while holding a Delta's.

use interleave::Interleaver;

use crate::{
    delta::Delta,
    error::ColumnError,
    main_part::Main,
    merge::{Merge, Progress},
    snapshot::Snapshot,
    sync::{Arc, RwLock, read, write},
    value::Value,
};

/// A column of values, some of which may be NULL. A clone is another handle on the same column.
///
/// ```
/// use column::{Column, InPredicate};
///
/// let cities: Column<String> = Column::new().unwrap();
/// cities.append_all(&[Some("Pune"), None, Some("Basel"), Some("Pune")]).unwrap();
/// cities.merge().unwrap();
/// cities.append(Some("Basel")).unwrap();
///
/// let snapshot = cities.snapshot();
/// let mut rows = Vec::new();
/// let list = [Some("Basel"), Some("Oslo")];
/// InPredicate::auto().rows_in(&snapshot, &list, &mut rows).unwrap();
/// assert_eq!(rows, [2, 4]);
/// assert_eq!(snapshot.value(0).as_deref(), Some("Pune"));
/// ```
pub struct Column<V: Value> {
    shared: Arc<Shared<V>>,
}

/// State shared by the handles of a column.
pub(crate) struct Shared<V: Value> {
    parts: RwLock<Parts<V>>,
}

struct Parts<V: Value> {
    main: Arc<Main<V>>,
    frozen: Option<Arc<Live<V>>>,
    active: Arc<Live<V>>,
    /// Whether a [`Merge`] of the frozen Delta exists.
    is_merging: bool,
}

/// A Delta that is shared.
pub(crate) struct Live<V: Value> {
    pub(crate) state: RwLock<State<V>>,
}

pub(crate) struct State<V: Value> {
    pub(crate) delta: Delta<V>,
    is_frozen: bool,
    /// Lookup of the values of appended rows.
    interleaver: Interleaver,
}

impl<V: Value> Live<V> {
    fn new(delta: Delta<V>) -> Arc<Self> {
        Arc::new(Self {
            state: RwLock::new(State {
                delta,
                is_frozen: false,
                interleaver: Interleaver::auto(),
            }),
        })
    }

    pub(crate) fn rows(&self) -> usize {
        read(&self.state).delta.rows()
    }
}

impl<V: Value> Clone for Column<V> {
    fn clone(&self) -> Self {
        Self {
            shared: self.shared.clone(),
        }
    }
}

impl<V: Value> std::fmt::Debug for Column<V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts = read(&self.shared.parts);
        f.debug_struct("Column")
            .field("main_rows", &parts.main.rows())
            .field(
                "frozen_rows",
                &parts.frozen.as_ref().map(|live| live.rows()),
            )
            .field("active_rows", &parts.active.rows())
            .finish()
    }
}

impl<V: Value> Column<V> {
    /// Returns a column without rows.
    ///
    /// # Errors
    /// [`ColumnError::Memory`] if memory is lacking.
    pub fn new() -> Result<Self, ColumnError> {
        Ok(Self::of_parts(Main::new()?, Delta::new()))
    }

    /// Returns a column of a Main and the rows that follow it.
    pub fn of_parts(main: Main<V>, delta: Delta<V>) -> Self {
        let parts = Parts {
            main: Arc::new(main),
            frozen: None,
            active: Live::new(delta),
            is_merging: false,
        };
        Self {
            shared: Arc::new(Shared {
                parts: RwLock::new(parts),
            }),
        }
    }

    /// Adds a row, behind all others; `None` is NULL.
    ///
    /// # Errors
    /// [`ColumnError`] if memory is lacking, the value is too long, or there are too many distinct values; no row was
    /// added.
    pub fn append(&self, value: Option<V::Ref<'_>>) -> Result<(), ColumnError> {
        self.with_active(|state| state.delta.append(value))
    }

    /// Adds a row for each value, in their order and next to each other. Their dictionary lookups are interleaved.
    /// Readers of the active Delta wait meanwhile.
    ///
    /// # Errors
    /// [`ColumnError`] if memory is lacking, a value is too long, or there are too many distinct values; no row was
    /// added.
    pub fn append_all(&self, values: &[Option<V::Ref<'_>>]) -> Result<(), ColumnError> {
        self.with_active(|state| state.delta.append_all(values, &mut state.interleaver))
    }

    fn with_active<T>(&self, append: impl FnOnce(&mut State<V>) -> T) -> T {
        loop {
            let active = read(&self.shared.parts).active.clone();
            let mut state = write(&active.state);
            if !state.is_frozen {
                return append(&mut state);
            }
            // The Delta was frozen in between: another one is active by now.
        }
    }

    /// Returns a snapshot of the rows appended so far.
    pub fn snapshot(&self) -> Snapshot<V> {
        let parts = read(&self.shared.parts);
        let active_rows = parts.active.rows();
        Snapshot::new(
            parts.main.clone(),
            parts.frozen.clone(),
            (parts.active.clone(), active_rows),
        )
    }

    /// Begins to merge the Delta into the Main. Readers and writers go on; writers with a new Delta. Returns `None` if
    /// there is nothing to merge, or another merge is under way.
    ///
    /// A merge that was dropped before its end, or ran out of memory, left the column as it was for readers; the next
    /// merge starts from the beginning.
    ///
    /// # Errors
    /// [`ColumnError::Memory`] if memory is lacking; the column is as it was.
    pub fn begin_merge(&self) -> Result<Option<Merge<V>>, ColumnError> {
        let next = Live::new(Delta::new());
        let mut parts = write(&self.shared.parts);
        if parts.is_merging {
            return Ok(None);
        }
        let frozen = match &parts.frozen {
            Some(frozen) => frozen.clone(),
            None => {
                let mut state = write(&parts.active.state);
                if state.delta.rows() == 0 {
                    return Ok(None);
                }
                state.is_frozen = true;
                drop(state);
                let frozen = std::mem::replace(&mut parts.active, next);
                parts.frozen = Some(frozen.clone());
                frozen
            }
        };
        parts.is_merging = true;
        Ok(Some(Merge::new(
            self.shared.clone(),
            parts.main.clone(),
            frozen,
        )))
    }

    /// Merges the Delta into the Main at once. Returns whether there was anything to merge, and no other merge under
    /// way.
    ///
    /// # Errors
    /// [`ColumnError`] if memory is lacking or the values together are too many; the column is as it was.
    pub fn merge(&self) -> Result<bool, ColumnError> {
        let Some(mut merge) = self.begin_merge()? else {
            return Ok(false);
        };
        while merge.step(usize::MAX)? == Progress::Unfinished {}
        Ok(true)
    }
}

impl<V: Value> Shared<V> {
    /// Replaces the Main and the frozen Delta by `main`, which has the rows of both.
    pub(crate) fn swap(&self, main: Main<V>) {
        let main = Arc::new(main);
        let old = {
            let mut parts = write(&self.parts);
            parts.is_merging = false;
            (
                std::mem::replace(&mut parts.main, main),
                parts.frozen.take(),
            )
        };
        // The latch is released first: freeing large parts takes time.
        drop(old);
    }

    /// Lets another merge begin.
    pub(crate) fn give_up(&self) {
        write(&self.parts).is_merging = false;
    }
}
