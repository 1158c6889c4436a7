//! State shared by all transactions of a run.

use std::{
    collections::BTreeMap,
    ops::Bound,
    sync::{Arc, Mutex, MutexGuard},
};

use engine::{Database, DatabaseConfig, Table};

use isolation::generate::{Generator, Shape};

use crate::{
    client::Range, history::Recorder, parameters::Parameters, parking::Parking,
    simulation::expiry::Expiring, workload::tables,
};

/// State shared by all transactions of a run.
pub(crate) struct World {
    pub(crate) parameters: Parameters,
    pub(crate) database: Arc<Database>,
    /// Table of all keys that do not name another.
    pub(crate) table: Arc<Table>,
    /// Opened storages, by number, of the keys that begin with [`tables::PREFIX`] and the
    /// number. None in memory.
    storages: Mutex<BTreeMap<u32, Arc<Table>>>,
    /// Records that no history knows of, or only half.
    pub(crate) expiring: Option<Expiring>,
    pub(crate) recorder: Recorder,
    pub(crate) parking: Parking,
    /// Generator of the transactions of `workload/groups.rs`.
    pub(crate) generator: Generator,
    /// Bytes of the catalog's indexes and an empty table's.
    pub(crate) index_bytes_empty: u64,
    /// Bytes of the versions that describe the table.
    version_bytes_empty: u64,
    /// Number of transactions that had committed before: those that made the table.
    pub(crate) commits_before: u64,
}

impl World {
    /// Makes an empty database with one table, in memory.
    ///
    /// # Panics
    /// Panics if the system refuses address space for the database.
    pub(crate) fn new(parameters: &Parameters) -> Arc<World> {
        let config = DatabaseConfig {
            certifier: parameters.levels.certifier(),
            ..DatabaseConfig::with_memory(parameters.memory_bytes_max)
        };
        let database = Database::new(config).expect("the system gives address space");
        let expiring = (parameters.expiring > 0).then(|| Expiring::new(&database));
        let table = database
            .create_table("records", &[])
            .expect("an empty database has room for a table");
        let world = World::on(parameters, &database, &table, Recorder::default());
        Arc::new(World { expiring, ..world })
    }

    /// Returns the world of an existing database.
    pub(crate) fn of(
        parameters: &Parameters,
        database: &Arc<Database>,
        table: &Arc<Table>,
        expiring: Expiring,
        recorder: Recorder,
    ) -> Arc<World> {
        let world = World::on(parameters, database, table, recorder);
        let expiring = Some(expiring);
        Arc::new(World { expiring, ..world })
    }

    fn on(
        parameters: &Parameters,
        database: &Arc<Database>,
        table: &Arc<Table>,
        recorder: Recorder,
    ) -> World {
        World {
            expiring: None,
            parameters: *parameters,
            index_bytes_empty: database.memory().index_bytes,
            version_bytes_empty: database.memory().version_bytes,
            commits_before: database.stats().commits,
            table: table.clone(),
            storages: Mutex::default(),
            database: database.clone(),
            recorder,
            parking: Parking::default(),
            generator: Generator::new(Shape::default(), 0),
        }
    }

    fn lock_storages(&self) -> MutexGuard<'_, BTreeMap<u32, Arc<Table>>> {
        self.storages.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Returns the bytes of live versions, without those that existed before.
    pub(crate) fn version_bytes(&self) -> u64 {
        self.database.memory().version_bytes - self.version_bytes_empty
    }

    /// Returns whether a record with this key belongs to the run, in the engine's table
    /// of this number.
    pub(crate) fn has_record(&self, table: u32, key: &[u8]) -> bool {
        table == self.table.number() || tables::storage_of(key) == Some(table)
    }

    /// Adds the storage of a table, and returns its number.
    pub(crate) fn add_storage(&self, table: &Arc<Table>) -> u32 {
        self.lock_storages().insert(table.number(), table.clone());
        table.number()
    }

    /// Returns the numbers of the opened storages.
    pub(crate) fn storages(&self) -> Vec<u32> {
        self.lock_storages().keys().copied().collect()
    }

    /// Returns the table that a key's record is in.
    pub(crate) fn table_of(&self, key: &[u8]) -> Arc<Table> {
        let storage = tables::storage_of(key);
        let further = storage.and_then(|storage| self.lock_storages().get(&storage).cloned());
        further.unwrap_or_else(|| self.table.clone())
    }

    /// Restricts a range to the main table, as histories need it.
    pub(crate) fn part_of_table(&self, range: Range) -> Range {
        match range {
            (first, Bound::Unbounded) => (first, Bound::Excluded(vec![tables::PREFIX])),
            range => range,
        }
    }
}
