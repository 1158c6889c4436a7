//! The first program: open, write, read.

#![allow(clippy::print_stdout)] // Examples talk to a person.

use weft::{Database, Error, Options, Table, Transaction};

fn main() -> Result<(), Error> {
    let db = Database::open(Options::default())?;
    let accounts: Table<u64, i64> = db.create_table("accounts")?;

    let ours = accounts.clone();
    let before = db.run_blocking(async move |txn: &Transaction| {
        let balance = txn.get(&ours, &1).await?.unwrap_or(0);
        txn.upsert(&ours, &1, &(balance + 5)).await?;
        Ok(balance)
    })?;

    let after = db.run_blocking(async move |txn: &Transaction| txn.get(&accounts, &1).await)?;
    println!("the balance was {before} and is {}", after.unwrap_or(0));
    Ok(())
}
