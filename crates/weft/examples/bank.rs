//! Transfers between accounts, many at once: money is neither made nor lost.
#![allow(clippy::print_stdout)] // Examples talk to a person.

use std::ops::ControlFlow;

use weft::{Database, Error, Options, Table, Transaction};

const ACCOUNTS: u64 = 1000;
const TRANSFERS: u64 = 20_000;

/// Moves `amount`, or returns the reason why not. In either case nothing is left half done.
async fn transfer(
    txn: &Transaction,
    accounts: &Table<u64, i64>,
    (from, to, amount): (u64, u64, i64),
) -> Result<(), Error> {
    let source = txn.get(accounts, &from).await?.unwrap_or(0);
    if source < amount {
        return Err(Error::application(format!(
            "account {from} has only {source}"
        )));
    }
    txn.update(accounts, &from, &(source - amount)).await?;
    let target = txn.get(accounts, &to).await?.unwrap_or(0);
    txn.update(accounts, &to, &(target + amount)).await?;
    Ok(())
}

async fn total(txn: &Transaction, accounts: &Table<u64, i64>) -> Result<i64, Error> {
    let mut total = 0;
    let scan = txn.scan(accounts, ..);
    scan.for_each(|_account, balance| {
        total += balance;
        ControlFlow::Continue(())
    })
    .await?;
    Ok(total)
}

fn main() -> Result<(), Error> {
    let db = Database::open(Options::default())?;
    let accounts: Table<u64, i64> = db.create_table("accounts")?;

    let ours = accounts.clone();
    db.run_blocking(async move |txn: &Transaction| {
        for account in 0..ACCOUNTS {
            txn.insert(&ours, &account, &100).await?;
        }
        Ok(())
    })?;

    // All transfers are submitted before the first is waited for: the workers interleave them.
    let transfers: Vec<_> = (0..TRANSFERS)
        .map(|number| {
            let ours = accounts.clone();
            let (from, to) = (number * 31 % ACCOUNTS, (number * 17 + 5) % ACCOUNTS);
            let amount = (number % 150) as i64;
            db.run(async move |txn: &Transaction| transfer(txn, &ours, (from, to, amount)).await)
        })
        .collect();
    let mut refused = 0;
    for transfer in transfers {
        match transfer.wait() {
            Ok(()) => {}
            Err(Error::Application(_)) => refused += 1,
            Err(error) => return Err(error),
        }
    }

    let sum = db.run_blocking(async move |txn: &Transaction| total(txn, &accounts).await)?;
    println!("{} transfers done, {refused} refused", TRANSFERS - refused);
    println!("{ACCOUNTS} accounts hold {sum} together");
    println!("\n{}", db.stats());
    Ok(())
}
