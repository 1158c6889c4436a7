//! The states of an aggregate call, one for each group.

use functions::{Aggregate as Definition, Context, State};
use interleave::Gradual;
use types::{Charge, Result, SqlError, SqlState, Value};

use super::{
    super::{ExecutionContext, distinct::Seen},
    groups::NONE,
};
use batch::{Order, Rows, bytes_of};
use planner::plan::{AggregateCall, compare_keys};

/// A call of a plan, with what is known of its function.
pub(super) struct Call<'p> {
    pub(super) plan: &'p AggregateCall,
    pub(super) definition: &'static Definition,
    /// Whether the state of a group grows with the group's rows.
    pub(super) grows: bool,
}

/// States by the numbers of the groups.
pub(super) enum States {
    Running(Gradual<Vec<State>>),
    /// States, and the values that each has seen, which are left out when they come again.
    Distinct(Gradual<Vec<(State, Seen)>>),
    /// Values to be accumulated in an order: arguments, then sort keys.
    Ordered(Gradual<Vec<Rows>>),
}

impl<'p> Call<'p> {
    pub(super) fn new(plan: &'p AggregateCall, definition: &'static Definition) -> Self {
        Self {
            grows: plan.distinct || !plan.order.is_empty() || definition.keeps(),
            plan,
            definition,
        }
    }

    /// Returns the states of no groups.
    pub(super) fn states(&self) -> States {
        match (self.plan.order.is_empty(), self.plan.distinct) {
            (false, _) => States::Ordered(Gradual::default()),
            (true, true) => States::Distinct(Gradual::default()),
            (true, false) => States::Running(Gradual::default()),
        }
    }

    /// Adds the state of a new group; returns the bytes that it holds on the heap.
    pub(super) fn begin(&self, states: &mut States) -> usize {
        let state = (self.definition.start)();
        match states {
            States::Running(states) => states.push(state),
            States::Distinct(states) => {
                states.push((state, Seen::new(&self.plan.argument_types)));
            }
            States::Ordered(states) => {
                let width = self.plan.arguments.len() + self.plan.order.len();
                states.push(Rows::new(width));
            }
        }
        states.heap_bytes(states.len() - 1)
    }

