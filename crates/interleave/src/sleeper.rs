//! Parking one thread until another has something for it. The argument is in
//! `inbox.rs`.

use std::{sync::Mutex, thread::Thread, time::Duration};

use crate::sync::{AtomicBool, Ordering, fence};

pub(crate) struct Sleeper {
    asleep: AtomicBool,
    thread: Mutex<Option<Thread>>,
}

impl Sleeper {
    pub(crate) fn new() -> Sleeper {
        Sleeper {
            asleep: AtomicBool::new(false),
            thread: Mutex::new(None),
        }
    }

    /// Parks the calling thread if `idle` holds after the announcement.
    pub(crate) fn sleep(&self, at_most: Option<Duration>, idle: impl Fn() -> bool) {
        *self.thread.lock().unwrap_or_else(|e| e.into_inner()) = Some(std::thread::current());
        if self.announce(idle) {
            match at_most {
                Some(at_most) => std::thread::park_timeout(at_most),
                None => std::thread::park(),
            }
        }
        self.asleep.store(false, Ordering::Relaxed);
    }

    /// Announces sleep; whether it is still right to park.
    fn announce(&self, idle: impl Fn() -> bool) -> bool {
        self.asleep.store(true, Ordering::Relaxed);
        // Pairs with the fence in `must_rouse`.
        fence(Ordering::SeqCst);
        idle()
    }

    pub(crate) fn rouse(&self) {
        if self.must_rouse() {
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

    /// Whatever the interleaving, a message that is sent is either seen by the
    /// sleeper's last look or its sender decides to rouse.
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
}
