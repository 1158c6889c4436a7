//! Joins by hash: one side is read into a table, the other looked up in it, batch by batch.
//!
//! Sides that come by columns are gone through by columns (`hash_join/columnar.rs`). A batch is turned into rows where
//! that is not possible: where a key or a condition fails, whose error has to be that of the first row, and where one
//! row has very many candidates. A build side that has no room is put by on the device with the probe side
//! (`hash_join/partitions.rs`).

mod columnar;
mod partitions;

use std::{ops::Range, sync::Arc};

use interleave::Interleaver;
use types::{Charge, Result, Scratch, Value, row::integer_of};

use self::{columnar::Joined, partitions::PutBy};
use super::{
    BATCH_ROWS, ExecutionContext, Input, JoinTables, Operator, ROWS_AT_ONCE, Spilled, Step,
    join_filters::filter_of,
    join_hash_table::{BuildKeys, JoinHashTable},
    matches::{self, Matches, Sides},
};
use batch::{NO_ROW, Rows};
use logical::relation::JoinKind;
use planner::{
    plan::HashJoin,
    program::{Evaluator, Program},
};

/// Number of candidates after which no further rows of the probe side are looked up at once.
const CANDIDATES_MAX: usize = 2 * ROWS_AT_ONCE;

/// Marks that are looked at for each that counts as work on a row.
const PLACES_PER_ROW: usize = 16;

pub(super) struct HashJoinOperator<'p> {
    join: &'p HashJoin,
    /// Column that is the probe's key, if the key is one column.
    probe_column: Option<usize>,
    probe: Input<'p>,
    /// Build side; missing in a part of a division, which is given the table.
    build: Option<Input<'p>>,
    keys: BuildKeys,
    hash_table: Arc<JoinHashTable>,
    is_built: bool,
    interleaver: Interleaver,
    /// Charge for the table.
    table_charge: Charge,
    /// Rows that were put by.
    put_by: PutBy,
    /// Rows of the build side that had a match, if they are marked.
    matched: Vec<bool>,
    /// Number of them that had none.
    unmatched: usize,
    /// Integer keys of the probe's batch, with their rows.
    probe_keys: Vec<(u32, i64)>,
    /// Rows with equal keys: of the probe's batch, and of the build side; in order.
    candidates: Vec<(u32, u32)>,
    matches: Matches,
    /// Matches of batches by columns.
    joined: Joined,
    /// Rows of the probe's batch that are looked up at once.
    slice: usize,
    /// Keys of a row of the probe that is looked up by itself.
    row_keys: Rows,
    /// Candidate to go on with, if the row has more than were looked at.
    goes_on: Option<u32>,
    /// Row of the build side up to which rows were handed over by their marks.
    rest: usize,
    scratch: Scratch,
    /// Charge for what is kept beside the hash table.
    charge: Charge,
}

impl<'p> HashJoinOperator<'p> {
    /// Makes the operator of `join` over both sides.
    pub(super) fn new(join: &'p HashJoin, probe: Input<'p>, mut build: Input<'p>) -> Self {
        build.batch.accept_columns();
        let keys = BuildKeys::of(join);
        let table = Arc::new(JoinHashTable::empty(&keys));
        Self {
            build: Some(build),
            is_built: false,
            ..Self::with(join, probe, keys, table)
        }
    }

    /// Makes the operator of `join` over the table of a build side that was read, for a join that marks none of its
    /// rows.
    pub(super) fn over(join: &'p HashJoin, probe: Input<'p>, table: Arc<JoinHashTable>) -> Self {
        Self::with(join, probe, BuildKeys::of(join), table)
    }

    fn with(
        join: &'p HashJoin,
        mut probe: Input<'p>,
        keys: BuildKeys,
        hash_table: Arc<JoinHashTable>,
    ) -> Self {
        probe.batch.accept_columns();
        let probe_width = probe.batch.width();
        Self {
            join,
            probe_column: match &join.probe_keys[..] {
                [key] => key.as_column(),
                _ => None,
            },
            probe,
            build: None,
            keys,
            hash_table,
            is_built: true,
            interleaver: Interleaver::auto(),
            table_charge: Charge::default(),
            put_by: PutBy::default(),
            matched: Vec::new(),
            unmatched: 0,
            probe_keys: Vec::new(),
            candidates: Vec::new(),
            matches: Matches::default(),
            joined: Joined::new(join, probe_width),
            slice: usize::MAX,
            row_keys: Rows::new(join.probe_keys.len()),
            goes_on: None,
            rest: 0,
            scratch: Scratch::new(),
            charge: Charge::default(),
        }
    }

