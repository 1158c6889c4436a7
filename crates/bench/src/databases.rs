//! Databases under measurement: one for each [`Kind`] that is compared.
//!
//! The certifier and the writer of the log are properties of a database. Each kind that is compared
//! has a loaded database; while one is measured, the workers of the others sleep.

use std::rc::Rc;
use std::sync::mpsc;
use std::time::Duration;

use io::Backend;
use memory::Arena;
use weft::{
    Context, Database, Interleaved, Isolation, Options, Stats, StorageOptions, WorkerConfig,
    WorkerHandle,
};

use crate::limits::Region;
use crate::measure::{AbortReasons, Certifier, Durability, Flusher};
use crate::subject::{LOG_BLOCKS, LOG_BYTES, RawRun};
use crate::variant::Variant;
use commands::{Error, Result};

/// Turns the refusal of a database under measurement into the error of a command.
pub fn failure(error: weft::Error) -> Error {
    Error::run(format!("the database says: {error}"))
}

/// The properties in which compared databases differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The certifier of its transactions.
    pub certifier: Certifier,
    /// The writer of its log.
    pub flusher: Flusher,
}

/// Makes one object for each kind, `open`ed with the options of its database. If there are several
/// in a directory, each has a directory within it.
///
/// # Errors
/// Errors of `open`.
pub fn for_each<T>(
    kinds: &[Kind],
    options: &Options,
    mut open: impl FnMut(Options) -> Result<T>,
) -> Result<Vec<(Kind, T)>> {
    let several = kinds.len() > 1;
    let opened = kinds.iter().map(|&kind| {
        let Kind { certifier, flusher } = kind;
        let name = format!("{}-{}", certifier.name(), flusher.name());
        let options = Options {
            certifier: certifier.into(),
            data_dir: options.data_dir.as_ref().map(|directory| match several {
                true => directory.join(name),
                false => directory.clone(),
            }),
            storage: StorageOptions {
                backend: match flusher {
                    Flusher::Workers => options.storage.backend,
                    Flusher::Thread => Backend::Thread,
                },
                ..options.storage
            },
            ..options.clone()
        };
        Ok((kind, open(options)?))
    });
    opened.collect()
}

/// Finds the object that a variant is measured on; the first, if several serve.
///
/// # Errors
/// [`Error::Run`] if there is none.
pub fn of<T>(all: &[(Kind, T)], variant: Variant) -> Result<&T> {
    let serves = |kind: &Kind| {
        let certifies = |certifier| certifier == kind.certifier;
        let flushes = |flusher| flusher == kind.flusher;
        variant.certifier.is_none_or(certifies) && variant.flusher.is_none_or(flushes)
    };
    let found = all.iter().find(|(kind, _)| serves(kind));
    found
        .map(|(_, one)| one)
        .ok_or_else(|| Error::run("a database is measured that was not planned; report this"))
}

/// Memory that a worker is assumed to need for its inserts, in bytes per second; and the most, in
/// bytes, that is requested before a run.
const GROWTH: f64 = 200e6;
const GROWTH_MAX: f64 = 2e9;

/// Has every worker, set up as `config`, `begin` its part of a run of the given `duration`, and
/// gives `merge` the part that each sends at the end of the run.
///
/// The system is asked for the memory beforehand: the speed at which it clears pages is not to be
/// measured, and other engines take theirs at the start.
///
/// # Errors
/// Errors that a worker sends, and [`Error::Run`] if one ends without having sent anything.
pub fn run_on_all<T>(
    database: &Database,
    config: WorkerConfig,
    duration: Duration,
    begin: impl Fn(usize, &WorkerHandle, mpsc::Sender<weft::Result<T>>),
    merge: impl FnMut(T),
) -> Result<Counts> {
    let growth = GROWTH * duration.as_secs_f64() * database.workers().len() as f64;
    database.prefault(growth.min(GROWTH_MAX) as u64);
    run_on_all_with_what_they_have(database, config, begin, merge)
}

