//! Transactions from tokio's tasks: whole ones, and one driven call by call.
#![allow(clippy::print_stdout)] // Examples talk to a person.

use weft::{Database, Error, Options, Prefix, Table, Transaction};

type Visits = Table<(String, u32), String>;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let db = Database::open(Options::default())?;
    let visits: Visits = db.create_table("visits")?;

    // Whole transactions take one message to a worker each, and are retried automatically.
    let mut tasks = Vec::new();
    for visitor in ["ada", "bob", "eve"] {
        for number in 0..10 {
            let (db, visits) = (db.clone(), visits.clone());
            tasks.push(tokio::spawn(async move {
                db.run(async move |txn: &Transaction| {
                    let page = format!("/page/{}", number * number);
                    txn.insert(&visits, &(visitor, number), &page).await
                })
                .await
            }));
        }
    }
    for task in tasks {
        task.await.map_err(Error::application)??;
    }

    // One transaction is driven from here: other tasks run between its operations.
    let txn = db.begin().await?;
    let last = txn.get(&visits, &("eve", 9)).await?;
    let seen = txn.scan(&visits, Prefix(("eve",)), 3).await?;
    txn.delete(&visits, &("eve", 9)).await?;
    txn.commit().await?;

    println!("eve was last seen on {}", last.unwrap_or_default());
    for ((visitor, number), page) in seen {
        println!("{visitor}'s visit {number} was to {page}");
    }
    let left = db.run(async move |txn: &Transaction| txn.scan(&visits, ..).count().await);
    println!("{} visits are left", left.await?);
    Ok(())
}
