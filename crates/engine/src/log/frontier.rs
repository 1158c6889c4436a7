//! The durable frontier: the timestamp up to which everything is on disk.
//!
//! # Lanes and counts
//! Every session appends its commits to a *lane* of its own. A lane's *word* holds
//! the number of transactions committed to it, and whether one is being committed:
//!
//! ```text
//!   committer                              sealer (any session)
//!   word = count << 1 | 1     (SeqCst)     as_of = clock            (SeqCst)
//!   t = clock.fetch_add(1)+1  (SeqCst)     needed = words, rounded up (SeqCst)
//!   appends to its buffer
//!   word = count + 1 << 1     (Release)
//! ```
//! *Covering:* all commits up to `as_of` are among the first `needed` of their lanes. For if `t <= as_of`, the
//! sealer's load of the clock comes after the committer's increment, hence its load of the word after the first store:
//! it finds the word odd, which it rounds up to `count + 1`, or even with at least that. The sealer does not wait: a
//! session that is committing is counted as if it had committed.
//!
//! # Satisfied claims
//! A block on disk that claims `(as_of, needed)` is *satisfied* once every lane has its first `needed` transactions on
//! disk. Then everything up to `as_of` is on disk, and the frontier may rise to it. Claims are in the blocks
//! themselves, so recovery finds by the same rule a frontier at least as high (`recovery/analysis.rs`): acknowledged
//! commits survive. A lane that has nothing to write is satisfied as it is; no lane ever writes for another's sake.
//!
//! Every commit is covered in the end: its own lane seals it into a block with an `as_of` that is not older, and every
//! lane named there writes its commits in bounded time ([`Lane::want`]).

use std::sync::{Mutex, MutexGuard, OnceLock};

use interleave::Rouser;

use crate::{
    horizon::Alone,
    sync::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence},
    timestamp::Timestamp,
};

/// State of a lane that other sessions see.
#[repr(align(128))]
pub(crate) struct Lane {
    word: AtomicU64,
    /// Number of transactions on disk, for the loss check at recovery, and for statistics.
    durable: AtomicU64,
    /// Whether a session waits for commits in the buffer.
    wanted: AtomicBool,
    /// Whether the lane's session may sleep, and has commits that wait for the frontier.
    waiting: AtomicBool,
    /// Extent of the lane in blocks.
    sealed: Mutex<Sealed>,
    /// Handle that ends the session's sleep.
    rouser: Mutex<Option<Rouser>>,
}

/// Extent of a lane in blocks, and the end of the last block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sealed {
    pub(crate) blocks: u64,
    /// Number of transactions in the blocks, and the newest of these.
    pub(crate) transactions: u64,
    pub(crate) newest: Timestamp,
    /// Number of the last block's file, and the end of the block in it.
    pub(crate) file: u64,
    pub(crate) offset: u64,
}

impl Lane {
    pub(crate) fn new() -> Lane {
        Lane {
            word: AtomicU64::new(0),
            durable: AtomicU64::new(0),
            wanted: AtomicBool::new(false),
            waiting: AtomicBool::new(false),
            sealed: Mutex::default(),
            rouser: Mutex::new(None),
        }
    }

    /// Marks that a commit is about to take its timestamp. Only the lane's session may call this.
    #[inline]
    pub(crate) fn begin_commit(&self) {
        let word = self.word.load(Ordering::Relaxed);
        debug_assert_eq!(word & 1, 0, "a session commits one transaction at a time");
        // SeqCst, before the clock moves: see the module's doc.
        self.word.store(word | 1, Ordering::SeqCst);
    }

    /// Marks that the commit was appended; returns the number of commits so far.
    #[inline]
    pub(crate) fn end_commit(&self) -> u64 {
        let word = (self.word.load(Ordering::Relaxed) | 1) + 1;
        self.word.store(word, Ordering::Release);
        word >> 1
    }

    /// Returns the number of transactions committed, including one that is being committed.
    pub(crate) fn needed(&self) -> u64 {
        self.word.load(Ordering::SeqCst).div_ceil(2)
    }

    /// Returns the number of transactions known to be on disk.
    pub(crate) fn durable(&self) -> u64 {
        self.durable.load(Ordering::Relaxed)
    }

    /// Asks the lane's session to write its buffer soon, as if a commit of its own waited.
    pub(crate) fn want(&self) {
        // Mostly the flag is set already; its cache line stays shared then.
        if !self.wanted.load(Ordering::Relaxed) {
            self.wanted.store(true, Ordering::Relaxed);
        }
    }

    /// Whether [`Lane::want`] was called.
    #[inline]
    pub(crate) fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    /// Notes that the wanted commits are being written.
    pub(crate) fn answer(&self) {
        self.wanted.store(false, Ordering::Relaxed);
    }

