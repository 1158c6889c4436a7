//! A database in memory, with one session and one table.

use std::{rc::Rc, sync::Arc};

use engine::{Database, DatabaseConfig, Session, Table};

/// Makes a session of a new database, and its table, `t`.
pub(crate) fn in_memory(config: DatabaseConfig) -> (Rc<Session>, Arc<Table>) {
    let database = Database::new(config).unwrap();
    let table = database.create_table("t", &[]).unwrap();
    (Session::new(&database).unwrap(), table)
}
