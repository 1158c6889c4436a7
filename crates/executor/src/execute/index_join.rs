//! Joins by lookup: the keys of a batch of rows are looked up in a table together, so that their
//! cache misses overlap (paper 003).
//!
//! Where rows match ranges of keys, the ranges are scanned one after the other. Once a scan had to wait for the device,
//! the cold records of the next rows' ranges are read together before (paper 002, section 4).

use engine::{Direction, IndexPosition, Thawed};
use interleave::{GroupChoice, Interleaved, Sequential};
use std::ops::{Bound, ControlFlow, Range};
use types::{Charge, Result, Scratch};

use super::{
    ExecutionContext, Input, JoinTables, Operator, ROWS_AT_ONCE, Step,
    errors::of_engine,
    key::{self, Keys},
    matches::{Matches, Sides, slice},
    scan::{Reader, index_of},
};
use batch::Rows;
use planner::plan::{AccessPath, IndexJoin, KeyRange};

pub(super) struct IndexJoinOperator<'p> {
    join: &'p IndexJoin,
    outer: Input<'p>,
    /// Rows of the table that were found for the batch.
    found: Rows,
    matches: Matches,
    /// Choice whether lookups are worth interleaving.
    choice: GroupChoice,
    /// Rows of the outer batch that are looked up at once.
    slice: usize,
    /// Rest of the range of the first row that is not done.
    goes_on: Option<Rest>,
    /// Whether a range had cold records.
    meets_cold: bool,
    /// Cold records of the ranges of some rows, and the first row behind these.
    thawed: (Thawed, usize),
    scratch: Scratch,
    /// Charge for the matches.
    charge: Charge,
}

/// Maximum number of rows for whose ranges cold records are read together.
const THAWED_ROWS: usize = 256;

/// A part of a range.
struct Rest {
    keys: Keys,
    /// Position of the index up to which records were read.
    behind: Option<Vec<u8>>,
}

impl<'p> IndexJoinOperator<'p> {
    pub(super) fn new(join: &'p IndexJoin, outer: Input<'p>) -> Self {
        let width = join.scan.columns.len() + usize::from(join.scan.with_key);
        Self {
            join,
            outer,
            found: Rows::new(width),
            matches: Matches::default(),
            choice: GroupChoice::default(),
            slice: usize::MAX,
            goes_on: None,
            meets_cold: false,
            thawed: Default::default(),
            scratch: Scratch::new(),
            charge: Charge::default(),
        }
    }

    async fn advance(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        loop {
            self.hand_over(out);
            if !out.is_empty() {
                return Ok(true);
            }
            let is_new = self.outer.taken == self.outer.batch.len();
            if !self.outer.more(context).await? {
                return Ok(false);
            }
            if is_new {
                self.thawed = Default::default();
            }
            self.look_up(context).await?;
        }
    }

    async fn look_up(&mut self, context: &ExecutionContext<'_>) -> Result<()> {
        self.scratch.reset();
        self.found.clear();
        let first = self.outer.taken;
        let until = self.outer.batch.len().min(first.saturating_add(self.slice));
        let mut rows = first..until;
        let mut candidates: Vec<(u32, u32)> = Vec::with_capacity(rows.len());
        match &self.join.scan.access {
            AccessPath::Key(range) if range.is_point => {
                rows.end = self
                    .points(range, rows.clone(), context, &mut candidates)
                    .await?
            }
            AccessPath::Key(range) => {
                rows.end = self
                    .ranges(range, None, rows.clone(), context, &mut candidates)
                    .await?
            }
            AccessPath::Index { index, range } => {
                rows.end = self
                    .ranges(range, Some(*index), rows.clone(), context, &mut candidates)
                    .await?
            }
            AccessPath::Full => {}
        }
        self.found.settle(context.memory())?;
        candidates.sort_unstable();
        let found = candidates.len();
        let is_done = self
            .find_matches(rows.clone(), context, &mut candidates)
            .await?;
        let bytes = candidates.capacity() * size_of::<(u32, u32)>() + self.matches.bytes();
        self.charge.set(context.memory(), bytes)?;
        self.slice = match self.found.is_large() {
            // Records that found no room were read in vain.
            true => rows.len(),
            false => slice(rows.len(), found),
        };
        self.outer.taken = match is_done {
            true => {
                self.goes_on = None;
                rows.end
            }
            false => rows.end - 1,
        };
        Ok(())
    }

