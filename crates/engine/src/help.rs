//! Work that several workers of a database carry out together: [`DividedWork`], which a session hands to the others.
//!
//! The engine starts no thread and knows no worker but by its session. Whoever runs the workers says how work reaches
//! them ([`Database::set_helpers`]); without that, every session works alone.
//!
//! Work is handed over as an offer: a worker may take part at once, late, or never. The asker therefore never waits for
//! a worker that has not begun, and work that is over is left at once by those who come late. An offer that waits in
//! the inbox of a busy worker keeps the work's memory, so work that ends lets go of what others could need: snapshots
//! above all. One offer waits for each worker at most ([`Offers`]): a statement may divide work for each of very many
//! rows, while a worker has no time to look at any of it.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    rc::Rc,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{database::Database, session::Session};

/// Work in which any worker of a database can take part.
pub trait DividedWork: Send + Sync {
    /// Returns the part of the worker of `session`: a future that ends when there is nothing left to do there.
    ///
    /// # Cancellation
    /// The future can be dropped at any suspension point. The work's owner hears of it, and is right without the part.
    fn take_part(self: Arc<Self>, session: Rc<Session>) -> Pin<Box<dyn Future<Output = ()>>>;

    /// Returns whether nothing is left to do for a worker that begins.
    fn is_done(&self) -> bool;
}

/// Function that hands an offer to the workers of the database, each of which is to run [`Help::run`]. Called on the
/// asker's worker; it must not wait.
pub type Helpers = Box<dyn Fn(&Help) + Send + Sync>;

/// Offer to take part in divided work. Cheap to clone.
#[derive(Clone)]
pub struct Help {
    /// Number of the session that asks, which has its own part.
    asker: u16,
    /// Number of workers that the work is enough for, beside the asker's.
    most: usize,
    work: Arc<dyn DividedWork>,
}

/// Offers that wait for the workers of a database, one for each at most. Workers have numbers from 0 on.
pub struct Offers {
    waiting: Box<[Mutex<Option<Help>>]>,
}

impl Offers {
    /// Makes places for the offers to this many workers.
    pub fn new(workers: usize) -> Self {
        Self {
            waiting: (0..workers).map(|_| Mutex::default()).collect(),
        }
    }

    /// Leaves an offer for the first of `workers` for whom none waits, as many as the work is enough for and one more,
    /// since the asker's own may be among them. Calls `tell` with the number of each, which has to see to it that the
    /// worker calls [`Offers::take`]. An offer whose work is over gives its place to this one, and its worker, who has
    /// been told, is not told again.
    pub fn leave(
        &self,
        help: &Help,
        workers: impl Iterator<Item = usize>,
        mut tell: impl FnMut(usize),
    ) {
        let mut left = help.most.saturating_add(1);
        for worker in workers {
            if left == 0 {
                return;
            }
            let mut waiting = self.place(worker);
            match &mut *waiting {
                Some(other) if !other.work.is_done() => continue,
                Some(over) => {
                    let over = std::mem::replace(over, help.clone());
                    drop(waiting);
                    drop(over);
                }
                none => {
                    *none = Some(help.clone());
                    drop(waiting);
                    tell(worker);
                }
            }
            left -= 1;
        }
    }

    /// Takes the offer that waits for a worker, who was told of it.
    pub fn take(&self, worker: usize) -> Option<Help> {
        self.place(worker).take()
    }

    fn place(&self, worker: usize) -> MutexGuard<'_, Option<Help>> {
        let place = self.waiting[worker].lock();
        place.unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Offers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Offers").finish_non_exhaustive()
    }
}

impl Help {
    /// Takes part in the work on the worker of `session` until there is nothing left to do there. The asker's own
    /// session has no part by this, and a worker that transactions want much of has none.
    ///
    /// # Suspension
    /// Memory and event waits, and timers.
    ///
    /// # Cancellation
    /// The work's owner is right without this part: see [`DividedWork::take_part`].
    pub async fn run(self, session: Rc<Session>) {
        if session.number != self.asker && !interleave::is_in_demand() {
            self.work.take_part(session).await;
        }
    }
}

impl Session {
    /// Offers `work`, which is enough for `most` other workers, to those of the database. Returns false if there is no
    /// way to reach them.
    pub fn ask_for_help(&self, work: Arc<dyn DividedWork>, most: usize) -> bool {
        let Some(helpers) = self.database.helpers.get() else {
            return false;
        };
        helpers(&Help {
            asker: self.number,
            most,
            work,
        });
        true
    }
}

impl Database {
    /// Sets the function that hands divided work to the workers of the database. Without it, sessions work alone.
    /// Returns false if there is one already.
    pub fn set_helpers(&self, helpers: Helpers) -> bool {
        self.helpers.set(helpers).is_ok()
    }
}

impl fmt::Debug for Help {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Help")
            .field("asker", &self.asker)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    use super::*;

    /// Work that is over once that is said.
    #[derive(Default)]
    struct Work(AtomicBool);

    impl DividedWork for Work {
        fn take_part(self: Arc<Self>, _: Rc<Session>) -> Pin<Box<dyn Future<Output = ()>>> {
            Box::pin(std::future::ready(()))
        }

        fn is_done(&self) -> bool {
            self.0.load(Relaxed)
        }
    }

    fn help(most: usize) -> (Arc<Work>, Help) {
        let work = Arc::new(Work::default());
        let of = work.clone();
        (
            work,
            Help {
                asker: 0,
                most,
                work: of,
            },
        )
    }

    fn told(offers: &Offers, help: &Help, workers: &[usize]) -> Vec<usize> {
        let mut told = Vec::new();
        offers.leave(help, workers.iter().copied(), |worker| told.push(worker));
        told
    }

    #[test]
    fn one_offer_waits_for_each_worker() {
        let offers = Offers::new(4);
        let (first_work, first) = help(1);
        assert_eq!(told(&offers, &first, &[2, 1, 0, 3]), [2, 1]);
        // Workers with an offer that is not over are passed over.
        let (_, second) = help(2);
        assert_eq!(told(&offers, &second, &[1, 2, 3, 0]), [3, 0]);
        assert!(Arc::ptr_eq(
            &offers.take(2).unwrap().work,
            &(first_work.clone() as _)
        ));
        assert!(offers.take(2).is_none());
        // An offer that is over makes room, in the inbox where it is.
        first_work.0.store(true, Relaxed);
        let (third_work, third) = help(9);
        assert_eq!(told(&offers, &third, &[0, 1, 2, 3]), [2]);
        assert!(Arc::ptr_eq(
            &offers.take(1).unwrap().work,
            &(third_work as _)
        ));
    }
}
