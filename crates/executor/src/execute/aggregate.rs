//! Groups and aggregates over them, by hash.

use std::{ops::Range, rc::Rc};

use functions::{Aggregate as Definition, Body, Context, State};
use interleave::{Gradual, Turn};
use types::{
    Charge, Memory, Result, Scratch, SqlError, SqlState, Value,
    row::{integer_of, is_integer},
};

use super::{
    ExecutionContext, Input, Operator, Step,
    distinct::Seen,
    merge_sort::{Order, bytes_of},
    sort::compare_keys,
    tuple_hash_table::TupleHashTable,
};
use batch::Rows;
use planner::{
    plan::{Aggregate, AggregateCall},
    program::Evaluator,
};

pub(super) struct AggregateOperator<'p> {
    plan: &'p Aggregate,
    input: Input<'p>,
    definitions: Vec<&'static Definition>,
    /// For each call, whether its state of a group grows with the group's rows.
    growing: Vec<bool>,
    /// A table of groups for each grouping set; keys that are not in the set are NULL.
    sets: Vec<Groups>,
    is_read: bool,
    /// Grouping set, and the group in it, that come next.
    next: (usize, usize),
    scratch: Scratch,
}

/// Number that stands for no group.
const NONE: u32 = u32::MAX;

/// Number of places for groups that were found lately.
const RECENT: usize = 256;

struct Groups {
    /// Groups by their keys.
    keys: TupleHashTable,
    /// Groups that were found lately, with the hash of their keys, by its last bits: where there
    /// are few groups, no other lookup is made.
    recent: Vec<(u64, u32)>,
    /// Groups that were found lately, by the key itself, if it is one integer; otherwise empty.
    recent_integers: Vec<(i64, u32)>,
    /// States of one group after the other, one for each call.
    states: Gradual<Vec<Call>>,
    /// Bytes that the states hold on the heap.
    states_bytes: usize,
    /// Charge for all but the keys, which have their own.
    charge: Charge,
}

/// The state of an aggregate call for one group.
enum Call {
    Running(State),
    /// A state, and the values that it has seen, which are left out when they come again.
    Distinct(State, Box<Seen>),
    /// Values to be accumulated in an order: arguments, then sort keys.
    Ordered(Rows),
}

impl<'p> AggregateOperator<'p> {
    /// Makes the operator of `plan` over `input`.
    ///
    /// # Errors
    /// XX000 if a function is no aggregate.
    pub(super) fn new(plan: &'p Aggregate, input: Input<'p>) -> Result<Self> {
        let definitions = plan.calls.iter().map(|call| match call.function.0.body {
            Body::Aggregate(definition) => Ok(definition),
            _ => Err(SqlError::new(SqlState::INTERNAL_ERROR, "not an aggregate")),
        });
        let definitions = definitions.collect::<Result<Vec<_>>>()?;
        let sets = plan.sets.iter().map(|_| Groups {
            keys: TupleHashTable::new(0, &plan.key_types),
            recent: vec![(0, NONE); RECENT],
            recent_integers: match &plan.key_types[..] {
                [ty] if is_integer(*ty) => vec![(0, NONE); RECENT],
                _ => Vec::new(),
            },
            states: Gradual::default(),
            states_bytes: 0,
            charge: Charge::default(),
        });
        let sets = sets.collect();
        let growing = plan.calls.iter().zip(&definitions);
        let growing = growing.map(|(call, definition)| {
            call.distinct || !call.order.is_empty() || definition.keeps()
        });
        Ok(Self {
            plan,
            input,
            growing: growing.collect(),
            definitions,
            sets,
            is_read: false,
            next: (0, 0),
            scratch: Scratch::new(),
        })
    }

