//! Loading: every worker takes files and installs their records, interleaved.
//!
//! Installing a record suspends at cache misses like any insert, so a worker's tasks overlap their
//! misses. The tasks are short: a worker looks for other work only between tasks and at misses, and
//! it finds out how many tasks to keep in flight from the tasks that are done. A task without end
//! could not be taken out of flight, and a task that does not suspend (the worker tries that) would
//! never let go.
//!
//! The records to load may exceed memory: the log has the records that left memory since the
//! checkpoint. Each task therefore makes room first if there is little, as the upkeep does later.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc, sync::Arc};

use interleave::Interleaved;
use io::Priority;
use memory::Exhausted;

use crate::{
    cold::{self, ColdAddress, Patience, RoomOwner},
    error::Error,
    log::format::Flaw,
    recovery::{
        OpenError, Recovery,
        install::State,
        intake::{Batch, Entry, Found, Intake},
    },
    session::Session,
    table::Table,
};

impl Recovery {
    /// Returns the tasks of one worker, to be drawn until `None`. When the tasks of all workers
    /// have ended, the caller calls [`Recovery::finish`]. Any number of workers may take part.
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

/// Task of [`Recovery::tasks`].
pub type Loading = std::pin::Pin<Box<dyn Future<Output = ()>>>;

/// State that the tasks of one worker share.
struct Loader {
    recovery: Arc<Recovery>,
    session: Rc<Session>,
    /// Tables that were met, by number.
    tables: RefCell<BTreeMap<u32, Arc<Table>>>,
}

impl Loader {
    /// Returns the table of this number, and makes it if it was not met before.
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

impl Loader {
    /// Installs the content that was found for a record, if there is room.
    async fn install(&self, table: &Table, batch: &Batch, entry: &Entry) -> Result<(), Error> {
        let session = &self.session;
        let key = &batch.bytes[entry.key.clone()];
        let value = match &entry.found {
            Found::Value(value) => Some(&batch.bytes[value.clone()]),
            Found::Deletion => None,
            &Found::Cold(address) => {
                return session
                    .install_cold::<Interleaved>(table, key, address)
                    .await;
            }
        };
        let state = State {
            key,
            value,
            timestamp: entry.timestamp,
        };
        session.install::<Interleaved>(table, state).await
    }

    /// Whether there is a cold file with `address`.
    fn has(&self, address: ColdAddress) -> bool {
        let tier = self.session.database.cold();
        tier.is_some_and(|tier| tier.has(address))
    }

    /// Whether the record at `address` is there, and whole: a later reader of it could not give it
    /// up.
    async fn can_read(&self, address: ColdAddress) -> bool {
        match self.session.database.cold() {
            Some(tier) => {
                let there = self.session.fetch(tier, address, Priority::Batch).await;
                there.is_ok()
            }
            None => false,
        }
    }
}

async fn load(loader: Rc<Loader>, batch: Batch) {
    let session = &loader.session;
    session.keep_room_to_load().await;
    let owner = RoomOwner::default();
    for entry in &batch.entries {
        let Ok(table) = loader.table(entry.table) else {
            return loader.recovery.fail(OpenError::MemoryExhausted);
        };
        if let &Found::Cold(address) = &entry.found {
            if loader.recovery.salvage {
                if !loader.can_read(address).await {
                    continue;
                }
            } else if !loader.has(address) {
                let name = cold::file_name(cold::file_of(address));
                return loader
                    .recovery
                    .fail(OpenError::corrupt(name, 0, Flaw::Absent));
            }
        }
        let mut patience = Patience::default();
        while let Err(error) = loader.install(&table, &batch, entry).await {
            if !matches!(error, Error::MemoryExhausted) {
                return loader.recovery.fail(OpenError::from(error));
            }
            let room = session.make_room_to_load(&owner, &mut patience);
            if room.await.is_err() {
                return loader.recovery.fail(OpenError::MemoryExhausted);
            }
        }
    }
    let useful = &session.counters.useful;
    useful.set(useful.get() + batch.entries.len() as u64);
}
