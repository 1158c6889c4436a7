//! Parking one thread until another has something for it. The argument is in
//! `inbox.rs`.

use std::{
    sync::{Mutex, OnceLock},
    thread::Thread,
    time::Duration,
};

use crate::{
    sync::{AtomicBool, Ordering, fence},
    worker::Rouser,
};

pub(crate) struct Sleeper {
    asleep: AtomicBool,
    thread: Mutex<Option<Thread>>,
    /// Rouser, set if the worker does not park its thread but sleeps in its own way.
    rouser: OnceLock<Rouser>,
}

impl Sleeper {
    pub(crate) fn new() -> Sleeper {
        Sleeper {
            asleep: AtomicBool::new(false),
            thread: Mutex::new(None),
            rouser: OnceLock::new(),
        }
    }

    /// Has senders call `rouser` instead of unparking the thread from now on.
    pub(crate) fn rouse_by(&self, rouser: Rouser) {
        // A worker is given its local once.
        let _ = self.rouser.set(rouser);
    }

    /// Calls `sleep` if `idle` holds after the announcement; without a rouser, the thread is parked
    /// instead.
    pub(crate) fn sleep(
        &self,
        at_most: Option<Duration>,
        idle: impl Fn() -> bool,
        sleep: impl FnOnce(Option<Duration>),
    ) {
        *self.thread.lock().unwrap_or_else(|e| e.into_inner()) = Some(std::thread::current());
        if self.announce(idle) {
            match at_most {
                at_most if self.rouser.get().is_some() => sleep(at_most),
                Some(at_most) => std::thread::park_timeout(at_most),
                None => std::thread::park(),
            }
        }
        self.asleep.store(false, Ordering::Relaxed);
    }

    /// Announces sleep; returns whether it is still right to park.
    fn announce(&self, idle: impl Fn() -> bool) -> bool {
        self.asleep.store(true, Ordering::Relaxed);
        // Pairs with the fence in `must_rouse`.
        fence(Ordering::SeqCst);
        idle()
    }

    pub(crate) fn rouse(&self) {
        if self.must_rouse() {
            if let Some(rouser) = self.rouser.get() {
                return rouser();
            }
            let thread = self
                .thread
                .lock()
                .unwrap_or_else(|e| e.into_inner())
                .clone();
            if let Some(thread) = thread {
                thread.unpark();
            }
        }
    }

    fn must_rouse(&self) -> bool {
        // Pairs with the fence in `announce`.
        fence(Ordering::SeqCst);
        self.asleep.load(Ordering::Relaxed)
    }
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use std::sync::Arc;

    /// In every interleaving, a message that is sent is seen by the sleeper's last look, or its
    /// sender decides to rouse.
    #[test]
    fn a_message_is_seen_or_its_sender_rouses() {
        loom::model(|| {
            let sleeper = Arc::new(Sleeper::new());
            let message = Arc::new(AtomicBool::new(false));
            let sender = {
                let (sleeper, message) = (sleeper.clone(), message.clone());
                loom::thread::spawn(move || {
                    message.store(true, Ordering::Relaxed);
                    sleeper.must_rouse()
                })
            };
            let parks = sleeper.announce(|| !message.load(Ordering::Relaxed));
            let roused = sender.join().unwrap();
            assert!(!parks || roused);
        });
    }

    /// Two senders, and a worker that sleeps twice: neither the second message
    /// nor one that comes between the two sleeps is slept through.
    #[test]
    fn several_messages_and_several_sleeps() {
        loom::model(|| {
            let sleeper = Arc::new(Sleeper::new());
            let sent = Arc::new(loom::sync::atomic::AtomicUsize::new(0));
            let senders: Vec<_> = (0..2)
                .map(|_| {
                    let (sleeper, sent) = (sleeper.clone(), sent.clone());
                    loom::thread::spawn(move || {
                        sent.fetch_add(1, Ordering::Relaxed);
                        sleeper.must_rouse()
                    })
                })
                .collect();
            let mut received = 0;
            let mut parks = false;
            for _ in 0..2 {
                parks = sleeper.announce(|| sent.load(Ordering::Relaxed) == received);
                if parks {
                    break;
                }
                sleeper.asleep.store(false, Ordering::Relaxed);
                received = sent.load(Ordering::Relaxed);
            }
            let rousers = senders
                .into_iter()
                .filter_map(|sender| sender.join().unwrap().then_some(()))
                .count();
            // Messages that the last look did not see have been announced.
            assert!(!parks || received == 2 || rousers > 0);
        });
    }
}