/// Runs on all workers as [`run_on_all`] does, without requesting memory beforehand.
///
/// # Errors
/// Errors that a worker sends, and [`Error::Run`] if one ends without having sent anything.
pub(crate) fn run_on_all_with_what_they_have<T>(
    database: &Database,
    config: WorkerConfig,
    begin: impl Fn(usize, &WorkerHandle, mpsc::Sender<weft::Result<T>>),
    mut merge: impl FnMut(T),
) -> Result<Counts> {
    let (sender, receiver) = mpsc::channel();
    let before = database.stats();
    for (number, worker) in database.workers().iter().enumerate() {
        worker.configure(config);
        begin(number, worker, sender.clone());
    }
    drop(sender);
    let mut ended = 0;
    for part in receiver {
        merge(part.map_err(failure)?);
        ended += 1;
    }
    if ended != database.workers().len() {
        return Err(Error::run(
            "a worker ended before its measurement did; report this",
        ));
    }
    Ok(Counts {
        before,
        after: database.stats(),
        workers: ended,
    })
}

/// Sets the configuration of all workers.
pub(crate) fn configure_all(database: &Database, config: WorkerConfig) {
    for worker in database.workers() {
        worker.configure(config);
    }
}

/// Runs `work` on one of the workers, and returns its result.
///
/// # Errors
/// [`Error::Run`] if the work ended without a result.
pub(crate) fn once<T: Send + 'static, F: Future<Output = T> + 'static>(
    database: &Database,
    work: impl FnOnce(Context) -> F + Send + 'static,
) -> Result<T> {
    let worker = database.workers().first();
    let worker = worker.ok_or_else(|| Error::run("there is no worker; report this"))?;
    let (sender, receiver) = mpsc::channel();
    worker.supply(move |context: Context| {
        let mut once = Some((sender, work));
        move || {
            let (sender, work) = once.take()?;
            let context = context.clone();
            Some(move || async move {
                // The receiver gives up only with the whole measurement.
                let _ = sender.send(work(context).await);
            })
        }
    });
    let outcome = receiver.recv();
    outcome.map_err(|_| Error::run("a worker has ended before its work; report this"))
}

/// Returns a session of the worker that `context` belongs to.
pub(crate) fn session(context: &Context) -> weft::Result<Rc<engine::Session>> {
    let txn = context.begin::<Interleaved>(Isolation::Snapshot)?;
    Ok(Rc::clone(txn.engine().session()))
}

/// Counters of a database before and after a run.
pub struct Counts {
    before: Stats,
    after: Stats,
    workers: usize,
}

impl Counts {
    /// Returns the growth of a counter between the two.
    pub(crate) fn of(&self, count: fn(&Stats) -> u64) -> u64 {
        count(&self.after) - count(&self.before)
    }

    /// Returns the average number of transactions that each worker had in flight at the end.
    pub(crate) fn in_flight(&self) -> f64 {
        self.after.in_flight as f64 / self.workers as f64
    }

    /// Adds the counters' findings on a run of `variant` to those of its workers.
    pub fn add_to(&self, raw: &mut RawRun, variant: Variant) {
        let Self { before, after, .. } = self;
        if variant.mode.is_interleaved() {
            raw.in_flight = Some(self.in_flight());
        }
        raw.aborts_by_reason = AbortReasons::between(before, after);
        let per = |count: u64, of: u64| count as f64 / of.max(1) as f64;
        let waits = per(after.waits_memory - before.waits_memory, raw.transactions);
        raw.extra
            .insert("memory_waits_per_transaction".to_owned(), waits);
        if variant.durability != Durability::Memory {
            let bytes = after.log_bytes - before.log_bytes;
            let bytes = per(bytes, after.writes - before.writes);
            raw.extra.insert(LOG_BYTES.to_owned(), bytes);
            let blocks = (after.log_blocks - before.log_blocks) as f64;
            let seconds = raw.elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
            raw.extra.insert(LOG_BLOCKS.to_owned(), blocks / seconds);
        }
    }
}

/// Returns the claimed memory of an arena, to measure the machine's limit on while its users sleep.
pub fn memory(arena: &Arena) -> Option<Region<'_>> {
    let (start, bytes) = arena.claimed();
    // SAFETY: claimed memory stays mapped as long as the arena, which is
    // borrowed here. It is measured between runs, when its users sleep and
    // write nothing.
    unsafe { Region::from_raw(start.as_ptr(), bytes) }
}
