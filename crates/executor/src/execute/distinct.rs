//! The first of several equal rows.

use std::rc::Rc;

use types::{Memory, Result, Scratch, Type, Value};

use super::{ExecutionContext, Input, Operator, Step, tuple_hash_table::TupleHashTable};
use batch::Rows;
use planner::program::Program;

/// Rows that were met before.
pub(super) struct Seen(TupleHashTable);

impl Seen {
    pub(super) fn new(types: &[Type]) -> Self {
        Self(TupleHashTable::new(types))
    }

    /// Returns whether `keys` were not met before; they count as met from now on.
    pub(super) fn is_new(&mut self, keys: &[Value<'_>]) -> Result<bool> {
        let hash = self.0.hash(keys);
        let mut found = self
            .0
            .unsettled(hash)
            .any(|number| self.0.has_keys(number, keys));
        let mut candidates = Vec::new();
        self.0.find(&[hash], |_, number| candidates.push(number));
        found = found
            || candidates
                .into_iter()
                .any(|number| self.0.has_keys(number, keys));
        if !found {
            self.0.push(keys.iter().copied(), hash)?;
            // Rows that wait to be settled are compared one by one.
            if self.0.waiting() >= 32 {
                self.0.settle()?;
            }
        }
        Ok(!found)
    }

    /// Makes room for `rows` more rows: see [`TupleHashTable::make_room`].
    ///
    /// # Errors
    /// Errors of [`TupleHashTable::make_room`].
    pub(super) async fn make_room(
        &mut self,
        rows: usize,
        context: &ExecutionContext<'_>,
    ) -> Result<()> {
        self.0.make_room(rows, context).await
    }

    /// Charges the rows that were met since the last call.
    ///
    /// # Errors
    /// 53200 if the statement may not hold as much.
    pub(super) fn charge(&mut self, memory: &Rc<Memory>) -> Result<()> {
        self.0.charge(memory)
    }

    /// Returns the bytes of the set, including its own structure.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.0.bytes()
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}

pub(super) struct Distinct<'p> {
    input: Input<'p>,
    on: &'p [Program],
    seen: Seen,
    /// Positions of the batch's rows that were not met before: as many as a batch has at most.
    stay: Vec<usize>,
    scratch: Scratch,
}

impl<'p> Distinct<'p> {
    pub(super) fn new(input: Input<'p>, on: &'p [Program], types: &[Type]) -> Self {
        Self {
            input,
            on,
            seen: Seen::new(types),
            stay: Vec::new(),
            scratch: Scratch::new(),
        }
    }

    async fn advance(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        while out.is_empty() && self.input.more(context).await? {
            self.seen.make_room(self.input.batch.len(), context).await?;
            self.scratch.reset();
            self.stay.clear();
            let mut evaluator = context.evaluator(&self.scratch);
            let mut keys = Vec::with_capacity(self.on.len());
            for at in self.input.taken..self.input.batch.len() {
                context.pause(1).await;
                let row = self.input.batch.row(at);
                keys.clear();
                for program in self.on {
                    keys.push(program.run(&mut evaluator, row)?);
                }
                if self.seen.is_new(&keys)? {
                    self.stay.push(at);
                }
            }
            self.input.hand_on(self.stay.iter().copied(), out);
            self.seen.charge(context.memory())?;
        }
        Ok(!out.is_empty())
    }
}

impl Operator for Distinct<'_> {
    fn next<'f>(&'f mut self, context: &'f ExecutionContext<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(context, out))
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.seen.clear();
    }
}
