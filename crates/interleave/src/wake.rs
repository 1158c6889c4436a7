//! Wakers: how an event, on whatever thread, makes a parked slot runnable.
//!
//! A waker is a counted [`WakeHandle`]. Waking sets `notified` and, if it was not
//! set, puts the handle into the worker's inbox and rouses the worker.
//!
//! # No lost wake
//! The worker takes the handle out of the inbox, clears `notified` (AcqRel swap),
//! *then* polls. A wake that comes before the clearing is covered by that poll,
//! one that comes after it enqueues again:
//!
//! ```text
//!   waker                          worker
//!   publishes its event            takes handle from the inbox
//!   swap(notified, true)           swap(notified, false)
//!   false before? enqueue          polls: sees the event
//! ```
//! Both are read-modify-writes of one word, hence ordered: if the waker's comes
//! first, the worker's Acquire reads its Release and sees the event; else the
//! waker finds `false` and enqueues.
//!
//! A handle may outlive the task, and even serve the slot's next task: a wake is
//! then spurious, which every future must bear.

use std::{sync::Arc, task::Wake};

use crate::sync::{AtomicBool, Ordering};

/// Destination of wakes.
pub(crate) trait Waking: Send + Sync {
    fn enqueue(&self, handle: Arc<WakeHandle>);
}

pub(crate) struct WakeHandle {
    index: u32,
    notified: AtomicBool,
    waking: Arc<dyn Waking>,
}

impl WakeHandle {
    pub(crate) fn new(index: u32, waking: Arc<dyn Waking>) -> Arc<WakeHandle> {
        Arc::new(WakeHandle {
            index,
            notified: AtomicBool::new(false),
            waking,
        })
    }

    pub(crate) fn into_waker(self: Arc<Self>) -> std::task::Waker {
        self.into()
    }

    /// Returns the index of the slot to resume.
    pub(crate) fn index(&self) -> u32 {
        self.index
    }

    /// Clears the notification; called by the worker before it polls.
    pub(crate) fn clear(&self) {
        self.notified.swap(false, Ordering::AcqRel);
    }

    pub(crate) fn notify(self: &Arc<Self>) {
        // AcqRel: see the module text.
        if !self.notified.swap(true, Ordering::AcqRel) {
            self.waking.enqueue(self.clone());
        }
    }
}

impl Wake for WakeHandle {
    fn wake(self: Arc<Self>) {
        self.notify();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.notify();
    }
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// An inbox small enough to model: only `notified` matters here, and that the queue hands over
    /// what was put in.
    #[derive(Default)]
    struct Queue(loom::sync::Mutex<VecDeque<Arc<WakeHandle>>>);

    impl Waking for Queue {
        fn enqueue(&self, handle: Arc<WakeHandle>) {
            self.0.lock().unwrap().push_back(handle);
        }
    }

    impl Queue {
        /// Does the worker's part: takes a wake in, clears it, polls.
        fn receive(&self, poll: impl FnOnce()) -> bool {
            let Some(handle) = self.0.lock().unwrap().pop_front() else {
                return false;
            };
            handle.clear();
            poll();
            true
        }
    }

    /// Checks all interleavings of `wakers` threads, each of which publishes an event and wakes,
    /// with a worker that takes wakes in. Events are published relaxed, so that only the protocol
    /// orders them. When no wake is left, the last poll has seen every event.
    fn no_event_is_missed(wakers: usize, already_notified: bool) {
        loom::model(move || {
            let queue = Arc::new(Queue::default());
            let handle = WakeHandle::new(0, queue.clone());
            if already_notified {
                handle.notify();
            }
            let events: Arc<Vec<_>> =
                Arc::new((0..wakers).map(|_| AtomicBool::new(false)).collect());
            let threads: Vec<_> = (0..wakers)
                .map(|number| {
                    let (handle, events) = (handle.clone(), events.clone());
                    loom::thread::spawn(move || {
                        events[number].store(true, Ordering::Relaxed);
                        handle.notify();
                    })
                })
                .collect();
            let mut seen = 0;
            let poll = |seen: &mut usize| {
                *seen = events.iter().filter(|e| e.load(Ordering::Relaxed)).count();
            };
            for _ in 0..2 {
                queue.receive(|| poll(&mut seen));
            }
            for thread in threads {
                thread.join().unwrap();
            }
            // A poll from here on sees everything; but is there reason for one?
            while queue.receive(|| poll(&mut seen)) {}
            assert_eq!(seen, wakers, "an event was published and nobody told");
        });
    }

    #[test]
    fn a_wake_is_never_lost() {
        no_event_is_missed(1, false);
    }

    #[test]
    fn a_wake_that_meets_an_earlier_one_is_never_lost() {
        no_event_is_missed(1, true);
    }

    #[test]
    fn of_two_wakes_at_once_none_is_lost() {
        no_event_is_missed(2, false);
    }

    /// A handle is in the inbox at most once, however often it is woken.
    #[test]
    fn wakes_are_merged() {
        loom::model(|| {
            let queue = Arc::new(Queue::default());
            let handle = WakeHandle::new(0, queue.clone());
            let other = handle.clone();
            let thread = loom::thread::spawn(move || other.notify());
            handle.notify();
            thread.join().unwrap();
            assert_eq!(queue.0.lock().unwrap().len(), 1);
        });
    }
}
