//! DDL in a transaction of its own.

use std::{fmt, future::Future, rc::Rc, sync::Arc};

use interleave::{Clock, Interleaved, Worker, WorkerConfig};

use crate::{
    database::Database,
    error::Error,
    secondary::Index,
    session::{Session, SessionError},
    table::Table,
    transaction::Isolation,
    ttl::TableOptions,
};

/// Reason why a table could not be created, dropped, truncated or renamed.
#[derive(Debug)]
#[non_exhaustive]
pub enum TableError {
    /// A table or index of this name exists.
    Exists(String),
    /// No table has this name.
    NoSuchTable(String),
    /// There is no session for the transaction.
    Session(SessionError),
    /// The transaction failed. It can be tried again after [`Error::Abort`].
    Engine(Error),
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TableError::Exists(name) => write!(
                f,
                "a table or index named {name:?} exists; open it, or choose another name"
            ),
            TableError::NoSuchTable(name) => {
                write!(f, "there is no table named {name:?}; create it first")
            }
            TableError::Session(error) => error.fmt(f),
            TableError::Engine(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TableError {}

impl Session {
    /// Creates a table named `name`, in a transaction of its own, and waits until that is durable.
    ///
    /// # Errors
    /// Fails as [`crate::Transaction::create_table`] and [`crate::Transaction::commit`] do.
    ///
    /// # Suspension
    /// Memory and event waits.
    ///
    /// # Cancellation
    /// Dropping the future leaves the table created or not.
    pub async fn create_table(
        self: &Rc<Self>,
        name: &str,
        description: &[u8],
    ) -> Result<Arc<Table>, Error> {
        self.create_table_with(name, description, TableOptions::default())
            .await
    }

    /// Creates a table named `name` with `options`, in a transaction of its own, and waits until
    /// that is durable.
    ///
    /// # Errors
    /// Fails as [`Session::create_table`] does.
    ///
    /// # Suspension
    /// Memory and event waits.
    ///
    /// # Cancellation
    /// Dropping the future leaves the table created or not.
    pub async fn create_table_with(
        self: &Rc<Self>,
        name: &str,
        description: &[u8],
        options: TableOptions,
    ) -> Result<Arc<Table>, Error> {
        let transaction = self.begin(Isolation::Snapshot)?;
        let made = transaction.create_table_with::<Interleaved>(name, description, options);
        let table = made.await?;
        transaction.commit().await?;
        Ok(table)
    }

    /// Drops the table named `name`, in a transaction of its own, and waits until that is durable.
    ///
    /// # Errors
    /// Fails as [`crate::Transaction::drop_table`] and [`crate::Transaction::commit`] do.
    ///
    /// # Suspension
    /// Memory and event waits.
    ///
    /// # Cancellation
    /// Dropping the future leaves the table dropped or not.
    pub async fn drop_table(self: &Rc<Self>, name: &str) -> Result<(), Error> {
        let transaction = self.begin(Isolation::Snapshot)?;
        transaction.drop_table::<Interleaved>(name).await?;
        transaction.commit().await.map(drop)
    }

    /// Empties the table named `name`, in a transaction of its own, and waits until that is
    /// durable. Returns its new storage.
    ///
    /// # Errors
    /// Fails as [`crate::Transaction::truncate_table`] and [`crate::Transaction::commit`] do.
    ///
    /// # Suspension
    /// Memory and event waits.
    ///
    /// # Cancellation
    /// Dropping the future leaves the table emptied or not.
    pub async fn truncate_table(self: &Rc<Self>, name: &str) -> Result<Arc<Table>, Error> {
        let transaction = self.begin(Isolation::Snapshot)?;
        let table = transaction.truncate_table::<Interleaved>(name).await?;
        transaction.commit().await?;
        Ok(table)
    }

    /// Renames the table `from` to `to`, in a transaction of its own, and waits until that is
    /// durable.
    ///
    /// # Errors
    /// Fails as [`crate::Transaction::rename_table`] and [`crate::Transaction::commit`] do.
    ///
    /// # Suspension
    /// Memory and event waits.
    ///
    /// # Cancellation
    /// Dropping the future leaves the table renamed or not.
    pub async fn rename_table(self: &Rc<Self>, from: &str, to: &str) -> Result<(), Error> {
        let transaction = self.begin(Isolation::Snapshot)?;
        transaction.rename_table::<Interleaved>(from, to).await?;
        transaction.commit().await.map(drop)
    }

    /// Drops `index`, even one that is being built, in a transaction of its own, and waits until
    /// that is durable. Returns false if the index had been dropped before.
    ///
    /// # Errors
    /// Fails as [`crate::Transaction::drop_index`] and [`crate::Transaction::commit`] do.
    ///
    /// # Suspension
    /// Memory and event waits.
    ///
    /// # Cancellation
    /// Dropping the future leaves the index dropped or not.
    pub async fn drop_index(self: &Rc<Self>, index: &Index) -> Result<bool, Error> {
        let is_ours = index.table().is_in(self.database().arena());
        if is_ours && self.database().give_up_index(index) {
            return Ok(true);
        }
        let transaction = self.begin(Isolation::Snapshot)?;
        let dropped = transaction.drop_index::<Interleaved>(index).await?;
        transaction.commit().await?;
        Ok(dropped)
    }
}

impl Database {
    /// Creates a table, in a transaction and a session of its own.
    ///
    /// Blocks the calling thread, which must not be a worker's, until the transaction is durable.
    /// The workers of all sessions that have committed before must run for that. See
    /// [`Session::create_table`].
    ///
    /// # Errors
    /// Fails as [`TableError`] lists.
    pub fn create_table(
        self: &Arc<Self>,
        name: &str,
        description: &[u8],
    ) -> Result<Arc<Table>, TableError> {
        self.create_table_with(name, description, TableOptions::default())
    }

    /// Creates a table with `options`, as [`Database::create_table`] creates one.
    ///
    /// # Errors
    /// Fails as [`TableError`] lists.
    pub fn create_table_with(
        self: &Arc<Self>,
        name: &str,
        description: &[u8],
        options: TableOptions,
    ) -> Result<Arc<Table>, TableError> {
        let (owned, description) = (name.to_owned(), description.to_vec());
        self.run_ddl(name, async move |session: Rc<Session>| {
            session
                .create_table_with(&owned, &description, options)
                .await
        })
    }

    /// Drops a table, blocking as [`Database::create_table`] does.
    ///
    /// # Errors
    /// Fails as [`TableError`] lists.
    pub fn drop_table(self: &Arc<Self>, name: &str) -> Result<(), TableError> {
        let owned = name.to_owned();
        self.run_ddl(name, async move |session: Rc<Session>| {
            session.drop_table(&owned).await
        })
    }

    /// Empties a table, blocking as [`Database::create_table`] does. Returns its new storage.
    ///
    /// # Errors
    /// Fails as [`TableError`] lists.
    pub fn truncate_table(self: &Arc<Self>, name: &str) -> Result<Arc<Table>, TableError> {
        let owned = name.to_owned();
        self.run_ddl(name, async move |session: Rc<Session>| {
            session.truncate_table(&owned).await
        })
    }

    /// Renames the table `from` to `to`, blocking as [`Database::create_table`] does.
    ///
    /// # Errors
    /// Fails as [`TableError`] lists; the name in the error is the old one.
    pub fn rename_table(self: &Arc<Self>, from: &str, to: &str) -> Result<(), TableError> {
        let (old, new) = (from.to_owned(), to.to_owned());
        self.run_ddl(from, async move |session: Rc<Session>| {
            session.rename_table(&old, &new).await
        })
    }

    fn run_ddl<T: Send + 'static, F: Future<Output = Result<T, Error>> + 'static>(
        self: &Arc<Self>,
        name: &str,
        make: impl FnOnce(Rc<Session>) -> F + Send + 'static,
    ) -> Result<T, TableError> {
        let session = Session::new(self).map_err(TableError::Session)?;
        let mut worker = Worker::new(WorkerConfig::default(), session, Clock::real());
        let task = worker.handle().submit(|session| make(session.clone()));
        let ended = worker.run_until(task).unwrap_or(Err(Error::Ended));
        ended.map_err(|error| match error {
            Error::TableExists => TableError::Exists(name.to_owned()),
            Error::NoSuchTable => TableError::NoSuchTable(name.to_owned()),
            error => TableError::Engine(error),
        })
    }
}
