//! One thread that makes the calls of all channels of a directory: a dedicated flusher, as in
//! engines whose workers do not write their own log. Weft does without one; the flusher serves for
//! comparison.
//!
//! ```text
//!   channel (a worker)                    flusher
//!   queue.push(operation, its desk)       takes all that is in the queue
//!   notifies                              makes the call
//!                                         desk.done.push; desk.ready += 1   (Release)
//!   ready > taken?         (Acquire)      rings the desk's bell
//! ```
//!
//! # No lost wake
//! The flusher looks at the queue and waits for more under the queue's mutex, which the pushing
//! channel has held: the push is seen, or the notification comes after the wait has begun. A
//! channel waits at its bell, which stays rung until a wait ends by it; the flusher rings the bell
//! after it has put the completion on the desk.
//!
//! # The end
//! A channel waits at its end until none of its operations is under way. The thread ends when the
//! directory and all channels are gone, when no channel can push any more.

use std::{
    io,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use crate::{
    blocking::{Bell, BlockingCalls},
    channel::{Channel, Completion, Operation, Rouse},
};

/// The flusher thread. Dropping it ends the thread, with all submitted operations done.
#[derive(Debug)]
pub(crate) struct Flusher {
    work: Arc<Work>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Work {
    queue: Mutex<Queue>,
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    operations: Vec<(Operation, Arc<Desk>)>,
    is_closed: bool,
}

/// Place for one channel's completions.
#[derive(Debug, Default)]
struct Desk {
    done: Mutex<Vec<Completion>>,
    /// Number of completions put there since the beginning.
    ready: AtomicUsize,
    bell: Arc<Bell>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Flusher {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system's error if it refuses the thread.
    pub(crate) fn start() -> io::Result<Arc<Flusher>> {
        let work = Arc::new(Work::default());
        let its = work.clone();
        let thread = std::thread::Builder::new().name("weft-flusher".to_owned());
        let thread = thread.spawn(move || its.carry_out())?;
        Ok(Arc::new(Flusher {
            work,
            thread: Some(thread),
        }))
    }

    /// Returns a channel for the calling thread.
    pub(crate) fn channel(self: &Arc<Self>) -> FlusherChannel {
        FlusherChannel {
            flusher: self.clone(),
            desk: Arc::default(),
            submitted: 0,
            reaped: 0,
        }
    }
}

impl Work {
    /// Runs the thread: carries out operations until the flusher is dropped.
    fn carry_out(&self) {
        let mut calls = BlockingCalls::default();
        loop {
            let queue = lock(&self.queue);
            let mut queue = self
                .arrived
                .wait_while(queue, |queue| {
                    queue.operations.is_empty() && !queue.is_closed
                })
                .unwrap_or_else(PoisonError::into_inner);
            let operations = std::mem::take(&mut queue.operations);
            if operations.is_empty() {
                return;
            }
            drop(queue);
            for (operation, desk) in operations {
                let completion = calls.complete(operation);
                lock(&desk.done).push(completion);
                // Release: pairs with `FlusherChannel::reap`.
                desk.ready.fetch_add(1, Ordering::Release);
                desk.bell.rouse();
            }
        }
    }
}

impl Drop for Flusher {
    fn drop(&mut self) {
        lock(&self.work.queue).is_closed = true;
        self.work.arrived.notify_all();
        if let Some(thread) = self.thread.take() {
            // The thread has panicked only if a completion had: nothing is left to report here.
            let _ = thread.join();
        }
    }
}

/// Channel of one worker to the thread.
#[derive(Debug)]
pub(crate) struct FlusherChannel {
    flusher: Arc<Flusher>,
    desk: Arc<Desk>,
    submitted: usize,
    reaped: usize,
}

impl FlusherChannel {
    fn has_ready(&self) -> bool {
        // Acquire: pairs with `Work::carry_out`.
        self.desk.ready.load(Ordering::Acquire) != self.reaped
    }
}

impl Channel for FlusherChannel {
    fn submit(&mut self, operation: Operation) {
        self.submitted = self.submitted.wrapping_add(1);
        let work = &self.flusher.work;
        let mut queue = lock(&work.queue);
        queue.operations.push((operation, self.desk.clone()));
        drop(queue);
        work.arrived.notify_one();
    }

    fn reap(&mut self, completions: &mut Vec<Completion>) {
        if self.has_ready() {
            let mut done = lock(&self.desk.done);
            self.reaped = self.reaped.wrapping_add(done.len());
            completions.append(&mut done);
        }
    }

    fn outstanding(&self) -> usize {
        self.submitted.wrapping_sub(self.reaped)
    }

    fn wait(&mut self, at_most: Option<Duration>) {
        if !self.has_ready() {
            self.desk.bell.wait(at_most);
        }
    }

    fn rouser(&self) -> Arc<dyn Rouse> {
        self.desk.bell.clone()
    }
}

impl Drop for FlusherChannel {
    fn drop(&mut self) {
        let mut completions = Vec::new();
        while self.outstanding() > 0 {
            self.wait(None);
            self.reap(&mut completions);
        }
    }
}
