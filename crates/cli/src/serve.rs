//! `weft serve`: a database for PostgreSQL's clients.

mod password;
mod sample;

use std::{
    net::{SocketAddr, TcpListener},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use commands::{number::parse_count, progress::Progress};
use pgserver::{Config, Sockets, Sql, USER};
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
    iterator::Signals,
};
use weft::{Database, Options, StorageOptions};

use crate::directory::Showing;

const EXAMPLES: &str = "\
Examples:
  weft serve --sample
  psql -h 127.0.0.1 -U weft weft
  weft serve --data-dir /var/lib/weft --listen 127.0.0.1:5433
  psql -h 127.0.0.1 -p 5433 -U weft weft
  weft serve --listen 0.0.0.0:5432 --password-file /run/secrets/weft

What statements there are, and which are missing: see docs/design/sql.md. A statement that is not
supported says so by name (SQLSTATE 0A000).";

/// Serves a database to PostgreSQL's clients until it is told to end (Ctrl-C, SIGTERM).
///
/// The database is durable: an acknowledged commit survives a crash. The database is made if it is missing. Its name
/// and that of its user are `weft`. Clients on this machine need no password until one is set; clients on other
/// machines always need one, and the server listens on addresses that they can reach only once one is set.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Directory of the database.
    #[arg(long, value_name = "DIR", default_value = "weft-data")]
    data_dir: PathBuf,
    /// Keeps everything in memory; the data is lost when the server ends.
    #[arg(long, conflicts_with = "data_dir")]
    in_memory: bool,
    /// Makes a sample database to try statements on: a shop of 10,000 customers and 50,000 orders, in the schema
    /// `shop`. If a schema of that name exists, nothing is changed.
    #[arg(long)]
    sample: bool,
    /// Address to listen on; repeat the option for several. Port 0 is any port that is free.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:5432")]
    listen: Vec<SocketAddr>,
    /// Sets the password of the user `weft`: the first line of this file. The password is kept in the database, so one
    /// use of the option is enough; ALTER ROLE sets it too.
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// Memory for records and statements together, in bytes, with suffixes as in 512MiB; four fifths of the memory that
    /// the machine or the control group allows if not given. At this limit statements end with "out of memory" (53200).
    /// Messages to and from connections take memory on top of it, and so does the program itself.
    #[arg(long, value_name = "SIZE", value_parser = parse_count)]
    memory: Option<u64>,
    /// Memory, of that of --memory, for blocks of columns, by which tables are scanned: scans read others from the
    /// device. If not given, as much as there is ample room for, and a quarter at least.
    #[arg(long, value_name = "SIZE", value_parser = parse_count)]
    block_memory: Option<u64>,
    /// Worker threads, each with its share of the connections; one for each core if not given.
    #[arg(long, value_name = "NUMBER")]
    workers: Option<usize>,
    /// Level of the messages on standard error: off, error, warn, info, debug or trace. At debug a message names each
    /// task that has held its worker for more than 200 microseconds, and for how long. The worker waits until a message
    /// is written: have standard error read.
    #[arg(long, value_name = "LEVEL", default_value = "warn")]
    log_level: log::LevelFilter,
}

/// Longest time that statements may take to end when the server does.
const GRACE: Duration = Duration::from_secs(10);

/// Default port of psql.
const POSTGRESQL_PORT: u16 = 5432;

