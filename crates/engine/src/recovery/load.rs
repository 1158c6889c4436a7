//! Loading: every worker takes files and installs their records, interleaved.
//!
//! Installing a record suspends at cache misses like any insert, so a worker's tasks
//! overlap theirs. They are short: a worker looks only between tasks and at misses
//! whether something else is to be done, and by what is done it finds out how many
//! tasks to keep in flight. A task without end could not be taken out of flight, and
//! one that does not suspend (the worker tries that) would never let go.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc, sync::Arc};

use interleave::Interleaved;
use memory::Exhausted;

use crate::{
    cold,
    log::format::Flaw,
    recovery::{
        OpenError, Recovery,
        intake::{Batch, Found, Intake},
    },
    session::Session,
    table::Table,
};

impl Recovery {
    /// The tasks of one worker, to be drawn until `None`. When those of all workers
    /// have ended, [`Recovery::finish`]. Any number of workers may take part.
    pub fn tasks(
        self: &Arc<Self>,
        session: &Rc<Session>,
    ) -> impl FnMut() -> Option<Loading> + use<> {
        let mut intake = Intake::new(self);
        let loader = Rc::new(Loader {
            tables: RefCell::default(),
            recovery: self.clone(),
            session: session.clone(),
        });
        move || match intake.next() {
            Ok(batch) => Some(Box::pin(load(loader.clone(), batch?))),
            Err(error) => {
                loader.recovery.fail(error);
                None
            }
        }
    }
}

/// One of [`Recovery::tasks`].
pub type Loading = std::pin::Pin<Box<dyn Future<Output = ()>>>;

/// What the tasks of one worker share.
struct Loader {
    recovery: Arc<Recovery>,
    session: Rc<Session>,
    /// Those that were met, by number.
    tables: RefCell<BTreeMap<u32, Arc<Table>>>,
}

impl Loader {
    /// The table of this number, made if it was not met before.
    fn table(&self, number: u32) -> Result<Arc<Table>, Exhausted> {
        if let Some(table) = self.tables.borrow().get(&number) {
            return Ok(table.clone());
        }
        let catalog = &self.session.database.catalog;
        let table = catalog.storage_of(number, &self.session.memory)?;
        self.tables.borrow_mut().insert(number, table.clone());
        Ok(table)
    }
}

async fn load(loader: Rc<Loader>, batch: Batch) {
    let session = &*loader.session;
    for entry in &batch.entries {
        let Ok(table) = loader.table(entry.table) else {
            return loader.recovery.fail(OpenError::MemoryExhausted);
        };
        let key = &batch.bytes[entry.key.clone()];
        let at = entry.timestamp;
        let installed = match entry.found.clone() {
            Found::Value(value) => {
                let value = Some(&batch.bytes[value]);
                session.install::<Interleaved>(&table, key, value, at).await
            }
            Found::Deletion => session.install::<Interleaved>(&table, key, None, at).await,
            Found::Cold(address) => {
                if !session
                    .database
                    .cold()
                    .is_some_and(|cold| cold.has(address))
                {
                    if loader.recovery.salvage {
                        continue;
                    }
                    let name = cold::file_name(cold::file_of(address));
                    let error = OpenError::corrupt(name, 0, Flaw::Absent);
                    return loader.recovery.fail(error);
                }
                session
                    .install_cold::<Interleaved>(&table, key, address)
                    .await
            }
        };
        if installed.is_err() {
            return loader.recovery.fail(OpenError::MemoryExhausted);
        }
    }
    let useful = &session.counters.useful;
    useful.set(useful.get() + batch.entries.len() as u64);
}
