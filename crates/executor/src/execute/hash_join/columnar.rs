//! Joins by hash over batches by columns: keys are computed column by column, and so are other conditions, for all
//! pairs of a batch with equal keys. What matches is put together by columns ([`Columns::append_pairs`]), several
//! batches of the probe side at a time: a join that leaves few rows out of each would otherwise burden its reader with
//! small batches.

use std::sync::Arc;

use batch::{BATCH_ROWS, COLUMN_ROWS, COLUMN_VALUES, Columns, Data, FixedRows, Rows, View, mixed};
use interleave::Interleaver;
use planner::{
    plan::HashJoin,
    program::{Computed, Evaluator, Program, Values},
};
use types::{Result, Scratch, Value, row::integer_of};

use super::{
    super::{
        ExecutionContext,
        join_hash_table::{JoinHashTable, integer_key},
    },
    CANDIDATES_MAX, HashJoinOperator, leave_out_marked, matches,
};

/// Rows that are looked up by columns, for each that counts as work, as a power of two.
const LOOKED_UP_SHIFT: u32 = 2;

/// Parts of others' memory that joined rows own, from which on they are handed on.
const OWNERS_MAX: usize = 32;

/// Matches of batches by columns, put together by columns.
pub(super) struct Joined {
    columns: Columns,
    /// Number of rows that were handed on one by one.
    handed_on: usize,
    /// The join's columns, of the probe side and of the build side.
    projection: Maps,
    /// Columns of both sides that the join's other condition reads, and memory for them.
    tested: Maps,
    pairs: Columns,
}

/// Numbers of columns in a batch of pairs, and of each in the side that it is of.
struct Maps {
    width: usize,
    probe: Vec<(usize, usize)>,
    build: Vec<(usize, usize)>,
}

