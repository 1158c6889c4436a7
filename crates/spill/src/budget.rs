//! The budget of an execution: memory, and its worker's time.
//!
//! Each execution has one [`Budget`], from its first operator to its last row, also while it stays open between a
//! client's calls. Operators charge what they keep to its memory: rows by [`Rows::settle`](batch::Rows::settle), arenas
//! of programs by themselves ([`types::Scratch`]), and everything else by a [`types::Charge`] beside it. A charge that
//! exceeds the statement's share, or what the database's limit leaves, ends the statement with 53200. Operators that
//! can put rows by on the device keep less than that ([`Budget::is_short`]). The work of operators is counted in the
//! execution's turn, which is over after some time.

use std::{
    cell::Cell,
    rc::Rc,
    time::{Duration, Instant},
};

use interleave::{Turn, sleep};
use types::{Allowance, Memory};

/// Divisor of a statement's share for the part that operators leave free when they can put rows by: for batches, and
/// for operators that cannot.
const LEFT_FREE_PART: usize = 4;

/// Divisor of a statement's share for what an operator keeps in any case before it puts rows by: runs and partitions
/// would be many and small, if other operators have taken the rest.
const KEPT_PART: usize = 32;

/// Longest time for which an execution waits, in all, for memory that records are leaving while none becomes free; a
/// look counts with [`LOOK_MOST`] at most.
const PATIENCE: Duration = Duration::from_secs(2);

/// Longest time for which an execution waits for memory in all, also while some becomes free: others may take it.
const WHOLE_PATIENCE: Duration = Duration::from_secs(20);

/// Time between two looks of an execution that waits for memory.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// Most time that counts as waited in vain between two looks: where worker or machine are busy, those that make room
/// come late, too.
const LOOK_MOST: Duration = Duration::from_millis(20);

/// The memory and the turn of an execution: see the module text.
#[derive(Debug)]
pub struct Budget {
    memory: Rc<Memory>,
    /// Most bytes that an operator keeps if it can put rows by (`work_mem`), if that was set.
    operator_bytes: Option<usize>,
    turn: Turn,
    /// Time for which the execution will still wait for memory while none becomes free.
    patience: Cell<Duration>,
    /// Time for which it will still wait in all.
    whole_patience: Cell<Duration>,
}

impl Budget {
    /// Makes a budget of `share` bytes of a connection's memory.
    pub fn new(connection: &Rc<Allowance>, share: usize) -> Self {
        Self {
            memory: Memory::new(connection, share),
            operator_bytes: None,
            turn: Turn::default(),
            patience: Cell::new(PATIENCE),
            whole_patience: Cell::new(WHOLE_PATIENCE),
        }
    }

    /// Sets the most bytes that an operator keeps if it can put rows by on the device; `None` for what the share
    /// allows.
    pub fn with_operator_bytes(self, operator_bytes: Option<usize>) -> Self {
        Self {
            operator_bytes,
            ..self
        }
    }

    /// Returns the most bytes that an operator keeps if it can put rows by and no other operator keeps any.
    pub fn operator_bytes(&self) -> usize {
        let share = self.memory.share();
        let most = share - share / LEFT_FREE_PART;
        self.operator_bytes.unwrap_or(most).min(most)
    }

    /// Returns the bytes that an operator can keep beside those that are in use, if it can put rows by.
    pub fn bytes_left(&self) -> usize {
        let share = self.memory.share();
        let left = share - share / LEFT_FREE_PART;
        let left = left.saturating_sub(self.memory.used());
        left.min(self.operator_bytes())
    }

    /// Returns whether an operator that can put rows by has to do so, since it keeps `bytes` and may need `more` before
    /// it asks again.
    pub fn is_short(&self, bytes: usize, more: usize) -> bool {
        // Others may have so much that the share cannot be had.
        let used = self.memory.used();
        let left = self.memory.allowance().left();
        let share = self.memory.share().min(used.saturating_add(left));
        let most = share - share / LEFT_FREE_PART;
        bytes + more > self.operator_bytes().min(most)
            || (used + more > most && self.is_much(bytes))
    }

    /// Returns whether an operator that keeps `bytes` is among those that have to put rows by when memory is short.
    pub fn is_much(&self, bytes: usize) -> bool {
        bytes > self.memory.share() / KEPT_PART
    }

    /// Waits, between two batches, while records leave memory for the execution, which might be refused memory
    /// otherwise.
    #[inline]
    pub async fn wait_for_room(&self) {
        let is_patient = !self.patience.get().is_zero() && !self.whole_patience.get().is_zero();
        if is_patient && self.memory.allowance().is_scarce() {
            Box::pin(self.wait_while_scarce()).await;
        }
    }

