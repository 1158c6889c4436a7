//! The first of several equal rows.
//!
//! Rows that come in any order are looked up among those that were met before. Once these have no room, rows that are
//! not among them are put by on the device, and looked at when the input has ended ([`PutBy`]). A row is compared with
//! the one before it alone where equal rows come one after the other.

use std::rc::Rc;

use types::{Memory, Result, Scratch, Type, Value, compare::equals};

use super::{ExecutionContext, Input, Operator, Spilled, Step, tuple_hash_table::TupleHashTable};
use batch::Rows;
use planner::program::Program;
use spill::PutBy;

/// Rows that were met before.
pub(super) struct Seen(TupleHashTable);

impl Seen {
    pub(super) fn new(types: &[Type]) -> Self {
        Self(TupleHashTable::new(types))
    }

    /// Returns whether `keys` were not met before; they count as met from now on.
    pub(super) fn is_new(&mut self, keys: &[Value<'_>]) -> Result<bool> {
        let hash = self.0.hash(keys);
        let is_new = self.0.number_of(keys, hash).is_none();
        if is_new {
            self.0.add(keys, hash)?;
        }
        Ok(is_new)
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
}

/// Rows that were met before, as far as a row has to be compared with them.
enum Before {
    /// All of them.
    All(Box<TupleHashTable>),
    /// The last one, since equal rows come one after the other.
    Last(Rows),
}

pub(super) struct Distinct<'p> {
    input: Input<'p>,
    on: &'p [Program],
    types: &'p [Type],
    before: Before,
    /// Rows that were put by. They have their keys behind them if these are computed, since they might differ later.
    put_by: PutBy,
    are_keys_computed: bool,
    /// Number of values in a row of the input.
    width: usize,
    /// Positions of the batch's rows that were not met before: as many as a batch has at most.
    stay: Vec<usize>,
    scratch: Scratch,
}

impl<'p> Distinct<'p> {
    pub(super) fn new(
        input: Input<'p>,
        on: &'p [Program],
        types: &'p [Type],
        is_grouped: bool,
    ) -> Self {
        Self {
            before: match is_grouped {
                true => Before::Last(Rows::new(on.len())),
                false => Before::All(Box::new(TupleHashTable::new(types))),
            },
            put_by: PutBy::default(),
            are_keys_computed: on.iter().any(|program| program.as_column().is_none()),
            width: input.batch.width(),
            input,
            on,
            types,
            stay: Vec::new(),
            scratch: Scratch::new(),
        }
    }

    async fn advance(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        loop {
            while out.is_empty() && self.more(context).await? {
                self.look(context).await?;
                let stay = self.stay.iter().copied();
                let none = &mut Rows::default();
                self.input.hand_on_beside(stay, none, 0..self.width, out);
            }
            if !out.is_empty() || !self.begin_partition(context).await? {
                return Ok(!out.is_empty());
            }
        }
    }

    /// Returns whether there are rows that were not looked at, of the input or of a partition.
    async fn more(&mut self, context: &ExecutionContext<'_>) -> Result<bool> {
        let put_by = &mut self.put_by;
        self.input.more_or_put_by(put_by, context).await
    }

    /// Looks for the rows of the batch that were not met before; puts those by that may have been.
    async fn look(&mut self, context: &ExecutionContext<'_>) -> Result<()> {
        let batch = &self.input.batch;
        if let Before::All(met) = &mut self.before {
            let rows = (batch.len(), 0);
            met.make_room_or_fill(&mut self.put_by, rows, context)
                .await?;
        }
        self.scratch.reset();
        self.stay.clear();
        let mut evaluator = context.evaluator(&self.scratch);
        let has_keys = self.put_by.is_reading() && self.are_keys_computed;
        let mut keys = Vec::with_capacity(self.on.len());
        for at in self.input.taken..batch.len() {
            context.pause(1).await;
            let row = batch.row(at);
            keys.clear();
            match has_keys {
                true => keys.extend_from_slice(&row[self.width..]),
                false => {
                    for program in self.on {
                        keys.push(program.run(&mut evaluator, row)?);
                    }
                }
            }
            let is_new = match &mut self.before {
                Before::Last(last) => {
                    let is_new = last.is_empty() || !are_equal(self.types, last.row(0), &keys);
                    if is_new {
                        last.clear();
                        last.push(keys.iter().copied());
                        last.settle(context.memory())?;
                    }
                    is_new
                }
                Before::All(met) => {
                    let hash = met.hash(&keys);
                    let is_new = met.number_of(&keys, hash).is_none();
                    if is_new && self.put_by.is_full() {
                        let kept: &[Value<'_>] = if self.are_keys_computed { &keys } else { &[] };
                        let row = row[..self.width].iter().chain(kept).copied();
                        let session = context.session();
                        self.put_by.push(hash, row, context.budget, session).await?;
                        continue;
                    }
                    if is_new {
                        met.add(&keys, hash)?;
                    }
                    is_new
                }
            };
            if is_new {
                self.stay.push(at);
            }
        }
        match &mut self.before {
            Before::All(met) => {
                let charged = met.charge(context.memory());
                met.charged_or_fill(&mut self.put_by, charged)
            }
            Before::Last(_) => Ok(()),
        }
    }

    /// Begins to look at the rows of the next partition, once the input or the partition before has ended; returns
    /// false if there is none.
    async fn begin_partition(&mut self, context: &ExecutionContext<'_>) -> Result<bool> {
        self.put_by.end_partitions().await?;
        if !self.put_by.has_partitions() {
            return Ok(false);
        }
        self.before = Before::All(Box::new(TupleHashTable::new(self.types)));
        let keys = if self.are_keys_computed {
            self.on.len()
        } else {
            0
        };
        let width = self.width + keys;
        let batch = &mut self.input.batch;
        self.put_by.begin(batch, width, context.budget).await?;
        self.input.taken = 0;
        Ok(true)
    }
}

/// Returns whether two lists of values are equal. NULLs are equal to each other here.
fn are_equal(types: &[Type], left: &[Value<'_>], right: &[Value<'_>]) -> bool {
    let mut pairs = types.iter().zip(left.iter().zip(right));
    pairs.all(|(ty, (left, right))| equals(*ty, *left, *right))
}

impl Operator for Distinct<'_> {
    fn next<'f>(&'f mut self, context: &'f ExecutionContext<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(context, out))
    }

    fn spilled(&self) -> Option<Spilled> {
        self.put_by.spilled()
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.input.batch.restart(self.width);
        self.put_by.clear();
        match &mut self.before {
            Before::All(met) => met.clear(),
            Before::Last(last) => last.clear(),
        }
    }
}
