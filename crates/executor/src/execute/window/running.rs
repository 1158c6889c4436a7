//! Aggregates over the frames of a partition's rows, one after the other.
//!
//! Frames move forwards: neither end lies before that of the row before. An aggregate goes on from its
//! state for that row, with the rows that came, in one of three ways. For `min` and `max`, the values
//! that may still be the extreme are kept in a queue. Others take the rows that left back if that is
//! exact ([`functions::Aggregate::remove`]). Otherwise, as with sums of floats, whose last digits depend
//! on the order, they begin anew, as PostgreSQL's do. The arguments of each row are computed once.

use std::{collections::VecDeque, ops::Range};

use functions::{Aggregate, Context, Extreme, State};
use types::{Charge, Result, Scratch, Value};

use super::ExecutionContext;
use batch::Rows;
use planner::plan::{Bound, Window};

pub(super) struct Running<'w> {
    window: &'w Window,
    definition: &'static Aggregate,
    /// Arguments of the aggregate for each row, from the row `first` on; and whether the row
    /// counts.
    given: Rows,
    counts: Vec<bool>,
    first: usize,
    /// Rows that are in the state, or in the queue.
    done: Range<usize>,
    state: State,
    /// Rows in order, each better than all behind it.
    extremes: VecDeque<usize>,
    charge: Charge,
}

impl<'w> Running<'w> {
    pub(super) fn new(window: &'w Window, definition: &'static Aggregate) -> Self {
        Self {
            window,
            definition,
            given: Rows::new(window.arguments.len()),
            counts: Vec::new(),
            first: 0,
            done: 0..0,
            state: (definition.start)(),
            extremes: VecDeque::new(),
            charge: Charge::default(),
        }
    }

