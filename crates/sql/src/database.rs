//! What the sessions of a database share.

use std::{rc::Rc, sync::Arc};

use types::Result;

use crate::{catalog::Catalogs, execute::RowNumbers, index_keys::RowKeys};

/// A database that understands SQL. One for each database of the engine's.
pub struct Database {
    pub(crate) name: String,
    pub(crate) catalogs: Arc<Catalogs>,
    pub(crate) row_numbers: RowNumbers,
}

impl Database {
    /// Opens the SQL side of a database of the engine's, made if there is none. `user` is the role
    /// that a new one has. To be called once, before others use the database.
    ///
    /// # Errors
    /// Those of [`Catalogs::open`].
    ///
    /// # Suspension
    /// As long as it takes to build all indexes.
    pub async fn open(
        session: &Rc<engine::Session>,
        name: &str,
        user: &str,
    ) -> Result<Arc<Database>> {
        let catalogs = Catalogs::open(session, Arc::new(RowKeys), user).await?;
        Ok(Arc::new(Database {
            name: name.to_owned(),
            catalogs,
            row_numbers: RowNumbers::new(),
        }))
    }
}
