//! The share of its worker that the builder of an index takes.
//!
//! The builder works in units of some ten microseconds, in which no other task runs, so that the
//! builder knows their cost; then it rests for a multiple of that, while its worker has other work.
//! A rest shows whether there is such work: another transaction is open, or has committed. A
//! builder that found none goes on at once, and looks again now and then.

use std::{rc::Rc, time::Duration};

use interleave::{sleep, yield_now};

use crate::session::Session;

/// Length of a builder's rest in units: other tasks keep seven eighths of the worker.
const RESTS: u32 = 7;
/// Number of units that a builder does without a rest once it found no other work: the longest wait
/// of a transaction that begins now.
const UNITS_ALONE: u32 = 32;

/// Pace of a builder: see the module text.
pub(super) struct Pace {
    session: Rc<Session>,
    began: Duration,
    /// Number of units to do before the next rest, if there was no other work in the last rest.
    alone: Option<u32>,
}

impl Pace {
    /// Begins a unit.
    pub(super) fn new(session: &Rc<Session>) -> Pace {
        Pace {
            session: session.clone(),
            began: session.clock().now(),
            alone: None,
        }
    }

    /// Lets other tasks have their share after a unit, without a transaction open; then begins the
    /// next unit.
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

    /// Begins the next unit.
    pub(super) fn begin(&mut self) {
        self.began = self.session.clock().now();
    }
}
