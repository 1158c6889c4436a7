//! A database without threads: the calling thread does the work, and overlaps the
//! cache misses of the transactions that it is given together.
#![allow(clippy::print_stdout)] // Examples talk to a person.

use std::{cell::RefCell, rc::Rc};

use weft::{Database, Error, Options, Table, Transaction};

fn main() -> Result<(), Error> {
    let db = Database::open_local(Options::default())?;
    let squares: Table<u32, u64> = db.create_table("squares")?;

    let ours = squares.clone();
    db.run(async move |txn: &Transaction| {
        for number in 0..10_000_u32 {
            let square = u64::from(number).pow(2);
            txn.insert(&ours, &number, &square).await?;
        }
        Ok(())
    })?;

    // Nothing here is sent to another thread, so closures may share an `Rc`.
    let found = Rc::new(RefCell::new(0));
    let lookups = (0..1000_u32).map(|number| {
        let (squares, found) = (squares.clone(), found.clone());
        async move |txn: &Transaction| {
            let square = txn.get(&squares, &(number * 13)).await?;
            *found.borrow_mut() += u32::from(square.is_some());
            Ok(square)
        }
    });
    let results = db.run_all(lookups)?;
    let largest = results.into_iter().flatten().flatten().max();

    println!(
        "{} of 1000 lookups found a square, the largest was {}",
        found.borrow(),
        largest.unwrap_or(0)
    );
    println!("\n{}", db.stats());
    Ok(())
}