impl Arguments {
    pub(crate) fn run(self) -> commands::Result<()> {
        let failed = |error: &dyn std::fmt::Display| commands::Error::run(error.to_string());
        env_logger::Builder::new()
            // The parser's library logs each expression, which would reveal the clients' statements.
            .filter_module("weft", self.log_level)
            .init();
        let password = self.password_file.as_deref().map(password::read);
        let password = password.transpose()?;
        let memory = self.memory.map(memory_bytes).transpose()?;
        let listeners = self.listeners()?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let workers = self.workers.unwrap_or(cores).max(1);
        let sockets = Sockets::new(workers).map_err(|error| failed(&error))?;
        let options = Options {
            data_dir: (!self.in_memory).then(|| self.data_dir.clone()),
            // A worker sleeps until a client, the device or a timer wakes it.
            idle_spin_us: 0,
            memory_bytes_max: memory,
            storage: StorageOptions {
                // More than the address space has is no bound.
                block_memory_bytes: self.block_memory.and_then(|bytes| bytes.try_into().ok()),
                ..StorageOptions::default()
            },
            ..Options::default()
        };
        let mut showing = Showing::new("loading");
        let workers = Database::open_beside(options, sockets.outsides(), |progress| {
            showing.show(progress.bytes_done, progress.bytes_total);
        });
        drop(showing);
        let workers = workers.map_err(|error| failed(&error))?;
        let sql = Sql::open(&workers).map_err(|error| failed(&error))?;
        if let Some(password) = password {
            password::set(&sql, &password)?;
        }
        if self.sample {
            sample::make(&sql)?;
        }
        self.check_reach(&sql)?;
        // Until here a signal ends the process at once, which is no different from a crash.
        let insists = Arc::new(AtomicBool::new(false));
        let mut signals = signals(&insists).map_err(|error| failed(&error))?;
        let server = sql.serve(&sockets, listeners, Config::default());
        let server = server.map_err(|error| failed(&error))?;
        commands::write_results(&self.greeting(server.addresses()))?;
        signals.forever().next();
        insists.store(true, Ordering::Relaxed);
        Progress::stderr().note(&format!(
            "ending: statements that run have {} seconds; the next Ctrl-C ends them at once",
            GRACE.as_secs()
        ));
        server.stop(GRACE).map_err(|error| failed(&error))?;
        workers.close();
        Ok(())
    }

    /// Returns the text that names the addresses, the database and a first command.
    fn greeting(&self, addresses: &[SocketAddr]) -> String {
        let mut text = String::new();
        for address in addresses {
            text += &format!("listening on {address}\n");
        }
        let kept = self.data_dir.display();
        text += &match self.in_memory {
            true => "everything is in memory, and gone when the server ends (Ctrl-C)\n".to_owned(),
            false => format!("the data is in {kept}; Ctrl-C ends the server\n"),
        };
        let local = addresses.iter().find(|address| address.ip().is_loopback());
        if let Some(address) = local.or(addresses.first()) {
            let port = match address.port() {
                POSTGRESQL_PORT => String::new(),
                port => format!(" -p {port}"),
            };
            let host = address.ip();
            text += &format!("connect with: psql -h {host}{port} -U {USER} {USER}\n");
        }
        if self.sample {
            text += &format!("and try:\n\n{}", sample::QUERIES);
        }
        text
    }

    /// Refuses addresses beyond this machine while no password is set: clients there could not connect.
    fn check_reach(&self, sql: &Sql) -> commands::Result<()> {
        let beyond = self
            .listen
            .iter()
            .find(|address| !address.ip().is_loopback());
        match beyond {
            Some(address) if !sql.has_password() => Err(commands::Error::input(format!(
                "{address} can be reached from elsewhere, and no user has a password yet; set one \
                 with --password-file FILE, or with ALTER ROLE weft PASSWORD while listening on \
                 127.0.0.1"
            ))),
            _ => Ok(()),
        }
    }

    fn listeners(&self) -> commands::Result<Vec<TcpListener>> {
        let listen = self.listen.iter().map(|address| {
            TcpListener::bind(address).map_err(|error| {
                commands::Error::run(format!(
                    "cannot listen on {address}: {error}; choose another --listen ADDR:PORT"
                ))
            })
        });
        listen.collect()
    }
}

/// Least memory that a server is useful with, per database.
const MEMORY_BYTES_MIN: usize = 16 << 20;

/// Returns the limit on memory as `usize`, if the process may use as much.
fn memory_bytes(bytes: u64) -> commands::Result<usize> {
    let usable = Options::memory_bytes_usable();
    let range = MEMORY_BYTES_MIN..=usable;
    match usize::try_from(bytes) {
        Ok(bytes) if range.contains(&bytes) => Ok(bytes),
        _ => Err(commands::Error::input(format!(
            "--memory {bytes} is out of range; give {}MiB to {}MiB, the memory that this process may \
             use",
            MEMORY_BYTES_MIN >> 20,
            usable >> 20
        ))),
    }
}

/// Registers the signals that end the server; once `insists` is set another signal ends the process.
fn signals(insists: &Arc<AtomicBool>) -> std::io::Result<Signals> {
    for signal in [SIGINT, SIGTERM] {
        // The exit code is that which a shell reports for a process that the signal has ended.
        flag::register_conditional_shutdown(signal, 128 + signal, insists.clone())?;
    }
    Signals::new([SIGINT, SIGTERM])
}
