//! Freshness of the answers of queries, by the orders that the queries saw.
//!
//! Each query reads the number of orders in its own snapshot, and terminals keep the moments at which their orders were
//! acknowledged. A query that sees all orders that were acknowledged before it began has a *delay* of zero; otherwise
//! the delay is the time between the acknowledgement of the first order that the query did not see and the query's
//! begin (the freshness of Milkai et al., "How Good is My HTAP System?", SIGMOD 2022, section 3). The *age* is that of
//! the newest order that the query saw when its answer is there; it contains the time that the query took.
//!
//! Orders are counted, not named: the first orders to be acknowledged are taken for those that a query saw. Orders of
//! terminals that commit at once can change places by the time of an acknowledgement, and moments are as exact as that.

use std::time::{Duration, Instant};

/// Moments at which the orders of a run were acknowledged.
#[derive(Debug)]
pub(crate) struct Acknowledged {
    /// Orders that the tables had before.
    before: u64,
    /// Moments, the earliest first.
    moments: Vec<Instant>,
}

impl Acknowledged {
    /// Returns the moments of a run that began with `before` orders; `moments` may be in any order.
    pub(crate) fn of(before: u64, mut moments: Vec<Instant>) -> Acknowledged {
        moments.sort_unstable();
        Acknowledged { before, moments }
    }

    /// Returns the delay of a query that began at `began` and saw `seen` orders.
    pub(crate) fn delay(&self, seen: u64, began: Instant) -> Duration {
        let unseen = self.moments.get(self.of_run(seen));
        unseen.map_or(Duration::ZERO, |unseen| {
            began.saturating_duration_since(*unseen)
        })
    }

    /// Returns the age of the newest of `seen` orders at the moment `at`; `None` if none of them is of the run.
    pub(crate) fn age(&self, seen: u64, at: Instant) -> Option<Duration> {
        // Orders that were seen before their acknowledgement may be more than those acknowledged in the end.
        let seen = self.of_run(seen).min(self.moments.len());
        let newest = self.moments[..seen].last()?;
        Some(at.saturating_duration_since(*newest))
    }

    /// Returns how many of `seen` orders are of the run.
    fn of_run(&self, seen: u64) -> usize {
        seen.saturating_sub(self.before) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_order_that_was_not_seen_counts() {
        let start = Instant::now();
        let after = |ms| start + Duration::from_millis(ms);
        let orders = Acknowledged::of(100, vec![after(30), after(10), after(20)]);
        let delay = |seen, began| orders.delay(seen, after(began)).as_millis();
        // All orders acknowledged before the begin were seen, and those of the time after it need not be.
        assert_eq!(delay(102, 25), 0);
        assert_eq!(delay(103, 25), 0);
        assert_eq!(delay(103, 500), 0);
        // The order acknowledged at 20 was missing 5 ms later, and the one at 10 15 ms later.
        assert_eq!(delay(101, 25), 5);
        assert_eq!(delay(100, 25), 15);
    }

    #[test]
    fn the_newest_order_that_was_seen_has_an_age() {
        let start = Instant::now();
        let after = |ms| start + Duration::from_millis(ms);
        let orders = Acknowledged::of(100, vec![after(10), after(20)]);
        let age = |seen| orders.age(seen, after(60)).map(|age| age.as_millis());
        assert_eq!(age(100), None);
        assert_eq!(age(101), Some(50));
        assert_eq!(age(102), Some(40));
        assert_eq!(age(103), Some(40));
    }
}
