//! Small disks, filled to the brim: deletions work, a checkpoint ends, and the room of deleted data
//! can be used again.
//!
//! The story: a database had filled its disk, its only large table was dropped, and the process was
//! killed. Opened again, it refused every write for want of room, though a tenth of the disk was
//! free and one row lived. No checkpoint was due, since nothing had been logged since the opening. A
//! checkpoint on request did not end: giving back the dropped table had moved the clock, and there
//! was no room for a segment in which to log that.

use crate::durable;
use crate::rng;

use std::{
    collections::BTreeMap, io::Write as _, process::Command, rc::Rc, sync::Arc, time::Instant,
};

use durable::{Durable, LOG, open_with};
use engine::{Error, LogConfig, RecoveryConfig, Session, Table};
use io::{Backend, Directory, Faults, RealDirectory, SimulatedDisk};
use rng::Rng;

const MIB: u64 = 1 << 20;

/// Bytes of each value.
const VALUE_BYTES: usize = 3000;

/// Records of a transaction that fills a table.
const BATCH: u64 = 40;

/// Number of transactions after which the disk must have refused one.
const BATCHES_MAX: u64 = 10_000;

/// Maximum records that a test deletes in a transaction: the reserve must suffice for them at once.
const DELETED_MAX: usize = 200;

/// Seconds after which room that was given up must be room for writes.
const PATIENCE_SECONDS: u64 = 20;

type Records = BTreeMap<Vec<u8>, Vec<u8>>;

/// Disk of the database.
trait Disk {
    fn directory(&self) -> Arc<dyn Directory>;
    /// Simulates a power failure while `durable` is open.
    fn crash(&mut self, durable: Durable);
}

struct Simulated {
    disk: SimulatedDisk,
    capacity: u64,
    crashes: u64,
}

impl Simulated {
    fn new(capacity: u64, seed: u64) -> Simulated {
        let disk = SimulatedDisk::new(seed, Faults::default());
        let mut this = Simulated {
            disk,
            capacity,
            crashes: seed,
        };
        this.limit();
        this
    }

    fn limit(&mut self) {
        self.disk.set_faults(Faults {
            capacity_bytes: Some(self.capacity),
            ..Faults::default()
        });
    }
}

impl Disk for Simulated {
    fn directory(&self) -> Arc<dyn Directory> {
        self.disk.directory()
    }

    fn crash(&mut self, durable: Durable) {
        self.disk.crash();
        drop(durable);
        self.crashes += 1;
        self.disk = self.disk.after_crash(self.crashes);
        self.limit();
    }
}

/// Open database, with the content that it must have.
struct Scene<D> {
    /// Database; the first field, so that it is closed before its disk is taken away.
    durable: Option<Durable>,
    disk: D,
    log: LogConfig,
    tables: BTreeMap<String, Records>,
    next_key: u64,
}

impl<D: Disk> Scene<D> {
    fn new(disk: D, log: LogConfig) -> Scene<D> {
        let mut scene = Scene {
            durable: None,
            disk,
            log,
            tables: BTreeMap::new(),
            next_key: 0,
        };
        scene.open();
        scene
    }

    /// Opens the database, without upkeep: checkpoints are those of the test alone.
    fn open(&mut self) {
        let directory = self.disk.directory();
        let durable = open_with(directory, self.log, RecoveryConfig::default());
        let durable = durable.expect("a full disk does not keep a database from opening");
        self.durable = Some(durable);
    }

    fn crash(&mut self) {
        let durable = self.durable.take().expect("open");
        self.disk.crash(durable);
        self.open();
    }

    fn durable(&mut self) -> &mut Durable {
        self.durable.as_mut().expect("open")
    }

    fn table(&mut self, name: &str) -> Arc<Table> {
        self.durable().database.table(name).expect("created before")
    }

    /// Makes a table with one record; returns false without room.
    fn create(&mut self, name: &str) -> bool {
        match self.durable().create_table(name, b"described") {
            Ok(_) => {}
            Err(Error::StorageFull) => return false,
            Err(error) => panic!("{error}"),
        }
        self.tables.insert(name.to_owned(), Records::new());
        true
    }

