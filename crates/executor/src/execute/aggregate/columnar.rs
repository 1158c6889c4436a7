//! Groups and aggregates over a batch by columns.
//!
//! All that is computed from the batch's rows is computed first, column by column: keys, conditions of FILTER,
//! arguments, sort keys. Rows that come one by one are turned into columns if anything is computed from them. No
//! group has changed until then, and a batch that has to be gone through row by row (see
//! [`compute_columns`](Program::compute_columns)) begins from where it was.

use std::ops::Range;

use batch::{BATCH_ROWS, COLUMN_VALUES, Rows, Vector, View};
use functions::{Context, GroupedRows, State};
use interleave::{Policy as _, Prefetching};
use planner::{
    plan::Aggregate,
    program::{Computed, Evaluator, Program, Values},
};
use types::{Charge, Result, Value};

use super::{
    super::ExecutionContext,
    AggregateOperator,
    groups::Groups,
    keys_of_set,
    states::{Call, States},
};

/// Rows whose arguments are taken by a loop, for each that counts as work, as a power of two.
const GROUPED_SHIFT: u32 = 2;

/// Fewest rows whose keys are looked up by their classes.
const CLASSIFIED_MIN: usize = 32;

/// Most classes of all keys together.
const CLASSES_MAX: usize = 1024;

/// Number of groups from which on their states are prefetched, and rows whose states are at once.
const PREFETCHED_MIN: usize = 4096;
const PREFETCHED_AT_ONCE: usize = 128;

/// Fewest rows of a batch that are turned into columns, to be computed together.
const ROWS_MIN: usize = 32;

impl AggregateOperator<'_> {
    /// Takes the batch into account; returns false, and has changed nothing, if it has to be done row by row.
    ///
    /// # Errors
    /// Errors of the aggregates; 53200 if the statement may not hold the groups.
    pub(super) async fn accumulate_columns(
        &mut self,
        context: &ExecutionContext<'_>,
    ) -> Result<bool> {
        self.scratch.reset();
        let (batch, first) = (&self.input.batch, self.input.taken);
        let vectors;
        let (columns, until) = match batch.columns() {
            Some(columns) => (columns.view(), batch.len()),
            None if self.computes && batch.len() - first >= ROWS_MIN => {
                let rows = (COLUMN_VALUES / self.used.len().max(1)).min(batch.len() - first);
                vectors = turned(batch, first..first + rows, &self.used);
                (View::of(&vectors, rows), first + rows)
            }
            None => return Ok(false),
        };
        context.catch_up().await;
        let mut computing = Computing {
            evaluator: context.evaluator(&self.scratch),
            columns,
            bytes: 0,
            charge: Charge::default(),
            context,
        };
        let Some(keys) = computing.all(self.plan.keys.iter()).await? else {
            return Ok(false);
        };
        let mut taken = Vec::with_capacity(self.calls.len());
        for call in &self.calls {
            match computing.taken(call).await {
                Some(of_call) => taken.push(of_call),
                None => return Ok(false),
            }
        }
        let mut arguments = Vec::with_capacity(self.calls.len());
        for (call, taken) in self.calls.iter().zip(&taken) {
            // Arguments are computed for the rows that FILTER takes alone: they may fail for others.
            computing.columns = match taken {
                Some(taken) => columns.narrowed(taken),
                None => columns,
            };
            match computing.arguments(call).await? {
                Some(of_call) => arguments.push(of_call),
                None => return Ok(false),
            }
        }
        let positions: Vec<u32> = columns.positions().map(|at| at as u32).collect();
        let given = Given {
            keys,
            taken: &taken,
            arguments,
            function_context: computing.evaluator.context,
        };
        let piece = (COLUMN_VALUES / self.plan.keys.len().max(1)).max(1);
        for positions in positions.chunks(piece) {
            given
                .take(positions, (self.plan, &self.calls, &mut self.sets), context)
                .await?;
        }
        self.input.taken = until;
        Ok(true)
    }
}

/// All that was computed of a batch.
struct Given<'t, 'a> {
    keys: Vec<Computed<'a>>,
    /// Positions that each call takes, if it has a FILTER.
    taken: &'t [Option<Vec<u32>>],
    /// Arguments of each call, then its sort keys.
    arguments: Vec<Vec<Computed<'a>>>,
    function_context: Context<'a>,
}

