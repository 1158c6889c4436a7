//! Transactions of one session, stepped by hand.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::{
    ops::{Bound, ControlFlow},
    rc::Rc,
    sync::Arc,
};

use engine::{
    Certifier, DatabaseConfig, Direction, Error, Isolation, OnConflict, RowFound, Session, Table,
    Transaction, TransactionOptions,
};
use interleave::{Sequential, run_inline};

use crate::in_memory::in_memory;

/// A database with a table, in which `x` and `y` are `0`.
pub(crate) struct Setup {
    pub(crate) session: Rc<Session>,
    pub(crate) table: Arc<Table>,
    /// Conflict behaviour of the transactions that the setup begins.
    pub(crate) on_conflict: OnConflict,
}

impl Setup {
    pub(crate) fn new() -> Setup {
        Setup::with(Certifier::default())
    }

    pub(crate) fn with(certifier: Certifier) -> Setup {
        let config = DatabaseConfig {
            certifier,
            ..DatabaseConfig::with_memory(64 << 20)
        };
        let (session, table) = in_memory(config);
        let setup = Setup {
            session,
            table,
            on_conflict: OnConflict::default(),
        };
        let txn = setup.begin(Isolation::Snapshot);
        setup.put(&txn, "x", "0").unwrap();
        setup.put(&txn, "y", "0").unwrap();
        run_inline(txn.commit()).unwrap();
        setup
    }

    pub(crate) fn begin(&self, options: impl Into<TransactionOptions>) -> Transaction {
        let txn = self.session.begin(options).unwrap();
        txn.set_on_conflict(self.on_conflict);
        txn
    }

    /// Collects everything that can be collected.
    pub(crate) fn collect(&self) {
        for _ in 0..10 {
            self.session.tend();
        }
    }

    pub(crate) fn get(&self, txn: &Transaction, key: &str) -> Option<String> {
        let text = |value: &[u8]| String::from_utf8(value.to_vec()).unwrap();
        run_inline(txn.get::<Sequential, _>(&self.table, key.as_bytes(), text)).unwrap()
    }

    pub(crate) fn put(&self, txn: &Transaction, key: &str, value: &str) -> Result<(), Error> {
        run_inline(txn.upsert::<Sequential>(&self.table, key.as_bytes(), value.as_bytes()))
    }

    pub(crate) fn insert(&self, txn: &Transaction, key: &str, value: &str) -> Result<(), Error> {
        run_inline(txn.insert::<Sequential>(&self.table, key.as_bytes(), value.as_bytes()))
    }

    pub(crate) fn update(&self, txn: &Transaction, key: &str, value: &str) -> Result<bool, Error> {
        run_inline(txn.update::<Sequential>(&self.table, key.as_bytes(), value.as_bytes()))
    }

    /// Deletes a row as a statement does that has not read it.
    pub(crate) fn delete_row(&self, txn: &Transaction, key: &str) -> RowFound {
        let check = |_: &[u8]| ControlFlow::Continue(());
        let deleted = txn.delete_row::<Sequential>(&self.table, key.as_bytes(), Some(txn), check);
        run_inline(deleted).unwrap()
    }

    pub(crate) fn delete(&self, txn: &Transaction, key: &str) -> Result<bool, Error> {
        run_inline(txn.delete::<Sequential>(&self.table, key.as_bytes()))
    }

    pub(crate) fn keys(&self, txn: &Transaction) -> Vec<String> {
        self.keys_from(txn, "")
    }

    /// Returns the keys from `first` on.
    pub(crate) fn keys_from(&self, txn: &Transaction, first: &str) -> Vec<String> {
        let mut keys = Vec::new();
        let range = (Bound::Included(first.as_bytes()), Bound::Unbounded);
        run_inline(
            txn.scan::<Sequential>(&self.table, range, Direction::Forward, |key, _| {
                keys.push(String::from_utf8(key.to_vec()).unwrap());
                ControlFlow::Continue(())
            }),
        )
        .unwrap();
        keys
    }

    /// Writes a record in a transaction of its own.
    pub(crate) fn put_at_once(&self, key: &str, value: &str) {
        let txn = self.begin(Isolation::Serializable);
        self.put(&txn, key, value).unwrap();
        run_inline(txn.commit()).unwrap();
    }

    /// Deletes a record in a transaction of its own.
    pub(crate) fn delete_at_once(&self, key: &str) {
        let txn = self.begin(Isolation::Serializable);
        assert_eq!(self.delete(&txn, key), Ok(true));
        run_inline(txn.commit()).unwrap();
    }
}
