//! The session's state as functions may ask about it.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use functions::{Environment, Objects, Patterns};
use types::{Memory, Names, Result};

use super::{
    helpers::StatementHelpers,
    settings::{
        Asked, PendingSettings,
        known::{DEFINITIONS, Definition},
    },
};
use catalog::{Catalog, ObjectId, Searched, SessionValues};
use syntax::command::Scope;
use system_catalog::Lookup;

/// Microseconds from 1970 to 2000.
const EPOCH: i64 = 946_684_800_000_000;

/// Text of a server of this version; clients look at the number.
const VERSION: &str = concat!("PostgreSQL 15.0 (Weft ", env!("CARGO_PKG_VERSION"), ")");

/// The state of a session between its statements.
pub(super) struct SessionEnvironment {
    database: String,
    process_id: i32,
    /// Settings that functions have set; they are set for the session after the statement.
    pending: RefCell<PendingSettings>,
    /// Memory that these are charged to.
    memory: Rc<Memory>,
    transaction_time: Cell<i64>,
    statement_time: Cell<i64>,
    random: RefCell<fastrand::Rng>,
    /// Compiled patterns.
    patterns: Patterns,
    /// Values that the session has got from sequences.
    sequences: SessionValues,
}

impl SessionEnvironment {
    pub(super) fn new(database: &str, memory: &Rc<Memory>) -> Self {
        Self {
            database: database.to_owned(),
            process_id: i32::try_from(std::process::id()).unwrap_or(0),
            pending: RefCell::default(),
            memory: memory.clone(),
            transaction_time: Cell::new(now()),
            statement_time: Cell::new(now()),
            random: RefCell::new(fastrand::Rng::new()),
            patterns: Patterns::default(),
            sequences: SessionValues::default(),
        }
    }

    pub(super) fn set_process_id(&mut self, process_id: i32) {
        self.process_id = process_id;
    }

    /// Returns the values that the session has got from sequences.
    pub(super) fn sequences(&self) -> &SessionValues {
        &self.sequences
    }

    pub(super) fn patterns(&self) -> &Patterns {
        &self.patterns
    }

    /// Returns the settings that functions have set since the last call.
    pub(super) fn take_pending(&self) -> PendingSettings {
        self.pending.take()
    }

    /// Forgets the settings that a statement has set which has failed.
    pub(super) fn forget_pending(&self) {
        self.pending.take();
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

    /// Returns when the transaction and the statement began.
    pub(super) fn times(&self) -> (i64, i64) {
        (self.transaction_time.get(), self.statement_time.get())
    }

    /// Sets when the transaction and the statement began, of which this session carries out a part.
    pub(super) fn set_times(&self, (transaction, statement): (i64, i64)) {
        self.transaction_time.set(transaction);
        self.statement_time.set(statement);
    }
}

/// Returns the microseconds since 2000-01-01 in UTC.
fn now() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_micros())
        .unwrap_or(i64::MAX)
        .saturating_sub(EPOCH)
}

/// The session while a statement runs, with the catalog that the statement sees.
pub(super) struct StatementEnvironment<'s> {
    pub(super) session: &'s SessionEnvironment,
    pub(super) catalog: &'s Arc<Catalog>,
    /// Way to other workers.
    pub(super) helpers: StatementHelpers<'s>,
    pub(super) names: Searched<'s>,
    pub(super) lookup: Lookup<'s>,
    pub(super) asked: Asked<'s>,
}

impl Environment for StatementEnvironment<'_> {
    fn names(&self) -> &dyn Names {
        &self.names
    }

    fn transaction_time(&self) -> i64 {
        self.session.transaction_time.get()
    }

    fn statement_time(&self) -> i64 {
        self.session.statement_time.get()
    }

    fn clock_time(&self) -> i64 {
        now()
    }

    fn random(&self) -> u64 {
        self.session.random.borrow_mut().u64(..)
    }

    fn seed(&self, seed: f64) {
        self.session.random.borrow_mut().seed(seed.to_bits());
    }

    fn current_user(&self) -> &str {
        self.asked.settings.users().current()
    }

    fn session_user(&self) -> &str {
        self.asked.settings.users().session()
    }

    fn database(&self) -> &str {
        &self.session.database
    }

    fn schema(&self) -> Option<&str> {
        let schema = self.catalog.creation_schema(self.names.search_path).ok()?;
        Some(&schema.name)
    }

    fn schemas(&self, implicit: bool) -> Vec<&str> {
        let (catalog, path) = (self.catalog, self.names.search_path);
        let name = |id| catalog.schema_name(id);
        match implicit {
            true => catalog.searched(path).map(name).collect(),
            false => catalog.named_schemas(path).map(name).collect(),
        }
    }

    fn version(&self) -> &str {
        VERSION
    }

    fn current_value(&self, sequence: u32) -> Result<i64> {
        let sequence = self.catalog.expect_sequence(ObjectId(sequence))?;
        self.session.sequences.current(sequence)
    }

    fn last_value(&self) -> Result<i64> {
        let exists = |id| self.catalog.sequence(id).is_some();
        self.session.sequences.last(exists)
    }

    fn objects(&self) -> &dyn Objects {
        &self.lookup
    }

    fn each_setting(&self, visit: &mut dyn FnMut(&str, &str)) {
        for definition in DEFINITIONS {
            if let Some(value) = self.setting(definition.name) {
                visit(definition.name, &value);
            }
        }
    }

    fn setting(&self, name: &str) -> Option<String> {
        let definition = Definition::named(name)?;
        let kept = definition.kept_name(name);
        let pending = self.session.pending.borrow();
        match pending.get(&kept) {
            Some(value) => Some(value.to_owned()),
            None => self.asked.get(definition, name),
        }
    }

    fn set_setting(&self, name: &str, value: &str, until_end_of_transaction: bool) -> Result<()> {
        let definition = Definition::expect(name)?;
        let scope = match until_end_of_transaction {
            true => Scope::Local,
            false => Scope::Session,
        };
        let value = self.asked.check(definition, name, value)?;
        let mut pending = self.session.pending.borrow_mut();
        pending.set(
            definition.kept_name(name),
            scope,
            value,
            &self.session.memory,
        )
    }

    fn process_id(&self) -> i32 {
        self.session.process_id
    }
}