    /// Looks up at most one record for each row, until there are enough; returns the first row that
    /// was not looked up.
    async fn points(
        &mut self,
        range: &KeyRange,
        outer: Range<usize>,
        context: &ExecutionContext<'_>,
        candidates: &mut Vec<(u32, u32)>,
    ) -> Result<usize> {
        let scan = &self.join.scan;
        let mut end = outer.end;
        // The keys lie one behind the other; each entry has its row and the key's place.
        let mut bytes = Vec::new();
        let mut keys: Vec<(u32, Range<usize>)> = Vec::with_capacity(outer.len());
        {
            let mut evaluator = context.evaluator(&self.scratch);
            for at in outer {
                let begin = bytes.len();
                if key::point_into(range, &mut evaluator, self.outer.batch.row(at), &mut bytes)? {
                    keys.push((at as u32, begin..bytes.len()));
                }
            }
        }
        let key = |(_, place): &(u32, Range<usize>)| &bytes[place.clone()];
        let mut reader = Reader::new(scan, context, &self.scratch)?;
        let (scratch, found) = (&self.scratch, &mut self.found);
        let mut failure = None;
        let visit = |place: usize, record: &[u8]| {
            let number = found.len() as u32;
            // Records come in no order. The record of the first row always finds room, so that the
            // row is done.
            if found.is_large() && place > 0 {
                end = end.min(keys[place].0 as usize);
                return;
            }
            match reader.take(context, scratch, key(&keys[place]), record, found) {
                Ok(true) => candidates.push((keys[place].0, number)),
                Ok(false) => {}
                Err(error) => {
                    failure.get_or_insert(error);
                }
            }
        };
        let (reads, table) = (context.reads, scan.table.storage());
        let read = match context.is_sequential {
            true => {
                reads
                    .multi_get::<Sequential, _>(table, keys.iter().map(key), visit)
                    .await
            }
            false => {
                let (choice, keys) = (&mut self.choice, keys.iter().map(key));
                reads
                    .multi_get_by_choice::<Interleaved, _>(table, keys, choice, visit)
                    .await
            }
        };
        read.map_err(|error| of_engine(error, &scan.table))?;
        candidates.retain(|(row, _)| (*row as usize) < end);
        failure.map_or(Ok(end), Err)
    }

    /// Looks up any number of records for each row, until there are enough; returns the first row
    /// that was not looked up. The range of the last row that was looked up may go on.
    async fn ranges(
        &mut self,
        range: &KeyRange,
        index: Option<usize>,
        outer: Range<usize>,
        context: &ExecutionContext<'_>,
        candidates: &mut Vec<(u32, u32)>,
    ) -> Result<usize> {
        if index.is_none() && self.meets_cold && outer.start >= self.thawed.1 {
            self.thaw(range, outer.clone(), context).await?;
        }
        let mut reader = Reader::new(&self.join.scan, context, &self.scratch)?;
        let stops = context.reads.cold_stops();
        for at in outer.clone() {
            if self.found.len() >= ROWS_AT_ONCE || self.found.is_large() {
                return Ok(at);
            }
            let rest = match self.goes_on.take() {
                Some(rest) => Some(rest),
                None => {
                    let row = self.outer.batch.row(at);
                    let keys = key::keys(range, &mut context.evaluator(&self.scratch), row)?;
                    keys.map(|keys| Rest { keys, behind: None })
                }
            };
            let Some(mut rest) = rest else {
                continue;
            };
            // A turn may end, after which the row's range goes on.
            while !self
                .piece(&mut rest, index, at, context, &mut reader, candidates)
                .await?
            {
                self.meets_cold |= context.reads.cold_stops() > stops;
                if self.found.len() >= ROWS_AT_ONCE || self.found.is_large() {
                    self.goes_on = Some(rest);
                    return Ok(at + 1);
                }
                context.end_turn().await;
            }
            self.meets_cold |= context.reads.cold_stops() > stops;
            self.found.settle(context.memory())?;
        }
        Ok(outer.end)
    }

    /// Reads the cold records of the ranges of some rows, as far as they are read together.
    async fn thaw(
        &mut self,
        range: &KeyRange,
        outer: Range<usize>,
        context: &ExecutionContext<'_>,
    ) -> Result<()> {
        let scan = &self.join.scan;
        let mut all = Vec::with_capacity(THAWED_ROWS);
        // Rows without a key have no range, and count.
        let mut places = Vec::with_capacity(THAWED_ROWS);
        {
            let mut evaluator = context.evaluator(&self.scratch);
            for at in outer.clone().take(THAWED_ROWS) {
                match key::keys(range, &mut evaluator, self.outer.batch.row(at)) {
                    Ok(Some(keys)) => {
                        all.push(keys);
                        places.push(at);
                    }
                    Ok(None) => {}
                    // The row may never be reached.
                    Err(_) => break,
                }
            }
        }
        let ranges = all.iter().map(|keys| {
            let from = keys.from.as_ref().map(Vec::as_slice);
            (from, keys.to.as_ref().map(Vec::as_slice))
        });
        let thawed = context
            .reads
            .thaw_ranges::<Interleaved>(scan.table.storage(), ranges)
            .await
            .map_err(|error| of_engine(error, &scan.table))?;
        let until = match places.get(thawed.ranges()) {
            Some(next) => *next,
            None => outer.end.min(outer.start + THAWED_ROWS),
        };
        self.meets_cold = !thawed.is_empty();
        self.thawed = (thawed, until);
        Ok(())
    }