    async fn advance(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        loop {
            self.build(context).await?;
            if self.is_empty() {
                return Ok(!out.is_empty());
            }
            if self.hand_on(context, out)? {
                return Ok(true);
            }
            if !self.are_all_marked() && self.more(context).await? {
                self.look_up(context).await?;
                continue;
            }
            if self.joined.hand_on(out) {
                return Ok(true);
            }
            self.marked(context, out).await;
            if !out.is_empty() || !self.begin_partition(context).await? {
                return Ok(!out.is_empty());
            }
        }
    }

    /// Returns whether no row of the probe side need be looked at: the build side has none, and only matches count.
    fn is_empty(&self) -> bool {
        self.join.needs_match() && self.hash_table.rows().is_empty() && !self.put_by.has_rows()
    }

    /// Makes the table of the build side, or of a partition's, unless it is there; of no rows, if they are put by.
    async fn build(&mut self, context: &ExecutionContext<'_>) -> Result<()> {
        if self.is_built {
            return Ok(());
        }
        let mut rows = Rows::new(self.keys.width());
        match self.put_by.build_side() {
            Some(_) => self.read_partition(&mut rows, context).await?,
            None => self.read_build_side(&mut rows, context).await?,
        }
        if self.put_by.is_writing() {
            self.put_by(&mut rows, context).await?;
            self.partition(context).await?;
        }
        self.put_by.release();
        let (table, charge) = JoinHashTable::build(&self.keys, rows, context).await?;
        (self.hash_table, self.table_charge) = (Arc::new(table), charge);
        self.is_built = true;
        if !self.put_by.has_rows() {
            self.make_filters(context).await?;
        }
        if self.join.is_marked() {
            self.unmatched = self.hash_table.rows().len();
            self.matched = vec![false; self.unmatched];
            self.charge(context)?;
        }
        Ok(())
    }

    /// Makes the filters of the table's keys, for scans of the probe side.
    async fn make_filters(&mut self, context: &ExecutionContext<'_>) -> Result<()> {
        for (key, number) in &self.join.filters {
            let (rows, place) = (self.hash_table.rows(), self.keys.place(*key));
            let filter = filter_of(rows, place, context, &mut self.table_charge).await?;
            context.shared.join_filters.set(*number, filter);
        }
        Ok(())
    }

    /// Reads the build side of a partition.
    async fn read_partition(
        &mut self,
        rows: &mut Rows,
        context: &ExecutionContext<'_>,
    ) -> Result<()> {
        while let Some(reader) = self.put_by.build_side()
            && reader.read(rows, context.turn()).await?
        {
            self.hold(rows, context).await?;
        }
        Ok(())
    }

    /// Reads the build side.
    async fn read_build_side(
        &mut self,
        rows: &mut Rows,
        context: &ExecutionContext<'_>,
    ) -> Result<()> {
        for (_, number) in &self.join.filters {
            context.shared.join_filters.set(*number, None);
        }
        let mut stay = Vec::with_capacity(BATCH_ROWS);
        // Keys that are no columns come behind the columns.
        let mut apart = Rows::new(self.keys.width() - self.join.build_width);
        while let Some(build) = &mut self.build
            && build.more(context).await?
        {
            if self.add_columns(context, rows).await {
                self.hold(rows, context).await?;
                continue;
            }
            let Some(build) = &mut self.build else { break };
            build.batch.columns_to_rows();
            self.scratch.reset();
            stay.clear();
            apart.clear();
            let mut evaluator = context.evaluator(&self.scratch);
            let mut keys = Vec::with_capacity(self.join.build_keys.len());
            for (at, row) in build.batch.iter().enumerate() {
                keys.clear();
                for program in &self.join.build_keys {
                    keys.push(program.run(&mut evaluator, row)?);
                }
                // NULL is equal to nothing.
                if keys.iter().any(Value::is_null) && !self.join.keeps_without_match() {
                    continue;
                }
                stay.push(at);
                if apart.width() > 0 {
                    apart.push(keys.iter().copied());
                }
                context.pause(1).await;
            }
            apart.settle(context.memory())?;
            rows.adopt(&mut build.batch, stay.iter().copied(), &mut apart);
            build.taken = 0;
            self.hold(rows, context).await?;
        }
        Ok(())
    }

