//! A database with a catalog, on a simulated disk, and rows that are plain text.
//!
//! A row's value is its fields, with commas between them; an empty field is NULL. Expressions of
//! indexes are `lower(N)` of the field at a position; predicates are `N is not null`.

use std::{future::Future, rc::Rc, sync::Arc};

use engine::{
    Database, DatabaseConfig, Extractor, IndexOptions, Isolation, LogConfig, OnConflict,
    RecoveryConfig, Session, Transaction,
};
use interleave::{Clock, FromFn, Interleaved, Worker, WorkerConfig};
use io::{Faults, SimulatedDisk};
use types::{Result, Scalar, SqlError, Type, TypeModifier};

use crate::{
    Catalog, Catalogs, Changes, Column, Ddl, Dependency, Index, IndexColumn, IndexKey, IndexKeys,
    NewIndex, NewTable, ObjectId, Relation, SearchPath, StoredExpression, Table,
    failure::{from_engine, write_failed},
};

pub(super) const TEXT: Type = Type::Scalar(Scalar::Text);

pub(super) const LOG: LogConfig = LogConfig {
    group_commit_window: std::time::Duration::from_micros(50),
    relaxed_window: std::time::Duration::from_millis(2),
    buffer_bytes: 64 << 10,
    segment_bytes: 1 << 20,
    transaction_bytes_max: 8 << 20,
    change_retention_bytes: 0,
};

/// The fields of rows.
struct Fields;

fn field(value: &[u8], position: usize) -> Option<String> {
    let text = std::str::from_utf8(value).unwrap();
    let field = text.split(',').nth(position).unwrap_or_default();
    (!field.is_empty()).then(|| field.to_owned())
}

fn evaluate(key: &IndexKey, value: &[u8]) -> Option<String> {
    match key {
        IndexKey::Column(position) => field(value, usize::from(*position)),
        IndexKey::Expression(expression) => {
            let position = expression.text.strip_prefix("lower(").unwrap();
            let position = position.strip_suffix(')').unwrap().parse().unwrap();
            field(value, position).map(|text| text.to_lowercase())
        }
    }
}

impl IndexKeys for Fields {
    fn keys(&self, _: &Catalog, _: &Table, index: &Index) -> Result<(Extractor, IndexOptions)> {
        let columns = index.columns.clone();
        let wanted: Option<usize> = index.predicate.as_ref().map(|predicate| {
            let position = predicate.text.strip_suffix(" is not null").unwrap();
            position.parse().unwrap()
        });
        let unique = index.unique;
        let extract = move |row: &[u8], value: &[u8], keys: &mut engine::IndexKeys| {
            if wanted.is_some_and(|position| field(value, position).is_none()) {
                return;
            }
            let fields: Vec<_> = columns.iter().map(|c| evaluate(&c.key, value)).collect();
            let mut key = Vec::new();
            for field in &fields {
                key.extend_from_slice(field.as_deref().unwrap_or("\u{1}").as_bytes());
                key.push(0);
            }
            // NULLs are distinct.
            if unique && fields.iter().any(Option::is_none) {
                key.extend_from_slice(row);
            }
            keys.push(&key);
        };
        let options = IndexOptions {
            unique,
            prefix_free: false,
        };
        Ok((Arc::new(extract), options))
    }
}

/// A database for tests: see the module text.
pub(super) struct Bed {
    disk: SimulatedDisk,
    pub(super) database: Arc<Database>,
    pub(super) catalogs: Arc<Catalogs>,
    worker: Worker<Session>,
    crashes: u64,
}

impl Bed {
    pub(super) fn new() -> Bed {
        Bed::with(LOG)
    }

    pub(super) fn with(log: LogConfig) -> Bed {
        Bed::open(SimulatedDisk::new(1, Faults::default()), 0, log)
    }

    fn open(disk: SimulatedDisk, crashes: u64, log: LogConfig) -> Bed {
        let config = DatabaseConfig::with_memory(256 << 20);
        let recovery =
            Database::open(config, log, RecoveryConfig::default(), disk.directory()).unwrap();
        let database = recovery.database().clone();
        let session = Session::new(&database).unwrap();
        let mut tasks = recovery.tasks(&session);
        let mut worker = Worker::new(WorkerConfig::default(), session, Clock::real());
        worker.set_source(FromFn(move |_: &Rc<Session>| tasks()));
        worker.run_until_idle();
        recovery.finish().unwrap();
        let task = worker.handle().submit(|session| {
            let session = session.clone();
            async move { Catalogs::open(&session, Arc::new(Fields), "weft").await }
        });
        let catalogs = worker.run_until(task).unwrap().unwrap();
        Bed {
            disk,
            database,
            catalogs,
            worker,
            crashes,
        }
    }

    /// Simulates a loss of power: data that was not durable is lost.
    pub(super) fn crash(self) -> Bed {
        let crashes = self.crashes + 1;
        self.disk.crash();
        drop((self.worker, self.catalogs, self.database));
        Bed::open(self.disk.after_crash(crashes), crashes, LOG)
    }

