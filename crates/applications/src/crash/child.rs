//! The process that is killed: clients on all workers, and checkpoints.
//!
//! The process never ends by itself unless something fails. Each line that it writes is one system
//! call, so lines of different threads do not mix.

use std::cell::{Cell, RefCell};
use std::io::Write;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use io::{Laziness, LazyDirectory};
use weft::{Backend, Context, Database, Interleaved, OnConflict, Transaction};

use super::ledger::Ledger;
use super::word::{Entry, Word};
use super::{Plan, Planted, options};
use crate::application::{Application, Reads, Request as _, Source, check, is_rolled_back};
use bench::databases;
use bench::distribution::{Rng, below, rng};
use commands::{Error, Result};

/// Number of clients on each worker, each with one transaction under way.
const CLIENTS: u32 = 8;
/// Longest time between two checkpoints.
const CHECKPOINT_MICROS_MAX: u64 = 60_000;
/// Number of transactions of a client among which [`Planted::SkipsWork`] skips one.
const SKIPPED: u64 = 16;

/// Works as a child, until it is killed; see [`super::work`].
pub(super) fn work<A: Application>(settings: &A::Settings, plan: &Plan, seed: u64) -> Result<()> {
    let mut rng = rng(seed, 0);
    say(Word::Opening);
    let database = open(plan, &mut rng)?;
    let application = A::open(settings, &database)?;
    let ledger = Ledger::open(&database).map_err(databases::failure)?;
    let ours = ledger.clone();
    let read = async move |txn: &Transaction| ours.read(txn).await;
    let found = database
        .run_with::<Interleaved, _, _>(check::options(), read)
        .wait()
        .map_err(databases::failure)?;
    for &entry in &found {
        say(Word::Found(entry));
    }
    say(Word::Working);
    let workers = database.workers();
    for (number, worker) in (0_u32..).zip(workers) {
        let source = application.source(number as usize, workers.len(), seed);
        let (application, ledger, found) = (application.clone(), ledger.clone(), found.clone());
        let (isolation, planted) = (plan.isolation.into(), plan.planted);
        worker.supply(move |context: Context| {
            let work = Rc::new(Work {
                application,
                ledger,
                context,
                source: RefCell::new(source),
                isolation,
                planted,
            });
            let mut clients = (number * CLIENTS..).take(CLIENTS as usize);
            move || {
                let client = Client::<A>::new(clients.next()?, &found, Rc::clone(&work));
                Some(move || async move { fail(&client.run().await) })
            }
        });
    }
    loop {
        std::thread::sleep(Duration::from_micros(below(
            &mut rng,
            CHECKPOINT_MICROS_MAX,
        )));
        say(Word::Checkpoint);
        database.checkpoint_blocking().map_err(databases::failure)?;
        say(Word::Checkpointed);
    }
}

fn open(plan: &Plan, rng: &mut Rng) -> Result<Database> {
    let mut options = options(plan);
    if below(rng, 4) == 0 {
        options.storage.backend = Backend::Blocking;
    }
    if below(rng, 2) == 0 {
        options.on_conflict = OnConflict::Wait;
    }
    let opened = match laziness(plan, rng) {
        None => Database::open(options),
        Some(laziness) => {
            let lazy = LazyDirectory::open(&plan.directory, options.storage.backend, laziness);
            let lazy = lazy.map_err(|error| {
                Error::run(format!("cannot open {}: {error}", plan.directory.display()))
            })?;
            Database::open_in(options, Arc::new(lazy))
        }
    };
    opened.map_err(databases::failure)
}

/// Returns the loss of unsynced writes at a kill, if any.
fn laziness(plan: &Plan, rng: &mut Rng) -> Option<Laziness> {
    let planted = match plan.planted {
        Some(Planted::SkipsSyncs) => Some(io::Planted::SkipSync),
        _ => None,
    };
    plan.lose_unsynced.then(|| Laziness {
        seed: below(rng, u64::MAX),
        // All unsynced writes are lost or, in some of the runs without a planted bug, some reach the
        // disk early.
        early_per_mille: match (planted, below(rng, 2)) {
            (None, 0) => below(rng, 600) as u32,
            _ => 0,
        },
        planted,
    })
}

fn say(word: Word) {
    if writeln!(std::io::stdout().lock(), "{word}").is_err() {
        // The parent is gone, so nothing else would end this process.
        std::process::exit(1);
    }
}

/// Ends the process: a client cannot go on.
fn fail(error: &weft::Error) {
    let _ = writeln!(std::io::stderr().lock(), "a client failed: {error}");
    std::process::exit(1);
}

/// State that the clients of one worker share.
struct Work<A: Application> {
    application: A,
    ledger: Ledger,
    context: Context,
    source: RefCell<Source<A::Request>>,
    isolation: weft::Isolation,
    planted: Option<Planted>,
}

struct Client<A: Application> {
    number: u32,
    /// Number of transactions that the client has committed, by kind.
    committed: Vec<Cell<u64>>,
    work: Rc<Work<A>>,
}

impl<A: Application> Client<A> {
    fn new(number: u32, found: &[Entry], work: Rc<Work<A>>) -> Self {
        let committed = vec![Cell::new(0); A::KINDS.len()];
        for entry in found.iter().filter(|entry| entry.client == number) {
            committed[entry.kind as usize].set(entry.number);
        }
        Self {
            number,
            committed,
            work,
        }
    }

    /// Runs transactions until one fails.
    async fn run(&self) -> weft::Error {
        loop {
            if let Err(error) = self.transaction().await {
                return error;
            }
        }
    }

    async fn transaction(&self) -> weft::Result<()> {
        let work = &*self.work;
        let request = (work.source.borrow_mut())();
        let kind = request.kind();
        let committed = &self.committed[kind];
        let entry = Entry {
            client: self.number,
            kind: kind as u32,
            number: committed.get() + 1,
        };
        let is_skipped =
            work.planted == Some(Planted::SkipsWork) && entry.number.is_multiple_of(SKIPPED);
        if work.planted == Some(Planted::Hasty) {
            say(Word::Done(entry));
        }
        let attempt = async |txn: &Transaction| {
            if !is_skipped {
                work.application
                    .execute(txn, &request, Reads::Single)
                    .await?;
            }
            work.ledger.enter(txn, entry).await
        };
        match work.context.run(work.isolation, &attempt).await {
            Ok(()) => {
                say(Word::Done(entry));
                committed.set(entry.number);
                Ok(())
            }
            Err(error) if is_rolled_back(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
