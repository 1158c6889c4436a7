//! Advisory locks: locks on numbers that mean something to users.
//!
//! An advisory lock belongs to a session, not to a transaction: it may outlive the transaction that
//! took it, and is kept when that is rolled back. Advisory locks are therefore no part of the
//! engine's lock table; one table for the database has them ([`AdvisoryLocks`]), and each session
//! knows what it holds and until when ([`SessionLocks`], `held.rs`).
//!
//! # Invariants
//! - *Counted*: a session may take a lock again and again, and holds it until it has given it back
//!   as often. It never waits for itself.
//! - *Order*: first come, first served. A session that comes while others wait goes behind them,
//!   even if the locks held would let it pass. A session that already holds the lock, and wants it
//!   more strongly, would close a cycle behind them, and goes before the waiters that hold nothing.
//! - *One wait*: a session carries out one statement at a time, and therefore waits for one lock at
//!   most.
//! - *No lost hand-over*: a session that gives a lock back hands it over under the latch, and under
//!   the same latch it changes whether the waiter waits. A wait that is given up leaves the queue,
//!   or gives back what was handed to it. The waker is left under the same latch, by a poll that
//!   has found its session waiting there, and is called without it.
//!
//! # Deadlocks
//! A session that is about to wait checks whether any session that it would wait for waits,
//! directly or not, for it. It would wait for the holders of the lock, and for those before it in
//! the queue, which have to go first. Its own wait is what closes a cycle if there is one: a
//! session that already waits never begins to wait for another one, because only a holder passes
//! it, and it waits for the holder anyway. One check before the wait therefore suffices; if it
//! finds a cycle, the request fails with 40P01.
//!
//! Cycles that go through rows or tables as well are in two graphs, and are not found:
//! `lock_timeout`, `statement_timeout` or a cancel ends them.

mod held;
#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, HashSet, VecDeque},
    future::{Future as _, poll_fn},
    pin::pin,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::{Poll, Waker},
    time::Duration,
};

use interleave::{Wait, note_wait};
use types::{Result, SqlError, SqlState};

pub use self::held::{SessionLocks, VOID};
use logical::relation::Strength;

/// Key of an advisory lock: one number or two. The two forms are separate key spaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Key {
    /// One `bigint`, as in `pg_advisory_lock(key)`.
    One(i64),
    /// Two `integer`s, as in `pg_advisory_lock(key1, key2)`.
    Two(i32, i32),
}

/// Returns whether locks of two sessions on one key may be held at once.
fn are_compatible(one: Strength, other: Strength) -> bool {
    one == Strength::Shared && other == Strength::Shared
}

/// A session, as an owner of advisory locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Owner(u64);

/// The advisory locks of a database.
#[derive(Default)]
pub struct AdvisoryLocks {
    table: Mutex<Table>,
    owners: AtomicU64,
}

#[derive(Default)]
struct Table {
    locks: HashMap<Key, Lock>,
    /// Key that each waiting session waits for.
    waits: HashMap<Owner, Key>,
}

#[derive(Default)]
struct Lock {
    holders: Vec<Holder>,
    queue: VecDeque<Waiter>,
}

struct Holder {
    owner: Owner,
    shared: u32,
    exclusive: u32,
}

struct Waiter {
    owner: Owner,
    strength: Strength,
    waker: Option<Waker>,
}

impl Holder {
    fn count(&mut self, strength: Strength) -> &mut u32 {
        match strength {
            Strength::Shared => &mut self.shared,
            Strength::Exclusive => &mut self.exclusive,
        }
    }

    fn goes_with(&self, strength: Strength) -> bool {
        self.exclusive == 0 && are_compatible(strength, Strength::Shared)
    }
}

impl Lock {
    fn is_held_by(&self, owner: Owner) -> bool {
        self.holders.iter().any(|holder| holder.owner == owner)
    }

    /// Returns whether the locks of all other holders are compatible with `strength`.
    fn is_free_for(&self, owner: Owner, strength: Strength) -> bool {
        let mut others = self.holders.iter().filter(|holder| holder.owner != owner);
        others.all(|holder| holder.goes_with(strength))
    }

    fn hold(&mut self, owner: Owner, strength: Strength) {
        let at = self.holders.iter().position(|holder| holder.owner == owner);
        let at = at.unwrap_or_else(|| {
            self.holders.push(Holder {
                owner,
                shared: 0,
                exclusive: 0,
            });
            self.holders.len() - 1
        });
        *self.holders[at].count(strength) += 1;
    }

    fn wait(&mut self, owner: Owner, strength: Strength) {
        let at = match self.is_held_by(owner) {
            true => {
                let mut waiting = self.queue.iter();
                let holds = |waiter: &Waiter| self.is_held_by(waiter.owner);
                waiting.position(|waiter| !holds(waiter))
            }
            false => None,
        };
        let waiter = Waiter {
            owner,
            strength,
            waker: None,
        };
        self.queue.insert(at.unwrap_or(self.queue.len()), waiter);
    }

    /// Returns the owners that `owner`, which waits in this queue, has to wait for.
    fn before(&self, owner: Owner) -> Vec<Owner> {
        let mut ahead = Vec::new();
        for waiter in &self.queue {
            if waiter.owner == owner {
                let mind =
                    |holder: &&Holder| holder.owner != owner && !holder.goes_with(waiter.strength);
                let minding = self.holders.iter().filter(mind);
                ahead.extend(minding.map(|holder| holder.owner));
                return ahead;
            }
            ahead.push(waiter.owner);
        }
        Vec::new()
    }
}

