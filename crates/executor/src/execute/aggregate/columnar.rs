//! Groups and aggregates over a batch by columns.
//!
//! All that is computed from the batch's rows is computed first, column by column: keys, conditions of FILTER, arguments,
//! sort keys. Rows that come one by one are turned into columns if anything is computed from them. No group has changed until then, and a batch that has to be gone through row by row (see
//! [`compute_columns`](Program::compute_columns)) begins from where it was.

use batch::{Rows, Vector, View};
use functions::{Context, GroupedRows};
use planner::program::{Computed, Evaluator, Program, Values};
use types::{Charge, Result, Value};

use super::{
    super::ExecutionContext,
    AggregateOperator,
    groups::Groups,
    keys_of_set,
    states::{Call, States},
};

/// Rows for which a loop over a column counts as the work on one, as a power of two.
const LOOP_SHIFT: u32 = 2;

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
        let columns = match batch.columns() {
            Some(columns) => columns.view(),
            None if self.computes && batch.len() - first >= ROWS_MIN => {
                vectors = turned(batch, first, &self.used);
                View::of(&vectors, batch.len() - first)
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
        let keys = side_by_side(&keys, &positions);
        for (set, groups) in self.plan.sets.iter().zip(&mut self.sets) {
            groups.make_room(positions.len(), context).await?;
            let own = keys_of_set(set, self.plan.keys.len(), &keys);
            let found = groups.of(&self.calls, own.as_ref().unwrap_or(&keys), positions.len())?;
            context.pause(positions.len()).await;
            for (number, (call, arguments)) in self.calls.iter().zip(&arguments).enumerate() {
                let of_taken;
                let rows = match &taken[number] {
                    None => GroupedRows {
                        positions: &positions,
                        groups: &found,
                    },
                    Some(taken) => {
                        of_taken = groups_at(taken, &positions, &found);
                        GroupedRows {
                            positions: taken,
                            groups: &of_taken,
                        }
                    }
                };
                let mut function_context = computing.evaluator.context;
                function_context.argument_types = &call.plan.argument_types;
                let taking = Taking {
                    call,
                    number,
                    arguments,
                    function_context,
                };
                taking.take(groups, rows, context).await?;
            }
            groups.charge(context.memory())?;
        }
        self.input.taken = batch.len();
        Ok(true)
    }
}

/// Returns the columns `used` of the rows of a batch from `first` on; others are empty.
fn turned<'a>(batch: &'a Rows, first: usize, used: &[usize]) -> Vec<Vector<'a>> {
    let mut vectors = Vec::new();
    vectors.resize_with(batch.width(), Vector::default);
    for column in used {
        let vector = &mut vectors[*column];
        (first..batch.len()).for_each(|at| vector.push(batch.row(at)[*column]));
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

/// Returns the groups of the rows at the positions `taken`, which are some of all `positions`, both in ascending order.
fn groups_at(taken: &[u32], positions: &[u32], groups: &[u32]) -> Vec<u32> {
    let mut all = positions.iter().zip(groups);
    let found = taken
        .iter()
        .map(|at| all.find(|(position, _)| *position == at));
    found.flatten().map(|(_, group)| *group).collect()
}

/// One call while it takes a batch into account.
struct Taking<'t, 'a> {
    call: &'t Call<'t>,
    /// Number of the call among those of the plan.
    number: usize,
    arguments: &'t [Computed<'a>],
    function_context: Context<'a>,
}

impl Taking<'_, '_> {
    async fn take(
        &self,
        groups: &mut Groups,
        rows: GroupedRows<'_>,
        context: &ExecutionContext<'_>,
    ) -> Result<()> {
        let states = &mut groups.states[self.number];
        states.make_room(rows.groups, context).await?;
        if self.take_by_loop(states, rows)? {
            context.pause(rows.positions.len() >> LOOP_SHIFT).await;
            return Ok(());
        }
        let mut arguments = Vec::with_capacity(self.arguments.len());
        for (at, group) in rows.positions.iter().zip(rows.groups) {
            arguments.clear();
            let values = self.arguments.iter().map(Computed::values);
            arguments.extend(values.map(|values| values.at(*at as usize)));
            let states = &mut groups.states[self.number];
            groups.states_bytes +=
                self.call
                    .take(states, *group, &self.function_context, &arguments)?;
            context.pause(1).await;
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
        accumulate(states, argument, rows)
    }
}
