//! How much of its worker the builder of an index takes.
//!
//! It works in units of some ten microseconds, in which nobody else runs, so that it
//! knows what they cost; and then rests for a multiple of that, while its worker has
//! other work. Whether it has shows in a rest: somebody has a transaction open, or has
//! committed one. A builder that found nobody goes on at once, and looks again now and then.

use std::{rc::Rc, time::Duration};

use interleave::{sleep, yield_now};

use crate::session::Session;

/// How much longer than a unit took its builder rests: others keep seven eighths of
/// the worker.
const RESTS: u32 = 7;
/// Units that a builder does without a rest once it found nobody: so long may a
/// transaction have to wait that begins now.
const UNITS_ALONE: u32 = 32;

/// See the module text.
pub(super) struct Pace {
    session: Rc<Session>,
    began: Duration,
    /// Units to do before the next rest, if there was nobody in the last one.
    alone: Option<u32>,
}

impl Pace {
    /// A unit begins.
    pub(super) fn new(session: &Rc<Session>) -> Pace {
        Pace {
            session: session.clone(),
            began: session.clock().now(),
            alone: None,
        }
    }

    /// Lets others have what is theirs after a unit, without a transaction open; then
    /// the next unit begins.
    ///
    /// # Suspension
    /// Lets every other slot have a turn; waits for a timer.
    pub(super) async fn rest(&mut self) {
        let spent = self.session.clock().now().saturating_sub(self.began);
        let commits = self.session.commits();
        yield_now().await;
        match &mut self.alone {
            None => sleep(spent * RESTS).await,
            Some(0) => sleep(spent).await,
            Some(units) => *units -= 1,
        }
        let in_company = self.session.open_transactions() > 0 || self.session.commits() > commits;
        self.alone = match self.alone {
            _ if in_company => None,
            None | Some(0) => Some(UNITS_ALONE),
            units => units,
        };
        self.begin();
    }

    /// The next unit begins.
    pub(super) fn begin(&mut self) {
        self.began = self.session.clock().now();
    }
}