    /// Returns whether a row with these arguments is left out.
    #[inline(always)]
    fn leaves_out(&self, arguments: &[Value<'_>]) -> bool {
        // Direct arguments do not vary from row to row.
        let direct = self.definition.direct.unwrap_or(0);
        self.plan.function.0.strict && arguments[direct..].iter().any(Value::is_null)
    }

    /// Takes a row's arguments into account, followed by its sort keys if the call has an order. Returns the bytes that
    /// the state of the row's group has grown by.
    ///
    /// # Errors
    /// Errors of the function.
    #[inline]
    pub(super) fn take(
        &self,
        states: &mut States,
        group: u32,
        function_context: &Context<'_>,
        arguments: &[Value<'_>],
    ) -> Result<usize> {
        let group = group as usize;
        let own = &arguments[..self.plan.arguments.len()];
        if self.leaves_out(own) {
            return Ok(0);
        }
        let before = if self.grows {
            states.heap_bytes(group)
        } else {
            0
        };
        match states {
            States::Running(states) => {
                (self.definition.accumulate)(function_context, &mut states[group], own)?;
            }
            States::Distinct(states) => {
                let (state, seen) = &mut states[group];
                if seen.is_new(own)? {
                    (self.definition.accumulate)(function_context, state, own)?;
                }
            }
            States::Ordered(states) => states[group].push(arguments.iter().copied()),
        }
        match self.grows {
            true => Ok(states.heap_bytes(group).saturating_sub(before)),
            false => Ok(0),
        }
    }

    /// Takes the rows of another worker's state into account, which is one of a call without DISTINCT and ORDER BY.
    /// Returns the bytes that the state of the group has grown by.
    ///
    /// # Errors
    /// Errors of the function; XX000 for a call whose states cannot be combined.
    pub(super) fn combine(
        &self,
        states: &mut States,
        group: u32,
        function_context: &Context<'_>,
        other: &State,
    ) -> Result<usize> {
        let group = group as usize;
        let before = states.heap_bytes(group);
        let (Some(combine), States::Running(running)) = (self.definition.combine, &mut *states)
        else {
            let message = "states of an aggregate that cannot be combined";
            return Err(SqlError::new(SqlState::INTERNAL_ERROR, message));
        };
        combine(function_context, &mut running[group], other)?;
        Ok(states.heap_bytes(group).saturating_sub(before))
    }

    /// Returns the result for a group.
    ///
    /// # Errors
    /// Errors of the function.
    pub(super) async fn result<'a>(
        &'a self,
        states: &'a States,
        group: usize,
        mut function_context: Context<'a>,
        context: &ExecutionContext<'_>,
    ) -> Result<Value<'a>> {
        let (plan, definition) = (self.plan, self.definition);
        function_context.argument_types = &plan.argument_types;
        let rows = match states {
            States::Running(states) => {
                return (definition.finish)(&function_context, &states[group], &[]);
            }
            States::Distinct(states) => {
                return (definition.finish)(&function_context, &states[group].0, &[]);
            }
            States::Ordered(states) => &states[group],
        };
        let width = plan.arguments.len();
        let keys = |at| &rows.row(at)[width..];
        let compare = |left, right| compare_keys(&plan.order, keys(left), keys(right));
        let order = Order::of(
            rows.len(),
            (context.memory(), context.turn()),
            Charge::default(),
            |at| bytes_of(keys(at)),
            compare,
        )
        .await?;
        let direct = definition.direct.unwrap_or(0);
        let mut state = (definition.start)();
        let mut seen = plan
            .distinct
            .then(|| Seen::new(&plan.argument_types[direct..]));
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
}

impl States {
    /// Returns the number of groups.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Running(states) => states.len(),
            Self::Distinct(states) => states.len(),
            Self::Ordered(states) => states.len(),
        }
    }

    /// Returns the bytes that a group's state holds on the heap.
    pub(super) fn heap_bytes(&self, group: usize) -> usize {
        match self {
            Self::Running(states) => states[group].heap_bytes(),
            Self::Distinct(states) => {
                let (state, seen) = &states[group];
                state.heap_bytes() + seen.bytes()
            }
            Self::Ordered(states) => states[group].bytes(),
        }
    }

    /// Returns the bytes of the list of states.
    pub(super) fn list_bytes(&self) -> usize {
        match self {
            Self::Running(states) => states.capacity() * size_of::<State>(),
            Self::Distinct(states) => states.capacity() * size_of::<(State, Seen)>(),
            Self::Ordered(states) => states.capacity() * size_of::<Rows>(),
        }
    }

    /// Returns the bytes that the list of states grows by when `groups` are added.
    pub(super) fn growth_bytes(&self, groups: usize) -> usize {
        let capacity = match self {
            Self::Running(states) => states.capacity(),
            Self::Distinct(states) => states.capacity(),
            Self::Ordered(states) => states.capacity(),
        };
        match self.len() + groups > capacity {
            true => self.list_bytes(),
            false => 0,
        }
    }

    /// Makes room for the values of some rows, which states that leave out equal values keep: see [`Seen::make_room`].
    ///
    /// # Errors
    /// Errors of [`Seen::make_room`].
    pub(super) async fn make_room(
        &mut self,
        groups: &[u32],
        context: &ExecutionContext<'_>,
    ) -> Result<()> {
        if let Self::Distinct(states) = self {
            for group in groups.iter().filter(|group| **group != NONE) {
                let (_, seen) = &mut states[*group as usize];
                seen.make_room(groups.len(), context).await?;
            }
        }
        Ok(())
    }

    /// Takes all states out; none, if they are of a call with DISTINCT or ORDER BY.
    pub(super) fn take_running(&mut self) -> Vec<State> {
        match self {
            Self::Running(states) => std::mem::take(states),
            Self::Distinct(_) | Self::Ordered(_) => Vec::new(),
        }
    }

    /// Forgets all groups.
    pub(super) fn clear(&mut self) {
        match self {
            Self::Running(states) => states.clear(),
            Self::Distinct(states) => states.clear(),
            Self::Ordered(states) => states.clear(),
        }
    }
}