    /// Notes that everything committed so far is in blocks.
    pub(crate) fn seal_up_to(&self, sealed: Sealed) {
        *self.sealed.lock().unwrap_or_else(|e| e.into_inner()) = sealed;
    }

    /// Returns the extent of the lane in blocks.
    pub(crate) fn sealed(&self) -> Sealed {
        *self.sealed.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Sets how the session is roused; `None` when it ends.
    pub(crate) fn rouse_by(&self, rouser: Option<Rouser>) {
        *self.rouser.lock().unwrap_or_else(|e| e.into_inner()) = rouser;
    }

    /// Announces that the session may sleep while commits wait for the frontier. The session must look at the frontier
    /// once more afterwards.
    pub(crate) fn announce_waiting(&self) {
        self.waiting.store(true, Ordering::Relaxed);
        // Pairs with the fence in `Frontier::rouse_waiting`: either this session
        // sees the new frontier, or the other sees the announcement.
        fence(Ordering::SeqCst);
    }

    /// Takes the announcement back.
    pub(crate) fn stop_waiting(&self) {
        self.waiting.store(false, Ordering::Relaxed);
    }
}

/// Claims of a durable block.
struct Claimed {
    as_of: Timestamp,
    needed: Vec<u64>,
}

#[derive(Default)]
struct Claims {
    /// Number of transactions on disk, by lane.
    durable: Vec<u64>,
    /// Claims that are not satisfied yet.
    open: Vec<Claimed>,
}

impl Claims {
    fn is_satisfied(&self, claimed: &Claimed) -> bool {
        let durable = |lane: usize| self.durable.get(lane).copied().unwrap_or(0);
        let mut needed = claimed.needed.iter().enumerate();
        needed.all(|(lane, &needed)| durable(lane) >= needed)
    }
}

/// Frontier, with all lanes.
pub(crate) struct Frontier {
    reached: Alone<AtomicU64>,
    lanes: Box<[OnceLock<Lane>]>,
    /// Number of lanes in use: the first of `lanes`.
    count: AtomicUsize,
    claims: Mutex<Claims>,
}

impl Frontier {
    /// Makes a frontier without lanes; everything up to `reached` is durable.
    pub(crate) fn new(reached: Timestamp, lanes_max: usize) -> Frontier {
        Frontier {
            reached: Alone(AtomicU64::new(reached.0)),
            lanes: (0..lanes_max).map(|_| OnceLock::new()).collect(),
            count: AtomicUsize::new(0),
            claims: Mutex::default(),
        }
    }

    /// Returns the timestamp up to which everything is durable.
    #[inline(always)]
    pub(crate) fn reached(&self) -> Timestamp {
        // Acquire: events before the rise of the frontier become visible.
        Timestamp(self.reached.load(Ordering::Acquire))
    }

    /// Returns the lane of this number, which is made on first use.
    pub(crate) fn lane(&self, number: usize) -> &Lane {
        let lane = self.lanes[number].get_or_init(Lane::new);
        // SeqCst: a sealer that does not count this lane yet has read the clock
        // before any of its commits.
        self.count.fetch_max(number + 1, Ordering::SeqCst);
        lane
    }

    fn lanes(&self) -> impl Iterator<Item = &Lane> {
        let count = self.count.load(Ordering::SeqCst);
        let unused = |number: usize| self.lanes[number].get_or_init(Lane::new);
        (0..count).map(unused)
    }

    /// Returns, for every lane, the number of its transactions that a block sealed now needs, and how many of them are
    /// known to be durable. The clock must have been read before.
    pub(crate) fn needed(&self) -> impl Iterator<Item = (u64, u64)> {
        // The durable count first: it never exceeds the needed count.
        self.lanes().map(|lane| {
            let durable = lane.durable();
            (lane.needed(), durable)
        })
    }

    /// Returns, for every lane, the place of its next block. Transactions that commit after this call are in these
    /// blocks or later ones.
    pub(crate) fn positions(&self) -> Vec<Sealed> {
        self.lanes().map(Lane::sealed).collect()
    }

    /// Has all lanes but `own` write their buffers soon.
    pub(crate) fn want_all_but(&self, own: usize) {
        let others = self
            .lanes()
            .enumerate()
            .filter(|&(number, _)| number != own);
        for (_, lane) in others.filter(|(_, lane)| lane.needed() > lane.durable()) {
            lane.want();
        }
    }

    /// Has all lanes write their buffers soon.
    pub(crate) fn want_all(&self) {
        self.want_all_but(usize::MAX);
    }

