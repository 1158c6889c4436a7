//! Commits of one session that wait for the durable frontier.

use std::{collections::VecDeque, task::Waker};

use crate::timestamp::Timestamp;

/// Waiting commits, in the order of their timestamps, which is mostly that of their arrival.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    queue: VecDeque<(Timestamp, u64, Waker)>,
    next_number: u64,
}

impl Waiters {
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Returns the smallest timestamp that is waited for.
    pub(crate) fn first(&self) -> Option<Timestamp> {
        self.queue.front().map(|&(timestamp, ..)| timestamp)
    }

    /// Enters a waiter; returns its number.
    pub(crate) fn enter(&mut self, timestamp: Timestamp, waker: Waker) -> u64 {
        let number = self.next_number;
        self.next_number += 1;
        let behind = self
            .queue
            .iter()
            .rev()
            .take_while(|entry| entry.0 > timestamp);
        let at = self.queue.len() - behind.count();
        self.queue.insert(at, (timestamp, number, waker));
        number
    }

    fn position(&self, timestamp: Timestamp, number: u64) -> Option<usize> {
        let start = self.queue.partition_point(|entry| entry.0 < timestamp);
        let same = self.queue.range(start..);
        let offset = same
            .take_while(|entry| entry.0 == timestamp)
            .position(|entry| entry.1 == number)?;
        Some(start + offset)
    }

    /// Changes the waker of a waiter. Returns the waker that it had, `None` if the waiter has been
    /// released. Dropping a waker may run a task's own code, so callers drop it when nothing is
    /// borrowed.
    pub(crate) fn renew(
        &mut self,
        timestamp: Timestamp,
        number: u64,
        waker: &Waker,
    ) -> Option<Waker> {
        let at = self.position(timestamp, number)?;
        Some(std::mem::replace(&mut self.queue[at].2, waker.clone()))
    }

    /// Removes a waiter that gives up, or was released: mostly the latter. Returns its waker, which
    /// callers drop as one of [`Waiters::renew`].
    #[inline]
    pub(crate) fn leave(&mut self, timestamp: Timestamp, number: u64) -> Option<Waker> {
        if self.first().is_none_or(|first| first > timestamp) {
            return None;
        }
        let at = self.position(timestamp, number)?;
        self.queue.remove(at).map(|(_, _, waker)| waker)
    }

    /// Returns the next waiter that need not wait any longer.
    pub(crate) fn release(&mut self, reached: Timestamp) -> Option<Waker> {
        if self.first()? > reached {
            return None;
        }
        self.queue.pop_front().map(|(_, _, waker)| waker)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn waiters_leave_in_the_order_of_their_timestamps() {
        let mut waiters = Waiters::default();
        let numbers =
            [5, 3, 9, 3, 7].map(|t| (t, waiters.enter(Timestamp(t), Waker::noop().clone())));
        assert_eq!(waiters.first(), Some(Timestamp(3)));
        waiters.leave(Timestamp(7), numbers[4].1);
        waiters.leave(Timestamp(3), numbers[3].1);
        let renewed = waiters.renew(Timestamp(5), numbers[0].1, Waker::noop());
        assert!(renewed.is_some());
        let mut released = 0;
        while waiters.release(Timestamp(5)).is_some() {
            released += 1;
        }
        assert_eq!((released, waiters.len()), (2, 1));
        let renewed = waiters.renew(Timestamp(5), numbers[0].1, Waker::noop());
        assert!(renewed.is_none());
        assert_eq!(waiters.first(), Some(Timestamp(9)));
    }
}
