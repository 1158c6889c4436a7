//! Errors of the application roll back and are returned unchanged.

use weft::{Abort, Database, Error, Options, Table, Transaction};

fn open() -> Database {
    Database::open(Options {
        workers: 2,
        memory_bytes_max: Some(256 << 20),
        ..Options::default()
    })
    .unwrap()
}

#[derive(Debug, PartialEq)]
struct Overdrawn(i64);

impl std::fmt::Display for Overdrawn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "overdrawn by {}", self.0)
    }
}

impl std::error::Error for Overdrawn {}

#[test]
fn an_application_error_rolls_back_and_is_not_retried() {
    let db = open();
    let table: Table<u8, i64> = db.create_table("t").unwrap();
    let ours = table.clone();
    let result: Result<(), Error> = db.run_blocking(async move |txn: &Transaction| {
        txn.insert(&ours, &0, &1).await?;
        Err(Error::application(Overdrawn(7)))
    });
    let Err(Error::Application(error)) = result else {
        panic!("{result:?}");
    };
    assert_eq!(error.downcast_ref(), Some(&Overdrawn(7)));
    let found = db.run_blocking(async move |txn: &Transaction| txn.get(&table, &0).await);
    assert_eq!(found.unwrap(), None);
    assert_eq!(db.stats().aborts(), 0);
}

#[test]
fn an_abort_inside_an_application_error_is_retryable() {
    let wrapped = Error::application(Error::from(Abort::WriteConflict));
    assert!(wrapped.is_retryable());
    assert_eq!(wrapped.abort(), Some(Abort::WriteConflict));
    assert!(!Error::application(Overdrawn(1)).is_retryable());
    assert!(!Error::application("text").is_retryable());
}