impl Joined {
    pub(super) fn new(join: &HashJoin, probe_width: usize) -> Self {
        let (probe, build) = (&join.projection.left, &join.projection.right);
        let behind = probe.len();
        let projection = Maps {
            width: join.projection.width(),
            probe: probe.iter().copied().enumerate().collect(),
            build: (behind..).zip(build.iter().copied()).collect(),
        };
        let mut tested = Maps {
            width: probe_width + join.build_width,
            probe: Vec::new(),
            build: Vec::new(),
        };
        let mut read = Vec::new();
        if let Some(residual) = &join.residual {
            residual.columns(&mut |column| read.push(column));
        }
        read.sort_unstable();
        read.dedup();
        for column in read {
            match column.checked_sub(probe_width) {
                None => tested.probe.push((column, column)),
                Some(of_build) => tested.build.push((column, of_build)),
            }
        }
        Self {
            columns: Columns::default(),
            handed_on: 0,
            projection,
            tested,
            pairs: Columns::default(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.columns.clear();
        self.pairs.clear();
        self.handed_on = 0;
    }

    /// Hands on all rows, or some if they are handed on one by one; returns false if there are none.
    pub(super) fn hand_on(&mut self, out: &mut Rows) -> bool {
        if self.columns.is_empty() {
            return false;
        }
        if out.accepts_columns() {
            self.columns.seal();
            out.put_columns(&mut self.columns);
            self.columns.clear();
            return true;
        }
        self.handed_on = self.columns.add_some_to(out, self.handed_on);
        if self.handed_on == self.columns.len() {
            self.clear();
        }
        true
    }

    /// Returns how many rows there may be at once.
    fn room(&self, out: &Rows) -> usize {
        let rows = match out.accepts_columns() {
            true => COLUMN_ROWS,
            // They are copied once more.
            false => BATCH_ROWS,
        };
        (COLUMN_VALUES / self.projection.width.max(1)).clamp(1, rows)
    }

    /// Returns the candidates for which a condition holds; `None` if they have to be gone through one by one.
    async fn holding(
        &mut self,
        condition: &Program,
        sides: (&Columns, &Arc<FixedRows>),
        candidates: &[(u32, u32)],
        (context, scratch): (&ExecutionContext<'_>, &Scratch),
    ) -> Result<Option<Vec<(u32, u32)>>> {
        let (maps, pairs) = (&self.tested, &mut self.pairs);
        let mut holding = Vec::with_capacity(candidates.len());
        let at_once = (COLUMN_VALUES / (maps.probe.len() + maps.build.len()).max(1)).max(1);
        let mut left = candidates;
        while !left.is_empty() {
            pairs.restart(maps.width);
            let tested = &left[..left.len().min(at_once.min(COLUMN_ROWS))];
            let taken = pairs.append_pairs((sides.0, &maps.probe), (sides.1, &maps.build), tested);
            left = &left[taken..];
            pairs.settle(context.memory())?;
            let mut evaluator = context.evaluator(scratch);
            let chosen = condition.select_columns(&mut evaluator, pairs.view());
            let Some(chosen) = chosen.await else {
                pairs.clear();
                return Ok(None);
            };
            holding.extend(chosen.iter().map(|at| tested[*at as usize]));
        }
        pairs.clear();
        Ok(Some(holding))
    }
}

impl HashJoinOperator<'_> {
    /// Finds the matches of some rows of a batch by columns. Returns false, and has found nothing, if they have to be
    /// looked up one by one.
    ///
    /// # Errors
    /// 53200 if the statement may not hold as much.
    pub(super) async fn look_up_columns(&mut self, context: &ExecutionContext<'_>) -> Result<bool> {
        let Some(columns) = self.probe.batch.columns() else {
            return Ok(false);
        };
        let left = columns.view().positions().skip(self.probe.taken);
        let mut positions: Vec<u32> = left.take(self.slice).map(|at| at as u32).collect();
        loop {
            self.scratch.reset();
            let mut evaluator = context.evaluator(&self.scratch);
            let given = columns.view().narrowed(&positions);
            let programs = self.join.probe_keys.iter();
            let Some(keys) = computed(programs, given, &mut evaluator).await else {
                return Ok(false);
            };
            context.pause(positions.len() >> LOOKED_UP_SHIFT).await;
            self.candidates.clear();
            candidates(
                (&keys, &positions),
                (&self.hash_table, &mut self.interleaver),
                &mut self.probe_keys,
                &mut self.candidates,
            );
            if self.candidates.len() <= CANDIDATES_MAX {
                break;
            }
            if positions.len() == 1 {
                return Ok(false);
            }
            positions.truncate(positions.len().div_ceil(8));
        }
        let (looked_up, found) = (positions.len(), self.candidates.len());
        let left_out = leave_out_marked(self.join, &self.matched, &mut self.candidates);
        context.pause(left_out >> LOOKED_UP_SHIFT).await;
        if let Some(residual) = &self.join.residual {
            let holding = self.joined.holding(
                residual,
                (columns, self.hash_table.rows()),
                &self.candidates,
                (context, &self.scratch),
            );
            let Some(holding) = holding.await? else {
                return Ok(false);
            };
            context.pause(found >> LOOKED_UP_SHIFT).await;
            self.candidates = holding;
        }
        let rows = positions.iter().map(|at| *at as usize);
        self.find_matches(None, rows, context).await?;
        self.probe.taken += looked_up;
        self.slice = matches::slice(looked_up, found);
        Ok(true)
    }

    /// Puts matches of a batch by columns together; hands them on if they are many, or the reader takes rows.
    pub(super) fn hand_on_columns(
        &mut self,
        context: &ExecutionContext<'_>,
        out: &mut Rows,
    ) -> Result<bool> {
        let joined = &mut self.joined;
        if joined.handed_on > 0 && joined.hand_on(out) {
            return Ok(true);
        }
        let room = joined.room(out);
        let Some(batch) = self.probe.batch.columns() else {
            return Ok(false);
        };
        while self.matches.are_left() {
            let Joined {
                columns,
                projection,
                ..
            } = joined;
            if columns.is_empty() {
                columns.restart(projection.width);
            }
            let pairs = self.matches.left(room - columns.len());
            let taken = columns.append_pairs(
                (batch, &projection.probe),
                (self.hash_table.rows(), &projection.build),
                pairs,
            );
            let is_large = taken < pairs.len();
            self.matches.skip(taken);
            columns.settle(context.memory())?;
            let is_enough = is_large || columns.len() > room / 2 || columns.owners() >= OWNERS_MAX;
            if (is_enough || !out.accepts_columns()) && joined.hand_on(out) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Adds the rows of a batch by columns to those of the build side, with their keys where these are no columns.
    /// Returns false, and has added none, if they have to be gone through one by one. The rows are not charged yet.
    pub(super) async fn add_columns(
        &mut self,
        context: &ExecutionContext<'_>,
        rows: &mut Rows,
    ) -> bool {
        let Some(build) = &mut self.build else {
            return false;
        };
        let Some(columns) = build.batch.columns() else {
            return false;
        };
        self.scratch.reset();
        let mut evaluator = context.evaluator(&self.scratch);
        let (view, programs) = (columns.view(), self.join.build_keys.iter());
        let Some(keys) = computed(programs, view, &mut evaluator).await else {
            return false;
        };
        let keeps_nulls = self.join.keeps_without_match();
        let apart = match rows.width() == self.join.build_width {
            true => &[],
            false => &keys[..],
        };
        let mut row = Vec::with_capacity(rows.width());
        for at in view.positions() {
            let is_null = |key: &Computed<'_>| key.values().at(at).is_null();
            if !keeps_nulls && keys.iter().any(is_null) {
                continue;
            }
            view.read(at, &mut row);
            row.extend(apart.iter().map(|key| key.values().at(at)));
            rows.push(row.iter().copied());
            context.pause(1).await;
        }
        build.taken = build.batch.len();
        true
    }
}

/// Returns the values of programs; `None` if one has to be run row by row.
async fn computed<'a>(
    programs: impl Iterator<Item = &'a Program>,
    columns: View<'a>,
    evaluator: &mut Evaluator<'a>,
) -> Option<Vec<Computed<'a>>> {
    let mut all = Vec::new();
    for program in programs {
        all.push(program.compute_columns(evaluator, columns).await?);
    }
    Some(all)
}

/// Finds pairs of a position and a row with equal keys, in order: all, or more than [`CANDIDATES_MAX`]. `integers` is
/// memory.
fn candidates(
    (keys, positions): (&[Computed<'_>], &[u32]),
    (hash_table, interleaver): (&JoinHashTable, &mut Interleaver),
    integers: &mut Vec<(u32, i64)>,
    found: &mut Vec<(u32, u32)>,
) {
    if let Some(table) = hash_table.integers() {
        integers.clear();
        match keys {
            [key] => integer_keys(key.values(), positions, integers),
            keys => mixed_keys(keys, positions, integers),
        }
        table.find(integers, CANDIDATES_MAX, found);
        hash_table.prefetch(found);
        if hash_table.is_mixed() && found.len() <= CANDIDATES_MAX {
            let mut of_pair = Vec::with_capacity(keys.len());
            found.retain(|(at, number)| {
                of_pair.clear();
                of_pair.extend(keys.iter().map(|key| key.values().at(*at as usize)));
                hash_table.has_keys(*number, &of_pair)
            });
        }
        return;
    }
    let width = keys.len();
    let mut values: Vec<Value<'_>> = Vec::with_capacity(positions.len() * width);
    for at in positions {
        values.extend(keys.iter().map(|key| key.values().at(*at as usize)));
    }
    let places = 0..positions.len() as u32;
    let key = |place: u32| &values[place as usize * width..][..width];
    hash_table.find_equal(interleaver, places, key, CANDIDATES_MAX, found);
    found
        .iter_mut()
        .for_each(|(place, _)| *place = positions[*place as usize]);
}

/// Appends the positions whose key is not NULL, with their keys.
fn integer_keys(values: Values<'_, '_>, positions: &[u32], keys: &mut Vec<(u32, i64)>) {
    if let Values::Vector(vector) = values
        && let (Data::Integers(_, list), None) = (vector.data(), vector.null_marks())
    {
        keys.extend(positions.iter().map(|at| (*at, list[*at as usize])));
        return;
    }
    let key = |at: &u32| Some((*at, integer_of(values.at(*at as usize))?));
    keys.extend(positions.iter().filter_map(key));
}

/// Appends the positions of which no key is NULL, with the key that stands for all.
fn mixed_keys(all: &[Computed<'_>], positions: &[u32], keys: &mut Vec<(u32, i64)>) {
    let mut lists = Vec::with_capacity(all.len());
    for key in all {
        match key.values() {
            Values::Vector(vector) if vector.null_marks().is_none() => match vector.data() {
                Data::Integers(_, list) => lists.push(&list[..]),
                _ => break,
            },
            _ => break,
        }
    }
    if lists.len() == all.len() {
        let key = |at: &u32| (*at, mixed(lists.iter().map(|list| list[*at as usize])));
        keys.extend(positions.iter().map(key));
        return;
    }
    let key = |at: &u32| {
        let values = all.iter().map(|key| key.values().at(*at as usize));
        Some((*at, integer_key(values)?))
    };
    keys.extend(positions.iter().filter_map(key));
}
