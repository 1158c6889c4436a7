//! Hash tables, probed and built: the joins that paper 003 (section 6) proposes to interleave as
//! well.

use std::time::Instant;

use index::baseline::hash as baseline;
use index::hash::{ChainedTable, OpenTable};
use interleave::{Execution, Lookup, look_up_all};

use super::arrival::Arrival;
use super::bodies::{Draw, answering, bodies, code};
use super::compete::{Arena, Attempt, Contender, Task, compete};
use super::keys::large;
use super::{Experiment, Join, Settings, Technique};
use commands::number::bytes_text;
use commands::progress::Progress;
use commands::{Error, Result};

/// Number of keys that a finished table is asked for, and number of absent keys.
const CHECKED: usize = 1000;
/// Divisor of the number of pairs that are inserted to try a group size.
const TRIAL_SHARE: usize = 16;

/// Stores at `found[i]` the result for `keys[i]`, with the given number of lookups under way.
type Probe<T> = fn(&T, &[u32], usize, &mut [Option<u32>]);

/// Techniques that can build a table.
const BUILD: [Technique; 4] = [
    Technique::Sequential,
    Technique::GroupPrefetching,
    Technique::Amac,
    Technique::Coroutines,
];
/// Technique and group size that build tables which are only probed.
const LOADED: (Technique, usize) = (Technique::Coroutines, 16);

/// A table under measurement: from values to their codes.
trait Table: Lookup<u32, Found = Option<u32>> + Sized + 'static {
    const NAME: &'static str;
    /// Approximate bytes for each entry.
    const ENTRY_BYTES: u64;

    /// Returns an empty table with room for `entries` entries.
    fn with_room(entries: usize) -> Result<Self>;

    /// Returns the probe of a technique that does not execute the table's own body.
    fn probe(technique: Technique) -> Option<Probe<Self>>;

    /// Inserts pairs whose keys differ, by one of the techniques in [`BUILD`].
    fn insert(&mut self, pairs: &[(u32, u32)], technique: Technique, group: usize) -> Result<()>;
    fn entries(&self) -> usize;
    fn memory(&self) -> usize;
}

fn refused(error: impl std::fmt::Display) -> Error {
    Error::run(format!(
        "cannot build the table: {error}; ask for less with --bytes"
    ))
}

impl Table for OpenTable<u32, u32> {
    const NAME: &'static str = "open table";
    // Slots of 12 bytes, about half of them free.
    const ENTRY_BYTES: u64 = 24;

    fn with_room(entries: usize) -> Result<Self> {
        Self::with_capacity(entries).map_err(refused)
    }

    fn probe(technique: Technique) -> Option<Probe<Self>> {
        match technique {
            Technique::GroupPrefetching => Some(baseline::probe_open_group_prefetching),
            Technique::Amac => Some(baseline::probe_open_amac),
            _ => None,
        }
    }

    fn insert(&mut self, pairs: &[(u32, u32)], technique: Technique, group: usize) -> Result<()> {
        let inserted = match technique {
            Technique::GroupPrefetching => {
                baseline::build_open_group_prefetching(self, pairs, group)
            }
            Technique::Amac => baseline::build_open_amac(self, pairs, group),
            _ => self.insert_all(pairs, technique.execution(group), |_, _| {}),
        };
        inserted.map_err(refused)
    }

    fn entries(&self) -> usize {
        self.len()
    }

    fn memory(&self) -> usize {
        self.bytes()
    }
}

impl Table for ChainedTable<u32, u32> {
    const NAME: &'static str = "chained table";
    // Entries of 12 bytes, and somewhat more than a bucket of 4 for each.
    const ENTRY_BYTES: u64 = 17;

    fn with_room(entries: usize) -> Result<Self> {
        Self::with_capacity(entries).map_err(refused)
    }

    fn probe(technique: Technique) -> Option<Probe<Self>> {
        match technique {
            Technique::GroupPrefetching => Some(baseline::probe_chained_group_prefetching),
            Technique::Amac => Some(baseline::probe_chained_amac),
            _ => None,
        }
    }

    fn insert(&mut self, pairs: &[(u32, u32)], technique: Technique, group: usize) -> Result<()> {
        let inserted = match technique {
            Technique::GroupPrefetching => {
                baseline::build_chained_group_prefetching(self, pairs, group)
            }
            Technique::Amac => baseline::build_chained_amac(self, pairs, group),
            _ => self.insert_all(pairs, technique.execution(group)),
        };
        inserted.map_err(refused)
    }

    fn entries(&self) -> usize {
        self.len()
    }

    fn memory(&self) -> usize {
        self.bytes()
    }
}

/// Measures probes of tables of each size and form.
pub(super) fn probes(
    experiment: Experiment,
    settings: &Settings,
    progress: &Progress,
) -> Result<Vec<Join>> {
    let mut results = Vec::new();
    for &bytes in &settings.bytes {
        results.extend(probe::<OpenTable<_, _>>(
            experiment, bytes, settings, progress,
        )?);
        results.extend(probe::<ChainedTable<_, _>>(
            experiment, bytes, settings, progress,
        )?);
    }
    Ok(results)
}

/// Measures builds of tables of each size and form.
pub(super) fn builds(settings: &Settings, progress: &Progress) -> Result<Vec<Join>> {
    let mut results = Vec::new();
    for &bytes in &settings.bytes {
        results.extend(build::<OpenTable<_, _>>(bytes, settings, progress)?);
        results.extend(build::<ChainedTable<_, _>>(bytes, settings, progress)?);
    }
    Ok(results)
}

