//! Groups and aggregates over them, by hash.
//!
//! | part | file |
//! | --- | --- |
//! | rows of the input, one after the other; output | here |
//! | rows of the input by columns | `columnar.rs` |
//! | groups of a grouping set | `groups.rs` |
//! | states of a call for the groups | `states.rs` |
//! | groups of other workers | `portion.rs` |
//! | rows whose groups have no room, on the device | `partitions.rs` |

mod columnar;
mod groups;
mod partitions;
mod portion;
mod states;

use std::{ops::Range, sync::Arc};

use functions::{Body, Context};
use interleave::{Turn, released};
use types::{Result, Scratch, SqlError, SqlState, Value};

pub(super) use self::portion::Portion;
use self::{
    groups::{Groups, NONE},
    states::{Call, States},
};
use super::{
    ExecutionContext, Input, Operator, Spilled, Step, open,
    parallel::{Division, Owner},
};
use batch::{BATCH_ROWS, Rows};
use planner::{plan::Aggregate, program::Evaluator};
use spill::PutBy;

/// Bytes of groups above which their memory is not kept for another loop.
const KEPT_BYTES: usize = 64 << 10;

pub(super) struct AggregateOperator<'p> {
    plan: &'p Arc<Aggregate>,
    input: Input<'p>,
    /// The input whose joins have built the tables that `input` looks into, after a division in vain.
    divided: Option<Input<'p>>,
    /// Number of values in a row of the input.
    width: usize,
    calls: Vec<Call<'p>>,
    /// Groups for each grouping set; keys that are not in the set are NULL.
    sets: Vec<Groups>,
    /// Columns of the input that are read, in order.
    used: Vec<usize>,
    /// Whether values are computed from them.
    computes: bool,
    is_read: bool,
    /// Whether the input's batch was done by rows in part: it is done by rows to its end.
    is_by_rows: bool,
    /// Rows that were put by, since their groups had no room.
    put_by: PutBy,
    /// Number of workers that helped, once the input is read.
    helpers: usize,
    /// Grouping set, and the group in it, that come next.
    next: (usize, usize),
    scratch: Scratch,
}

impl<'p> AggregateOperator<'p> {
    /// Makes the operator of `plan` over `input`.
    ///
    /// # Errors
    /// XX000 if a function is no aggregate.
    pub(super) fn new(plan: &'p Arc<Aggregate>, mut input: Input<'p>) -> Result<Self> {
        let calls = plan.calls.iter().map(|call| match call.function.0.body {
            Body::Aggregate(definition) => Ok(Call::new(call, definition)),
            _ => Err(SqlError::new(SqlState::INTERNAL_ERROR, "not an aggregate")),
        });
        let calls = calls.collect::<Result<Vec<_>>>()?;
        let sets = plan.sets.iter();
        let sets = sets.map(|_| Groups::new(&plan.key_types, &calls));
        input.batch.accept_columns();
        let arguments = plan.calls.iter().flat_map(|call| {
            let order = call.order.iter().map(|key| &key.value);
            call.arguments.iter().chain(order).chain(&call.filter)
        });
        let mut used = Vec::new();
        let mut computes = false;
        for program in plan.keys.iter().chain(arguments) {
            program.columns(&mut |column| used.push(column));
            computes |= program.as_column().is_none();
        }
        used.sort_unstable();
        used.dedup();
        Ok(Self {
            sets: sets.collect(),
            used,
            computes,
            plan,
            width: input.batch.width(),
            input,
            divided: None,
            calls,
            is_read: false,
            is_by_rows: false,
            put_by: PutBy::default(),
            helpers: 0,
            next: (0, 0),
            scratch: Scratch::new(),
        })
    }

    async fn advance(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        loop {
            if !self.is_read {
                self.read(context).await?;
                self.is_read = true;
            }
            self.hand_over(context, out).await?;
            if !out.is_empty() || !self.begin_partition(context).await? {
                return Ok(!out.is_empty());
            }
        }
    }

    /// Reads all rows of the input, or of the partition.
    async fn read(&mut self, context: &ExecutionContext<'_>) -> Result<()> {
        let is_done = match self.put_by.is_reading() {
            true => false,
            false => match Division::begin(self.plan, &mut self.input, context).await? {
                Some(owner) => Box::pin(self.read_divided(owner, context)).await?,
                None => false,
            },
        };
        if !is_done {
            while self.accumulate_some(context).await?.is_some() {}
        }
        self.put_by.end_partitions().await?;
        // Without keys there is a group even if there are no rows.
        for (set, groups) in self.plan.sets.iter().zip(&mut self.sets) {
            if set.is_empty() {
                groups.add_only(&self.calls)?;
            }
        }
        Ok(())
    }

