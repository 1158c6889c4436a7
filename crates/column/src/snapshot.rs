//! State of a column at one moment.

use segment::CodeSet;

use crate::{
    column::Live,
    delta::Delta,
    error::ColumnError,
    main_part::Main,
    sync::{Arc, read},
    value::Value,
};

/// Rows that a column had when the snapshot was taken; see the text of `column.rs` for the reason. A snapshot keeps the
/// memory of its parts.
#[derive(Clone)]
pub struct Snapshot<V: Value> {
    main: Arc<Main<V>>,
    /// The frozen Delta, if there was one, and the active one.
    deltas: [Option<DeltaPart<V>>; 2],
    rows: u64,
}

/// The first rows of a Delta.
pub(crate) struct DeltaPart<V: Value> {
    live: Arc<Live<V>>,
    pub(crate) rows: usize,
    /// Number of the first row.
    pub(crate) first: u64,
}

impl<V: Value> Clone for DeltaPart<V> {
    fn clone(&self) -> Self {
        Self {
            live: self.live.clone(),
            ..*self
        }
    }
}

impl<V: Value> DeltaPart<V> {
    /// Reads the Delta, which may have got more rows. Writers wait meanwhile.
    pub(crate) fn with<T>(&self, read_it: impl FnOnce(&Delta<V>) -> T) -> T {
        read_it(&read(&self.live.state).delta)
    }
}

/// Rows of a Delta that are scanned at a time: writers wait for some microseconds.
const SCAN_ROWS: usize = 1 << 16;

impl<V: Value> Snapshot<V> {
    pub(crate) fn new(
        main: Arc<Main<V>>,
        frozen: Option<Arc<Live<V>>>,
        (active, active_rows): (Arc<Live<V>>, usize),
    ) -> Self {
        let mut rows = main.rows() as u64;
        let mut part = |live: Arc<Live<V>>, count| {
            let first = rows;
            rows += count as u64;
            (count > 0).then_some(DeltaPart {
                live,
                rows: count,
                first,
            })
        };
        let frozen = frozen.and_then(|frozen| {
            let rows = frozen.rows();
            part(frozen, rows)
        });
        let active = part(active, active_rows);
        Self {
            main,
            deltas: [frozen, active],
            rows,
        }
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Returns the part that is made to be read. The Main's rows are the first ones.
    pub fn main(&self) -> &Main<V> {
        &self.main
    }

    /// Returns the other parts that have rows, in the order of their rows.
    pub(crate) fn deltas(&self) -> impl Iterator<Item = &DeltaPart<V>> {
        self.deltas.iter().flatten()
    }

    /// Returns the value of a row; `None` is NULL.
    ///
    /// # Panics
    /// Panics if there is no such row.
    pub fn value(&self, row: u64) -> Option<V> {
        self.with_value(row, |value| value.map(V::of_ref))
    }

    /// Passes the value of a row to `look`, without a copy. `look` must not use the column, whose writers may be
    /// waiting.
    ///
    /// # Panics
    /// Panics if there is no such row.
    pub fn with_value<T>(&self, row: u64, look: impl FnOnce(Option<V::Ref<'_>>) -> T) -> T {
        if row < self.main.rows() as u64 {
            return look(self.main.value(row as usize));
        }
        let part = self.deltas().find(|part| {
            let last = part.first + part.rows as u64;
            (part.first..last).contains(&row)
        });
        let part = part.unwrap_or_else(|| panic!("there are {} rows", self.rows));
        part.with(|delta| look(delta.value((row - part.first) as usize)))
    }

    /// Appends the numbers of the rows that are NULL, in ascending order.
    ///
    /// # Errors
    /// [`ColumnError::Memory`] if memory is lacking for all of them.
    pub fn null_rows(&self, rows: &mut Vec<u64>) -> Result<(), ColumnError> {
        if self.main.has_nulls() {
            let set = CodeSet::one(self.main.null_code());
            self.scan_main(&set, rows)?;
        }
        for part in self.deltas() {
            self.scan_delta(part, &CodeSet::one(Delta::<V>::NULL), rows)?;
        }
        Ok(())
    }

    /// Appends the numbers of the Main's rows whose codes are in a set.
    pub(crate) fn scan_main(&self, set: &CodeSet, rows: &mut Vec<u64>) -> Result<(), ColumnError> {
        let codes = self.main.codes();
        Ok(codes.rows(0..codes.len(), set, 0, rows)?)
    }

    /// Appends the numbers of a Delta's rows whose codes are in a set.
    pub(crate) fn scan_delta(
        &self,
        part: &DeltaPart<V>,
        set: &CodeSet,
        rows: &mut Vec<u64>,
    ) -> Result<(), ColumnError> {
        if set.is_empty() {
            return Ok(());
        }
        for from in (0..part.rows).step_by(SCAN_ROWS) {
            let some = from..part.rows.min(from + SCAN_ROWS);
            part.with(|delta| delta.codes().rows(some, set, part.first, rows))?;
        }
        Ok(())
    }
}

impl<V: Value> std::fmt::Debug for Snapshot<V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot")
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}