    async fn advance(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        if !self.is_read {
            while self.input.more(context).await? {
                let first = self.input.taken;
                let rows = context.turn().piece(self.input.batch.len() - first);
                for groups in &mut self.sets {
                    groups.keys.make_room(rows, context).await?;
                }
                self.accumulate(context, first..first + rows).await?;
                self.input.taken += rows;
                for groups in &mut self.sets {
                    groups.charge(context.memory())?;
                }
                context.pause(rows).await;
            }
            // Without keys there is a group even if there are no rows.
            for (set, groups) in self.plan.sets.iter().zip(&mut self.sets) {
                if set.is_empty() && groups.keys.rows.is_empty() {
                    let nulls = vec![Value::Null; self.plan.keys.len()];
                    let hash = groups.keys.hash(&nulls);
                    new_group(self.plan, &self.definitions, groups, &nulls, hash)?;
                }
            }
            self.is_read = true;
        }
        self.hand_over(context, out).await?;
        Ok(!out.is_empty())
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
        let width = self.plan.keys.len();
        let mut keys = Vec::with_capacity(rows.len() * width);
        let mut next = rows.start;
        while next < rows.end {
            let left = next..rows.end;
            next = append_keys(
                self.plan,
                batch,
                left,
                &mut evaluator,
                context.turn(),
                &mut keys,
            )?;
            context.catch_up().await;
        }
        let mut of_set = Vec::new();
        for (set, groups) in self.plan.sets.iter().zip(&mut self.sets) {
            // Keys that are not in the set are NULL.
            let own = if set.len() == width {
                &keys
            } else {
                of_set.clear();
                of_set.extend(keys.iter().enumerate().map(|(at, key)| {
                    if set.contains(&(at % width)) {
                        *key
                    } else {
                        Value::Null
                    }
                }));
                &of_set
            };
            let found = groups_of(self.plan, &self.definitions, groups, own, rows.len())?;
            let count = self.plan.calls.len();
            for (at, (call, definition)) in
                self.plan.calls.iter().zip(&self.definitions).enumerate()
            {
                let grows = self.growing[at];
                if call.distinct {
                    for group in &found {
                        if let Call::Distinct(_, seen) =
                            &mut groups.states[*group as usize * count + at]
                        {
                            seen.make_room(found.len(), context).await?;
                        }
                    }
                }
                let mut function_context = evaluator.context;
                function_context.argument_types = &call.argument_types;
                let taking = Taking {
                    call,
                    definition,
                    function_context,
                    at,
                    stride: count,
                    grows,
                    batch,
                };
                let mut next = 0;
                while next < found.len() {
                    let rows = rows.start + next..rows.end;
                    next += taking.take(
                        rows,
                        &found[next..],
                        groups,
                        &mut evaluator,
                        context.turn(),
                    )?;
                    context.catch_up().await;
                }
            }
        }
        Ok(())
    }

