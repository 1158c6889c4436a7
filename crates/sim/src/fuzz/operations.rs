//! Operations of a few open transactions of one session, side by side. Their
//! history is checked like a simulation's. Without suspensions every answer is
//! determined, aborts included.

use std::ops::Bound;

use engine::{Direction, Error, Isolation, Session};
use index::fuzz::Choices;
use interleave::{Sequential, WorkerLocal, run_inline};

use crate::{
    check::{self, Rules},
    client::Client,
    history::Key,
    parameters::{Parameters, Planted},
    workload,
    world::World,
};

const OPEN_MAX: usize = 4;

/// Draws one of some fifty keys, several of them prefixes of others.
fn key(source: &mut Choices<'_>) -> Key {
    let choice = source.byte();
    let mut key = vec![b'k'; usize::from(choice >> 4) * 2];
    key.extend(std::iter::repeat_n(
        choice & 3,
        usize::from(choice >> 2 & 1),
    ));
    key
}

fn bound(source: &mut Choices<'_>) -> Bound<Key> {
    match source.byte() % 3 {
        0 => Bound::Unbounded,
        1 => Bound::Included(key(source)),
        _ => Bound::Excluded(key(source)),
    }
}

/// Runs the operations that `data` encodes.
///
/// # Panics
/// Panics if an answer is wrong, or memory is lost.
pub fn engine_operations(data: &[u8]) {
    if let Err(message) = try_engine_operations(data, None) {
        panic!("{message}");
    }
}

/// Runs the operations that `data` encodes, with a planted bug.
///
/// # Errors
/// Returns a description of the wrong answer or the lost memory.
pub fn try_engine_operations(data: &[u8], planted: Option<Planted>) -> Result<(), String> {
    let mut source = Choices::new(data);
    let scarce = source.byte().is_multiple_of(8);
    let world = World::new(&Parameters {
        memory_bytes_max: if scarce {
            1 << 20
        } else {
            Parameters::AMPLE_MEMORY_BYTES
        },
        planted,
        ..Parameters::default()
    });
    let session = Session::new(&world.database).map_err(|_| "no session is to be had")?;
    let mut number = 0;
    let mut open = Vec::new();
    while !source.is_empty() {
        let room = open.len() < OPEN_MAX;
        if open.is_empty() || room && source.byte().is_multiple_of(8) {
            number += 1;
            let isolation = if source.byte().is_multiple_of(3) {
                Isolation::ReadCommitted
            } else {
                Isolation::Snapshot
            };
            let client = Client::begin(&world, &session, isolation, number, "fuzz");
            open.push(client.map_err(|error| error.to_string())?);
        }
        step(&mut source, &session, &mut open);
    }
    open.clear();
    workload::inspect(&world, &session, number + 1).map_err(|error| error.to_string())?;
    let records = world.recorder.take();
    let rules = Rules {
        one_thread: true,
        memory_is_scarce: scarce,
        waits: false,
        has_indexes: false,
        power_fails: false,
    };
    check::history(&records, &rules).map_err(|violation| violation.to_string())?;
    for _ in 0..100 {
        session.tend();
        if session.before_sleep().is_none() {
            break;
        }
    }
    let (live, needed) = (world.version_bytes(), check::version_bytes(&records));
    if live != needed {
        return Err(format!(
            "{live} bytes of versions are live, surviving records need {needed}"
        ));
    }
    Ok(())
}

fn step(source: &mut Choices<'_>, session: &Session, open: &mut Vec<Client<'_>>) {
    let index = source.below(open.len());
    let client = &open[index];
    let result = match source.byte() % 16 {
        0..=2 => run_inline(client.get::<Sequential>(&key(source))).map(drop),
        3..=4 => {
            let (key, value) = (key(source), client.value(source.below(200)));
            run_inline(client.insert::<Sequential>(&key, &value)).map(drop)
        }
        5..=6 => {
            let (key, value) = (key(source), client.value(source.below(200)));
            run_inline(client.upsert::<Sequential>(&key, &value))
        }
        7 => {
            let (key, value) = (key(source), client.value(source.below(200)));
            run_inline(client.update::<Sequential>(&key, &value)).map(drop)
        }
        8..=9 => run_inline(client.delete::<Sequential>(&key(source))).map(drop),
        direction @ 10..=11 => {
            let direction = [Direction::Forward, Direction::Backward][usize::from(direction & 1)];
            let range = (bound(source), bound(source));
            let limit = source.below(40) + 1;
            run_inline(client.scan::<Sequential>(range, direction, limit)).map(drop)
        }
        12 => {
            session.tend();
            Ok(())
        }
        13 => {
            open.swap_remove(index).rollback();
            Ok(())
        }
        _ => {
            // Aborted clients are not kept, so the commit cannot fail.
            let _ = run_inline(open.swap_remove(index).commit());
            Ok(())
        }
    };
    if let Err(Error::Abort(_)) = result {
        drop(open.swap_remove(index));
    }
}