    /// Reads the rows of the owner's part of a division, and combines the groups of the helpers with its own. Returns
    /// false, and has forgotten all groups, if there is no room for all parts: one worker needs less, and can put rows
    /// by.
    async fn read_divided(&mut self, owner: Owner, context: &ExecutionContext<'_>) -> Result<bool> {
        let tables = owner.tables();
        let divided = self.read_parts(&owner, context).await;
        self.helpers = owner.begun();
        owner.note_seen(context);
        let has_room = match divided {
            Err(error) if error.state() == SqlState::OUT_OF_MEMORY => false,
            divided => divided?,
        };
        if has_room {
            owner.note_rows(context);
        }
        drop(owner);
        if !has_room {
            self.forget();
            // Build sides are not read again: what they read may be gone, or differ.
            let plan = self.plan;
            let again = open::part(&plan.input, &self.input.spare, &tables.0)?;
            self.divided = Some(std::mem::replace(&mut self.input, again));
            self.input.batch.accept_columns();
            released().await;
        }
        Ok(has_room)
    }

    /// Forgets all groups, and what was read.
    fn forget(&mut self) {
        self.put_by.clear();
        for groups in &mut self.sets {
            match groups.bytes() > KEPT_BYTES {
                // Memory for many groups would count as that of the next few.
                true => *groups = Groups::new(&self.plan.key_types, &self.calls),
                false => groups.clear(),
            }
        }
        self.is_read = false;
        self.is_by_rows = false;
        self.next = (0, 0);
    }

    /// Reads the parts of a division; returns false if there is no room for the groups.
    async fn read_parts(&mut self, owner: &Owner, context: &ExecutionContext<'_>) -> Result<bool> {
        let own = &ExecutionContext {
            part: Some(&owner.part),
            ..*context
        };
        while self.accumulate_some(own).await?.is_some() {
            if let Some(portion) = owner.take()? {
                self.combine(portion, context).await?;
            }
            if self.can_put_by(context) && self.is_short(context) {
                return Ok(false);
            }
        }
        while let Some(portion) = owner.next().await? {
            self.combine(portion, context).await?;
            if self.can_put_by(context) && self.is_short(context) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes some rows of the input into account; returns how many, and `None` at the end.
    ///
    /// # Errors
    /// Errors of the input, of expressions and of aggregates; 53200 if the statement may not hold the groups.
    pub(super) async fn accumulate_some(
        &mut self,
        context: &ExecutionContext<'_>,
    ) -> Result<Option<usize>> {
        let put_by = &mut self.put_by;
        if !self.input.more_or_put_by(put_by, context).await? {
            return Ok(None);
        }
        self.hold(context).await?;
        let first = self.input.taken;
        self.is_by_rows &= first > 0;
        self.is_by_rows |= self.put_by.is_full() || self.put_by.is_reading();
        if !self.is_by_rows && self.accumulate_columns(context).await? {
            return Ok(Some(self.input.taken - first));
        }
        self.is_by_rows = true;
        self.input.batch.columns_to_rows();
        self.input.batch.settle(context.memory())?;
        let left = self.input.batch.len() - first;
        let rows = context.turn().piece(left.min(BATCH_ROWS));
        if !self.put_by.is_full() {
            for groups in &mut self.sets {
                groups.make_room(rows, context).await?;
            }
        }
        self.accumulate(context, first..first + rows).await?;
        self.input.taken += rows;
        for groups in &mut self.sets {
            groups.charge(context.memory())?;
        }
        context.pause(rows).await;
        Ok(Some(rows))
    }

    /// Takes `rows` of a batch into account: finds the groups of all, then goes through them call
    /// by call.
    async fn accumulate(
        &mut self,
        context: &ExecutionContext<'_>,
        rows: Range<usize>,
    ) -> Result<()> {
        self.scratch.reset();
        let mut evaluator = context.evaluator(&self.scratch);
        let batch = &self.input.batch;
        let mut keys = Vec::with_capacity(rows.len() * self.plan.keys.len());
        let mut next = rows.start;
        while next < rows.end {
            let left = next..rows.end;
            next = match self.put_by.is_reading() {
                // A row that was put by has its keys behind it.
                true => {
                    keys.extend(left.clone().flat_map(|at| &batch.row(at)[self.width..]));
                    left.end
                }
                false => append_keys(
                    self.plan,
                    batch,
                    left,
                    &mut evaluator,
                    context.turn(),
                    &mut keys,
                )?,
            };
            context.catch_up().await;
        }
        for (set, groups) in self.plan.sets.iter().zip(&mut self.sets) {
            let own = keys_of_set(set, self.plan.keys.len(), &keys);
            let found = groups.of(&self.calls, own.as_ref().unwrap_or(&keys), rows.len())?;
            if self.put_by.is_full() {
                let (put_by, batch) = (&mut self.put_by, (batch, self.width, rows.clone()));
                partitions::put_others_by(put_by, batch, &keys, (&found, groups), context).await?;
            }
            for (call, states) in self.calls.iter().zip(&mut groups.states) {
                states.make_room(&found, context).await?;
                let mut function_context = evaluator.context;
                function_context.argument_types = &call.plan.argument_types;
                let of_call = RowsOfCall {
                    call,
                    function_context,
                    batch,
                };
                let mut next = 0;
                while next < found.len() {
                    let rows = rows.start + next..rows.end;
                    let groups_of_rows = &found[next..];
                    let turn = context.turn();
                    let (taken, grown) =
                        of_call.take(rows, groups_of_rows, states, &mut evaluator, turn)?;
                    next += taken;
                    groups.states_bytes += grown;
                    context.catch_up().await;
                }
            }
        }
        Ok(())
    }

    async fn hand_over(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<()> {
        while self.next.0 < self.sets.len() && !out.is_full() {
            let (set, group) = self.next;
            let groups = &self.sets[set];
            if group >= groups.rows().len() {
                self.next = (set + 1, 0);
                continue;
            }
            context.pause(1).await;
            self.scratch.reset();
            let function_context = context.function_context(&self.scratch);
            let mut row: Vec<Value<'_>> = groups.rows().row(group).to_vec();
            if self.plan.with_set_number {
                row.push(Value::Int4(i32::try_from(set + 1).unwrap_or(i32::MAX)));
            }
            for (call, states) in self.calls.iter().zip(&groups.states) {
                // The result of a state that grows is put together in the arena.
                self.scratch.ask(states.heap_bytes(group))?;
                row.push(
                    call.result(states, group, function_context, context)
                        .await?,
                );
                self.scratch.settle()?;
            }
            out.push(row);
            self.next.1 += 1;
        }
        Ok(())
    }
}

/// Returns the keys of rows for a grouping set, in which keys that are not in the set are NULL; `None` if all are in
/// it.
fn keys_of_set<'a>(set: &[usize], width: usize, keys: &[Value<'a>]) -> Option<Vec<Value<'a>>> {
    if set.len() == width {
        return None;
    }
    let mut is_in_set = vec![false; width];
    set.iter().for_each(|key| is_in_set[*key] = true);
    let keys = keys.iter().zip(is_in_set.iter().cycle());
    let of_set = keys.map(|(key, is_in_set)| match is_in_set {
        true => *key,
        false => Value::Null,
    });
    Some(of_set.collect())
}

