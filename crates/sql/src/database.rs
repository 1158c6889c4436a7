//! The state that the sessions of a database share.

use std::{rc::Rc, sync::Arc};

use types::{Result, SqlError, SqlState};

use crate::{memory::StatementMemory, session::plan_cache::PlanCache};
use advisory::AdvisoryLocks;
use catalog::{Catalogs, Object, RowNumbers};
use planner::index_keys::RowKeys;

/// A database that understands SQL. There is one for each database of the engine's.
pub struct Database {
    pub(crate) name: String,
    pub(crate) catalogs: Arc<Catalogs>,
    pub(crate) row_numbers: RowNumbers,
    pub(crate) advisory: Arc<AdvisoryLocks>,
    pub(crate) memory: Arc<StatementMemory>,
    pub(crate) plan_cache: PlanCache,
}

impl Database {
    /// Returns the name by which clients ask for the database.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the verifier of a user's password, in PostgreSQL's form.
    ///
    /// # Errors
    /// 28000 if there is no user with that name.
    pub fn verifier(&self, user: &str) -> Result<Option<Arc<str>>> {
        let catalog = self.catalogs.current();
        let role = catalog.role_named(user).filter(|role| role.can_login);
        let role = role.ok_or_else(|| {
            let message = format!("role \"{user}\" does not exist");
            SqlError::new(SqlState::INVALID_AUTHORIZATION_SPECIFICATION, message)
        })?;
        Ok(role.verifier.clone())
    }

    /// Returns whether there is a user that can connect with a password.
    pub fn has_password(&self) -> bool {
        let catalog = self.catalogs.current();
        let mut objects = catalog.objects();
        objects.any(|object| {
            matches!(object, Object::Role(role) if role.can_login && role.verifier.is_some())
        })
    }

    /// Opens the SQL side of a database of the engine's, and makes it if there is none. `user` is
    /// the role that a new one has. The caller calls this once, before other sessions use the
    /// database.
    ///
    /// # Errors
    /// Errors of [`Catalogs::open`].
    ///
    /// # Suspension
    /// Suspends until all indexes are built.
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
            plan_cache: PlanCache::new(session.database()),
        }))
    }
}
