//! Work of the children, and the conditions that must hold of it.
//!
//! Every transfer changes two accounts and appends an entry to its client's list, under the next
//! number. The conditions are:
//! - *complete*: a client's numbers have no gaps, since it waits for each answer before it asks for
//!   the next, and the surviving transactions are a prefix of the commit order;
//! - *nothing partial*: the accounts agree with the lists;
//! - *kept*: every promised entry is in the lists.

use std::{collections::BTreeMap, ops::ControlFlow, path::Path, sync::Arc};

use engine::inspect;
use io::{Backend, Directory, RealDirectory};
use weft::{Database, Error, LocalDatabase, Options, StorageOptions, Table, Transaction};

pub(crate) const CLIENTS: u64 = 6;
pub(crate) const ACCOUNTS: u64 = 64;
const OPENING_BALANCE: i64 = 1000;

/// From account, to account, amount.
pub(crate) type Transfer = (u64, u64, u64);

/// Tables of an open database.
#[derive(Clone)]
pub(crate) struct Tables {
    pub(crate) accounts: Table<u64, i64>,
    pub(crate) lists: Table<(u64, u64), u64>,
}

pub(crate) fn options(directory: &Path) -> Options {
    Options {
        data_dir: Some(directory.to_owned()),
        workers: 2,
        memory_bytes_max: Some(256 << 20),
        storage: StorageOptions {
            // Small segments fill up, and are used again.
            log_segment_bytes: 1 << 20,
            log_buffer_bytes: 64 << 10,
            ..StorageOptions::default()
        },
        ..Options::default()
    }
}

/// Makes missing tables: a child may have been killed while it made them.
pub(crate) fn set_up(db: &Database) -> Result<Tables, Error> {
    let accounts: Table<u64, i64> = match db.open_table("accounts") {
        Err(Error::NoSuchTable(_)) => db.create_table("accounts")?,
        table => table?,
    };
    let lists = match db.open_table("lists") {
        Err(Error::NoSuchTable(_)) => db.create_table("lists")?,
        table => table?,
    };
    let ours = accounts.clone();
    db.run_blocking(async move |txn: &Transaction| {
        if txn.get(&ours, &0).await?.is_none() {
            for account in 0..ACCOUNTS {
                txn.insert(&ours, &account, &OPENING_BALANCE).await?;
            }
        }
        Ok(())
    })?;
    Ok(Tables { accounts, lists })
}

/// Moves money, and appends the transfer to the client's list.
pub(crate) async fn transfer(
    txn: &Transaction,
    tables: &Tables,
    (client, number): (u64, u64),
    (from, to, amount): Transfer,
) -> Result<(), Error> {
    for (account, change) in [(from, -(amount as i64)), (to, amount as i64)] {
        let balance = txn.get(&tables.accounts, &account).await?.unwrap_or(0);
        let balance = balance + change;
        txn.update(&tables.accounts, &account, &balance).await?;
    }
    let entry = from << 32 | to << 16 | amount;
    txn.insert(&tables.lists, &(client, number), &entry).await
}

fn entry(packed: u64) -> Transfer {
    (packed >> 32, packed >> 16 & 0xffff, packed & 0xffff)
}

/// Least length of each client's list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Promises {
    lengths: BTreeMap<u64, u64>,
}

impl Promises {
    /// Takes in a line of the form "client length".
    pub(crate) fn take_in(&mut self, line: &str) -> Result<(), String> {
        let numbers: Option<(u64, u64)> = line
            .split_once(' ')
            .and_then(|(client, length)| Some((client.parse().ok()?, length.parse().ok()?)));
        let (client, length) = numbers.ok_or_else(|| format!("a child says {line:?}"))?;
        let known = self.lengths.entry(client).or_insert(0);
        *known = length.max(*known);
        Ok(())
    }
}

/// Checks the directory, opens the database in it, and checks all conditions.
pub(crate) fn verify(path: &Path, promises: &Promises) -> Result<(), String> {
    check(path)?;
    let db = Database::open_local(options(path)).map_err(|error| error.to_string())?;
    let lists = lists(&db).map_err(|error| error.to_string())?;
    let mut balances = balances(&db).map_err(|error| error.to_string())?;
    for (client, list) in &lists {
        for (place, (number, (from, to, amount))) in list.iter().enumerate() {
            if *number != place as u64 {
                return Err(format!("client {client} has {number} at place {place}"));
            }
            *balances.entry(*from).or_default() += *amount as i64;
            *balances.entry(*to).or_default() -= *amount as i64;
        }
    }
    if let Some((account, balance)) = balances.iter().find(|(_, b)| **b != OPENING_BALANCE) {
        return Err(format!(
            "account {account} began with {balance} if the lists are right"
        ));
    }
    if !matches!(balances.len() as u64, 0 | ACCOUNTS) {
        return Err(format!("there are {} accounts", balances.len()));
    }
    for (client, promised) in &promises.lengths {
        let length = lists.get(client).map_or(0, Vec::len) as u64;
        if length < *promised {
            return Err(format!(
                "client {client} was promised {promised} entries and has {length}"
            ));
        }
    }
    Ok(())
}

/// Checks every file of the directory: no kill may do any damage.
fn check(path: &Path) -> Result<(), String> {
    let directory = RealDirectory::open(path, Backend::Blocking).map_err(|e| e.to_string())?;
    let directory: Arc<dyn Directory> = Arc::new(directory);
    match inspect::check(&directory, &mut |_| {}) {
        Ok(report) if report.is_sound() && report.recovers_to.is_some() => Ok(()),
        Ok(report) => Err(format!("the check says\n{report}")),
        // The child was killed before there was a database.
        Err(engine::OpenError::NoDatabase(_)) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

type Lists = BTreeMap<u64, Vec<(u64, Transfer)>>;

fn lists(db: &LocalDatabase) -> Result<Lists, Error> {
    let lists: Table<(u64, u64), u64> = match db.open_table("lists") {
        Err(Error::NoSuchTable(_)) => return Ok(Lists::new()),
        table => table?,
    };
    db.run(async move |txn: &Transaction| {
        let mut all = Lists::new();
        let scan = txn.scan(&lists, ..);
        scan.for_each(|(client, number), packed| {
            let list = all.entry(client).or_default();
            list.push((number, entry(packed)));
            ControlFlow::Continue(())
        })
        .await?;
        Ok(all)
    })
}

fn balances(db: &LocalDatabase) -> Result<BTreeMap<u64, i64>, Error> {
    let accounts: Table<u64, i64> = match db.open_table("accounts") {
        Err(Error::NoSuchTable(_)) => return Ok(BTreeMap::new()),
        table => table?,
    };
    db.run(async move |txn: &Transaction| {
        let mut all = BTreeMap::new();
        let scan = txn.scan(&accounts, ..);
        scan.for_each(|account, balance| {
            all.insert(account, balance);
            ControlFlow::Continue(())
        })
        .await?;
        Ok(all)
    })
}