/// Returns the values of a table of about `bytes` bytes, and the pairs that it is built of.
fn pairs<T: Table>(bytes: u64) -> Result<(Arrival, Vec<(u32, u32)>)> {
    let arrival = Arrival::of((bytes / T::ENTRY_BYTES).max(1));
    let mut pairs = large(arrival.entries)?;
    pairs.extend((0..arrival.entries).map(|code| (arrival.value(code), code as u32)));
    Ok((arrival, pairs))
}

fn probe<T: Table>(
    experiment: Experiment,
    bytes: u64,
    settings: &Settings,
    progress: &Progress,
) -> Result<Vec<Join>> {
    let step = progress.step(format!("{} of {}", T::NAME, bytes_text(bytes)), 1);
    let (arrival, pairs) = pairs::<T>(bytes)?;
    let mut table = T::with_room(pairs.len())?;
    table.insert(&pairs, LOADED.0, LOADED.1)?;
    drop(pairs);
    step.finish();
    let arena = Arena {
        settings,
        result: Join {
            bytes: table.memory() as u64,
            entries: arrival.entries,
            ..Join::empty(experiment, T::NAME, settings)
        },
        batches: settings.batches,
        region: None,
    };
    let draw = |list| arrival.draw(settings, list);
    let mut contenders = bodies(&table, code, settings, &draw);
    let others = settings.techniques.iter();
    contenders.extend(
        others.filter_map(|&one| Some(prober(&table, one, T::probe(one)?, settings, &draw))),
    );
    contenders.sort_by_key(|one| one.technique);
    Ok(compete(&arena, contenders, progress))
}

/// Returns a contender that probes a table.
fn prober<'s, T: Table>(
    table: &'s T,
    technique: Technique,
    probe: Probe<T>,
    settings: &Settings,
    draw: Draw<'s, u32>,
) -> Contender<'s> {
    let mut found = Vec::new();
    let answer = move |keys: &[u32], group, answers: &mut [usize]| {
        found.resize(keys.len(), None);
        probe(table, keys, group, &mut found);
        for (found, answer) in found.iter().zip(answers) {
            *answer = code(*found);
        }
    };
    answering(technique, settings, draw, true, answer)
}

fn build<T: Table>(bytes: u64, settings: &Settings, progress: &Progress) -> Result<Vec<Join>> {
    let (arrival, pairs) = pairs::<T>(bytes)?;
    // One build beforehand shows whether there is memory for the table, and how much it takes.
    let mut table = T::with_room(pairs.len())?;
    table.insert(&pairs, LOADED.0, LOADED.1)?;
    let arena = Arena {
        settings,
        result: Join {
            bytes: table.memory() as u64,
            entries: arrival.entries,
            list: pairs.len(),
            is_sorted: false,
            ..Join::empty(Experiment::HashBuild, T::NAME, settings)
        },
        batches: 1,
        region: None,
    };
    drop(table);
    let techniques = settings.techniques.iter().copied();
    let techniques = techniques.filter(|one| BUILD.contains(one));
    let pairs = pairs.as_slice();
    let contenders = techniques.map(|technique| Contender {
        technique,
        groups: settings.groups_of(technique),
        chosen: None,
        attempt: Box::new(move |task| build_once::<T>(technique, task, arrival, pairs)),
    });
    Ok(compete(&arena, contenders.collect(), progress))
}

/// Builds a table that has room for all pairs beforehand, checks it, drops it.
fn build_once<T: Table>(
    technique: Technique,
    task: Task,
    arrival: Arrival,
    pairs: &[(u32, u32)],
) -> Attempt {
    let share = if task.is_trial { TRIAL_SHARE } else { 1 };
    let pairs = &pairs[..pairs.len().div_ceil(share)];
    let failed = Attempt {
        nanoseconds: f64::NAN,
        parts: None,
        is_right: false,
    };
    let Ok(mut table) = T::with_room(pairs.len()) else {
        return failed;
    };
    let start = Instant::now();
    let inserted = table.insert(pairs, technique, task.group);
    let nanoseconds = start.elapsed().as_nanos() as f64 / pairs.len() as f64;
    Attempt {
        nanoseconds,
        parts: None,
        is_right: inserted.is_ok() && is_right(&table, arrival, pairs),
    }
}

/// Returns whether a table has the right number of entries, finds some present keys, and does not
/// find some absent ones.
fn is_right<T: Table>(table: &T, arrival: Arrival, pairs: &[(u32, u32)]) -> bool {
    let apart = pairs.len().div_ceil(CHECKED);
    let some = pairs.iter().step_by(apart);
    let keys: Vec<u32> = some.clone().map(|pair| pair.0).collect();
    // Numbers behind the last pair, at least one.
    let behind = arrival.entries + arrival.absent() - pairs.len() as u64;
    let absent = (0..CHECKED as u64).map(|n| arrival.value(pairs.len() as u64 + n % behind));
    let absent: Vec<u32> = absent.collect();
    let mut found = vec![None; keys.len()];
    look_up_all(table, &keys, Execution::Sequential, |at, code| {
        found[at] = code
    });
    let mut is_right = some.map(|pair| Some(pair.1)).eq(found) && table.entries() == pairs.len();
    look_up_all(table, &absent, Execution::Sequential, |_, code| {
        is_right &= code.is_none();
    });
    is_right
}
