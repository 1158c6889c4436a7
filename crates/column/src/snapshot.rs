//! What a column was at one moment.

use crate::{
    codes::CodeSet,
    column::Live,
    delta::Delta,
    error::ColumnError,
    main_part::Main,
    sync::{Arc, read},
    value::Value,
};

/// The rows that a column had when it was taken; see the text of `column.rs` for why. It keeps the
/// memory of its parts.
#[derive(Clone)]
pub struct Snapshot<V: Value> {
    main: Arc<Main<V>>,
    /// The frozen one, if there was one, and the active one.
    deltas: [Option<DeltaPart<V>>; 2],
    rows: u64,
}

/// The first rows of a Delta.
pub(crate) struct DeltaPart<V: Value> {
    live: Arc<Live<V>>,
    pub(crate) rows: usize,
    /// The number of the first one.
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

    /// How many rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The part that is made to be read. Its rows are the first ones.
    pub fn main(&self) -> &Main<V> {
        &self.main
    }

    /// The others that have rows, in the order of these.
    pub(crate) fn deltas(&self) -> impl Iterator<Item = &DeltaPart<V>> {
        self.deltas.iter().flatten()
    }

    /// The value of a row. `None`: NULL.
    ///
    /// # Panics
    /// If there are not so many rows.
    pub fn value(&self, row: u64) -> Option<V> {
        self.with_value(row, |value| value.map(V::of_ref))
    }

    /// Gives the value of a row where it lies. It must not use the column, for whose writers may wait.
    ///
    /// # Panics
    /// If there are not so many rows.
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
    /// When memory is lacking for all of them.
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
