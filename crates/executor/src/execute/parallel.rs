//! Aggregates that several workers of the database carry out together.
//!
//! An aggregate over a large table, whose rows come through filters, projections and joins, is *divided* when it
//! begins. The execution's own worker, the *owner*, offers the [`Division`] to the other workers ([`Helpers`]); each
//! that takes part is a *helper*. All of them scan at one snapshot, take ranges of the table's chunks from one counter
//! until none is left, and group the rows that they come by, each for itself. Helpers hand their groups to the owner,
//! which combines them with its own. Nothing is decided in the plan: a statement whose snapshot cannot be shared, or a
//! database with one worker, has the same plan and no division.
//!
//! | part | file |
//! | --- | --- |
//! | which aggregates are divided | `parallel/eligible.rs` |
//! | memory of helpers | `parallel/memory.rs` |
//! | groups that are handed over | `aggregate/portion.rs` |
//! | ranges of chunks, hand-over, ends | here |
//!
//! # What is shared
//! A helper has a session of its own, with a transaction at the shared snapshot, and opens the aggregate's input anew.
//! It shares the plan, the values of the parameters, the settings, the catalog and the times of the statement, all of
//! which are immutable meanwhile. Programs that ask for anything else are not divided
//! ([`Program::is_shareable`](planner::program::Program::is_shareable)), nor are aggregates for which the order of rows
//! matters.
//!
//! The tables of hash joins are built before the aggregate is divided, by the owner, from the uppermost join on as
//! without a division ([`Operator::share`](super::Operator::share)). All parts look into the same tables, which do not
//! change any more. Their memory counts as the owner's, once. An aggregate with a join whose build side was put by on
//! the device is not divided.
//!
//! # Invariant: each row counts once
//! A range is given to one worker ([`Division::next_chunks`]). A helper that has taken one either reads it to its end
//! and hands over all of its groups before it ends, or the statement fails: a helper that ends otherwise (an error, a
//! panic, a task that is dropped) leaves its reason as the division's failure, and the owner looks for that before it
//! takes the end for granted. The owner does not wait for helpers that have not begun: once it has found that no chunk
//! is left and no helper is active, under one hold of the latch, it closes the division, and a helper that comes later
//! finds it closed.
//!
//! An answer depends on the newest commit that any part has seen: helpers leave it when they end, and the owner's
//! transaction waits for its durability as if it had seen it itself.
//!
//! # The end
//! A division that is over has neither snapshot nor tables. It is over when the owner has everything, or is dropped
//! (the statement was cancelled, has failed, or its client is gone). Helpers look whether it is over each time that
//! they are polled, which is at the latest at the end of a turn, and are woken if they wait. A helper frees what it
//! holds on its own worker: tables of a statement that has ended early stay until then, when they are not charged any
//! more. An offer in the inbox of a busy worker keeps the plan and the parameters, and neither snapshot nor tables.
//!
//! # Concurrency
//! All state that changes is under one latch, held for some instructions, and by a worker for each few chunks and each
//! resumption; wakers are called after it is given back. There is no other order between the workers than that of the
//! latch, but for counts of memory (`parallel/memory.rs`).
//!
//! # Bounds
//! A range has at most [`CHUNKS_AT_ONCE`] chunks, fewer towards the end. A helper has at most [`GROUPS_MAX`] groups,
//! or a small part of the statement's memory, and those of a batch, before it hands them over; one for which that is
//! often leaves, if there is no join, whose work is worth more than that of combining groups. At most [`PORTIONS_MAX`]
//! portions wait for the owner; a helper that has another waits. A helper whose worker is in demand
//! ([`is_in_demand`]) takes no more ranges.

mod eligible;
mod memory;

use std::{
    cell::Cell,
    collections::VecDeque,
    future::{Future, poll_fn},
    ops::Range,
    pin::pin,
    rc::Rc,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Poll, Waker},
};

use engine::{SharedSnapshot, Timestamp};
use interleave::{Wait, become_batch, is_in_demand, note_wait};
use types::{Memory, Result, SqlError, SqlState};

