//! Holders and waiters of a record or table, as one search for cycles has found them (`graph.rs`).
//!
//! A search asks a place for the transactions that each of its waiters waits for. Waiters that exclude each
//! other all wait for nearly the same transactions: asked one by one, a queue of n waiters had n squared
//! answers, under the latch of the graph. The view answers with what it has not yet said: for each mode
//! it remembers how far from the front a wait of that mode was compared. Everything up to there was found
//! by the search already, or is the entry of a waiter that the search has reached. All questions of one
//! search at one place therefore compare each entry at most twice for each mode.
//!
//! The waits of the *searcher*, the transaction that the search looks for, are remembered apart. Its own
//! entries are passed over for its own waits alone: an entry of its own that another wait meets is the end
//! of a cycle, and is never taken for known.

use crate::timestamp::TransactionId;

/// Maximum modes of a kind of place.
const MODES_MAX: usize = 8;

/// Set of modes, one bit each.
pub(super) type ModeBits = u8;

/// Wait in a queue.
#[derive(Clone, Copy)]
pub(super) struct Wait {
    pub(super) by: TransactionId,
    /// Number of the mode.
    pub(super) mode: u8,
    /// Modes that the wait's mode excludes.
    pub(super) excludes: ModeBits,
    /// Modes for which the same transaction need not wait again once this wait is over.
    pub(super) covers: ModeBits,
}

/// Copy of a place's holders and waiters: as large as their lists are.
#[derive(Default)]
pub(super) struct View {
    holders: Vec<(TransactionId, ModeBits)>,
    /// Waits, from the front of the queue.
    waits: Vec<Wait>,
    /// Turn of each wait behind the [`TransactionId::word`] of its transaction, in order.
    turns: Vec<(u64, usize)>,
    /// For the searcher's waits and for others', for each mode: turn up to which the queue was compared,
    /// and the holders with it.
    compared: [[Option<usize>; MODES_MAX]; 2],
}

impl View {
    pub(super) fn new(
        holders: impl Iterator<Item = (TransactionId, ModeBits)>,
        waits: impl Iterator<Item = Wait>,
    ) -> View {
        let waits: Vec<_> = waits.collect();
        let turns = waits.iter().enumerate();
        let mut turns: Vec<_> = turns.map(|(turn, wait)| (wait.by.word(), turn)).collect();
        turns.sort_unstable();
        View {
            holders: holders.collect(),
            waits,
            turns,
            compared: Default::default(),
        }
    }

    /// Adds to `found` the transactions that `waiter` waits for here and that no earlier question has
    /// found, each with whether it is a waiter itself. Returns the number of entries compared.
    pub(super) fn blockers(
        &mut self,
        waiter: TransactionId,
        is_searcher: bool,
        found: &mut Vec<(TransactionId, bool)>,
    ) -> usize {
        let word = waiter.word();
        let first = self.turns.partition_point(|own| own.0 < word);
        let own = self.turns[first..].iter().take_while(|own| own.0 == word);
        let (mut covered, mut looks) = (0, 0);
        for &(_, turn) in own {
            let Wait {
                mode,
                excludes,
                covers,
                ..
            } = self.waits[turn];
            if covered & (1 << mode) != 0 {
                continue;
            }
            covered |= covers;
            let compared = &mut self.compared[usize::from(is_searcher)][usize::from(mode)];
            if compared.is_none() {
                let holders = self.holders.iter();
                let others =
                    holders.filter(|holder| holder.0 != waiter && excludes & holder.1 != 0);
                found.extend(others.map(|holder| (holder.0, false)));
                looks += self.holders.len();
            }
            let from = compared.unwrap_or(0);
            let up_to = from.max(turn);
            let others = self.waits[from..up_to].iter();
            let others =
                others.filter(|other| other.by != waiter && excludes & (1 << other.mode) != 0);
            found.extend(others.map(|other| (other.by, true)));
            looks += up_to - from;
            *compared = Some(up_to);
        }
        looks
    }

    /// Returns the number of holders and waits.
    pub(super) fn len(&self) -> usize {
        self.holders.len() + self.waits.len()
    }
}
