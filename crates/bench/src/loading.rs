//! Operations on many records at once, by all workers.

use std::collections::VecDeque;
use std::ops::Range;

use weft::{Database, Running, Transaction};

use crate::databases;
use commands::progress::Step;
use commands::{Error, Result};

/// Number of transactions under way for each worker: enough to keep every slot busy.
const OPEN_PER_WORKER: usize = 256;

/// Has all workers run `batch` for disjoint ranges that cover `all`, each of at most `length`, as a
/// transaction each, and waits for the end of all.
///
/// # Errors
/// [`Error::Run`] when the database refuses one of them.
pub fn in_batches<F>(
    database: &Database,
    all: Range<u64>,
    length: u64,
    step: Option<&Step>,
    batch: impl Fn(Range<u64>) -> F,
) -> Result<()>
where
    F: AsyncFn(&Transaction) -> weft::Result<()> + Send + 'static,
{
    let mut from = all.start;
    let mut open = VecDeque::new();
    let wait = |(running, records): (Running<()>, u64)| {
        running.wait().map_err(databases::failure)?;
        if let Some(step) = step {
            step.advance(records);
        }
        Ok::<_, Error>(())
    };
    while from < all.end {
        let to = all.end.min(from + length);
        open.push_back((database.run(batch(from..to)), to - from));
        from = to;
        if open.len() >= OPEN_PER_WORKER * database.workers().len() {
            open.pop_front().map_or(Ok(()), wait)?;
        }
    }
    open.into_iter().try_for_each(wait)
}