impl Given<'_, '_> {
    /// Takes the rows at some positions into account.
    async fn take(
        &self,
        positions: &[u32],
        (plan, calls, sets): (&Aggregate, &[Call<'_>], &mut [Groups]),
        context: &ExecutionContext<'_>,
    ) -> Result<()> {
        let classes = merged_classes(&self.keys, positions);
        let looked_up = match &classes {
            Some((firsts, _)) => firsts,
            None => positions,
        };
        let keys = side_by_side(&self.keys, looked_up);
        for (set, groups) in plan.sets.iter().zip(sets) {
            groups.make_room(looked_up.len(), context).await?;
            let own = keys_of_set(set, plan.keys.len(), &keys);
            let mut found = groups.of(calls, own.as_ref().unwrap_or(&keys), looked_up.len())?;
            if let Some((_, classes)) = &classes {
                found = classes.iter().map(|class| found[*class as usize]).collect();
            }
            context.pause(looked_up.len()).await;
            let all = GroupedRows {
                positions,
                groups: &found,
            };
            for (number, call) in calls.iter().enumerate() {
                let of_taken;
                let rows = match &self.taken[number] {
                    None => all,
                    Some(taken) => {
                        of_taken = groups_at(taken, all);
                        GroupedRows {
                            positions: &of_taken.0,
                            groups: &of_taken.1,
                        }
                    }
                };
                let mut function_context = self.function_context;
                function_context.argument_types = &call.plan.argument_types;
                let of_call = ColumnsOfCall {
                    call,
                    number,
                    arguments: &self.arguments[number],
                    function_context,
                };
                of_call.take(groups, rows, context).await?;
            }
            groups.charge(context.memory())?;
        }
        Ok(())
    }
}

/// Returns the columns `used` of some rows of a batch; others are empty.
fn turned<'a>(batch: &'a Rows, rows: Range<usize>, used: &[usize]) -> Vec<Vector<'a>> {
    let mut vectors = Vec::new();
    vectors.resize_with(batch.width(), Vector::default);
    for column in used {
        let vector = &mut vectors[*column];
        rows.clone()
            .for_each(|at| vector.push(batch.row(at)[*column]));
    }
    vectors
}

/// Programs while they run over a batch.
struct Computing<'a> {
    evaluator: Evaluator<'a>,
    columns: View<'a>,
    /// Bytes of the columns that were computed, and the charge for them.
    bytes: usize,
    charge: Charge,
    context: &'a ExecutionContext<'a>,
}

impl<'a> Computing<'a> {
    /// Returns the values of programs; `None` if one has to be run row by row.
    async fn all(
        &mut self,
        programs: impl Iterator<Item = &'a Program>,
    ) -> Result<Option<Vec<Computed<'a>>>> {
        let mut all = Vec::new();
        for program in programs {
            let computed = program.compute_columns(&mut self.evaluator, self.columns);
            let Some(computed) = computed.await else {
                return Ok(None);
            };
            if let Computed::Made(vector) = &computed {
                self.bytes += vector.bytes();
                self.charge.set(self.context.memory(), self.bytes)?;
            }
            all.push(computed);
        }
        Ok(Some(all))
    }

    /// Returns the positions that a call takes, which is all if it has no FILTER; `None` if the condition has to be
    /// tested row by row.
    async fn taken(&mut self, call: &'a Call<'_>) -> Option<Option<Vec<u32>>> {
        match &call.plan.filter {
            None => Some(None),
            Some(filter) => {
                let taken = filter.select_columns(&mut self.evaluator, self.columns);
                taken.await.map(Some)
            }
        }
    }

    /// Returns the arguments of a call, followed by its sort keys; `None` if they have to be computed row by row.
    async fn arguments(&mut self, call: &'a Call<'_>) -> Result<Option<Vec<Computed<'a>>>> {
        let arguments = call.plan.arguments.iter();
        let order = call.plan.order.iter().map(|key| &key.value);
        self.all(arguments.chain(order)).await
    }
}

/// Returns the values of columns at some positions, row by row.
fn side_by_side<'a>(columns: &[Computed<'a>], positions: &[u32]) -> Vec<Value<'a>> {
    let mut all = Vec::with_capacity(columns.len() * positions.len());
    for at in positions {
        let row = columns
            .iter()
            .map(|column| column.values().at(*at as usize));
        all.extend(row);
    }
    all
}