pub(super) use self::memory::{PartCharge, PartsMemory};
use super::{
    Budget, ExecutionContext, Input, JoinTables,
    aggregate::{AggregateOperator, Portion},
    join_filters::JoinFilterList,
    open,
};
use batch::{OwnedValue, Rows, SpareRows};
use planner::plan::{Aggregate, Scan};

/// Chunks that a worker takes at once: some milliseconds of work, so that workers end together, also if one of them is
/// busy with other tasks.
const CHUNKS_AT_ONCE: u64 = 4;

/// Fewest chunks of a table for which other workers are asked: 65,536 records.
const CHUNKS_MIN: u64 = 16;

/// Groups that a helper keeps before it hands them over.
const GROUPS_MAX: usize = 1 << 14;

/// Fewest rows for each group for which helpers save work: combining a group costs as much as some rows.
const ROWS_PER_GROUP_MIN: usize = 4;

/// Portions of groups that wait for the owner.
const PORTIONS_MAX: usize = 8;

/// The way in which an execution reaches other workers.
pub trait Helpers {
    /// Returns the most helpers that a statement may have.
    fn most(&self) -> usize;

    /// Offers a division to the other workers, each of which takes part by [`Division::join`] and [`Helper::run`].
    /// Returns false if there is no way to reach them. Must not wait.
    fn offer(&self, division: Arc<Division>) -> bool;
}

/// Aggregate that several workers carry out: see the module text.
pub struct Division {
    plan: Arc<Aggregate>,
    parameters: Vec<OwnedValue>,
    memory: Arc<PartsMemory>,
    chunks: u64,
    helpers_most: usize,
    /// Whether rows come through joins, which take more time than their groups.
    has_joins: bool,
    state: Mutex<State>,
}

/// Snapshot and tables of all parts of a division that is not over.
#[derive(Clone)]
struct Common {
    snapshot: SharedSnapshot,
    /// Tables of the hash joins, from the uppermost on.
    tables: Arc<JoinTables>,
    /// Filters of joins, also of those above the aggregate.
    filters: Arc<JoinFilterList>,
}

#[derive(Default)]
struct State {
    /// `None` once the division is over.
    common: Option<Common>,
    /// Chunk that is taken next.
    next_chunk: u64,
    /// Number of helpers that have begun, and of those that have not ended.
    begun: usize,
    active: usize,
    /// Groups of helpers, for the owner.
    handed: VecDeque<Portion>,
    /// Reason why a helper has ended before it had handed over everything.
    failure: Option<SqlError>,
    /// Newest commit that a helper has seen: the statement's answer depends on it too.
    seen: Option<Timestamp>,
    /// Rows that operators below the aggregate gave on helpers, by their numbers in a plan that is measured.
    rows: Vec<(usize, u64)>,
    /// Waker of the owner, if it waits.
    owner: Option<Waker>,
    /// Wakers of the helpers, by number.
    helpers: Vec<Option<Waker>>,
}

impl State {
    fn is_over(&self) -> bool {
        self.common.is_none()
    }

    /// Takes the wakers of all helpers.
    fn wake_helpers(&mut self) -> Vec<Waker> {
        let wakers = self.helpers.iter_mut().filter_map(Option::take);
        wakers.collect()
    }
}

/// The owner's hold on a division, which is over when this is dropped.
pub(super) struct Owner {
    division: Arc<Division>,
    /// The owner's own part.
    pub(super) part: Part,
    /// Memory of the execution.
    memory: Rc<Memory>,
}

/// The share of one worker in a division, by which its scan takes chunks.
pub struct Part {
    division: Arc<Division>,
    /// Whether the worker takes no more chunks.
    leaves: Cell<bool>,
}