/// Appends the keys of rows until the turn's clock is to be read; returns the next row.
fn append_keys<'a>(
    plan: &'a Aggregate,
    batch: &'a Rows,
    rows: Range<usize>,
    evaluator: &mut Evaluator<'a>,
    turn: &Turn,
    keys: &mut Vec<Value<'a>>,
) -> Result<usize> {
    for at in rows.clone() {
        let row = batch.row(at);
        for key in &plan.keys {
            match key.as_column() {
                // A column is copied as it is, which is cheaper than the result of a program.
                Some(at) => keys.push(row[at]),
                None => keys.push(key.run(evaluator, row)?),
            }
        }
        if turn.is_due() {
            return Ok(at + 1);
        }
    }
    Ok(rows.end)
}

/// One call while it takes rows into account.
struct RowsOfCall<'a> {
    call: &'a Call<'a>,
    function_context: Context<'a>,
    batch: &'a Rows,
}

impl<'a> RowsOfCall<'a> {
    /// Takes rows into account, whose groups are in `found`, until the turn's clock is to be read; returns how many it
    /// took, and the bytes that states have grown by.
    fn take(
        &self,
        rows: Range<usize>,
        found: &[u32],
        states: &mut States,
        evaluator: &mut Evaluator<'a>,
        turn: &Turn,
    ) -> Result<(usize, usize)> {
        let (count, mut grown) = (rows.len(), 0);
        let mut arguments = Vec::new();
        let plan = self.call.plan;
        for (taken, (at, group)) in (1..).zip(rows.zip(found)) {
            let row = self.batch.row(at);
            let is_taken = match &plan.filter {
                _ if *group == NONE => false,
                Some(filter) => filter.holds(evaluator, row)?,
                None => true,
            };
            if is_taken {
                arguments.clear();
                let programs = plan.arguments.iter();
                for program in programs.chain(plan.order.iter().map(|key| &key.value)) {
                    arguments.push(program.run(evaluator, row)?);
                }
                grown += self
                    .call
                    .take(states, *group, &self.function_context, &arguments)?;
            }
            if turn.is_due() {
                return Ok((taken, grown));
            }
        }
        Ok((count, grown))
    }
}

impl Operator for AggregateOperator<'_> {
    fn next<'f>(&'f mut self, context: &'f ExecutionContext<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(context, out))
    }

    fn helpers(&self) -> usize {
        self.helpers
    }

    fn spilled(&self) -> Option<Spilled> {
        self.put_by.spilled()
    }

    fn rewind(&mut self) {
        if let Some(input) = self.divided.take() {
            self.input = input;
        }
        self.input.rewind();
        self.input.batch.restart(self.width);
        self.forget();
        self.helpers = 0;
    }
}
