//! One session, whose transactions wait for each other, stepped by hand.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::{
    future::Future,
    pin::Pin,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake},
};

use engine::{
    Database, DatabaseConfig, Error, IfLocked, Isolation, OnConflict, Session, Strength, Table,
    Transaction,
};
use interleave::{Sequential, run_inline};

/// A database with a table in which `x` and `y` are 0.
pub(crate) struct Setup {
    pub(crate) session: Rc<Session>,
    pub(crate) table: Arc<Table>,
}

impl Setup {
    pub(crate) fn new() -> Setup {
        let database = Database::new(DatabaseConfig::with_memory(64 << 20)).unwrap();
        let table = database.create_table("t", &[]).unwrap();
        let setup = Setup {
            session: Session::new(&database).unwrap(),
            table,
        };
        let txn = setup.begin(Isolation::Snapshot);
        setup.put(&txn, "x", "0").unwrap();
        setup.put(&txn, "y", "0").unwrap();
        run_inline(txn.commit()).unwrap();
        setup
    }

    /// A transaction that waits.
    pub(crate) fn begin(&self, isolation: Isolation) -> Transaction {
        let txn = self.session.begin(isolation).unwrap();
        txn.set_on_conflict(OnConflict::Wait);
        txn
    }

    pub(crate) fn get(&self, txn: &Transaction, key: &str) -> Option<String> {
        run_inline(txn.get::<Sequential, _>(&self.table, key.as_bytes(), text)).unwrap()
    }

    pub(crate) fn committed(&self, key: &str) -> Option<String> {
        self.get(&self.begin(Isolation::Snapshot), key)
    }

    pub(crate) fn put(&self, txn: &Transaction, key: &str, value: &str) -> Result<(), Error> {
        run_inline(txn.upsert::<Sequential>(&self.table, key.as_bytes(), value.as_bytes()))
    }

    pub(crate) fn insert(&self, txn: &Transaction, key: &str, value: &str) -> Result<(), Error> {
        run_inline(txn.insert::<Sequential>(&self.table, key.as_bytes(), value.as_bytes()))
    }

    pub(crate) fn lock(
        &self,
        txn: &Transaction,
        key: &str,
        strength: Strength,
        if_locked: IfLocked,
    ) -> Result<Option<String>, Error> {
        let key = key.as_bytes();
        run_inline(txn.lock::<Sequential, _>(&self.table, key, strength, if_locked, text))
    }

    /// No record is in the lock table.
    pub(crate) fn check_nothing_left(&self) {
        assert_eq!(self.session.database().memory().reserved_bytes, 0);
        let txn = self.session.begin(Isolation::ReadCommitted).unwrap();
        for key in ["x", "y", "z", "new"] {
            self.put(&txn, key, "free").unwrap();
        }
    }
}

fn text(value: &[u8]) -> String {
    String::from_utf8(value.to_vec()).unwrap()
}

/// A future that is polled by hand.
pub(crate) struct Stepped<F> {
    future: Pin<Box<F>>,
    woken: Arc<Woken>,
}

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl<F: Future> Stepped<F> {
    pub(crate) fn new(future: F) -> Stepped<F> {
        Stepped {
            future: Box::pin(future),
            woken: Arc::default(),
        }
    }

    /// Polls it; its output, if that is there.
    pub(crate) fn step(&mut self) -> Option<F::Output> {
        self.woken.0.store(false, Ordering::SeqCst);
        let waker = self.woken.clone().into();
        match self.future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        }
    }

    /// Whether it was woken since it was last polled.
    pub(crate) fn is_woken(&self) -> bool {
        self.woken.0.load(Ordering::SeqCst)
    }
}