    /// Inserts a batch; returns false without room.
    fn insert(&mut self, name: &str, count: u64) -> bool {
        let keys = self.next_key..self.next_key + count;
        let value = |i: u64| vec![i as u8; VALUE_BYTES];
        let records: Vec<_> = keys
            .map(|i| (format!("key {i:08}").into_bytes(), value(i)))
            .collect();
        self.next_key += count;
        let written = records.iter().cloned().map(|(k, v)| (k, Some(v)));
        let (table, written) = (self.table(name), written.collect());
        match self.durable().write(&table, written) {
            Ok(_) => {
                self.tables.get_mut(name).expect("there").extend(records);
                true
            }
            Err(Error::StorageFull) => false,
            Err(error) => panic!("{error}"),
        }
    }

    fn fill(&mut self, name: &str) {
        let mut batches = (0..BATCHES_MAX).map(|_| self.insert(name, BATCH));
        assert!(
            batches.any(|inserted| !inserted),
            "a small disk is full at some time"
        );
    }

    /// Deletes up to `count` records: there is always room for that.
    fn delete(&mut self, name: &str, count: usize) {
        let records = self.tables.get_mut(name).expect("there");
        let keys: Vec<_> = records.keys().take(count).cloned().collect();
        for keys in keys.chunks(DELETED_MAX) {
            let deleted = keys.iter().map(|key| (key.clone(), None)).collect();
            let table = self.table(name);
            let end = self.durable().write(&table, deleted);
            end.expect("deletes work on a full disk");
            let records = self.tables.get_mut(name).expect("there");
            for key in keys {
                records.remove(key);
            }
        }
    }

    fn drop_table(&mut self, name: &str) {
        let dropped = name.to_owned();
        self.durable()
            .run(async move |session: Rc<Session>| session.drop_table(&dropped).await)
            .expect("drops work on a full disk");
        self.tables.remove(name);
    }

    fn truncate(&mut self, name: &str) {
        let truncated = name.to_owned();
        self.durable()
            .run(async move |session: Rc<Session>| session.truncate_table(&truncated).await)
            .expect("TRUNCATE works on a full disk");
        self.tables.get_mut(name).expect("there").clear();
    }

    /// Takes a checkpoint; a failure does not matter, but the checkpoint must end.
    fn checkpoint(&mut self) {
        let end = self
            .durable()
            .run(async |session: Rc<Session>| session.checkpoint().await);
        match end {
            Ok(_) | Err(engine::CheckpointError::UnderWay) => {}
            Err(error) => panic!("there is a reserve for checkpoints: {error}"),
        }
    }

    fn check(&mut self) {
        for (name, records) in self.tables.clone() {
            let table = self.table(&name);
            let found = self.durable().read(&table);
            assert!(
                found.len() == records.len() && found.into_iter().eq(records),
                "{name} is not what was acknowledged"
            );
        }
    }

    /// Checks that a write finds room before long, after everything large was deleted.
    fn expect_room(&mut self, name: &str) {
        let began = Instant::now();
        while !self.insert(name, BATCH) {
            assert!(
                began.elapsed().as_secs() < PATIENCE_SECONDS,
                "what was deleted is not room yet"
            );
            // The housekeeping goes on meanwhile.
            let pause = std::time::Duration::from_millis(20);
            self.durable()
                .run(async move |_: Rc<Session>| interleave::sleep(pause).await);
        }
    }
}

fn simulated(capacity: u64, seed: u64) -> Scene<Simulated> {
    Scene::new(Simulated::new(capacity, seed), LOG)
}

/// Runs the story of the module's doc.
fn the_story(mut scene: Scene<impl Disk>) {
    assert!(scene.create("keep") && scene.insert("keep", 1));
    assert!(scene.create("large"));
    scene.fill("large");
    scene.check();
    scene.drop_table("large");
    scene.crash();
    scene.check();
    scene.expect_room("keep");
    scene.checkpoint();
    // The table takes as much as before: no room is lost for good.
    assert!(scene.create("large"));
    for _ in 0..20 {
        assert!(scene.insert("large", BATCH));
    }
    scene.crash();
    scene.check();
}

