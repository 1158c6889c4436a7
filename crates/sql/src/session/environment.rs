//! What functions may ask about the session.

use std::{
    cell::{Cell, RefCell},
    time::{SystemTime, UNIX_EPOCH},
};

use functions::{Environment, Objects};
use types::Names;

use super::Session;
use crate::{catalog::Catalog, system::Lookup};

/// Microseconds from 1970 to 2000.
const EPOCH: i64 = 946_684_800_000_000;

/// What a server of this version would say; clients look at the number.
const VERSION: &str = concat!("PostgreSQL 15.0 (Weft ", env!("CARGO_PKG_VERSION"), ")");

/// What a session is between its statements.
pub(super) struct Surrounding {
    user: String,
    database: String,
    transaction_time: Cell<i64>,
    statement_time: Cell<i64>,
    random: RefCell<fastrand::Rng>,
}

impl Surrounding {
    pub(super) fn new(user: &str, database: &str) -> Self {
        Self {
            user: user.to_owned(),
            database: database.to_owned(),
            transaction_time: Cell::new(now()),
            statement_time: Cell::new(now()),
            random: RefCell::new(fastrand::Rng::new()),
        }
    }

    pub(super) fn begin_transaction(&self) {
        self.transaction_time.set(now());
    }

    pub(super) fn begin_statement(&self) {
        self.statement_time.set(now());
    }

    pub(super) fn transaction_time(&self) -> i64 {
        self.transaction_time.get()
    }
}

/// Microseconds since 2000-01-01 in UTC.
fn now() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_micros())
        .unwrap_or(i64::MAX)
        .saturating_sub(EPOCH)
}

/// The session while a statement runs, with the catalog that the statement sees.
pub(super) struct During<'s> {
    pub(super) surrounding: &'s Surrounding,
    pub(super) catalog: &'s Catalog,
    pub(super) lookup: Lookup<'s>,
}

impl Session {
    /// The session while it runs a statement that was bound against a catalog.
    pub(super) fn during<'s>(&'s self, catalog: &'s Catalog) -> During<'s> {
        During {
            surrounding: &self.surrounding,
            catalog,
            lookup: Lookup {
                catalog,
                search_path: &self.search_path,
                database: &self.database.name,
            },
        }
    }
}

impl Environment for During<'_> {
    fn names(&self) -> &dyn Names {
        self.catalog
    }

    fn objects(&self) -> &dyn Objects {
        &self.lookup
    }

    fn transaction_time(&self) -> i64 {
        self.surrounding.transaction_time.get()
    }

    fn statement_time(&self) -> i64 {
        self.surrounding.statement_time.get()
    }

    fn clock_time(&self) -> i64 {
        now()
    }

    fn random(&self) -> u64 {
        self.surrounding.random.borrow_mut().u64(..)
    }

    fn seed(&self, seed: f64) {
        self.surrounding.random.borrow_mut().seed(seed.to_bits());
    }

    fn current_user(&self) -> &str {
        &self.surrounding.user
    }

    fn database(&self) -> &str {
        &self.surrounding.database
    }

    fn schema(&self) -> Option<&str> {
        Some("public")
    }

    fn version(&self) -> &str {
        VERSION
    }

    fn process_id(&self) -> i32 {
        i32::try_from(std::process::id()).unwrap_or(0)
    }
}
