//! SQLite through rusqlite, compiled in: a B-tree with a write-ahead log, one
//! writer at a time, a connection per client.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bench::measure::Durability;
use commands::number::bytes_text;
use commands::{Error, Result};
use rusqlite::{Connection, OpenFlags, Statement};

use crate::body::{Body, Transaction};
use crate::engine::Setup;
use crate::peer::{Client, Demand, Outcome, Peer};

/// Cache of each connection, in KiB. Most reading goes through the memory map.
const CACHE_KIBIBYTES: u32 = 64 << 10;
/// Bytes of the file that are read through a memory map: SQLite's own maximum,
/// just short of 2 GiB.
const MAP_BYTES: u64 = 0x7fff_0000;
/// Pages of the log after which a commit also copies them to the table.
const CHECKPOINT_PAGES: u32 = 10_000;
/// The option that shows that SQLite was compiled as `.cargo/config.toml` says. SQLite does not
/// list some of the others.
const COMPILED_WELL: &str = "DEFAULT_MEMSTATUS=0";
/// Longest time that a connection waits for another; only checkpoints make it wait.
const BUSY: Duration = Duration::from_secs(60);

fn failed(error: rusqlite::Error) -> Error {
    Error::run(format!("SQLite says: {error}"))
}

/// Describes the set-up of SQLite: one line for people.
pub(crate) fn description(setup: &Setup<'_>) -> String {
    let durability = match setup.durability {
        Durability::Synchronous => {
            "WAL, synchronous=FULL: the log synced by fdatasync at each commit"
        }
        Durability::Relaxed => "WAL, synchronous=NORMAL, the log synced once per window",
        Durability::None | Durability::Memory => "WAL, synchronous=OFF",
    };
    format!(
        "{durability}; a connection per thread with prepared statements, a memory \
         map of up to 2 GiB, {} of cache each, checkpoint each {CHECKPOINT_PAGES} pages; table \
         without rowid; writers queue on a lock of the program's instead of polling SQLite's",
        bytes_text(u64::from(CACHE_KIBIBYTES) << 10)
    )
}

/// The store.
pub(crate) struct Sqlite {
    path: PathBuf,
    synchronous: &'static str,
    /// Lock held by the writer. SQLite itself would have the other writers sleep and try again.
    writers: Mutex<()>,
}

impl Sqlite {
    /// Creates a store with an empty table.
    ///
    /// # Errors
    /// [`Error::Run`] when SQLite refuses.
    pub(crate) fn open(setup: &Setup<'_>) -> Result<Self> {
        let store = Self {
            path: setup.directory.join("sqlite"),
            synchronous: match setup.durability {
                Durability::Synchronous => "FULL",
                Durability::Relaxed => "NORMAL",
                Durability::None | Durability::Memory => "OFF",
            },
            writers: Mutex::new(()),
        };
        let connection = store.connect()?;
        check_compiled_well(&connection)?;
        connection
            .execute_batch(
                "PRAGMA journal_mode = WAL;
                 CREATE TABLE ycsb (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;",
            )
            .map_err(failed)?;
        Ok(store)
    }

    fn connect(&self) -> Result<Connection> {
        // Each connection stays on its thread, so it needs no lock.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags).map_err(failed)?;
        connection.busy_timeout(BUSY).map_err(failed)?;
        connection
            .execute_batch(&format!(
                "PRAGMA synchronous = {};
                 PRAGMA mmap_size = {MAP_BYTES};
                 PRAGMA cache_size = -{CACHE_KIBIBYTES};
                 PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES};",
                self.synchronous
            ))
            .map_err(failed)?;
        Ok(connection)
    }

    fn writer(&self) -> MutexGuard<'_, ()> {
        // The lock guards nothing that a panic could have left half done.
        self.writers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Checks that this SQLite was compiled as `.cargo/config.toml` says.
fn check_compiled_well(connection: &Connection) -> Result<()> {
    let mut options = connection
        .prepare("PRAGMA compile_options")
        .map_err(failed)?;
    let names = options.query_map([], |row| row.get::<_, String>(0));
    for name in names.map_err(failed)? {
        if name.map_err(failed)? == COMPILED_WELL {
            return Ok(());
        }
    }
    Err(Error::input(
        "SQLite was compiled without the options that make it fast; build this program in its \
         own directory, where cargo finds them",
    ))
}

impl Peer for Sqlite {
    type Client<'a> = Session<'a>;

