//! Records that leave memory on command, rather than for want of room.

use std::time::Duration;

use weft::{Context, Database};

use crate::counted::Counted;
use crate::databases;
use crate::databases::{configure_all, once, session};
use commands::{Error, Result};

/// Number of records by which the clock may overrun.
const LOOKS_TOO_MANY: u64 = 2048;
/// Number of rounds of the clock in vain after which the rest is left in memory.
const ROUNDS_MAX: u32 = 100;
/// Time between two rounds.
const PAUSE: Duration = Duration::from_millis(5);

/// Makes `cold_records` records of the database leave memory, and none of the first `hot_records`
/// of `hot`, which are all others; returns the number of records that are out.
///
/// The clock takes records that were not accessed since it last came by. Hot records are therefore
/// accessed between two rounds, and no round is a whole one.
///
/// # Errors
/// [`Error::Run`] when the device refuses.
pub(crate) fn cool(
    database: &Database,
    hot: &Counted,
    hot_records: u64,
    cold_records: u64,
) -> Result<u64> {
    configure_all(database, weft::WorkerConfig::default());
    let all = hot_records + cold_records;
    let round = all.saturating_sub(LOOKS_TOO_MANY).max(1);
    let (mut out, mut in_vain) = (0, 0);
    loop {
        move_clock(database, round)?;
        hot.touch(database, hot_records)?;
        // The pause lets the workers publish their counts.
        std::thread::sleep(PAUSE);
        let stats = database.stats();
        let before = std::mem::replace(&mut out, stats.demoted - stats.promoted);
        in_vain += u32::from(out == before);
        if out == cold_records || in_vain == ROUNDS_MAX {
            return Ok(out);
        }
    }
}

/// Moves the clock on by about `looks` records.
fn move_clock(database: &Database, looks: u64) -> Result<()> {
    once(database, async move |context| {
        move_clock_here(&context, looks).await
    })?
}

async fn move_clock_here(context: &Context, looks: u64) -> Result<()> {
    let session = session(context).map_err(databases::failure)?;
    let mut looked_at = 0;
    while looked_at < looks {
        session.tend();
        let moved = session.demote(looks - looked_at).await;
        let moved =
            moved.map_err(|error| Error::run(format!("records cannot leave memory: {error}")))?;
        let Some(moved) = moved.filter(|moved| moved.looked_at > 0) else {
            break;
        };
        looked_at += moved.looked_at;
    }
    session.tend();
    Ok(())
}