    /// Notes that a block of `lane` is on disk, and with it the lane's first `durable` transactions. The block claims
    /// that everything up to `as_of` is on disk once the `needed` transactions of every lane are.
    pub(crate) fn block_is_durable(
        &self,
        lane: usize,
        durable: u64,
        as_of: Timestamp,
        needed: Vec<u64>,
    ) {
        let mut claims = self.claims();
        if claims.durable.len() <= lane {
            claims.durable.resize(lane + 1, 0);
        }
        claims.durable[lane] = durable;
        self.lane(lane).durable.store(durable, Ordering::Relaxed);
        claims.open.push(Claimed { as_of, needed });
        let satisfied = claims
            .open
            .iter()
            .filter(|claimed| claims.is_satisfied(claimed));
        let Some(reached) = satisfied.map(|claimed| claimed.as_of).max() else {
            return;
        };
        claims.open.retain(|claimed| claimed.as_of > reached);
        if reached > self.reached() {
            // Release: pairs with `reached`. Stored under the latch, so that the frontier only rises.
            self.reached.store(reached.0, Ordering::Release);
            drop(claims);
            self.rouse_waiting();
        }
    }

    /// Rouses every session that may sleep with commits waiting.
    pub(crate) fn rouse_waiting(&self) {
        // Pairs with the fence in `announce_waiting`.
        fence(Ordering::SeqCst);
        for lane in self.lanes() {
            if lane.waiting.load(Ordering::Relaxed) {
                let rouser = lane.rouser.lock().unwrap_or_else(|e| e.into_inner());
                if let Some(rouser) = &*rouser {
                    rouser();
                }
            }
        }
    }

    fn claims(&self) -> MutexGuard<'_, Claims> {
        self.claims.lock().unwrap_or_else(|e| e.into_inner())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_frontier_waits_for_every_lane_that_a_block_names() {
        let frontier = Frontier::new(Timestamp(1), 4);
        for _ in 0..2 {
            frontier.lane(0).begin_commit();
            frontier.lane(0).end_commit();
        }
        frontier.lane(1).begin_commit();
        // Lane 1 is committing, and is counted as if it had committed.
        let needed: Vec<u64> = frontier.needed().map(|(needed, _)| needed).collect();
        assert_eq!(needed, [2, 1]);
        frontier.block_is_durable(0, 2, Timestamp(4), needed);
        assert_eq!(frontier.reached(), Timestamp(1));
        assert_eq!(frontier.lane(1).end_commit(), 1);
        // The claim of lane 1 is older than that of lane 0, which the block satisfies.
        frontier.block_is_durable(1, 1, Timestamp(3), vec![0, 1]);
        assert_eq!(frontier.reached(), Timestamp(4));
    }

    #[test]
    fn an_idle_lane_holds_nothing_back() {
        let frontier = Frontier::new(Timestamp(1), 4);
        for lane in 0..3 {
            frontier.lane(lane);
        }
        frontier.lane(2).begin_commit();
        frontier.lane(2).end_commit();
        let needed: Vec<u64> = frontier.needed().map(|(needed, _)| needed).collect();
        frontier.block_is_durable(2, 1, Timestamp(2), needed);
        assert_eq!(frontier.reached(), Timestamp(2));
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::{sync::Arc, thread};

    /// In every interleaving, a sealer's counts cover every commit up to the clock that it has read before.
    #[test]
    fn counts_cover_the_commits_up_to_the_clock() {
        loom::model(|| {
            let clock = Arc::new(AtomicU64::new(1));
            let lane = Arc::new(Lane::new());
            let committer = {
                let (clock, lane) = (clock.clone(), lane.clone());
                thread::spawn(move || {
                    let mut timestamps = Vec::new();
                    for _ in 0..2 {
                        lane.begin_commit();
                        timestamps.push(clock.fetch_add(1, Ordering::SeqCst) + 1);
                        lane.end_commit();
                    }
                    timestamps
                })
            };
            let as_of = clock.load(Ordering::SeqCst);
            let needed = lane.needed();
            let timestamps = committer.join().unwrap();
            let covered = timestamps.iter().filter(|&&t| t <= as_of).count() as u64;
            assert!(needed >= covered, "{needed} of {covered} at {as_of}");
            // No count includes a commit that never comes.
            assert!(needed <= 2);
        });
    }

    /// A session that goes to sleep sees the frontier, or is seen.
    #[test]
    fn no_waiter_sleeps_through_the_frontier() {
        loom::model(|| {
            let lane = Arc::new(Lane::new());
            let reached = Arc::new(AtomicU64::new(1));
            let raiser = {
                let (lane, reached) = (lane.clone(), reached.clone());
                thread::spawn(move || {
                    reached.store(2, Ordering::Release);
                    fence(Ordering::SeqCst);
                    lane.waiting.load(Ordering::Relaxed)
                })
            };
            lane.announce_waiting();
            let sleeps = reached.load(Ordering::Acquire) < 2;
            let roused = raiser.join().unwrap();
            assert!(!sleeps || roused);
        });
    }
}