    fn session<T>(&self, session: impl FnOnce(&mut Session<'_>) -> Result<T>) -> Result<T> {
        let connection = self.connect()?;
        let prepare = |sql| connection.prepare(sql).map_err(failed);
        session(&mut Session {
            store: self,
            begin: prepare("BEGIN")?,
            begin_write: prepare("BEGIN IMMEDIATE")?,
            commit: prepare("COMMIT")?,
            rollback: prepare("ROLLBACK")?,
            select: prepare("SELECT value FROM ycsb WHERE key = ?1")?,
            scan: prepare("SELECT key, value FROM ycsb WHERE key >= ?1 ORDER BY key")?,
            update: prepare("UPDATE ycsb SET value = ?2 WHERE key = ?1")?,
            upsert: prepare(
                "INSERT INTO ycsb VALUES (?1, ?2) \
                 ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            )?,
            delete: prepare("DELETE FROM ycsb WHERE key = ?1")?,
        })
    }

    fn sync(&self) -> Result<()> {
        let mut log = self.path.clone().into_os_string();
        log.push("-wal");
        // Frames carry checksums and commit marks, so a synced log is enough.
        let outcome = std::fs::File::open(log).and_then(|log| log.sync_data());
        match outcome {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::run(format!("cannot sync SQLite's log: {error}")))
            }
            // Without a connection there is no log: all of it is in the table.
            _ => Ok(()),
        }
    }

    fn compact(&self) -> Result<()> {
        let connection = self.connect()?;
        let mut truncate = connection
            .prepare("PRAGMA wal_checkpoint(TRUNCATE)")
            .map_err(failed)?;
        truncate.query_row([], |_| Ok(())).map_err(failed)
    }
}

/// A thread's session: a connection with its statements.
pub(crate) struct Session<'a> {
    store: &'a Sqlite,
    begin: Statement<'a>,
    begin_write: Statement<'a>,
    commit: Statement<'a>,
    rollback: Statement<'a>,
    select: Statement<'a>,
    scan: Statement<'a>,
    update: Statement<'a>,
    upsert: Statement<'a>,
    delete: Statement<'a>,
}

impl Session<'_> {
    fn in_transaction(&mut self, body: &mut impl Body) -> Result<Outcome> {
        let outcome = body.run(self);
        let end = if outcome.is_ok() {
            &mut self.commit
        } else {
            &mut self.rollback
        };
        let ended = end.execute([]).map_err(failed);
        outcome?;
        ended?;
        Ok(Outcome::Committed)
    }
}

impl Client for Session<'_> {
    fn transact(&mut self, demand: Demand, body: &mut impl Body) -> Result<Outcome> {
        match demand {
            // A statement on its own is a transaction already.
            Demand::ReadOne => {
                body.run(self)?;
                Ok(Outcome::Committed)
            }
            Demand::Read => {
                self.begin.execute([]).map_err(failed)?;
                self.in_transaction(body)
            }
            Demand::WriteOne => {
                let _writer = self.store.writer();
                body.run(self)?;
                Ok(Outcome::Committed)
            }
            Demand::Write | Demand::ReadWrite => {
                let _writer = self.store.writer();
                self.begin_write.execute([]).map_err(failed)?;
                self.in_transaction(body)
            }
        }
    }
}

impl Transaction for Session<'_> {
    #[inline]
    fn read(&mut self, key: &[u8], found: impl FnOnce(&[u8])) -> Result<bool> {
        let mut rows = self.select.query([key]).map_err(failed)?;
        let Some(row) = rows.next().map_err(failed)? else {
            return Ok(false);
        };
        let value = row.get_ref(0).map_err(failed)?;
        found(value.as_blob().map_err(|error| failed(error.into()))?);
        Ok(true)
    }

    fn write(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.upsert.execute([key, value]).map_err(failed)?;
        Ok(())
    }

    #[inline]
    fn update(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        let changed = self.update.execute([key, value]).map_err(failed)?;
        Ok(changed > 0)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.delete.execute([key]).map_err(failed)?;
        Ok(())
    }

    fn scan(
        &mut self,
        from: &[u8],
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut rows = self.scan.query([from]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let blob = |column| {
                let value = row.get_ref(column)?;
                Ok(value.as_blob()?)
            };
            if visit(blob(0).map_err(failed)?, blob(1).map_err(failed)?).is_break() {
                break;
            }
        }
        Ok(())
    }
}
