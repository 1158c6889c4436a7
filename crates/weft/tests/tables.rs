//! Tables are created once, found by name, and opened with the types they were
//! created with, in the database they belong to.

use weft::{Database, Error, Options, Table, Transaction};

fn open() -> Database {
    Database::open(Options {
        workers: 2,
        memory_bytes_max: Some(256 << 20),
        ..Options::default()
    })
    .unwrap()
}

#[test]
fn a_missing_table_is_reported() {
    let db = open();
    let missing = db.open_table::<u64, u64>("missing");
    assert!(matches!(&missing, Err(Error::NoSuchTable(name)) if name == "missing"));
    assert!(missing.unwrap_err().to_string().contains("\"missing\""));
}

#[test]
fn a_table_is_created_once() {
    let db = open();
    db.create_table::<u64, u64>("t").unwrap();
    let again = db.create_table::<u64, u64>("t");
    assert!(matches!(again, Err(Error::TableExists(name)) if name == "t"));
    db.open_table::<u64, u64>("t").unwrap();
}

#[test]
fn a_table_opens_with_its_own_types_only() {
    let db = open();
    db.create_table::<(u64, String), i64>("orders").unwrap();
    let key = db.open_table::<(u64, u64), i64>("orders");
    assert!(matches!(key, Err(Error::WrongType(_))));
    let value = db.open_table::<(u64, String), u64>("orders");
    let Err(Error::WrongType(wrong)) = value else {
        panic!("opened with a wrong type of value");
    };
    assert_eq!(wrong.table, "orders");
    assert_eq!(wrong.found.value, "i64");
    assert_eq!(wrong.expected.value, "u64");
    assert_eq!(wrong.found.key, "(u64, string)");
    db.open_table::<(u64, String), i64>("orders").unwrap();
    let names: Vec<String> = db.tables().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["orders"]);
}

#[test]
fn a_table_of_another_database_is_refused() {
    let (db, other) = (open(), open());
    let foreign: Table<u64, u64> = other.create_table("t").unwrap();
    db.create_table::<u64, u64>("t").unwrap();
    drop(other);
    let result = db.run_blocking(async move |txn: &Transaction| txn.get(&foreign, &1).await);
    assert!(matches!(result, Err(Error::ForeignTable(name)) if name == "t"));
}