    async fn hand_over(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<()> {
        let count = self.plan.calls.len();
        while self.next.0 < self.sets.len() && !out.is_full() {
            let (set, group) = self.next;
            let groups = &mut self.sets[set];
            if group >= groups.keys.rows.len() {
                self.next = (set + 1, 0);
                continue;
            }
            context.pause(1).await;
            self.scratch.reset();
            let function_context = context.function_context(&self.scratch);
            let mut row: Vec<Value<'_>> = groups.keys.rows.row(group).to_vec();
            if self.plan.with_set_number {
                row.push(Value::Int4(i32::try_from(set + 1).unwrap_or(i32::MAX)));
            }
            let states = &groups.states[group * count..(group + 1) * count];
            for ((call, definition), state) in
                self.plan.calls.iter().zip(&self.definitions).zip(states)
            {
                // The result of a state that grows is put together in the arena.
                self.scratch.ask(state.heap_bytes())?;
                row.push(result(call, definition, state, function_context, context).await?);
                self.scratch.settle()?;
            }
            out.push(row);
            self.next.1 += 1;
        }
        Ok(())
    }
}

/// Finds the numbers of the groups of several rows, whose keys come one after the other; groups
/// that are missing are added.
fn groups_of(
    plan: &Aggregate,
    definitions: &[&'static Definition],
    groups: &mut Groups,
    keys: &[Value<'_>],
    rows: usize,
) -> Result<Vec<u32>> {
    let width = plan.keys.len();
    if width == 0 {
        if groups.keys.rows.is_empty() {
            let hash = groups.keys.hash(keys);
            new_group(plan, definitions, groups, keys, hash)?;
        }
        return Ok(vec![0; rows]);
    }
    let keys_of = |row: usize| &keys[row * width..(row + 1) * width];
    let mut found = vec![NONE; rows];
    let mut others = Vec::new();
    let mut hashes = Vec::new();
    for (row, found) in found.iter_mut().enumerate() {
        if let Some(place) = groups.recent_integer(keys_of(row))
            && place.1 != NONE
        {
            *found = place.1;
            continue;
        }
        let hash = groups.keys.hash(keys_of(row));
        let (of, number) = groups.recent[hash as usize % RECENT];
        if of == hash && number != NONE && groups.keys.has_keys(number, keys_of(row)) {
            *found = number;
        } else {
            others.push(row);
            hashes.push(hash);
        }
    }
    let mut candidates = Vec::with_capacity(others.len());
    groups
        .keys
        .find(&hashes, |at, number| candidates.push((others[at], number)));
    for (row, number) in candidates {
        if groups.keys.has_keys(number, keys_of(row)) {
            found[row] = number;
        }
    }
    for (row, hash) in others.into_iter().zip(hashes) {
        if found[row] == NONE {
            found[row] = group(plan, definitions, groups, keys_of(row), hash)?;
        }
        groups.recent[hash as usize % RECENT] = (hash, found[row]);
        if let Some(place) = groups.recent_integer(keys_of(row)) {
            place.1 = found[row];
        }
    }
    Ok(found)
}

impl Call {
    /// Returns the bytes that the state holds on the heap.
    fn heap_bytes(&self) -> usize {
        match self {
            Call::Running(state) => state.heap_bytes(),
            Call::Distinct(state, seen) => state.heap_bytes() + seen.bytes(),
            Call::Ordered(rows) => rows.bytes(),
        }
    }
}

impl Groups {
    /// Charges what was added since the last call.
    fn charge(&mut self, memory: &Rc<Memory>) -> Result<()> {
        self.keys.charge(memory)?;
        let states = self.states.capacity() * size_of::<Call>();
        self.charge.set(memory, states + self.states_bytes)
    }

    /// Returns the place where a group is noted by its key, if that is one integer. A group noted
    /// there before is replaced.
    #[inline]
    fn recent_integer(&mut self, keys: &[Value<'_>]) -> Option<&mut (i64, u32)> {
        let key = integer_of(*keys.first()?)?;
        // Neighbouring integers, and integers in steps, do not share a place.
        let place = (key as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
        let noted = self.recent_integers.get_mut(place as usize)?;
        if noted.0 != key {
            *noted = (key, NONE);
        }
        Some(noted)
    }
}

/// Returns the number of the group with these keys; adds the group if it is missing.
fn group(
    plan: &Aggregate,
    definitions: &[&'static Definition],
    groups: &mut Groups,
    keys: &[Value<'_>],
    hash: u64,
) -> Result<u32> {
    // The group may have been added for another row of the batch.
    let mut candidates: Vec<u32> = groups.keys.unsettled(hash).collect();
    groups
        .keys
        .find(&[hash], |_, number| candidates.push(number));
    for number in candidates {
        if groups.keys.has_keys(number, keys) {
            return Ok(number);
        }
    }
    new_group(plan, definitions, groups, keys, hash)
}

fn new_group(
    plan: &Aggregate,
    definitions: &[&'static Definition],
    groups: &mut Groups,
    keys: &[Value<'_>],
    hash: u64,
) -> Result<u32> {
    let number = groups.keys.push(keys.iter().copied(), hash)?;
    if groups.keys.waiting() >= 32 {
        groups.keys.settle()?;
    }
    for (call, definition) in plan.calls.iter().zip(definitions) {
        let state = if !call.order.is_empty() {
            Call::Ordered(Rows::new(call.arguments.len() + call.order.len()))
        } else if call.distinct {
            Call::Distinct(
                (definition.start)(),
                Box::new(Seen::new(&call.argument_types)),
            )
        } else {
            Call::Running((definition.start)())
        };
        groups.states_bytes += state.heap_bytes();
        groups.states.push(state);
    }
    Ok(number)
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
struct Taking<'a> {
    call: &'a AggregateCall,
    definition: &'static Definition,
    function_context: Context<'a>,
    /// Place of the call among those of a group, and the number of those.
    at: usize,
    stride: usize,
    grows: bool,
    batch: &'a Rows,
}

impl<'a> Taking<'a> {
    /// Takes rows into account, whose groups are in `found`, until the turn's clock is to be read;
    /// returns how many it took.
    fn take(
        &self,
        rows: Range<usize>,
        found: &[u32],
        groups: &mut Groups,
        evaluator: &mut Evaluator<'a>,
        turn: &Turn,
    ) -> Result<usize> {
        let count = rows.len();
        let mut arguments = Vec::new();
        for (taken, (at, group)) in (1..).zip(rows.zip(found)) {
            let row = self.batch.row(at);
            let is_taken = match &self.call.filter {
                Some(filter) => filter.holds(evaluator, row)?,
                None => true,
            };
            if is_taken {
                arguments.clear();
                for argument in &self.call.arguments {
                    arguments.push(argument.run(evaluator, row)?);
                }
                let state = &mut groups.states[*group as usize * self.stride + self.at];
                let before = if self.grows { state.heap_bytes() } else { 0 };
                self.take_one(state, evaluator, row, &mut arguments)?;
                if self.grows {
                    groups.states_bytes += state.heap_bytes().saturating_sub(before);
                }
            }
            if turn.is_due() {
                return Ok(taken);
            }
        }
        Ok(count)
    }

    /// Takes a row's arguments into account.
    #[inline]
    fn take_one(
        &self,
        state: &mut Call,
        evaluator: &mut Evaluator<'a>,
        row: &[Value<'a>],
        arguments: &mut Vec<Value<'a>>,
    ) -> Result<()> {
        // Direct arguments do not vary from row to row.
        let direct = self.definition.direct.unwrap_or(0);
        if self.call.function.0.strict && arguments[direct..].iter().any(Value::is_null) {
            return Ok(());
        }
        match state {
            Call::Running(state) => {
                (self.definition.accumulate)(&self.function_context, state, arguments)
            }
            Call::Distinct(state, seen) => {
                if seen.is_new(arguments)? {
                    (self.definition.accumulate)(&self.function_context, state, arguments)?;
                }
                Ok(())
            }
            Call::Ordered(rows) => {
                for key in &self.call.order {
                    arguments.push(key.value.run(evaluator, row)?);
                }
                rows.push(arguments.iter().copied());
                Ok(())
            }
        }
    }
}

/// Returns the result of an aggregate.
async fn result<'a>(
    call: &'a AggregateCall,
    definition: &Definition,
    state: &'a Call,
    mut function_context: Context<'a>,
    context: &ExecutionContext<'_>,
) -> Result<Value<'a>> {
    function_context.argument_types = &call.argument_types;
    let rows = match state {
        Call::Running(state) | Call::Distinct(state, _) => {
            return (definition.finish)(&function_context, state, &[]);
        }
        Call::Ordered(rows) => rows,
    };
    let width = call.arguments.len();
    let keys = |at| &rows.row(at)[width..];
    let compare = |left, right| compare_keys(&call.order, keys(left), keys(right));
    let order = Order::of(rows.len(), context, |at| bytes_of(keys(at)), compare).await?;
    let direct = definition.direct.unwrap_or(0);
    let mut state = (definition.start)();
    let mut seen = call
        .distinct
        .then(|| Seen::new(&call.argument_types[direct..]));
    for at in order.iter() {
        context.pause(1).await;
        let arguments = &rows.row(*at as usize)[direct..width];
        if let Some(seen) = &mut seen {
            seen.make_room(1, context).await?;
            if !seen.is_new(arguments)? {
                continue;
            }
        }
        (definition.accumulate)(&function_context, &mut state, arguments)?;
    }
    let direct: &[Value<'a>] = match order.first() {
        Some(first) => &rows.row(*first as usize)[..direct],
        None => &[],
    };
    (definition.finish)(&function_context, &state, direct)
}

impl Operator for AggregateOperator<'_> {
    fn next<'f>(&'f mut self, context: &'f ExecutionContext<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(context, out))
    }

    fn rewind(&mut self) {
        self.input.rewind();
        for groups in &mut self.sets {
            groups.keys.clear();
            groups.recent.fill((0, NONE));
            groups.recent_integers.fill((0, NONE));
            groups.states.clear();
            groups.states_bytes = 0;
        }
        self.is_read = false;
        self.next = (0, 0);
    }
}