    /// Finds the matches of some rows of the probe side, or of a part of one row's candidates. If
    /// rows have many candidates, few rows are looked up at once.
    async fn look_up(&mut self, context: &ExecutionContext<'_>) -> Result<()> {
        if self.probe.batch.columns().is_some() {
            if self.look_up_columns(context).await? {
                return self.charge(context);
            }
            self.probe.batch.columns_to_rows();
            self.probe.batch.settle(context.memory())?;
        }
        let first = self.probe.taken;
        let slice = if self.goes_on.is_some() {
            1
        } else {
            self.slice
        };
        let mut rows = first..self.probe.batch.len().min(first.saturating_add(slice));
        while rows.len() > 1 {
            self.candidates_for(rows.clone(), context).await?;
            if self.candidates.len() <= CANDIDATES_MAX {
                break;
            }
            rows.end = first + rows.len().div_ceil(8);
        }
        if rows.len() == 1 {
            self.some_candidates(context)?;
            if self.goes_on.is_some() {
                // Rows that were looked at and have other keys are no candidates.
                let others = ROWS_AT_ONCE.saturating_sub(self.candidates.len());
                context.pause(others).await;
            }
        }
        let found = self.candidates.len();
        let left_out = leave_out_marked(self.join, &self.matched, &mut self.candidates);
        context.pause(left_out).await;
        let residual = self.join.residual.as_ref();
        let is_done = self.find_matches(residual, rows.clone(), context).await?;
        if is_done {
            self.goes_on = None;
            self.probe.taken = rows.end;
        }
        self.slice = matches::slice(rows.len(), found);
        self.charge(context)
    }

    /// Charges what is kept beside the hash table.
    fn charge(&mut self, context: &ExecutionContext<'_>) -> Result<()> {
        let candidates = self.candidates.capacity() * size_of::<(u32, u32)>();
        let bytes = candidates + self.matches.bytes() + self.matched.capacity();
        self.charge.set(context.memory(), bytes)
    }

    /// Finds the candidates of some rows of the probe side: all, or more than [`CANDIDATES_MAX`].
    async fn candidates_for(
        &mut self,
        rows: Range<usize>,
        context: &ExecutionContext<'_>,
    ) -> Result<()> {
        self.scratch.reset();
        self.candidates.clear();
        let mut evaluator = context.evaluator(&self.scratch);
        let batch = &self.probe.batch;
        match (self.hash_table.integers(), &self.join.probe_keys[..]) {
            (Some(integers), [program]) => {
                self.probe_keys.clear();
                for at in rows {
                    let row = batch.row(at);
                    let key = match self.probe_column {
                        Some(column) => integer_of(row[column]),
                        None => {
                            context.pause(1).await;
                            integer_of(program.run(&mut evaluator, row)?)
                        }
                    };
                    if let Some(key) = key {
                        self.probe_keys.push((at as u32, key));
                    }
                }
                integers.find(&self.probe_keys, CANDIDATES_MAX, &mut self.candidates);
                self.hash_table.prefetch(&self.candidates);
                Ok(())
            }
            _ => {
                equal(
                    (&self.join.probe_keys, batch, rows),
                    (&self.hash_table, &mut self.interleaver),
                    (context, &mut evaluator),
                    &mut self.candidates,
                )
                .await
            }
        }
    }

    /// Finds candidates of the first row of the probe side that is not done: all, or the next
    /// [`ROWS_AT_ONCE`] of them.
    fn some_candidates(&mut self, context: &ExecutionContext<'_>) -> Result<()> {
        self.scratch.reset();
        self.candidates.clear();
        let at = self.probe.taken;
        if self.goes_on.is_none() {
            let mut evaluator = context.evaluator(&self.scratch);
            let row = self.probe.batch.row(at);
            let keys = self.join.probe_keys.iter();
            self.row_keys.clear();
            self.row_keys
                .try_push(keys.map(|program| program.run(&mut evaluator, row)))?;
        }
        let keys = self.row_keys.row(0);
        if keys.iter().any(Value::is_null) {
            return Ok(());
        }
        let candidates = &mut self.candidates;
        self.goes_on = self
            .hash_table
            .find_some(keys, self.goes_on, ROWS_AT_ONCE, |number| {
                candidates.push((at as u32, number));
            });
        candidates.sort_unstable();
        Ok(())
    }

    /// Finds the matches among the candidates for these rows, of those for which the other condition holds if there is
    /// one; returns whether the last row is done.
    async fn find_matches<P>(
        &mut self,
        residual: Option<&Program>,
        rows: P,
        context: &ExecutionContext<'_>,
    ) -> Result<bool>
    where
        P: DoubleEndedIterator<Item = usize> + ExactSizeIterator + Clone,
    {
        let kind = match self.join.is_turned {
            true => JoinKind::Right,
            false => self.join.kind,
        };
        let sides = Sides {
            left: &self.probe.batch,
            right: self.hash_table.rows(),
            right_width: self.join.build_width,
        };
        let (matched, unmatched) = (&mut self.matched, &mut self.unmatched);
        let is_done = self
            .matches
            .find(
                (kind, residual),
                (rows, sides),
                (&mut self.candidates, self.goes_on.is_some()),
                (context, &self.scratch),
                |number| {
                    if let Some(matched) = matched.get_mut(number as usize) {
                        *unmatched -= usize::from(!*matched);
                        *matched = true;
                    }
                },
            )
            .await?;
        if self.join.gives_marked_alone() {
            self.matches.forget();
        }
        Ok(is_done)
    }

