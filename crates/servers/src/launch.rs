//! Servers that a benchmark starts for itself: durable, on a free port, in a directory of their own. A server ends when
//! its [`Launched`] is dropped.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    net::TcpListener,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use postgres::NoTls;
use tokio_postgres::Config;

use crate::Server;
use bench::machine::memory_available_bytes;
use commands::Place;
use commands::{Error, Result};

/// Longest time that a server may take to be ready.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// A running server and its directory; the server ends when this is dropped.
#[derive(Debug)]
pub struct Launched {
    child: Child,
    server: Server,
    _place: Place,
}

impl Launched {
    /// Returns the server, to be connected to.
    pub fn server(&self) -> Server {
        self.server.clone()
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        // PostgreSQL's children outlive a killed parent for a while, and its shared memory does for good; a parent that
        // is told to end takes both with it.
        // SAFETY: a signal to our child, which has not been waited for, so its number is its.
        let told = unsafe { libc::kill(self.child.id() as i32, libc::SIGINT) };
        let until = Instant::now() + READY_WITHIN;
        while told == 0 && Instant::now() < until {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        // The child may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts Weft in `directory`, which is removed afterwards: `serve` is this program's command
/// of that name, without arguments.
///
/// # Errors
/// [`Error::Run`] when it does not come up.
pub fn start_weft(serve: Command, directory: &Path) -> Result<Launched> {
    let place = Place::make(directory)?;
    let (child, server) = spawn_weft(serve, directory)?;
    Ok(Launched {
        child,
        server,
        _place: place,
    })
}

/// Starts Weft on the database in `directory`, which stays. The process runs until the caller kills it.
///
/// # Errors
/// [`Error::Run`] when it does not come up.
pub fn spawn_weft(mut serve: Command, directory: &Path) -> Result<(Child, Server)> {
    serve.arg("--data-dir").arg(directory);
    serve.args(["--listen", "127.0.0.1:0"]);
    let child = serve.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| Error::run(format!("cannot start Weft: {error}")))?;
    let mut line = String::new();
    if let Some(output) = child.stdout.take() {
        // An empty line has no port, which is reported below.
        let _ = BufReader::new(output).read_line(&mut line);
    }
    let port = line.trim().rsplit(':').next();
    let Some(port) = port.and_then(|port| port.parse().ok()) else {
        let _ = child.kill();
        let _ = child.wait();
        return Err(Error::run(
            "Weft was started and does not say where it listens",
        ));
    };
    let server = Server::started("weft", config(port, "weft"), child.id());
    Ok((child, server))
}

/// Starts PostgreSQL from the programs in `programs` in `directory`, which is removed afterwards. PostgreSQL refuses to
/// run as root; started by root, it runs as the user `postgres`.
///
/// # Errors
/// [`Error::Run`] when it does not come up.
pub fn start_postgres(programs: Option<&Path>, directory: &Path) -> Result<Launched> {
    let programs = match programs {
        Some(programs) => programs.to_owned(),
        None => installed()?,
    };
    let place = Place::make(directory)?;
    let data = directory.join("data");
    let account = account()?;
    if let Some((user, group)) = account {
        std::os::unix::fs::chown(directory, Some(user), Some(group)).map_err(|error| {
            Error::run(format!("cannot give PostgreSQL its directory: {error}"))
        })?;
    }
    let program = |name: &str| {
        let mut command = Command::new(programs.join(name));
        command.stdin(Stdio::null()).current_dir(directory);
        if let Some((user, group)) = account {
            command.uid(user).gid(group);
        }
        command
    };
    let mut initialise = program("initdb");
    initialise.args([
        "-U",
        "postgres",
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--locale=C",
        "-D",
    ]);
    let made = initialise.arg(&data).output();
    let made = made.map_err(|error| {
        Error::run(format!(
            "cannot start {}: {error}; say where PostgreSQL's programs are with --postgres DIR",
            programs.join("initdb").display()
        ))
    })?;
    if !made.status.success() {
        let why = String::from_utf8_lossy(&made.stderr);
        return Err(Error::run(format!("initdb failed: {}", why.trim())));
    }
    let port = free_port()?;
    let mut server = program("postgres");
    server.arg("-D").arg(&data);
    for setting in settings(port) {
        server.args(["-c", &setting]);
    }
    let child = server.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let child = child.map_err(|error| Error::run(format!("cannot start PostgreSQL: {error}")))?;
    let config = config(port, "postgres");
    let mut launched = Launched {
        server: Server::started("postgres", config.clone(), child.id()),
        child,
        _place: place,
    };
    let until = Instant::now() + READY_WITHIN;
    let config = postgres::Config::from(config);
    while let Err(error) = config.connect(NoTls) {
        let has_ended = !matches!(launched.child.try_wait(), Ok(None));
        if has_ended || Instant::now() > until {
            return Err(Error::run(format!("PostgreSQL does not come up: {error}")));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(launched)
}

/// Returns settings as durable as Weft's, with a quarter of the memory, as PostgreSQL's manual advises; the size of the
/// log causes no checkpoint in the middle of a run.
fn settings(port: u16) -> Vec<String> {
    let quarter = memory_available_bytes().unwrap_or(1 << 30) / 4;
    vec![
        format!("port={port}"),
        "listen_addresses=127.0.0.1".to_owned(),
        "unix_socket_directories=".to_owned(),
        "fsync=on".to_owned(),
        "synchronous_commit=on".to_owned(),
        "full_page_writes=on".to_owned(),
        format!("shared_buffers={}MB", (quarter >> 20).clamp(128, 8192)),
        "max_wal_size=8GB".to_owned(),
        "max_connections=300".to_owned(),
        // For temporary sorts and hashes, which Weft does not bound.
        "work_mem=64MB".to_owned(),
    ]
}

fn config(port: u16, name: &str) -> Config {
    let mut config = Config::new();
    config.host("127.0.0.1").port(port).user(name).dbname(name);
    config
}

/// Returns the newest of the directories in which distributions put the programs.
fn installed() -> Result<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let mut found: Vec<(u32, PathBuf)> = versions
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let version = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .filter(|(_, programs)| programs.join("initdb").exists())
        .collect();
    found.sort();
    found.pop().map(|(_, programs)| programs).ok_or_else(|| {
        Error::input("PostgreSQL is not found; say where its programs are with --postgres DIR")
    })
}

/// Returns the user and group to run PostgreSQL as, if this process runs as root.
fn account() -> Result<Option<(u32, u32)>> {
    // SAFETY: the call has no arguments and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return Ok(None);
    }
    let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let account = accounts.lines().find_map(|line| {
        let columns: Vec<&str> = line.split(':').collect();
        let is_it = columns.first() == Some(&"postgres");
        is_it.then(|| Some((columns.get(2)?.parse().ok()?, columns.get(3)?.parse().ok()?)))?
    });
    account.map(Some).ok_or_else(|| {
        Error::run("PostgreSQL does not run as root, and there is no user `postgres`")
    })
}

/// Returns a port that is free now. If another process takes the port first, the server fails to start and says so.
fn free_port() -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0");
    let address = listener.and_then(|listener| listener.local_addr());
    let address = address.map_err(|error| Error::run(format!("there is no free port: {error}")))?;
    Ok(address.port())
}
