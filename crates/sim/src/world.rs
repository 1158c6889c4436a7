//! What all transactions of a run share.

use std::sync::Arc;

use engine::{Database, DatabaseConfig, Table};

use crate::{history::Recorder, parameters::Parameters, parking::Parking};

/// What all transactions of a run share.
pub(crate) struct World {
    pub(crate) parameters: Parameters,
    pub(crate) database: Arc<Database>,
    pub(crate) table: Arc<Table>,
    pub(crate) recorder: Recorder,
    pub(crate) parking: Parking,
    /// Bytes of an empty table's index.
    pub(crate) index_bytes_empty: u64,
}

impl World {
    /// An empty database with one table.
    ///
    /// # Panics
    /// When the system refuses address space for the database.
    pub(crate) fn new(parameters: &Parameters) -> Arc<World> {
        let config = DatabaseConfig::with_memory(parameters.memory_bytes_max);
        let database = Database::new(config).expect("the system gives address space");
        let table = database
            .create_table("records", &[])
            .expect("an empty database has room for a table");
        Arc::new(World {
            parameters: *parameters,
            index_bytes_empty: database.memory().index_bytes,
            table,
            database,
            recorder: Recorder::default(),
            parking: Parking::default(),
        })
    }
}