    /// Reads records of an outer row's range, until the task's turn is over or there are enough;
    /// returns whether the range is at its end.
    async fn piece(
        &mut self,
        rest: &mut Rest,
        index: Option<usize>,
        at: usize,
        context: &ExecutionContext<'_>,
        reader: &mut Reader<'_>,
        candidates: &mut Vec<(u32, u32)>,
    ) -> Result<bool> {
        let scan = &self.join.scan;
        let (scratch, found) = (&self.scratch, &mut self.found);
        let mut failure = None;
        let mut last: Option<Vec<u8>> = None;
        let mut visit = |position: &[u8], key: &[u8], record: &[u8]| {
            let number = found.len() as u32;
            match reader.take(context, scratch, key, record, found) {
                Ok(true) => candidates.push((at as u32, number)),
                Ok(false) => {}
                Err(error) => {
                    failure = Some(error);
                    return ControlFlow::Break(());
                }
            }
            if !context.turn().spend(1) && found.len() < ROWS_AT_ONCE && !found.is_large() {
                return ControlFlow::Continue(());
            }
            last = Some(position.to_vec());
            ControlFlow::Break(())
        };
        let bounds: (Bound<&[u8]>, Bound<&[u8]>) = (
            rest.keys.from.as_ref().map(Vec::as_slice),
            rest.keys.to.as_ref().map(Vec::as_slice),
        );
        let scanned = match index {
            None => {
                let visit = |key: &[u8], record: &[u8]| visit(key, key, record);
                let (table, direction) = (scan.table.storage(), Direction::Forward);
                context
                    .reads
                    .scan_thawed::<Interleaved>(table, bounds, direction, &self.thawed.0, visit)
                    .await
            }
            Some(index) => {
                let handle = index_of(&scan.table, index)?;
                let behind = rest.behind.as_deref().map(IndexPosition::new);
                let visit = |at: IndexPosition<'_>, _: &[u8], key: &[u8], record: &[u8]| {
                    visit(at.bytes(), key, record)
                };
                context
                    .reads
                    .scan_by_from::<Interleaved>(handle, bounds, Direction::Forward, behind, visit)
                    .await
            }
        };
        scanned.map_err(|error| of_engine(error, &scan.table))?;
        if let Some(error) = failure {
            return Err(error);
        }
        let Some(last) = last else {
            return Ok(true);
        };
        match index {
            None => rest.keys.from = Bound::Excluded(last),
            Some(_) => rest.behind = Some(last),
        }
        Ok(false)
    }

    /// Finds the matches among the candidates for these rows; returns whether the last row is done.
    async fn find_matches(
        &mut self,
        outer: Range<usize>,
        context: &ExecutionContext<'_>,
        candidates: &mut Vec<(u32, u32)>,
    ) -> Result<bool> {
        let sides = Sides {
            left: &self.outer.batch,
            right: &self.found,
            right_width: self.found.width(),
        };
        self.matches
            .find(
                (self.join.kind, self.join.residual.as_ref()),
                (outer, sides),
                (candidates, self.goes_on.is_some()),
                (context, &self.scratch),
                |_| (),
            )
            .await
    }

    fn hand_over(&mut self, out: &mut Rows) {
        let (left, right) = (&self.outer.batch, &self.found);
        self.matches
            .hand_over(left, right, &self.join.projection, out);
    }
}

impl Operator for IndexJoinOperator<'_> {
    fn next<'f>(&'f mut self, context: &'f ExecutionContext<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(context, out))
    }

    fn share<'f>(
        &'f mut self,
        context: &'f ExecutionContext<'_>,
        tables: &'f mut JoinTables,
    ) -> Step<'f> {
        self.outer.share(context, tables)
    }

    fn rewind(&mut self) {
        self.outer.rewind();
        self.matches.clear();
        self.found.clear();
        self.goes_on = None;
        self.thawed = Default::default();
    }
}