impl Division {
    /// Divides an aggregate that begins to read `input`, if it can be, and offers it to other workers.
    ///
    /// # Errors
    /// Errors of the build sides of joins.
    ///
    /// # Suspension
    /// Any wait of operators, if there are joins.
    pub(super) async fn begin(
        plan: &Arc<Aggregate>,
        input: &mut Input<'_>,
        context: &ExecutionContext<'_>,
    ) -> Result<Option<Owner>> {
        let Some((snapshot, chunks)) = Self::divisible(plan, context) else {
            return Ok(None);
        };
        let mut tables = JoinTables::default();
        if !input.share(context, &mut tables).await? {
            return Ok(None);
        }
        let common = Common {
            snapshot,
            tables: Arc::new(tables),
            filters: Arc::new(context.shared.join_filters.all()),
        };
        Ok(Self::offer(plan, common, chunks, context))
    }

    /// Returns the snapshot of a statement whose aggregate can be divided, and the number of chunks.
    fn divisible(
        plan: &Aggregate,
        context: &ExecutionContext<'_>,
    ) -> Option<(SharedSnapshot, u64)> {
        context.helpers.filter(|helpers| helpers.most() > 0)?;
        let scan = large_scan(plan, context)?;
        let chunks = |scan: &Scan| Some(context.reads.unordered()?.chunks(scan.table.storage()));
        if chunks(scan)? < CHUNKS_MIN || !eligible::can_be_divided(plan) {
            return None;
        }
        let snapshot = context.reads.statement_snapshot().ok()?.share().ok()?;
        // The table's chunks are counted after the snapshot was taken.
        Some((snapshot, chunks(scan)?))
    }

