//! Installing: the state of a record at some time, unless a newer state is known.
//!
//! Any number of workers install records at once, in any order. A new key's RID holds its version
//! before the index names it, frozen until then, and of two workers with the same new key the index
//! accepts one. A known record's version is replaced by compare-and-exchange, only by a newer one;
//! the installation begins again if the version was not the one that was compared. Versions
//! therefore only become newer. The address of a cold record that the checkpoint refers to gives
//! way to any version (`checkpoint.rs`). A record that has left memory meanwhile, for want of room,
//! has to be read from the device to learn its age. Its slot keeps the address until it is
//! replaced: there are no readers yet, and no record comes back. Nothing is removed meanwhile: the
//! horizon stands still, and nothing is durable, until [`crate::Recovery::finish`].

use index::Inserted;
use interleave::{Point, Policy, leaf};
use io::Priority;

use crate::{
    cold::ColdAddress,
    error::Error,
    indirection::{Head, Rid},
    session::Session,
    table::Table,
    timestamp::{Begin, Timestamp},
    version::{HEADER_BYTES, Version},
};

/// State of a record at some time.
#[derive(Clone, Copy)]
pub(super) struct State<'r> {
    pub(super) key: &'r [u8],
    /// Value of the record; `None` if there was no record.
    pub(super) value: Option<&'r [u8]>,
    pub(super) timestamp: Timestamp,
}

/// Result of an attempt to install a record.
enum Installed {
    /// The record is installed, or a newer state of it is.
    Done,
    /// The slot has a cold record, whose age has to be read from the device.
    Unknown(ColdAddress),
}

impl Session {
    /// Installs the state of a record, unless a newer state is known.
    ///
    /// # Errors
    /// [`Error::MemoryExhausted`], and nothing has changed; [`Error::ColdRecord`].
    ///
    /// # Suspension
    /// Memory waits, and device waits if records have left memory meanwhile.
    pub(super) async fn install<P: Policy>(
        &self,
        table: &Table,
        state: State<'_>,
    ) -> Result<(), Error> {
        let mut older = None;
        loop {
            let address = match leaf!(P, self.install_body(table, state, older))? {
                Installed::Done => return Ok(()),
                Installed::Unknown(address) => address,
            };
            let tier = self.database.cold().ok_or(Error::MemoryExhausted)?;
            let there = self.fetch(tier, address, Priority::Interactive).await?;
            if there.begin >= state.timestamp {
                return Ok(());
            }
            older = Some(address);
        }
    }

    async fn install_body<P: Policy>(
        &self,
        table: &Table,
        state: State<'_>,
        older: Option<ColdAddress>,
    ) -> Result<Installed, Error> {
        let State {
            key,
            value,
            timestamp,
        } = state;
        let pin = self.memory.pin();
        let version = Version::restore(&self.memory, timestamp, value)?;
        let rid = match self.rids.borrow_mut().take(table, &self.memory) {
            Ok(rid) => rid,
            Err(exhausted) => {
                // SAFETY: never published.
                unsafe { version.free(&self.memory, version.block_bytes()) };
                return Err(exhausted.into());
            }
        };
        let slot = table.records.slot(rid);
        // Frozen: a session that empties regions of memory goes by the slots, and would move the
        // version.
        slot.publish_first_frozen(version);
        let inserted = table
            .index
            .insert::<P>(&self.memory, &pin, key, rid.0)
            .await;
        let rid = match inserted {
            Ok(Inserted::New) => {
                slot.unfreeze(version);
                rid
            }
            Ok(Inserted::Present(present)) => {
                slot.clear();
                self.rids.borrow_mut().put_back(table.number(), rid);
                let rid = Rid(present);
                let slot = table.records.slot(rid);
                P::touch(Point::new("engine: slot"), slot, size_of_val(slot)).await;
                loop {
                    let head = match slot.head() {
                        Head::Version(head) => head,
                        Head::Cold(address)
                            if older != Some(address) && self.has_left_memory(address) =>
                        {
                            // SAFETY: never published under this RID, and not reachable under the
                            // other one.
                            unsafe { version.free(&self.memory, version.block_bytes()) };
                            return Ok(Installed::Unknown(address));
                        }
                        Head::Cold(address) if slot.thaw(address, version) => break,
                        Head::Cold(_) => continue,
                        // Nothing is removed while records are being installed.
                        Head::Unused | Head::Dead => {
                            unreachable!("a record is removed during recovery")
                        }
                    };
                    P::touch(Point::new("engine: version"), head.address(), HEADER_BYTES).await;
                    if slot.head() != Head::Version(head) {
                        continue;
                    }
                    if matches!(head.begin(), Begin::Committed(known) if known >= timestamp) {
                        // SAFETY: not published any more, and never found by another worker.
                        unsafe { version.free(&self.memory, version.block_bytes()) };
                        return Ok(Installed::Done);
                    }
                    if slot.replace(head, version) {
                        // SAFETY: unlinked just now.
                        unsafe { head.retire(&self.memory) };
                        break;
                    }
                }
                rid
            }
            Err(_) => {
                slot.clear();
                self.rids.borrow_mut().put_back(table.number(), rid);
                // SAFETY: no index names the RID; no other worker has seen the version.
                unsafe { version.free(&self.memory, version.block_bytes()) };
                return Err(Error::MemoryExhausted);
            }
        };
        table.note_version_bytes(version.block_bytes());
        if value.is_none() {
            // The tombstone is collected once the horizon gets there, like any deletion.
            self.garbage
                .borrow_mut()
                .deleted(timestamp, table.number(), rid, version, key);
        }
        Ok(Installed::Done)
    }