/// Returns classes of positions at which all keys have the same values: the first position of each class, and the class
/// of each position. `None` if a key has no classes, or there would be too many.
fn merged_classes(keys: &[Computed<'_>], positions: &[u32]) -> Option<(Vec<u32>, Vec<u32>)> {
    if keys.is_empty() || positions.len() < CLASSIFIED_MIN {
        return None;
    }
    let mut merged = vec![0; positions.len()];
    let mut count = 1;
    for key in keys {
        let Values::Vector(vector) = key.values() else {
            continue;
        };
        let (classes, of_key) = vector.classes()?;
        count *= of_key;
        if count > CLASSES_MAX {
            return None;
        }
        let with_key = merged.iter_mut().zip(positions);
        with_key.for_each(|(merged, at)| {
            *merged = *merged * of_key as u32 + u32::from(classes[*at as usize]);
        });
    }
    // Numbers in the order in which the classes come.
    let mut numbers = vec![u32::MAX; count];
    let mut firsts = Vec::new();
    for (class, at) in merged.iter_mut().zip(positions) {
        let number = &mut numbers[*class as usize];
        if *number == u32::MAX {
            *number = firsts.len() as u32;
            firsts.push(*at);
        }
        *class = *number;
    }
    Some((firsts, merged))
}

/// Returns those of `rows` whose positions are among `taken`, both in ascending order: positions and groups.
fn groups_at(taken: &[u32], rows: GroupedRows<'_>) -> (Vec<u32>, Vec<u32>) {
    let first = rows.positions.first().copied().unwrap_or(0);
    let mut taken = taken[taken.partition_point(|at| *at < first)..]
        .iter()
        .peekable();
    let all = rows.positions.iter().zip(rows.groups);
    all.filter(|(at, _)| taken.next_if_eq(at).is_some()).unzip()
}

/// One call while it takes a batch into account.
struct ColumnsOfCall<'t, 'a> {
    call: &'t Call<'t>,
    /// Number of the call among those of the plan.
    number: usize,
    arguments: &'t [Computed<'a>],
    function_context: Context<'a>,
}

impl ColumnsOfCall<'_, '_> {
    async fn take(
        &self,
        groups: &mut Groups,
        rows: GroupedRows<'_>,
        context: &ExecutionContext<'_>,
    ) -> Result<()> {
        if self.take_by_loop(&mut groups.states[self.number], rows)? {
            context.pause(rows.positions.len() >> GROUPED_SHIFT).await;
            return Ok(());
        }
        let mut arguments = Vec::with_capacity(self.arguments.len());
        let pieces = rows.positions.chunks(BATCH_ROWS);
        for (positions, of_piece) in pieces.zip(rows.groups.chunks(BATCH_ROWS)) {
            groups.states[self.number]
                .make_room(of_piece, context)
                .await?;
            for (at, group) in positions.iter().zip(of_piece) {
                arguments.clear();
                let values = self.arguments.iter().map(Computed::values);
                arguments.extend(values.map(|values| values.at(*at as usize)));
                let states = &mut groups.states[self.number];
                groups.states_bytes +=
                    self.call
                        .take(states, *group, &self.function_context, &arguments)?;
                context.pause(1).await;
            }
        }
        Ok(())
    }

    /// Takes rows into account by a loop over the argument; returns false, and has done nothing, if there is none.
    fn take_by_loop(&self, states: &mut States, rows: GroupedRows<'_>) -> Result<bool> {
        let (Some(accumulate), States::Running(states)) =
            (self.call.definition.over_columns, states)
        else {
            return Ok(false);
        };
        let argument = match self.arguments {
            [] => None,
            [one] => match one.values() {
                Values::Vector(vector) => Some(vector),
                Values::Constant(_) => return Ok(false),
            },
            _ => return Ok(false),
        };
        // States of many groups lie outside of the caches.
        if states.len() < PREFETCHED_MIN {
            return accumulate(states, argument, rows);
        }
        let positions = rows.positions.chunks(PREFETCHED_AT_ONCE);
        for (positions, groups) in positions.zip(rows.groups.chunks(PREFETCHED_AT_ONCE)) {
            for group in groups {
                let state = std::ptr::from_ref(&states[*group as usize]);
                Prefetching::prefetch(state, size_of::<State>());
            }
            if !accumulate(states, argument, GroupedRows { positions, groups })? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
