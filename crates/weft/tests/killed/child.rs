//! The process that is killed: clients of all durabilities, readers, checkpoints.
//!
//! The process never ends by itself unless something fails. Each line that it writes is one system
//! call, so lines of different threads do not mix.

use std::{io::Write, path::Path, sync::Arc};

use io::LazyDirectory;
use weft::{Backend, Database, Durability, Error, Prefix, Transaction};

use super::{
    bank::{self, ACCOUNTS, CLIENTS, Tables},
    conduct::Conduct,
    dice::Dice,
};

/// Works until it is killed.
pub(crate) fn work(directory: &Path, seed: u64, conduct: Conduct) -> Result<(), Error> {
    let mut dice = Dice::new(seed);
    let mut options = bank::options(directory);
    options.workers = 1 + dice.below(3) as usize;
    if dice.below(4) == 0 {
        options.storage.backend = Backend::Blocking;
    }
    say("opening");
    let db = match conduct.laziness(&mut dice) {
        None => Database::open(options)?,
        Some(laziness) => {
            let lazy = LazyDirectory::open(directory, options.storage.backend, laziness)?;
            Database::open_in(options, Arc::new(lazy))?
        }
    };
    say("open");
    let tables = bank::set_up(&db)?;
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (db, tables, dice) = (&db, &tables, Dice::new(seed ^ client));
            scope.spawn(move || end(transfers(db, tables, client, dice, conduct)));
        }
        let (db, tables, reading) = (&db, &tables, Dice::new(!seed));
        scope.spawn(move || end(reads(db, tables, reading)));
        checkpoints(db, dice)
    })
}

fn say(line: &str) {
    // If no parent listens any more, the process is about to be killed.
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}

/// Ends the process: a thread that ends has failed.
fn end(result: Result<(), Error>) {
    if let Err(error) = result {
        let _ = writeln!(std::io::stderr().lock(), "{error}");
    }
    std::process::exit(1);
}

/// Returns the length of a client's list.
async fn length(txn: &Transaction, tables: &Tables, client: u64) -> Result<u64, Error> {
    let mut rows = txn.range(&tables.lists, Prefix((client,))).rev();
    let last = rows.next().await?;
    Ok(last.map_or(0, |((_, number), _)| number + 1))
}

fn transfers(
    db: &Database,
    tables: &Tables,
    client: u64,
    mut dice: Dice,
    conduct: Conduct,
) -> Result<(), Error> {
    let ours = tables.clone();
    let begin = db.run_blocking(async move |txn: &Transaction| length(txn, &ours, client).await)?;
    for number in begin.. {
        let from = dice.below(ACCOUNTS);
        let to = (from + 1 + dice.below(ACCOUNTS - 1)) % ACCOUNTS;
        let amount = dice.below(100);
        let durability = match dice.below(10) {
            0..2 => Durability::Relaxed,
            2 => Durability::None,
            _ => Durability::Synchronous,
        };
        let promise = format!("{client} {}", number + 1);
        if conduct == Conduct::Hasty {
            say(&promise);
        }
        let ours = tables.clone();
        db.run_blocking(async move |txn: &Transaction| {
            txn.set_durability(durability);
            bank::transfer(txn, &ours, (client, number), (from, to, amount)).await
        })?;
        if durability == Durability::Synchronous {
            say(&promise);
        }
    }
    Ok(())
}

/// Reads lists and promises their lengths: the result of a read is a promise as well, at whatever
/// durability it was written.
fn reads(db: &Database, tables: &Tables, mut dice: Dice) -> Result<(), Error> {
    loop {
        let ours = tables.clone();
        let client = dice.below(CLIENTS);
        let length =
            db.run_blocking(async move |txn: &Transaction| length(txn, &ours, client).await)?;
        say(&format!("{client} {length}"));
    }
}

fn checkpoints(db: &Database, mut dice: Dice) -> Result<(), Error> {
    loop {
        std::thread::sleep(std::time::Duration::from_millis(dice.below(40)));
        say("checkpoint");
        db.checkpoint_blocking()?;
        say("checkpointed");
    }
}
