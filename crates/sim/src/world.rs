//! What all transactions of a run share.

use std::{
    collections::BTreeMap,
    ops::Bound,
    sync::{Arc, Mutex, MutexGuard},
};

use engine::{Database, DatabaseConfig, Table};

use isolation::generate::{Generator, Shape};

use crate::{
    client::Range, history::Recorder, parameters::Parameters, parking::Parking, workload::tables,
};

/// What all transactions of a run share.
pub(crate) struct World {
    pub(crate) parameters: Parameters,
    pub(crate) database: Arc<Database>,
    /// The table of all keys that do not name another.
    pub(crate) table: Arc<Table>,
    /// By number: the tables of the keys that begin with [`tables::PREFIX`] and it.
    /// None in memory.
    further: Mutex<BTreeMap<u8, Arc<Table>>>,
    pub(crate) recorder: Recorder,
    pub(crate) parking: Parking,
    /// Plans the transactions of `workload/groups.rs`.
    pub(crate) generator: Generator,
    /// Bytes of an empty table's index.
    pub(crate) index_bytes_empty: u64,
}

impl World {
    /// An empty database with one table, in memory.
    ///
    /// # Panics
    /// When the system refuses address space for the database.
    pub(crate) fn new(parameters: &Parameters) -> Arc<World> {
        let config = DatabaseConfig {
            certifier: parameters.levels.certifier(),
            ..DatabaseConfig::with_memory(parameters.memory_bytes_max)
        };
        let database = Database::new(config).expect("the system gives address space");
        let table = database
            .create_table("records", &[])
            .expect("an empty database has room for a table");
        World::of(parameters, &database, &table, Recorder::default())
    }

    /// A database that is there.
    pub(crate) fn of(
        parameters: &Parameters,
        database: &Arc<Database>,
        table: &Arc<Table>,
        recorder: Recorder,
    ) -> Arc<World> {
        Arc::new(World {
            parameters: *parameters,
            index_bytes_empty: database.memory().index_bytes,
            table: table.clone(),
            further: Mutex::default(),
            database: database.clone(),
            recorder,
            parking: Parking::default(),
            generator: Generator::new(Shape::default(), 0),
        })
    }

    fn further(&self) -> MutexGuard<'_, BTreeMap<u8, Arc<Table>>> {
        self.further.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Adds a table.
    pub(crate) fn add_table(&self, number: u8, table: Arc<Table>) {
        self.further().insert(number, table);
    }

    /// Whether the engine's table of this number is one of the run.
    pub(crate) fn has_table(&self, number: u32) -> bool {
        let is_further = self
            .further()
            .values()
            .any(|table| table.number() == number);
        is_further || self.table.number() == number
    }

    /// Numbers of the further tables.
    pub(crate) fn further_tables(&self) -> Vec<u8> {
        self.further().keys().copied().collect()
    }

    /// The table that a key's record is in.
    pub(crate) fn table_of(&self, key: &[u8]) -> Arc<Table> {
        let further = match key {
            [tables::PREFIX, number, ..] => self.further().get(number).cloned(),
            _ => None,
        };
        further.unwrap_or_else(|| self.table.clone())
    }

    /// A range of the main table as one of all keys: what a history knows.
    pub(crate) fn part_of_table(&self, range: Range) -> Range {
        match range {
            (first, Bound::Unbounded) if !self.further().is_empty() => {
                (first, Bound::Excluded(vec![tables::PREFIX]))
            }
            range => range,
        }
    }
}
