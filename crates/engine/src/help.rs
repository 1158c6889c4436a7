//! Work that several workers of a database carry out together: [`DividedWork`], which a session hands to the others.
//!
//! The engine starts no thread and knows no worker but by its session. Whoever runs the workers says how work reaches
//! them ([`Database::set_helpers`]); without that, every session works alone.
//!
//! Work is handed over as an offer: a worker may take part at once, late, or never. The asker therefore never waits for
//! a worker that has not begun, and work that is over is left at once by those who come late. An offer that waits in
//! the inbox of a busy worker keeps the work's memory, so work that ends lets go of what others could need: snapshots
//! above all.

use std::{fmt, future::Future, pin::Pin, rc::Rc, sync::Arc};

use crate::{database::Database, session::Session};

/// Work in which any worker of a database can take part.
pub trait DividedWork: Send + Sync {
    /// Returns the part of the worker of `session`: a future that ends when there is nothing left to do there.
    ///
    /// # Cancellation
    /// The future can be dropped at any suspension point. The work's owner hears of it, and is right without the part.
    fn take_part(self: Arc<Self>, session: Rc<Session>) -> Pin<Box<dyn Future<Output = ()>>>;
}

/// Function that hands an offer to the workers of the database, each of which is to run [`Help::run`]. Called on the
/// asker's worker; it must not wait.
pub type Helpers = Box<dyn Fn(&Help) + Send + Sync>;

/// Offer to take part in divided work. Cheap to clone.
#[derive(Clone)]
pub struct Help {
    /// Number of the session that asks, which has its own part.
    asker: u16,
    work: Arc<dyn DividedWork>,
}

impl Help {
    /// Takes part in the work on the worker of `session` until there is nothing left to do there. The asker's own
    /// session has no part by this.
    ///
    /// # Suspension
    /// Memory and event waits, and timers.
    ///
    /// # Cancellation
    /// The work's owner is right without this part: see [`DividedWork::take_part`].
    pub async fn run(self, session: Rc<Session>) {
        if session.number != self.asker {
            self.work.take_part(session).await;
        }
    }
}

impl Session {
    /// Offers `work` to the other workers of the database. Returns false if there is no way to reach them.
    pub fn ask_for_help(&self, work: Arc<dyn DividedWork>) -> bool {
        let Some(helpers) = self.database.helpers.get() else {
            return false;
        };
        helpers(&Help {
            asker: self.number,
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
