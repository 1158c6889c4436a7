//! State and tasks that a crate above keeps for a database, such as its SQL.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    sync::{Arc, Mutex},
};

use crate::{
    context::Shared,
    database::Database,
    error::{self, Error},
    thread::is_worker,
};

/// Layers by their types: at most one for each type in the program.
#[derive(Default)]
pub(crate) struct Layers(Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>);

/// Work that a database asks to end when it closes, until dropped: see [`Database::when_closing`].
pub struct Closing {
    number: u64,
    shared: Arc<Shared>,
}

impl Database {
    /// Returns the value of this type that all handles on the database share: the one that was made
    /// before, or the one that `make` returns. The database keeps it to its end, so it must own no handle on
    /// the database.
    ///
    /// Waits for calls of other threads, with their `make`, which must not call this function.
    ///
    /// # Errors
    /// [`Error::WouldBlockWorker`] on a worker, which the `make` of another thread may wait for;
    /// [`Error::Closed`]. Within: errors of `make`.
    pub fn layer<T, E>(
        &self,
        make: impl FnOnce() -> Result<Arc<T>, E>,
    ) -> error::Result<Result<Arc<T>, E>>
    where
        T: Any + Send + Sync,
    {
        if is_worker() {
            return Err(Error::WouldBlockWorker);
        }
        self.shared().check_open()?;
        let layers = &self.shared().layers.0;
        let mut layers = layers.lock().unwrap_or_else(|e| e.into_inner());
        let kept = layers.get(&TypeId::of::<T>()).cloned();
        if let Some(layer) = kept.and_then(|layer| layer.downcast().ok()) {
            return Ok(Ok(layer));
        }
        let made = make();
        if let Ok(layer) = &made {
            layers.insert(TypeId::of::<T>(), layer.clone());
        }
        Ok(made)
    }

    /// Has `close` called when the database closes, before it waits for the tasks on its workers: for a
    /// task that waits for something else, such as a client, and is to end. Dropping the returned value
    /// takes that back, unless the database closes meanwhile: `close` may be called then.
    ///
    /// `close` is called by the thread that closes the database, or drops its last handle, before other
    /// tasks are told, so it must not block. It must own no handle on the database, which would keep
    /// itself from being dropped. Its panic ends neither the closing nor the calls of the others.
    ///
    /// # Errors
    /// [`crate::Error::Closed`].
    pub fn when_closing(&self, close: impl FnOnce() + Send + 'static) -> error::Result<Closing> {
        let shared = self.shared().clone();
        let number = shared.waiting_for_clients.register(&shared, close)?;
        Ok(Closing { number, shared })
    }
}

impl Closing {
    /// Returns whether the database is closed, or is being closed.
    pub fn is_closed(&self) -> bool {
        self.shared.is_closed()
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        self.shared.waiting_for_clients.deregister(self.number);
    }
}