impl Table {
    /// Takes a lock if no other session has to be waited for; returns whether it was taken.
    fn take(&mut self, owner: Owner, key: Key, strength: Strength) -> bool {
        let lock = self.locks.entry(key).or_default();
        let may_pass = lock.queue.is_empty() || lock.is_held_by(owner);
        let takes = may_pass && lock.is_free_for(owner, strength);
        if takes {
            lock.hold(owner, strength);
        }
        takes
    }

    /// Hands a lock over to the waiters whose turn it is; returns their wakers.
    fn hand_over(&mut self, key: Key) -> Vec<Waker> {
        let mut wakers = Vec::new();
        let Some(lock) = self.locks.get_mut(&key) else {
            return wakers;
        };
        while let Some(first) = lock.queue.front()
            && lock.is_free_for(first.owner, first.strength)
            && let Some(first) = lock.queue.pop_front()
        {
            lock.hold(first.owner, first.strength);
            self.waits.remove(&first.owner);
            wakers.extend(first.waker);
        }
        if lock.holders.is_empty() {
            self.locks.remove(&key);
        }
        wakers
    }

    /// Gives back a lock that `owner` holds; returns the wakers of sessions that have it now.
    fn give_back(&mut self, owner: Owner, key: Key, strength: Strength) -> Vec<Waker> {
        if let Some(lock) = self.locks.get_mut(&key) {
            for holder in &mut lock.holders {
                if holder.owner == owner {
                    let count = holder.count(strength);
                    *count = count.saturating_sub(1);
                }
            }
            lock.holders
                .retain(|holder| holder.shared > 0 || holder.exclusive > 0);
        }
        self.hand_over(key)
    }

    /// Takes a session out of the queue that it waits in; returns the wakers of sessions that no
    /// longer wait.
    fn withdraw(&mut self, owner: Owner) -> Vec<Waker> {
        let Some(key) = self.waits.remove(&owner) else {
            return Vec::new();
        };
        if let Some(lock) = self.locks.get_mut(&key) {
            lock.queue.retain(|waiter| waiter.owner != owner);
        }
        self.hand_over(key)
    }

    /// Returns whether the wait of `owner` is, directly or not, a wait for itself.
    fn is_deadlocked(&self, owner: Owner) -> bool {
        let mut seen = HashSet::new();
        let mut next = vec![owner];
        while let Some(waiting) = next.pop() {
            let lock = self.waits.get(&waiting).and_then(|key| self.locks.get(key));
            for other in lock.map(|lock| lock.before(waiting)).unwrap_or_default() {
                if other == owner {
                    return true;
                }
                if seen.insert(other) {
                    next.push(other);
                }
            }
        }
        false
    }
}

impl AdvisoryLocks {
    fn new_owner(&self) -> Owner {
        Owner(self.owners.fetch_add(1, Ordering::Relaxed))
    }

    fn latch(&self) -> MutexGuard<'_, Table> {
        // A panic never leaves the table half changed.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a lock if no other session has to be waited for; returns whether it was taken.
    fn try_take(&self, owner: Owner, key: Key, strength: Strength) -> bool {
        self.latch().take(owner, key, strength)
    }

    /// Takes a lock as soon as it is the session's turn, and fails if that takes too long.
    ///
    /// # Errors
    /// 40P01 on a deadlock; 55P03 if the time is over.
    ///
    /// # Cancellation
    /// Dropping the future gives up the place in the queue.
    async fn take(
        &self,
        owner: Owner,
        key: Key,
        strength: Strength,
        limit: Option<Duration>,
    ) -> Result<()> {
        let waiting = {
            let mut table = self.latch();
            if table.take(owner, key, strength) {
                return Ok(());
            }
            table.locks.entry(key).or_default().wait(owner, strength);
            table.waits.insert(owner, key);
            if table.is_deadlocked(owner) {
                let wakers = table.withdraw(owner);
                drop(table);
                wake(wakers);
                return Err(SqlError::new(
                    SqlState::DEADLOCK_DETECTED,
                    "deadlock detected",
                ));
            }
            Waiting {
                locks: self,
                owner,
                key,
                strength,
                is_over: false,
            }
        };
        let mut waiting = waiting;
        let mut timer = pin!(interleave::sleep(limit.unwrap_or_default()));
        poll_fn(|context| {
            if waiting.is_over(context.waker()) {
                return Poll::Ready(Ok(()));
            }
            match limit.is_some() && timer.as_mut().poll(context).is_ready() {
                false => {
                    note_wait(Wait::Lock);
                    Poll::Pending
                }
                true => Poll::Ready(Err(SqlError::new(
                    SqlState::LOCK_NOT_AVAILABLE,
                    "canceling statement due to lock timeout",
                ))),
            }
        })
        .await
    }

    fn give_back(&self, owner: Owner, key: Key, strength: Strength) {
        let wakers = self.latch().give_back(owner, key, strength);
        wake(wakers);
    }
}

fn wake(wakers: Vec<Waker>) {
    wakers.into_iter().for_each(Waker::wake);
}

/// The place of one session in a queue.
struct Waiting<'l> {
    locks: &'l AdvisoryLocks,
    owner: Owner,
    key: Key,
    strength: Strength,
    is_over: bool,
}

impl Waiting<'_> {
    /// Returns whether the lock was handed over; if not, `waker` will be woken.
    fn is_over(&mut self, waker: &Waker) -> bool {
        let mut table = self.locks.latch();
        self.is_over = !table.waits.contains_key(&self.owner);
        if let Some(lock) = table.locks.get_mut(&self.key)
            && let Some(own) = lock.queue.iter_mut().find(|own| own.owner == self.owner)
        {
            own.waker = Some(waker.clone());
        }
        self.is_over
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let mut table = self.locks.latch();
        let wakers = match table.waits.contains_key(&self.owner) {
            true => table.withdraw(self.owner),
            false => table.give_back(self.owner, self.key, self.strength),
        };
        drop(table);
        wake(wakers);
    }
}