    /// Computes the value over a frame of a partition whose rows `row` gives.
    ///
    /// # Errors
    /// Errors of the aggregate and its arguments.
    pub(super) async fn over<'a, 'r>(
        &mut self,
        frame: &Range<usize>,
        row: impl Fn(usize) -> &'r [Value<'r>],
        context: &'a ExecutionContext<'_>,
        scratch: &'a Scratch,
    ) -> Result<Value<'a>> {
        if let Some(extreme) = self.definition.extreme
            && self.slides()
        {
            self.compute_given(frame, row, context).await?;
            return Ok(self.extreme(frame, extreme, context).await.copied(scratch));
        }
        self.take(frame, row, context, scratch).await?;
        self.value(context, scratch)
    }

    /// Has the state be that of a frame, by steps from the frame before.
    ///
    /// # Errors
    /// Errors of the aggregate and its arguments.
    pub(super) async fn take<'r>(
        &mut self,
        frame: &Range<usize>,
        row: impl Fn(usize) -> &'r [Value<'r>],
        context: &ExecutionContext<'_>,
        scratch: &Scratch,
    ) -> Result<()> {
        self.compute_given(frame, row, context).await?;
        let mut function_context = context.function_context(scratch);
        function_context.argument_types = &self.window.argument_types;
        self.leave(frame, &function_context, context).await?;
        while self.done.end < frame.end {
            let at = self.done.end;
            self.done.end += 1;
            context.pause(1).await;
            if self.counts[at - self.first] {
                let given = self.given.row(at - self.first);
                (self.definition.accumulate)(&function_context, &mut self.state, given)?;
            }
        }
        Ok(())
    }

    /// Returns the value of the state.
    ///
    /// # Errors
    /// Errors of the aggregate.
    pub(super) fn value<'a>(
        &self,
        context: &'a ExecutionContext<'_>,
        scratch: &'a Scratch,
    ) -> Result<Value<'a>> {
        let mut function_context = context.function_context(scratch);
        function_context.argument_types = &self.window.argument_types;
        // The value has to be in the arena, since it would otherwise live no longer than the state.
        let value = (self.definition.finish)(&function_context, &self.state, &[])?;
        Ok(value.copied(scratch))
    }

    /// Returns whether rows leave the frame.
    fn slides(&self) -> bool {
        !matches!(self.window.start, Bound::UnboundedPreceding)
    }

    /// Computes the arguments of the rows up to a frame's end.
    async fn compute_given<'r>(
        &mut self,
        frame: &Range<usize>,
        row: impl Fn(usize) -> &'r [Value<'r>],
        context: &ExecutionContext<'_>,
    ) -> Result<()> {
        let known = self.first + self.counts.len();
        // If frames only grow, each row is looked at once.
        let wanted = match self.slides() {
            true => frame.start,
            false => self.done.end,
        };
        if wanted >= known || wanted < self.first {
            self.given.clear();
            self.counts.clear();
            self.first = wanted;
        }
        let known = self.first + self.counts.len();
        let mut scratch = Scratch::new();
        for at in known..frame.end {
            context.pause(1).await;
            scratch.reset();
            let mut evaluator = context.evaluator(&scratch);
            let values = row(at);
            let mut counts = match &self.window.filter {
                Some(filter) => filter.holds(&mut evaluator, values)?,
                None => true,
            };
            let mut given = Vec::with_capacity(self.window.arguments.len());
            for argument in &self.window.arguments {
                given.push(match counts {
                    true => argument.run(&mut evaluator, values)?,
                    false => Value::Null,
                });
            }
            counts &= !self.window.function.0.strict || !given.iter().any(Value::is_null);
            self.given.push(given);
            self.counts.push(counts);
            // A frame may be the whole partition: the limit counts before all of it is in memory.
            self.given.settle(context.memory())?;
        }
        let places = self.extremes.capacity() * size_of::<usize>();
        let bytes = self.counts.capacity() + places + self.state.heap_bytes();
        self.charge.set(context.memory(), bytes)
    }

    /// Takes back the rows that have left the frame, or begins anew.
    async fn leave(
        &mut self,
        frame: &Range<usize>,
        function_context: &Context<'_>,
        context: &ExecutionContext<'_>,
    ) -> Result<()> {
        let left = self.done.start..frame.start;
        let goes_on = frame.start >= self.done.start && frame.end >= self.done.end;
        let stay = self.done.end.saturating_sub(frame.start);
        if goes_on && left.is_empty() {
            return Ok(());
        }
        if let Some(remove) = self.definition.remove
            && goes_on
            && left.len() <= stay
        {
            let mut is_exact = true;
            for at in left {
                context.pause(1).await;
                if self.counts[at - self.first] {
                    let given = self.given.row(at - self.first);
                    is_exact = is_exact && remove(function_context, &mut self.state, given)?;
                }
            }
            if is_exact {
                self.done.start = frame.start;
                return Ok(());
            }
        }
        self.state = (self.definition.start)();
        self.done = frame.start..frame.start;
        Ok(())
    }

    /// Returns the least or the greatest value of a frame.
    async fn extreme(
        &mut self,
        frame: &Range<usize>,
        extreme: Extreme,
        context: &ExecutionContext<'_>,
    ) -> Value<'_> {
        if frame.start < self.done.start || frame.end < self.done.end {
            self.extremes.clear();
            self.done = frame.start..frame.start;
        }
        while self.extremes.front().is_some_and(|at| *at < frame.start) {
            self.extremes.pop_front();
        }
        let ty = self.window.argument_types[0];
        for at in self.done.end.max(frame.start)..frame.end {
            context.pause(1).await;
            if !self.counts[at - self.first] {
                continue;
            }
            let value = self.given.row(at - self.first)[0];
            while let Some(last) = self.extremes.back() {
                let other = self.given.row(*last - self.first)[0];
                if !extreme.replaces(ty, value, other) {
                    break;
                }
                self.extremes.pop_back();
            }
            self.extremes.push_back(at);
        }
        self.done = frame.clone();
        match self.extremes.front() {
            Some(at) => self.given.row(at - self.first)[0],
            None => Value::Null,
        }
    }
}
