//! The catalog of a database, shared by all sessions: its newest committed version.
//!
//! # Versions
//! A transaction that changes the catalog writes the records of what it changes (`record.rs`), and
//! *notes* each change for its commit. The engine hands the notes over as a part of the commit, in
//! commit order, before any lock of the transaction is released; then the next [`Catalog`] is made
//! of the one before, and published with the next version number. It follows that
//! - a version has either all changes of a transaction or none,
//! - it has them if and only if the transaction has committed, whether or not a client awaits that
//!   commit's acknowledgement,
//! - a transaction that gets a lock on a table, and looks at the version then, sees the definition
//!   that the last holder of an excluding lock has left.
//!
//! # Why no row is written in disagreement with the definition in force
//! A transaction that writes a table checks whether its definition is in force under a lock of mode
//! [`engine::TableLockMode::RowExclusive`] on the table, which it holds until it ends
//! ([`super::Changes::lock_table`]). A transaction that changes a definition on which rows depend
//! holds a lock that excludes this one, until its changes are published or rolled back. The
//! definition in force when the writer looked is therefore in force when it commits.

use std::{
    ops::{Bound, ControlFlow},
    rc::Rc,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use engine::{
    CommitNote, Direction, Error, Extractor, IndexOptions, Isolation, Session, Timestamp,
};
use interleave::Interleaved;
use types::{Result, SqlError, SqlState};

use super::{
    Catalog, Comments, Index, Object, ObjectId, Role, Schema, Table, TableKind,
    change::Change,
    counters::Counters,
    failure::from_engine,
    record::{self, Tables},
    statistics::{self, NewStatistics},
};

/// The maker of the functions by which indexes are maintained. The catalog keeps expressions as
/// text and does not understand them.
pub trait IndexKeys: Send + Sync {
    /// Returns the function that makes the index keys of a table's rows, and the properties of
    /// these keys.
    ///
    /// A unique index holds each key once. If NULLs are distinct, the function therefore has to
    /// make a key with a NULL distinct, by appending the row's own key.
    ///
    /// # Errors
    /// Fails if the index cannot be maintained.
    fn keys(
        &self,
        catalog: &Catalog,
        table: &Table,
        index: &Index,
    ) -> Result<(Extractor, IndexOptions)>;
}

/// The catalogs of a database: see the module text.
pub struct Catalogs {
    pub(super) tables: Tables,
    pub(super) keys: Arc<dyn IndexKeys>,
    current: RwLock<Arc<Catalog>>,
    /// Version of `current`.
    version: AtomicU64,
    /// Last version of a table.
    table_version: AtomicU64,
    pub(super) counters: Counters,
}

impl Catalogs {
    /// Opens the catalog of a database, and with it all indexes; makes the catalog if there is
    /// none. The caller calls this once, before other sessions use the database. `role` is the name
    /// of the role that a new database has.
    ///
    /// # Errors
    /// XX001 if the catalog cannot be read; errors of the engine; errors of `keys`; 55000 if there
    /// is another catalog for the same database.
    ///
    /// # Suspension
    /// Suspends until all indexes are built.
    pub async fn open(
        session: &Rc<Session>,
        keys: Arc<dyn IndexKeys>,
        role: &str,
    ) -> Result<Arc<Catalogs>> {
        let tables = own_tables(session).await.map_err(from_engine)?;
        let catalogs = Arc::new(Catalogs {
            tables,
            keys,
            current: RwLock::default(),
            version: AtomicU64::new(0),
            table_version: AtomicU64::new(0),
            counters: Counters::new(),
        });
        let observer = Arc::downgrade(&catalogs);
        let is_first = session
            .database()
            .observe_commits(Box::new(move |at, notes| {
                if let Some(catalogs) = observer.upgrade() {
                    catalogs.publish(at, notes);
                }
            }));
        if !is_first {
            return Err(SqlError::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                "the database has a catalog already",
            ));
        }
        let objects = catalogs.read(session).await?;
        if objects.is_empty() {
            catalogs.begin(session, role).await?;
        } else {
            let catalog = catalogs.load(session, objects).await?;
            catalogs.load_statistics(session, &catalog).await?;
            catalogs.replace(catalog);
        }
        Ok(catalogs)
    }

    /// Returns the newest committed catalog.
    pub fn current(&self) -> Arc<Catalog> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        current.clone()
    }

    /// Returns the version of the newest committed catalog. The call takes one load.
    #[inline]
    pub fn version(&self) -> u64 {
        // Acquire: pairs with the Release in `replace`.
        self.version.load(Ordering::Acquire)
    }

    /// Returns whether a committed catalog is the newest. The call takes one load.
    #[inline]
    pub fn is_current(&self, catalog: &Catalog) -> bool {
        catalog.version() == self.version()
    }

    pub(super) fn next_table_version(&self) -> u64 {
        self.table_version.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Publishes the changes of a transaction, under the engine's latch of commits.
    fn publish(&self, at: Timestamp, notes: Vec<CommitNote>) {
        let mut next = None;
        for note in notes {
            match note.downcast::<Change>() {
                Ok(change) => {
                    let next = next.get_or_insert_with(|| (*self.current()).clone());
                    if let Some(counter) = change.retires(next) {
                        self.counters.retire(counter);
                    }
                    change.apply(next);
                }
                Err(note) => {
                    if let Ok(statistics) = note.downcast::<NewStatistics>() {
                        statistics.publish();
                    }
                }
            }
        }
        if let Some(mut next) = next {
            next.commit(at);
            self.replace(next);
        }
    }

    fn replace(&self, catalog: Catalog) {
        let version = catalog.version();
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(catalog);
        drop(current);
        // Release: pairs with `is_current`. A reader of the number finds the catalog, or a newer
        // one.
        self.version.store(version, Ordering::Release);
    }

    /// Writes the objects that every database has.
    async fn begin(&self, session: &Rc<Session>, role: &str) -> Result<()> {
        let schema = |id, name| {
            Object::Schema(Arc::new(Schema {
                id,
                name: Arc::from(name),
                comments: Comments::default(),
            }))
        };
        let role = Role {
            id: ObjectId::FIRST_ROLE,
            name: Arc::from(role),
            verifier: None,
            can_login: true,
            is_superuser: true,
            can_create_roles: true,
            can_create_databases: true,
            inherits: true,
            comments: Comments::default(),
        };
        let objects = [
            schema(ObjectId::PG_CATALOG, "pg_catalog"),
            schema(ObjectId::PUBLIC, "public"),
            Object::Role(Arc::new(role)),
        ];
        let transaction = session.begin(Isolation::Snapshot).map_err(from_engine)?;
        for object in objects {
            let (key, value) = (record::key_of(object.id()), record::encode(&object)?);
            for (class, schema, name, id) in super::snapshot::names_of(&object) {
                let (name, id) = (record::name_key(class, schema, &name), record::key_of(id));
                let names = &self.tables.names;
                let taken = transaction.insert::<Interleaved>(names, &name, &id);
                taken.await.map_err(from_engine)?;
            }
            let written = transaction.insert::<Interleaved>(&self.tables.objects, &key, &value);
            written.await.map_err(from_engine)?;
            let note = Box::new(Change::Put(object));
            transaction.note_for_commit(note).map_err(from_engine)?;
        }
        transaction.commit().await.map_err(from_engine)?;
        Ok(())
    }

    async fn read(&self, session: &Rc<Session>) -> Result<Vec<Object>> {
        let transaction = session.begin(Isolation::Snapshot).map_err(from_engine)?;
        let mut objects = Ok(Vec::new());
        let all = (Bound::Unbounded, Bound::Unbounded);
        let table = &self.tables.objects;
        let scanned =
            transaction.scan::<Interleaved>(table, all, Direction::Forward, |_, bytes| {
                match (&mut objects, record::decode(bytes)) {
                    (Ok(objects), Ok(object)) => {
                        objects.push(object);
                        ControlFlow::Continue(())
                    }
                    (_, Err(error)) => {
                        objects = Err(error);
                        ControlFlow::Break(())
                    }
                    (Err(_), _) => ControlFlow::Break(()),
                }
            });
        scanned.await.map_err(from_engine)?;
        objects
    }

    /// Reads the statistics of tables' values.
    async fn load_statistics(&self, session: &Rc<Session>, catalog: &Catalog) -> Result<()> {
        let transaction = session.begin(Isolation::Snapshot).map_err(from_engine)?;
        let all = (Bound::Unbounded, Bound::Unbounded);
        let records = &self.tables.statistics;
        let scanned =
            transaction.scan::<Interleaved>(records, all, Direction::Forward, |key, bytes| {
                let id = key.try_into().map(u32::from_be_bytes).map(ObjectId);
                let table = id.ok().and_then(|id| catalog.table(id));
                // Without statistics, plans are worse until ANALYZE finds others.
                if let (Some(table), Ok(found)) = (table, statistics::decode(bytes)) {
                    table.statistics.publish(Arc::new(found));
                }
                ControlFlow::Continue(())
            });
        scanned.await.map(drop).map_err(from_engine)
    }

    /// Finds the tables, and builds the indexes, of a database that was opened.
    async fn load(&self, session: &Rc<Session>, objects: Vec<Object>) -> Result<Catalog> {
        let mut catalog = Catalog::default();
        // All objects are put in first: expressions of indexes may refer to any of them, above all
        // to types.
        for object in &objects {
            catalog.put(object.clone());
        }
        for object in objects {
            let Object::Table(table) = object else {
                continue;
            };
            let mut table = (*table).clone();
            self.table_version
                .fetch_max(table.version, Ordering::Relaxed);
            if table.kind == TableKind::Ordinary {
                self.attach(session, &catalog, &mut table).await?;
            }
            catalog.put(Object::Table(Arc::new(table)));
        }
        catalog.commit(session.database().now());
        Ok(catalog)
    }

    async fn attach(
        &self,
        session: &Rc<Session>,
        catalog: &Catalog,
        table: &mut Table,
    ) -> Result<()> {
        let storage = session
            .database()
            .table(&table.storage_name)
            .ok_or_else(|| {
                let message = format!("table \"{}\" has no storage", table.name);
                SqlError::new(SqlState::DATA_CORRUPTED, message)
            })?;
        let mut indexes = table.indexes.to_vec();
        for index in &mut indexes {
            let name = index.engine_name();
            if !index.is_valid {
                // The index was not built to the end. No transaction writes the table while it is
                // missing.
                forget_index(session, &name).await.map_err(from_engine)?;
                continue;
            }
            let (extract, options) = self.keys.keys(catalog, table, index)?;
            let build = session.begin_index(&storage, &name, options, extract);
            let built = match build {
                Ok(build) => build.run(|_| {}).await,
                Err(error) => Err(error),
            };
            index.handle = Some(built.map_err(|error| {
                let message = format!("index \"{}\" cannot be built: {error}", index.name);
                SqlError::new(SqlState::DATA_CORRUPTED, message)
            })?);
        }
        table.indexes = indexes.into();
        table.storage = storage.into();
        Ok(())
    }
}

/// Drops an index of the engine's, if there is one of this name.
async fn forget_index(session: &Rc<Session>, name: &str) -> std::result::Result<(), Error> {
    let transaction = session.begin(Isolation::Snapshot)?;
    match transaction.drop_index_named::<Interleaved>(name).await {
        Ok(()) => transaction.commit().await.map(drop),
        Err(Error::NoSuchTable) => Ok(()),
        Err(error) => Err(error),
    }
}

async fn own_tables(session: &Rc<Session>) -> std::result::Result<Tables, Error> {
    let transaction = session.begin(Isolation::Snapshot)?;
    let mut tables = Vec::new();
    for name in [
        record::OBJECTS,
        record::NAMES,
        record::COUNTERS,
        record::STATISTICS,
    ] {
        tables.push(match transaction.open_table::<Interleaved>(name).await {
            Err(Error::NoSuchTable) => transaction.create_table::<Interleaved>(name, &[]).await?,
            opened => opened?,
        });
    }
    transaction.commit().await?;
    let [objects, names, counters, statistics] = tables.try_into().expect("there are four");
    Ok(Tables {
        objects,
        names,
        counters,
        statistics,
    })
}

impl std::fmt::Debug for Catalogs {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Catalogs")
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}