#[test]
fn tables_dropped_before_a_kill_are_room_after_opening() {
    the_story(simulated(12 * MIB, 1));
}

/// The clock may be ahead of the log when there is no room for a segment.
#[test]
fn a_checkpoint_ends_when_there_is_no_room_for_a_usual_segment() {
    let mut scene = simulated(10 * MIB, 2);
    assert!(scene.create("keep") && scene.insert("keep", 1));
    assert!(scene.create("large"));
    scene.fill("large");
    scene.drop_table("large");
    scene.crash();
    scene.checkpoint();
    scene.check();
    scene.expect_room("keep");
}

/// Fills, drops, deletes, truncates, takes checkpoints and crashes in any order.
fn any_order(mut scene: Scene<impl Disk>, seed: u64, steps: u32) {
    let mut rng = Rng(0x9e37_79b9_7f4a_7c15 ^ (seed + 1));
    assert!(scene.create("keep") && scene.insert("keep", 1));
    let names = ["a", "b", "c"];
    for _ in 0..steps {
        let name = names[rng.below(3) as usize];
        let is_there = scene.tables.contains_key(name);
        match rng.below(8) {
            0..3 if is_there => scene.fill(name),
            0..3 => drop(scene.create(name) && scene.insert(name, 1)),
            3 if is_there => scene.drop_table(name),
            4 if is_there => scene.truncate(name),
            5 if is_there => scene.delete(name, rng.below(2000) as usize),
            6 => scene.checkpoint(),
            _ => scene.crash(),
        }
        scene.check();
    }
    for name in names {
        match rng.below(3) {
            _ if !scene.tables.contains_key(name) => {}
            0 => scene.drop_table(name),
            1 => scene.truncate(name),
            _ => scene.delete(name, usize::MAX),
        }
        if rng.below(2) == 0 {
            scene.crash();
        }
    }
    scene.expect_room("keep");
    scene.check();
}

#[test]
fn a_small_disk_is_filled_and_emptied_in_any_order() {
    for seed in 0..24 {
        let _ = writeln!(std::io::stderr(), "seed {seed}");
        let capacity = (6 + seed % 5 * 3) * MIB;
        any_order(simulated(capacity, seed), seed, 14);
    }
}

/// File system of a few megabytes in memory, unmounted at the end.
struct Mounted {
    path: std::path::PathBuf,
}

impl Mounted {
    /// Mounts a file system; `None` where mounting is not permitted.
    fn new(name: &str, bytes: u64) -> Option<Mounted> {
        let name = format!("weft-full-disk-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a directory for temporary files");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={bytes}"), "tmpfs"])
            .arg(&path)
            .status();
        if mounted.is_ok_and(|status| status.success()) {
            return Some(Mounted { path });
        }
        let why = "skipped: a file system of its own cannot be mounted here";
        let _ = writeln!(std::io::stderr(), "{why}");
        let _ = std::fs::remove_dir(&path);
        None
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.path).status();
        let _ = std::fs::remove_dir(&self.path);
    }
}

impl Disk for Mounted {
    fn directory(&self) -> Arc<dyn Directory> {
        let directory = RealDirectory::open(&self.path, Backend::Auto);
        Arc::new(directory.expect("it is there"))
    }

    /// Simulates a kill: bytes that the system has taken are there afterwards.
    fn crash(&mut self, durable: Durable) {
        drop(durable);
    }
}

/// Runs any order of steps on files of the system, with segments of the usual size.
#[test]
fn a_small_file_system_is_filled_and_emptied() {
    let Some(mounted) = Mounted::new("story", 100 * MIB) else {
        return;
    };
    the_story(Scene::new(mounted, LogConfig::default()));
    let Some(mounted) = Mounted::new("order", 24 * MIB) else {
        return;
    };
    any_order(Scene::new(mounted, LogConfig::default()), 7, 14);
}
