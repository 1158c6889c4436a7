//! The stream of operations of one worker.
//!
//! Drawing an operation costs a few nanoseconds; a transaction is drawn whole into a buffer of its
//! slot, so a retry repeats the same operations.

use std::sync::Arc;

use rand::Rng as _;

use crate::distribution::{Chooser, Records, Rng, Zipf, below, rng};
use crate::workload::{OperationKind, ScanLaw, ScanLength, Selection, Workload};
use commands::Result;

/// Number of records drawn at once.
const DRAWN_AHEAD: usize = 63;

/// One operation on the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Kind of the operation.
    pub kind: OperationKind,
    /// Number of records to read, for a scan; 1 otherwise.
    pub length: u32,
    /// Number of the record, or of the first of a scan. For an insert a number never given out
    /// before.
    pub record: u64,
}

/// An endless stream of transactions. One per worker.
#[derive(Debug)]
pub struct OperationSource {
    rng: Rng,
    records: Arc<Records>,
    chooser: Chooser,
    /// Records drawn ahead, the next one last.
    drawn: Vec<u64>,
    kinds: Kinds,
    scan: ScanLength,
    scan_zipf: Option<Zipf>,
    operations: usize,
}

#[derive(Debug)]
enum Kinds {
    /// The upper ends of each kind's part of the 64-bit numbers; the last part
    /// is open.
    Drawn(Vec<(u64, OperationKind)>),
    /// The kinds of one transaction, in order.
    Quota(Vec<OperationKind>),
}

impl OperationSource {
    /// Returns the stream of worker `stream` (any number, distinct per worker) over a table of
    /// `records`, with `operations` per transaction.
    ///
    /// # Errors
    /// [`Error::Input`](commands::Error::Input) when there are no records.
    pub fn new(
        workload: &Workload,
        operations: u32,
        records: Arc<Records>,
        seed: u64,
        stream: u64,
    ) -> Result<Self> {
        let operations = operations as usize;
        let kinds = match workload.selection {
            Selection::Drawn => Kinds::Drawn(thresholds(workload)),
            Selection::Quota => Kinds::Quota(quota(workload, operations)),
        };
        let scan = workload.scan_length;
        Ok(Self {
            rng: rng(seed, stream),
            chooser: workload.distribution.chooser(records.loaded())?,
            drawn: Vec::new(),
            records,
            kinds,
            scan,
            scan_zipf: (scan.law == ScanLaw::Zipfian)
                .then(|| Zipf::new(u64::from(scan.max - scan.min) + 1, 0.99)),
            operations,
        })
    }

    /// Returns a stream with the same tables and its own random numbers: cheaper than
    /// [`new`](Self::new) for further workers.
    #[must_use]
    pub fn fork(&self, seed: u64, stream: u64) -> Self {
        Self {
            rng: rng(seed, stream),
            records: Arc::clone(&self.records),
            chooser: self.chooser.clone(),
            drawn: Vec::new(),
            kinds: match &self.kinds {
                Kinds::Drawn(ends) => Kinds::Drawn(ends.clone()),
                Kinds::Quota(kinds) => Kinds::Quota(kinds.clone()),
            },
            scan: self.scan,
            scan_zipf: self.scan_zipf.clone(),
            operations: self.operations,
        }
    }

    /// Replaces the contents of `transaction` by the next transaction.
    #[inline]
    pub fn transaction(&mut self, transaction: &mut Vec<Operation>) {
        transaction.clear();
        for position in 0..self.operations {
            let kind = match &self.kinds {
                Kinds::Quota(kinds) => kinds[position],
                Kinds::Drawn(ends) if ends.len() == 1 => ends[0].1,
                Kinds::Drawn(ends) => {
                    let draw = self.rng.next_u64();
                    let found = ends.iter().find(|(end, _)| draw < *end);
                    found.unwrap_or(&ends[ends.len() - 1]).1
                }
            };
            transaction.push(self.operation(kind));
        }
    }

    #[inline]
    fn operation(&mut self, kind: OperationKind) -> Operation {
        let record = match kind {
            OperationKind::Insert => self.records.claim(),
            _ => {
                let drawn = self.drawn.pop().unwrap_or_else(|| self.draw());
                self.chooser.place(drawn, &self.records)
            }
        };
        let length = match kind {
            OperationKind::Scan => self.scan_length(),
            _ => 1,
        };
        Operation {
            kind,
            length,
            record,
        }
    }

    /// Returns a record drawn ahead; draws more when there are none.
    fn draw(&mut self) -> u64 {
        let Self {
            rng,
            records,
            chooser,
            drawn,
            ..
        } = self;
        drawn.extend((0..DRAWN_AHEAD).map(|_| chooser.draw(rng, records)));
        chooser.draw(rng, records)
    }