    /// Whether the record at `address` has left memory since the database was opened.
    fn has_left_memory(&self, address: ColdAddress) -> bool {
        self.database
            .cold()
            .is_some_and(|tier| tier.is_recent(address))
    }

    /// Installs the address of a cold record, unless a version of it is known.
    ///
    /// # Suspension
    /// Memory waits.
    pub(super) async fn install_cold<P: Policy>(
        &self,
        table: &Table,
        key: &[u8],
        address: ColdAddress,
    ) -> Result<(), Error> {
        leaf!(P, self.install_cold_body(table, key, address))
    }

    async fn install_cold_body<P: Policy>(
        &self,
        table: &Table,
        key: &[u8],
        address: ColdAddress,
    ) -> Result<(), Error> {
        let pin = self.memory.pin();
        let rid = self.rids.borrow_mut().take(table, &self.memory)?;
        let slot = table.records.slot(rid);
        slot.chill(address);
        let inserted = table.index.insert::<P>(&self.memory, &pin, key, rid.0);
        let inserted = inserted.await;
        if !matches!(inserted, Ok(Inserted::New)) {
            slot.clear();
            self.rids.borrow_mut().put_back(table.number(), rid);
        }
        inserted.map(drop).map_err(|_| Error::MemoryExhausted)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::{
        rc::Rc,
        sync::{
            Arc,
            atomic::{AtomicU32, Ordering},
        },
    };

    use interleave::{Clock, InFlight, Interleaved, Worker, WorkerConfig};
    use io::{Faults, SimulatedDisk};

    use super::*;
    use crate::{
        DatabaseConfig, LogConfig, Recovery, RecoveryConfig, database::Database, indirection::Slot,
    };

    fn value(timestamp: u64) -> Vec<u8> {
        timestamp.to_le_bytes().to_vec()
    }

    async fn install(session: &Session, table: &Table, timestamp: u64) {
        let state = State {
            key: b"key",
            value: Some(&value(timestamp)),
            timestamp: Timestamp(timestamp),
        };
        let installed = session.install::<Interleaved>(table, state).await;
        assert_eq!(installed, Ok(()));
    }

    /// Returns the timestamp and value that are known of a record.
    async fn state(session: &Session, slot: &Slot) -> Option<(Timestamp, Vec<u8>)> {
        match slot.head() {
            Head::Version(version) => match version.begin() {
                Begin::Committed(begin) => Some((begin, version.payload()?.to_vec())),
                begin => panic!("{begin:?}"),
            },
            Head::Cold(address) => {
                let tier = session.database.cold().unwrap();
                let there = session.fetch(tier, address, Priority::Interactive).await;
                let there = there.unwrap();
                Some((there.begin, there.stored().to_vec()))
            }
            Head::Unused | Head::Dead => None,
        }
    }

    /// Demotes the record.
    async fn demote(session: &Rc<Session>) {
        // The first round only clears the mark of a request.
        let mut gone = 0;
        for _ in 0..2 {
            gone += session.demote(u64::MAX).await.unwrap().unwrap().records;
        }
        assert_eq!(gone, 1);
    }

    fn open() -> (Arc<Recovery>, Worker<Session>) {
        let disk = SimulatedDisk::new(1, Faults::default());
        let config = DatabaseConfig {
            cold_tier: Some(crate::ColdConfig::default()),
            ..DatabaseConfig::with_memory(64 << 20)
        };
        let recovery: Arc<Recovery> = Database::open(
            config,
            LogConfig::default(),
            RecoveryConfig::default(),
            disk.directory(),
        )
        .unwrap();
        let session = Session::new(recovery.database()).unwrap();
        let config = WorkerConfig {
            in_flight: InFlight::Fixed(9),
            ..WorkerConfig::default()
        };
        (recovery, Worker::new(config, session, Clock::real()))
    }

    /// A record that is being installed has a slot before its key is looked for in the index. A
    /// session that emptied the region of its version once moved the version, as it was committed,
    /// and the version was installed nevertheless, in memory that was about to be free.
    #[test]
    fn a_version_that_is_being_installed_stays_where_it_is() {
        const RECORDS: u64 = 4000;
        let (_recovery, mut worker) = open();
        // In every second turn only some records are replaced, by larger ones: the old versions
        // leave holes.
        let payload = |i: u64, turn: u64| {
            let words = if turn.is_multiple_of(2) { 150 } else { 100 };
            (i ^ turn).to_le_bytes().repeat(words)
        };
        let mut turns = 0;
        // Until a version was moved: the time at which memory is free again varies.
        let moved = |worker: &Worker<Session>| {
            worker.local().tend();
            worker.local().database.stats().moved
        };
        while turns < 3 || turns % 2 == 0 || moved(&worker) == 0 {
            turns += 1;
            assert!(turns < 100, "nothing is moved");
            let turn: u64 = turns;
            let is_in_turn = move |i: &u64| !turn.is_multiple_of(2) || i / 8 % 4 < 3;
            let left = Arc::new(AtomicU32::new(8));
            let loading = (0..8).map(|part| {
                let left = left.clone();
                worker.handle().submit(move |session: &Rc<Session>| {
                    let session = session.clone();
                    async move {
                        let catalog = &session.database.catalog;
                        let table = catalog.storage_of(1000, &session.memory).unwrap();
                        for i in (part..RECORDS).step_by(8).filter(is_in_turn) {
                            let state = State {
                                key: &i.to_be_bytes(),
                                value: Some(&payload(i, turn)),
                                timestamp: Timestamp(turn),
                            };
                            let installed = session.install::<Interleaved>(&table, state).await;
                            assert_eq!(installed, Ok(()));
                            if i % 256 == part {
                                session.demote(128).await.unwrap();
                            }
                        }
                        left.fetch_sub(1, Ordering::Relaxed);
                    }
                })
            });
            let loading = loading.collect::<Vec<_>>();
            // Runs between any two suspensions of the other tasks.
            let emptying = worker.handle().submit(move |session: &Rc<Session>| {
                let session = session.clone();
                async move {
                    while left.load(Ordering::Relaxed) > 0 {
                        session.gather_room(usize::MAX).await.unwrap();
                        interleave::yield_now().await;
                    }
                }
            });
            for task in loading.into_iter().chain([emptying]) {
                worker.run_until(task).unwrap();
            }
        }
        let task = worker.handle().submit(|session: &Rc<Session>| {
            let session = session.clone();
            async move {
                session.tend();
                let stats = session.database.stats();
                let (moved, demoted) = (stats.moved, stats.demoted);
                assert!(
                    moved > 0 && demoted > RECORDS,
                    "{moved} moved, {demoted} demoted"
                );
                let table = session.database.table_by_number(1000).unwrap();
                let mut states = Vec::new();
                for i in 0..table.records.taken() {
                    states.extend(state(&session, table.records.slot(Rid(i))).await);
                }
                states
            }
        });
        let mut states = worker.run_until(task).unwrap();
        states.sort();
        let newest = |i| (Timestamp(turns), payload(i, turns));
        let mut expected: Vec<_> = (0..RECORDS).map(newest).collect();
        expected.sort();
        assert!(states == expected);
    }

    /// Records that left memory while records were loaded are replaced by newer states, and only by
    /// those, in any order.
    #[test]
    fn a_record_that_left_memory_meanwhile_gives_way_to_a_newer_one() {
        let (_recovery, mut worker) = open();
        let task = worker.handle().submit(|session: &Rc<Session>| {
            let session = session.clone();
            async move {
                let catalog = &session.database.catalog;
                let table = catalog.storage_of(1000, &session.memory).unwrap();
                for (first, then, expected) in [(50, 30, 50), (60, 60, 60), (70, 90, 90)] {
                    install(&session, &table, first).await;
                    demote(&session).await;
                    install(&session, &table, then).await;
                    let slot = table.records.slot(Rid(0));
                    let expected = (Timestamp(expected), value(expected));
                    assert_eq!(state(&session, slot).await, Some(expected));
                }
            }
        });
        worker.run_until(task).unwrap();
    }
}
