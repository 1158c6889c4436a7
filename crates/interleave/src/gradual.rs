//! Memory that is given back to the system in steps: [`Gradual`].
//!
//! The system takes some fifteen megabytes back in a millisecond, so a list of some hundred megabytes that is dropped
//! holds its worker far longer than a slice ([`SLICE_US_MAX`](crate::SLICE_US_MAX)). A container dropped on a worker's
//! thread joins a queue of the thread, and the worker gives back [`RELEASED_AT_ONCE`] bytes of the queue at each look
//! around; while it has nothing else to do, look follows look. On other threads memory is given back at once.
//!
//! The queue belongs to the thread and is touched by no other. Its length is bounded only by the number of large
//! containers; a task that makes them again and again awaits [`released`] in between, so that memory that is on its way
//! back does not pile up. A thread that ends, or turns to something other than its worker, gives back the rest at once.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    future::poll_fn,
    ops::{Deref, DerefMut},
    task::{Poll, Waker},
};

use crate::{task::end, worker::on_worker_thread};

/// Bytes given back at once, roughly: some 70 microseconds.
pub const RELEASED_AT_ONCE: usize = 1 << 20;

/// A container whose memory can be given back in steps.
pub trait Release {
    /// Returns the bytes that the container takes.
    fn bytes(&self) -> usize;

    /// Gives back about [`RELEASED_AT_ONCE`] bytes, with their contents. Returns whether no more are left than may be
    /// given back at once.
    fn release(&mut self) -> bool;
}

/// Releases from the last element on. Memory that the elements own is to be little beside the vector's.
impl<T> Release for Vec<T> {
    fn bytes(&self) -> usize {
        size_of::<T>().saturating_mul(self.capacity())
    }

    fn release(&mut self) -> bool {
        let step = RELEASED_AT_ONCE / size_of::<T>().max(1);
        let kept = self.capacity().saturating_sub(step.max(1));
        self.truncate(kept);
        self.shrink_to(kept);
        self.bytes() <= RELEASED_AT_ONCE
    }
}

/// A container whose memory is given back in steps when it is dropped.
#[derive(Clone, Debug, Default)]
pub struct Gradual<T: Release + Default + 'static>(T);

impl<T: Release + Default> From<T> for Gradual<T> {
    fn from(container: T) -> Self {
        Gradual(container)
    }
}

impl<T: Release + Default> Deref for Gradual<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Release + Default> DerefMut for Gradual<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: Release + Default> Drop for Gradual<T> {
    fn drop(&mut self) {
        if self.0.bytes() > RELEASED_AT_ONCE && on_worker_thread() {
            leave(Box::new(std::mem::take(&mut self.0)));
        }
    }
}

thread_local! {
    /// Containers to be given back, in the order in which they were dropped.
    static QUEUE: RefCell<VecDeque<Box<dyn Release>>> = const { RefCell::new(VecDeque::new()) };
    /// Number of containers dropped, and how many of these have been given back.
    static LEFT: Cell<u64> = const { Cell::new(0) };
    static RELEASED: Cell<u64> = const { Cell::new(0) };
    /// Tasks that wait until a number of containers has been given back: one entry for each task at most.
    static WAITING: RefCell<Vec<(u64, Waker)>> = const { RefCell::new(Vec::new()) };
}

#[cold]
fn leave(container: Box<dyn Release>) {
    QUEUE.with_borrow_mut(|queue| queue.push_back(container));
    LEFT.set(LEFT.get() + 1);
}

/// Returns whether a container of this thread waits to be given back.
#[inline]
pub(crate) fn is_left() -> bool {
    LEFT.get() != RELEASED.get()
}

/// Gives back a step's worth of the queue.
#[cold]
pub(crate) fn release_some() {
    // The drop of a container's contents may leave another container in turn: the queue is not borrowed meanwhile.
    let Some(mut first) = QUEUE.with_borrow_mut(VecDeque::pop_front) else {
        return;
    };
    let mut is_over = true;
    // A container that panics is dropped, and over.
    end(None, || {
        is_over = first.release();
        if !is_over {
            QUEUE.with_borrow_mut(|queue| queue.push_front(first));
        }
    });
    if is_over {
        let released = RELEASED.get() + 1;
        RELEASED.set(released);
        let due = WAITING.with_borrow_mut(|waiting| {
            let due = waiting.extract_if(.., |(until, _)| *until <= released);
            due.collect::<Vec<_>>()
        });
        due.into_iter().for_each(|(_, waker)| waker.wake());
    }
}

/// Gives back the whole queue, at once.
pub(crate) fn release_all() {
    while is_left() {
        release_some();
    }
}

/// Waits until the containers left on this thread so far are given back. The wait is an event, which the worker brings
/// about by itself.
pub async fn released() {
    let until = LEFT.get();
    poll_fn(|context| {
        if RELEASED.get() >= until {
            return Poll::Ready(());
        }
        WAITING.with_borrow_mut(|waiting| {
            waiting.retain(|(_, other)| !other.will_wake(context.waker()));
            waiting.push((until, context.waker().clone()));
        });
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_given_back_in_steps() {
        let mut list = vec![7_u64; 1 << 20];
        let mut steps = 1;
        while !list.release() {
            steps += 1;
        }
        assert_eq!(
            steps, 7,
            "of eight megabytes, the last one is given back by the drop"
        );
        assert_eq!(list.bytes(), RELEASED_AT_ONCE);
    }

    #[test]
    fn elsewhere_than_on_a_worker_nothing_is_left() {
        drop(Gradual::from(vec![0_u8; 1 << 24]));
        assert!(!is_left());
        let mut nothing = vec![(); 1 << 20];
        assert!(nothing.release());
    }
}
