//! What the sessions of a database share.

use std::{rc::Rc, sync::Arc};

use types::{Result, SqlError, SqlState};

use crate::{memory::StatementMemory, session::plans::Plans};
use catalog::{Catalogs, Object};
use executor::{advisory::AdvisoryLocks, execute::RowNumbers, index_keys::RowKeys};

/// A database that understands SQL. One for each database of the engine's.
pub struct Database {
    pub(crate) name: String,
    pub(crate) catalogs: Arc<Catalogs>,
    pub(crate) row_numbers: RowNumbers,
    pub(crate) advisory: Arc<AdvisoryLocks>,
    pub(crate) memory: Arc<StatementMemory>,
    pub(crate) plans: Plans,
}

impl Database {
    /// The name by which clients ask for it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What is kept of a user's password, in PostgreSQL's form.
    ///
    /// # Errors
    /// 28000 if there is no such user.
    pub fn verifier(&self, user: &str) -> Result<Option<Arc<str>>> {
        let catalog = self.catalogs.current();
        let role = catalog.role_named(user).filter(|role| role.can_login);
        let role = role.ok_or_else(|| {
            let message = format!("role \"{user}\" does not exist");
            SqlError::new(SqlState::INVALID_AUTHORIZATION_SPECIFICATION, message)
        })?;
        Ok(role.verifier.clone())
    }

    /// Whether there is a user who can connect with a password.
    pub fn has_password(&self) -> bool {
        let catalog = self.catalogs.current();
        let mut objects = catalog.objects();
        objects.any(|object| {
            matches!(object, Object::Role(role) if role.can_login && role.verifier.is_some())
        })
    }

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
            row_numbers: RowNumbers::default(),
            advisory: Arc::default(),
            memory: StatementMemory::new(session.database()),
            plans: Plans::new(session.database()),
        }))
    }
}