    /// Returns whether further rows of the probe side make no difference, since all rows of the build side are marked.
    fn are_all_marked(&self) -> bool {
        self.is_built && self.unmatched == 0 && self.join.gives_marked_alone()
    }

    /// Hands on rows of the matches that were found, if there are any; matches of a batch by columns only when they are
    /// many.
    fn hand_on(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        if self.probe.batch.columns().is_some() {
            return self.hand_on_columns(context, out);
        }
        // Matches of batches before this one come first.
        if self.matches.are_left() && self.joined.hand_on(out) {
            return Ok(true);
        }
        let (left, right) = (&self.probe.batch, self.hash_table.rows());
        self.matches
            .hand_over(left, right, &self.join.projection, out);
        Ok(!out.is_empty())
    }

    /// Forgets the matches that were found.
    fn forget_matches(&mut self) {
        self.candidates.clear();
        self.matches.clear();
        self.joined.clear();
        self.goes_on = None;
        self.rest = 0;
    }

    /// Forgets the rows of the build side, and the matches.
    fn forget_build_side(&mut self) {
        self.hash_table = Arc::new(JoinHashTable::empty(&self.keys));
        self.table_charge = Charge::default();
        self.is_built = false;
        self.matched.clear();
        self.forget_matches();
    }

    /// Gives rows of the build side by their marks, if there are any: those with a mark in semijoins, the others else.
    /// Some places are looked at in each turn of the loop.
    async fn marked(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) {
        let projection = &self.join.projection;
        let wanted = self.join.kind == JoinKind::Semi;
        while out.is_empty() && self.rest < self.matched.len() {
            let first = self.rest;
            let end = self.matched.len().min(first + ROWS_AT_ONCE);
            let rest = (first..end).filter(|at| self.matched[*at] == wanted);
            let pairs: Vec<_> = rest
                .take(BATCH_ROWS)
                .map(|at| (NO_ROW, at as u32))
                .collect();
            let added = out.push_pairs(
                (&self.probe.batch, &projection.left),
                (self.hash_table.rows(), &projection.right),
                &pairs,
            );
            self.rest = match pairs[..added].last() {
                Some((_, last)) => *last as usize + 1,
                None => end,
            };
            context
                .pause(pairs.len() + (end - first) / PLACES_PER_ROW)
                .await;
        }
    }
}

/// Appends pairs of a row of the batch and a match with equal keys, in order; ends early once
/// there are more than [`CANDIDATES_MAX`] candidates.
async fn equal<'a>(
    (programs, batch, looked_up): (&'a [Program], &'a Rows, Range<usize>),
    (hash_table, interleaver): (&JoinHashTable, &mut Interleaver),
    (context, evaluator): (&ExecutionContext<'_>, &mut Evaluator<'a>),
    candidates: &mut Vec<(u32, u32)>,
) -> Result<()> {
    let width = programs.len();
    let mut keys = Vec::with_capacity(looked_up.len() * width);
    for at in looked_up.clone() {
        context.pause(1).await;
        let row = batch.row(at);
        for program in programs {
            keys.push(program.run(evaluator, row)?);
        }
    }
    let key = |at: u32| &keys[(at as usize - looked_up.start) * width..][..width];
    let rows = looked_up.clone().map(|at| at as u32);
    hash_table.find_equal(interleaver, rows, key, CANDIDATES_MAX, candidates);
    Ok(())
}

impl Operator for HashJoinOperator<'_> {
    fn next<'f>(&'f mut self, context: &'f ExecutionContext<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(context, out))
    }

    fn share<'f>(
        &'f mut self,
        context: &'f ExecutionContext<'_>,
        tables: &'f mut JoinTables,
    ) -> Step<'f> {
        Box::pin(async {
            self.build(context).await?;
            if self.put_by.has_rows() || self.join.is_marked() {
                return Ok(false);
            }
            tables.0.push(self.hash_table.clone());
            self.probe.share(context, tables).await
        })
    }

    fn spilled(&self) -> Option<Spilled> {
        self.put_by.spilled()
    }

    fn rewind(&mut self) {
        self.probe.rewind();
        // The build side is kept if its rows are the same each time, and were not put by.
        if self.join.is_fixed && self.is_built && !self.put_by.has_rows() {
            self.matched.fill(false);
            self.unmatched = self.matched.len();
            self.forget_matches();
        } else {
            if let Some(build) = &mut self.build {
                build.rewind();
            }
            self.put_by.clear();
            self.forget_build_side();
        }
    }
}

/// Leaves candidates out whose row of the build side is marked, where a further match makes no difference to it;
/// returns their number.
fn leave_out_marked(join: &HashJoin, matched: &[bool], candidates: &mut Vec<(u32, u32)>) -> usize {
    let before = candidates.len();
    if join.gives_marked_alone() {
        candidates.retain(|(_, number)| !matched[*number as usize]);
    }
    before - candidates.len()
}