    async fn wait_while_scarce(&self) {
        let allowance = self.memory.allowance();
        let before = allowance.left();
        let mut most = before;
        while allowance.is_still_scarce() {
            if self.patience.get().is_zero() || self.whole_patience.get().is_zero() {
                if let Some(source) = allowance.source().filter(|_| most <= before) {
                    source.waited_in_vain();
                }
                return;
            }
            let began = Instant::now();
            sleep(LOOK_AGAIN).await;
            // Time that is simulated does not pass here.
            let waited = began.elapsed().max(LOOK_AGAIN);
            let whole = self.whole_patience.get().saturating_sub(waited);
            self.whole_patience.set(whole);
            let left = allowance.left();
            if left > most {
                most = left;
                continue;
            }
            let patience = self.patience.get().saturating_sub(waited.min(LOOK_MOST));
            self.patience.set(patience);
        }
    }

    /// Returns the execution's turn, in which operators count their work.
    pub fn turn(&self) -> &Turn {
        &self.turn
    }

    /// Returns the memory that the execution holds.
    pub fn memory(&self) -> &Rc<Memory> {
        &self.memory
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering::Relaxed},
        },
        time::Instant,
    };

    use interleave::{Clock, Worker, WorkerConfig};
    use types::{Charge, MemorySource};

    use super::*;

    /// A source that is always making room, and has little or much left.
    struct Full {
        left: usize,
        /// Looks at what is left, after each of which it is more, until the last has made enough.
        slow_looks: usize,
        looks: AtomicUsize,
        /// Waits in vain that it was told of, after which it makes no room.
        vain: AtomicUsize,
    }

    impl MemorySource for Full {
        fn admit(&self, _: usize) {}

        fn take(&self, _: usize, _: usize) -> bool {
            true
        }

        fn give_back(&self, _: usize) {}

        fn left(&self, _: usize) -> usize {
            let looks = self.looks.fetch_add(1, Relaxed);
            self.left.saturating_add(looks.min(self.slow_looks))
        }

        fn why_refused(&self, _: usize) -> String {
            String::new()
        }

        fn is_making_room(&self, held: usize) -> bool {
            let has_made_room = self.slow_looks > 0 && self.looks.load(Relaxed) > self.slow_looks;
            held > 0 && self.vain.load(Relaxed) == 0 && !has_made_room
        }

        fn waited_in_vain(&self) {
            self.vain.fetch_add(1, Relaxed);
        }
    }

    fn full(left: usize, slow_looks: usize) -> (Arc<Full>, Budget) {
        let source = Arc::new(Full {
            left,
            slow_looks,
            looks: AtomicUsize::new(0),
            vain: AtomicUsize::new(0),
        });
        let budget = Budget::new(&Allowance::new(source.clone(), 0), 64 << 20);
        (source, budget)
    }

    /// Each statement waited for its two seconds where no record could leave.
    #[test]
    fn a_wait_in_vain_is_told_and_spares_others() {
        let mut worker = Worker::new(WorkerConfig::default(), Rc::new(()), Clock::real());
        let task = worker.handle().submit(|_: &Rc<()>| async {
            let (source, budget) = full(0, 0);
            let other = Budget::new(budget.memory.allowance(), 64 << 20);
            let mut charge = Charge::default();
            charge.set(&budget.memory, 1 << 20).unwrap();
            budget.wait_for_room().await;
            assert_eq!(source.vain.load(Relaxed), 1);
            let began = Instant::now();
            other.wait_for_room().await;
            (source.vain.load(Relaxed), began.elapsed() < PATIENCE)
        });
        assert_eq!(worker.run_until(task).unwrap(), (1, true));
    }

    /// On a busy machine records took longer to leave than statements waited, and these ended with 53200 though more
    /// room was made all the time.
    #[test]
    fn a_wait_goes_on_while_room_is_made() {
        // Each look takes two milliseconds at least.
        let looks = PATIENCE.as_millis() as usize * 3 / 4;
        let mut worker = Worker::new(WorkerConfig::default(), Rc::new(()), Clock::real());
        let task = worker.handle().submit(move |_: &Rc<()>| async move {
            let (source, budget) = full(0, looks);
            let mut charge = Charge::default();
            charge.set(&budget.memory, 1 << 20).unwrap();
            budget.wait_for_room().await;
            (
                source.vain.load(Relaxed),
                source.looks.load(Relaxed) > looks,
            )
        });
        assert_eq!(worker.run_until(task).unwrap(), (0, true));
    }

    /// Operators kept rows up to the statement's share, where the database had less.
    #[test]
    fn what_others_have_left_counts() {
        for (left, is_short) in [(usize::MAX, false), (8 << 20, false), (1 << 20, true)] {
            let (_, budget) = full(left, 0);
            let mut charge = Charge::default();
            charge.set(&budget.memory, 4 << 20).unwrap();
            assert_eq!(budget.is_short(4 << 20, 1 << 20), is_short, "{left}");
        }
    }
}