    /// Runs a future on the worker.
    pub(super) fn run<T: Send + 'static, F: Future<Output = T> + 'static>(
        &mut self,
        make: impl FnOnce(Rc<Session>, Arc<Catalogs>) -> F + Send + 'static,
    ) -> T {
        let catalogs = self.catalogs.clone();
        let task = self
            .worker
            .handle()
            .submit(move |session| make(session.clone(), catalogs));
        self.worker.run_until(task).expect("the task ends")
    }

    /// Runs DDL in a transaction of its own, and commits unless it fails.
    pub(super) fn ddl<T: Send + 'static>(
        &mut self,
        body: impl AsyncFnOnce(&Ddl<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.run(async move |session, catalogs| {
            let (transaction, changes) = begin(&session, &catalogs);
            let result = body(&Ddl::new(&transaction, &changes)).await?;
            transaction.commit().await.map_err(from_engine)?;
            Ok(result)
        })
    }

    /// Creates a table of text columns, and commits it.
    pub(super) fn table(&mut self, name: &str, columns: &[&str]) -> ObjectId {
        let new = new_table(name, columns);
        self.ddl(async move |ddl| ddl.create_table(new).await)
            .unwrap()
            .id
    }

    pub(super) fn find(&self, name: &str) -> Option<ObjectId> {
        find(&self.catalogs.current(), name)
    }

    pub(super) fn current(&self, id: ObjectId) -> Arc<Table> {
        self.catalogs.current().table(id).unwrap().clone()
    }

    /// Writes rows in one transaction, by key, as statements do.
    pub(super) fn write(&mut self, table: ObjectId, rows: &[(&str, &str)]) -> Result<()> {
        let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let rows: Vec<_> = rows.iter().map(own).collect();
        self.run(async move |session, catalogs| {
            let (transaction, changes) = begin(&session, &catalogs);
            for (key, value) in &rows {
                put(&transaction, &changes, table, key, value).await?;
            }
            transaction.commit().await.map_err(from_engine)?;
            Ok(())
        })
    }

    /// Checks that all indexes of a table agree with it.
    pub(super) fn check_indexes(&mut self, table: ObjectId) {
        let table = self.current(table);
        self.run(async move |session, _| {
            for index in table.indexes.iter().filter(|index| index.is_valid) {
                let handle = index.handle.as_ref().unwrap();
                let report = session.check_index::<Interleaved>(handle).await.unwrap();
                assert_eq!(report.flaw_count, 0, "{}: {report:?}", index.name);
            }
        });
    }
}

pub(super) fn begin(session: &Rc<Session>, catalogs: &Arc<Catalogs>) -> (Transaction, Changes) {
    let transaction = session.begin(Isolation::ReadCommitted).unwrap();
    transaction.set_on_conflict(OnConflict::Wait);
    (transaction, Changes::new(catalogs))
}

/// Writes a row as a statement does.
pub(super) async fn put(
    transaction: &Transaction,
    changes: &Changes,
    table: ObjectId,
    key: &str,
    value: &str,
) -> Result<()> {
    let mode = engine::TableLockMode::RowExclusive;
    let locked = changes
        .lock_table(transaction, table, mode, engine::IfLocked::Wait)
        .await?;
    let table = locked.expect("the table is there");
    let (key, value) = (key.as_bytes(), value.as_bytes());
    let written = transaction
        .upsert::<Interleaved>(table.storage(), key, value)
        .await;
    written.map_err(|error| write_failed(&table, error))
}

pub(super) fn find(catalog: &Catalog, name: &str) -> Option<ObjectId> {
    match catalog.find_relation(&SearchPath::default(), None, name)? {
        Relation::Table(table) => Some(table.id),
        Relation::Index(_, index) => Some(index.id),
        Relation::Sequence(sequence) => Some(sequence.id),
        Relation::View(view) => Some(view.id),
    }
}

pub(super) fn column(name: &str, ty: Type) -> Column {
    Column {
        name: Arc::from(name),
        ty,
        modifier: TypeModifier::NONE,
        not_null: false,
        default: None,
        generation: None,
        dropped: false,
        missing: None,
    }
}

pub(super) fn new_table(name: &str, columns: &[&str]) -> NewTable {
    NewTable {
        schema: ObjectId::PUBLIC,
        name: name.to_owned(),
        columns: columns.iter().map(|name| column(name, TEXT)).collect(),
        ..NewTable::default()
    }
}

pub(super) fn expression(text: &str, dependencies: &[Dependency]) -> StoredExpression {
    StoredExpression {
        text: Arc::from(text),
        search_path: Arc::default(),
        dependencies: dependencies.into(),
    }
}

pub(super) fn by(key: IndexKey) -> IndexColumn {
    IndexColumn {
        key,
        ty: TEXT,
        descending: false,
        nulls_first: false,
    }
}

/// Returns the definition of an index of one column.
pub(super) fn new_index(name: &str, unique: bool, column: u16) -> NewIndex {
    NewIndex {
        name: name.to_owned(),
        unique,
        columns: vec![by(IndexKey::Column(column))],
        ..NewIndex::default()
    }
}

/// Returns SQLSTATE and message of a refusal.
pub(super) fn said<T>(result: Result<T>) -> (String, String) {
    let error: SqlError = result.err().expect("it is refused");
    (error.state().code().to_owned(), error.message().to_owned())
}