    /// Offers an aggregate to other workers.
    fn offer(
        plan: &Arc<Aggregate>,
        common: Common,
        chunks: u64,
        context: &ExecutionContext<'_>,
    ) -> Option<Owner> {
        let helpers = context.helpers?;
        let parameters = context.parameters.row(0).iter();
        let division = Arc::new(Division {
            plan: plan.clone(),
            parameters: parameters.map(|value| OwnedValue::new(*value)).collect(),
            memory: PartsMemory::new(context.memory()),
            chunks,
            helpers_most: helpers.most().min((chunks / CHUNKS_AT_ONCE) as usize),
            has_joins: eligible::has_joins(&plan.input),
            state: Mutex::new(State {
                common: Some(common),
                ..State::default()
            }),
        });
        helpers.offer(division.clone()).then(|| Owner {
            part: Part::of(&division),
            memory: context.memory().clone(),
            division,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next chunks; `None` if there are no more.
    fn next_chunks(&self) -> Option<Range<u64>> {
        let mut state = self.state();
        let left = self.chunks - state.next_chunk;
        let parts = 1 + state.active as u64;
        let taken = (left / (4 * parts)).clamp(1, CHUNKS_AT_ONCE).min(left);
        if taken == 0 || state.is_over() || state.failure.is_some() {
            return None;
        }
        let first = state.next_chunk;
        state.next_chunk += taken;
        Some(first..first + taken)
    }

    /// Returns the most helpers that have something to do.
    pub fn helpers_most(&self) -> usize {
        self.helpers_most
    }

    /// Returns whether nothing is left to do for a helper that begins.
    pub fn is_done(&self) -> bool {
        let state = self.state();
        state.is_over() || state.next_chunk == self.chunks || state.begun == self.helpers_most
    }

    /// Takes part, as a helper; `None` if there is nothing left to do, or there are enough helpers.
    pub fn join(self: &Arc<Self>) -> Option<Helper> {
        let mut state = self.state();
        let common = state.common.clone()?;
        if state.next_chunk == self.chunks || state.begun == self.helpers_most {
            return None;
        }
        let number = state.begun;
        state.begun += 1;
        state.active += 1;
        state.helpers.push(None);
        drop(state);
        Some(Helper {
            division: self.clone(),
            number,
            common,
            is_done: false,
        })
    }

    /// Ends the division, and tells the helpers.
    fn close(&self) {
        let mut state = self.state();
        let common = state.common.take();
        let handed = std::mem::take(&mut state.handed);
        let wakers = state.wake_helpers();
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
        drop((common, handed));
    }
}

/// Returns the scan below an aggregate, if it reads a large table by blocks.
fn large_scan<'p>(plan: &'p Aggregate, context: &ExecutionContext<'_>) -> Option<&'p Scan> {
    let scan = eligible::scan_below(&plan.input)?;
    super::scan::is_by_blocks(scan, context).then_some(scan)
}

impl Part {
    fn of(division: &Arc<Division>) -> Part {
        Part {
            division: division.clone(),
            leaves: Cell::new(false),
        }
    }

    /// Takes the next chunks for the worker's scan; `None` if it has no more.
    pub(super) fn next_chunks(&self) -> Option<Range<u64>> {
        match self.leaves.get() {
            true => None,
            false => self.division.next_chunks(),
        }
    }
}

impl Owner {
    /// Returns the tables of the joins.
    pub(super) fn tables(&self) -> Arc<JoinTables> {
        let state = self.division.state();
        let common = state.common.as_ref();
        common.map_or_else(Default::default, |common| common.tables.clone())
    }

    /// Returns the number of helpers that have begun.
    pub(super) fn begun(&self) -> usize {
        self.division.state().begun
    }

    /// Returns a portion that a helper has handed over, if there is one. Called after each batch: the memory of the
    /// helpers becomes part of the statement's.
    ///
    /// # Errors
    /// The reason why a helper has failed.
    pub(super) fn take(&self) -> Result<Option<Portion>> {
        self.division.memory.tell(&self.memory);
        let mut state = self.division.state();
        if let Some(failure) = state.failure.take() {
            return Err(failure);
        }
        let Some(portion) = state.handed.pop_front() else {
            return Ok(None);
        };
        let wakers = state.wake_helpers();
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
        Ok(Some(portion))
    }

    /// Returns the next portion, once there is one; `None` when all helpers have ended, after which there are none. The
    /// owner has no chunks left.
    ///
    /// # Errors
    /// The reason why a helper has failed.
    pub(super) async fn next(&self) -> Result<Option<Portion>> {
        poll_fn(|task| {
            loop {
                let portion = self.take()?;
                if portion.is_some() {
                    return Poll::Ready(Ok(portion));
                }
                let mut state = self.division.state();
                if !state.handed.is_empty() || state.failure.is_some() {
                    // A helper has come in between.
                    continue;
                }
                if state.active == 0 {
                    let common = state.common.take();
                    drop(state);
                    drop(common);
                    return Poll::Ready(Ok(None));
                }
                state.owner = Some(task.waker().clone());
                note_wait(Wait::Event);
                return Poll::Pending;
            }
        })
        .await
    }

    /// Notes the newest commit that helpers have seen: the answer depends on it.
    pub(super) fn note_seen(&self, context: &ExecutionContext<'_>) {
        let seen = self.division.state().seen;
        if let Some(seen) = seen {
            context.reads.note_seen(seen);
        }
    }

    /// Notes the rows that operators gave on helpers that have ended.
    pub(super) fn note_rows(&self, context: &ExecutionContext<'_>) {
        let rows = std::mem::take(&mut self.division.state().rows);
        context.shared.measurements.add_rows(&rows);
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.division.close();
        // Helpers that have not ended give their memory back at their next turn.
        self.memory.lend(0);
    }
}

/// The part of a worker other than the owner's. Dropped before it is done, it fails the statement.
pub struct Helper {
    division: Arc<Division>,
    number: usize,
    common: Common,
    is_done: bool,
}

impl Helper {
    /// Returns the snapshot that the helper reads at.
    pub fn snapshot(&self) -> &SharedSnapshot {
        &self.common.snapshot
    }

    /// Returns the parameters of the execution, as one row.
    pub fn parameters(&self) -> Rows {
        let mut parameters = Rows::new(self.division.parameters.len());
        parameters.push(self.division.parameters.iter().map(OwnedValue::value));
        parameters
    }

    /// Returns the helper's budget: what all parts of the statement hold together stays within its share.
    pub fn budget(&self) -> Budget {
        self.division.memory.budget()
    }

    /// Ends the part before it has begun: the others do all of the work.
    pub fn decline(mut self) {
        self.end(Ok(()), None, &[]);
    }

    /// Does the helper's part, in a context of its own with the budget and the parameters, and with a transaction at
    /// the snapshot. The owner hears of errors.
    ///
    /// # Suspension
    /// Any wait of the operators, and the ends of turns; waits for the owner to take groups.
    ///
    /// # Cancellation
    /// The statement fails.
    pub async fn run(mut self, context: &ExecutionContext<'_>, spare: &Rc<SpareRows>) {
        become_batch();
        let done = {
            let mut work = pin!(self.accumulate(context, spare));
            poll_fn(|task| match self.is_over(task.waker()) {
                true => Poll::Ready(Ok(())),
                false => work.as_mut().poll(task),
            })
            .await
        };
        let seen = context.reads.newest_seen();
        self.end(done, Some(seen), &context.shared.measurements.rows());
    }

    /// Returns whether the division is over; if not, `waker` is called when it is.
    fn is_over(&self, waker: &Waker) -> bool {
        let mut state = self.division.state();
        let noted = &mut state.helpers[self.number];
        if !noted.as_ref().is_some_and(|noted| noted.will_wake(waker)) {
            *noted = Some(waker.clone());
        }
        state.is_over()
    }

    /// Groups the rows of the helper's chunks, and hands the groups over.
    async fn accumulate(
        &self,
        context: &ExecutionContext<'_>,
        spare: &Rc<SpareRows>,
    ) -> Result<()> {
        let plan = &self.division.plan;
        context.shared.join_filters.adopt(&self.common.filters);
        let part = Part::of(&self.division);
        let context = &ExecutionContext {
            part: Some(&part),
            ..*context
        };
        let input = open::part(&plan.input, spare, &self.common.tables.0)?;
        let mut operator = AggregateOperator::new(plan, input)?;
        let mut rows = 0;
        while let Some(more) = operator.accumulate_some(context).await? {
            rows += more;
            let groups = operator.groups();
            let is_large = context.memory().used() > self.division.memory.of_helper();
            if groups > GROUPS_MAX || groups > 0 && is_large {
                self.hand_over(&mut operator).await?;
                let is_little = rows < groups * ROWS_PER_GROUP_MIN;
                if is_little && !self.division.has_joins {
                    part.leaves.set(true);
                }
                rows = 0;
            }
            // Transactions have come to this worker.
            if is_in_demand() {
                part.leaves.set(true);
            }
        }
        self.hand_over(&mut operator).await
    }

    /// Hands all groups over.
    async fn hand_over(&self, operator: &mut AggregateOperator<'_>) -> Result<()> {
        let mut portions = operator.portions();
        while let Some(portion) = portions.next(&self.division.memory)? {
            let mut portion = Some(portion);
            poll_fn(|_| self.hand(&mut portion)).await;
        }
        drop(portions);
        operator.forget_groups();
        Ok(())
    }

    /// Puts a portion into the owner's list, once that has room; drops it if the division is over.
    fn hand(&self, portion: &mut Option<Portion>) -> Poll<()> {
        let mut state = self.division.state();
        if state.is_over() {
            return Poll::Ready(());
        }
        if state.handed.len() >= PORTIONS_MAX {
            // The helper's waker was noted before it was polled.
            drop(state);
            note_wait(Wait::Event);
            return Poll::Pending;
        }
        state.handed.extend(portion.take());
        let owner = state.owner.take();
        drop(state);
        owner.into_iter().for_each(Waker::wake);
        Poll::Ready(())
    }

    /// Notes the helper's end.
    fn end(&mut self, done: Result<()>, seen: Option<Timestamp>, rows: &[(usize, u64)]) {
        self.is_done = true;
        let mut state = self.division.state();
        state.active -= 1;
        state.helpers[self.number] = None;
        state.seen = state.seen.max(seen);
        state.rows.extend(rows);
        if let Err(error) = done {
            state.failure.get_or_insert(error);
        }
        let owner = state.owner.take();
        drop(state);
        owner.into_iter().for_each(Waker::wake);
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        if !self.is_done {
            let message = "a worker has given up its part of the statement";
            let error = SqlError::new(SqlState::INTERNAL_ERROR, message);
            self.end(Err(error), None, &[]);
        }
    }
}