    #[inline]
    fn scan_length(&mut self) -> u32 {
        let ScanLength { law, min, max } = self.scan;
        match (law, &self.scan_zipf) {
            (ScanLaw::Zipfian, Some(zipf)) => min + zipf.rank(&mut self.rng) as u32,
            (ScanLaw::Uniform, _) => min + below(&mut self.rng, u64::from(max - min) + 1) as u32,
            _ => max,
        }
    }
}

fn thresholds(workload: &Workload) -> Vec<(u64, OperationKind)> {
    let mut sum = 0.0;
    let mut ends = Vec::new();
    for kind in OperationKind::ALL {
        let share = workload.proportions.share(kind);
        if share > 0.0 {
            sum += share;
            // The conversion saturates at the top, as the last kind needs.
            ends.push(((sum * 2_f64.powi(64)) as u64, kind));
        }
    }
    ends
}

/// Returns the kinds of one transaction: each share rounded down, and the missing operations given
/// to the kinds with the largest remainders.
fn quota(workload: &Workload, operations: usize) -> Vec<OperationKind> {
    let exact = |kind| workload.proportions.share(kind) * operations as f64;
    // A share such as 0.2 times 10 may fall just short of 2.
    let whole = |kind| (exact(kind) + 1e-9).floor();
    let mut counts = OperationKind::ALL.map(|kind| (kind, whole(kind) as usize));
    let mut by_remainder = OperationKind::ALL;
    by_remainder.sort_by(|&a, &b| (exact(b) - whole(b)).total_cmp(&(exact(a) - whole(a))));
    let given: usize = counts.iter().map(|(_, count)| count).sum();
    for kind in by_remainder.into_iter().take(operations - given) {
        counts[kind as usize].1 += 1;
    }
    // Read-modify-writes are last among the kinds and first in a transaction.
    counts
        .iter()
        .rev()
        .flat_map(|&(kind, count)| std::iter::repeat_n(kind, count))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(workload: &Workload, operations: u32) -> OperationSource {
        let records = Arc::new(Records::new(1000));
        OperationSource::new(workload, operations, records, 1, 0).unwrap()
    }

    fn kinds(name: &str, operations: u32) -> Vec<OperationKind> {
        let workload = Workload::named_or_file(name).unwrap();
        let mut transaction = Vec::new();
        source(&workload, operations).transaction(&mut transaction);
        transaction.iter().map(|operation| operation.kind).collect()
    }

    #[test]
    fn rmw_is_a_fifth_of_each_transaction() {
        use OperationKind::{Read, ReadModifyWrite};
        for (operations, writes) in [(1, 0), (2, 0), (5, 1), (10, 2), (20, 4), (100, 20)] {
            let mut expected = vec![ReadModifyWrite; writes];
            expected.resize(operations as usize, Read);
            assert_eq!(kinds("rmw", operations), expected, "{operations}");
        }
    }

    #[test]
    fn drawn_kinds_have_their_shares() {
        let workload = Workload::named_or_file("b").unwrap();
        let mut source = source(&workload, 1);
        let mut transaction = Vec::new();
        let mut updates = 0;
        for _ in 0..100_000 {
            source.transaction(&mut transaction);
            updates += u32::from(transaction[0].kind == OperationKind::Update);
        }
        assert!((4_600..5_400).contains(&updates), "{updates}");
    }

    #[test]
    fn inserts_never_repeat_a_record_across_workers() {
        let workload = Workload::named_or_file("insert").unwrap();
        let mut first = source(&workload, 10);
        let mut second = first.fork(1, 1);
        let (mut seen, mut transaction) = (std::collections::HashSet::new(), Vec::new());
        for _ in 0..100 {
            first.transaction(&mut transaction);
            assert!(
                transaction
                    .iter()
                    .all(|operation| seen.insert(operation.record))
            );
            second.transaction(&mut transaction);
            assert!(
                transaction
                    .iter()
                    .all(|operation| seen.insert(operation.record))
            );
        }
        assert!(seen.iter().all(|&record| record >= 1000));
    }

    #[test]
    fn scan_lengths_stay_within_their_bounds() {
        let mut workload = Workload::named_or_file("scan").unwrap();
        let mut transaction = Vec::new();
        for law in [ScanLaw::Constant, ScanLaw::Uniform, ScanLaw::Zipfian] {
            workload.scan_length = ScanLength {
                law,
                min: 3,
                max: 9,
            };
            let mut source = source(&workload, 1);
            let mut seen = [false; 10];
            for _ in 0..2000 {
                source.transaction(&mut transaction);
                seen[transaction[0].length as usize] = true;
            }
            assert!(!seen[0] && !seen[1] && !seen[2] && seen[9]);
            assert_eq!(seen[3], law != ScanLaw::Constant);
        }
    }

    #[test]
    fn equal_seeds_give_equal_streams() {
        let workload = Workload::named_or_file("a").unwrap();
        let (mut left, mut right) = (Vec::new(), Vec::new());
        let mut other = source(&workload, 10).fork(1, 0);
        source(&workload, 10).transaction(&mut left);
        other.transaction(&mut right);
        assert_eq!(left, right);
    }
}
