//! The servers that a benchmark measures: running ones, and those that it starts.

use std::{
    num::NonZero,
    path::{Path, PathBuf},
};

use commands::{Place, Result, number::parse_count};
use servers::{Launched, Server, start_postgres, start_weft};

use crate::program::Program;

/// Servers to measure. Without a running one, Weft is started.
#[derive(Debug, clap::Args)]
pub(crate) struct Targets {
    /// A running server: a name, `=`, and a connection string; given several times, several servers are compared.
    /// Tables of the benchmark's names must not exist; they are dropped at the end.
    #[arg(long, value_name = "NAME=CONNECTION")]
    server: Vec<String>,

    /// Start PostgreSQL too, equally durable: from its programs in DIR, or from the place where it is installed.
    #[arg(long, value_name = "DIR", num_args = 0..=1)]
    postgres: Option<Option<PathBuf>>,

    /// Directory for the databases of servers that are started: empty or missing, removed afterwards.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,

    /// Worker threads of the Weft that is started; one for each core if not given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: Option<u16>,

    /// Memory of the Weft that is started, as for `weft serve --memory`.
    #[arg(long, value_name = "SIZE", value_parser = parse_count)]
    memory: Option<u64>,

    #[command(flatten)]
    program: Program,
}

/// The servers, those that were started among them. These end when this is dropped.
pub(crate) struct Running {
    // The servers end before their directory is removed.
    launched: Vec<Launched>,
    _place: Option<Place>,
    pub(crate) servers: Vec<Server>,
    /// Directory of the databases; it exists if a server was started, or `is_beside` set.
    pub(crate) directory: PathBuf,
}

impl Running {
    /// Keeps a server that was started besides, to the end of the measurement.
    pub(crate) fn keep(&mut self, launched: Launched) {
        self.launched.push(launched);
    }
}

impl Targets {
    /// Starts the servers that this program has to start, Weft first; `benchmark` is in the name of their directory.
    ///
    /// # Errors
    /// Fails if one of them does not come up, or if the text of a running one has not its form.
    pub(crate) fn launch(&self, benchmark: &str) -> Result<Running> {
        self.launch_beside(benchmark, false)
    }

    /// Starts the servers as [`launch`](Self::launch) does. `is_beside` says that the benchmark starts another program,
    /// whose database will be in the directory of the servers' databases.
    ///
    /// # Errors
    /// Fails as [`launch`](Self::launch) does.
    pub(crate) fn launch_beside(&self, benchmark: &str, is_beside: bool) -> Result<Running> {
        let process = std::process::id();
        let own = || std::env::temp_dir().join(format!("weft-bench-{benchmark}-{process}"));
        let directory = self.data_dir.clone().unwrap_or_else(own);
        let is_any_started = self.server.is_empty() || self.postgres.is_some() || is_beside;
        let place = is_any_started
            .then(|| Place::make(&directory))
            .transpose()?;
        let mut launched = Vec::new();
        if self.server.is_empty() {
            launched.push(self.start(&directory.join("weft"), &[])?);
        }
        if let Some(programs) = &self.postgres {
            let directory = directory.join("postgres");
            launched.push(start_postgres(programs.as_deref(), &directory)?);
        }
        let mut servers: Vec<Server> = launched.iter().map(Launched::server).collect();
        for text in &self.server {
            servers.push(Server::given(text)?);
        }
        Ok(Running {
            launched,
            _place: place,
            servers,
            directory,
        })
    }

    /// Starts a Weft with further arguments of `weft serve`, in a directory that is removed afterwards.
    ///
    /// # Errors
    /// Fails if it does not come up.
    pub(crate) fn start(&self, directory: &Path, arguments: &[String]) -> Result<Launched> {
        let mut serve = self.program.serve(self.workers)?;
        if let Some(memory) = self.memory {
            serve.args(["--memory", &memory.to_string()]);
        }
        serve.args(arguments);
        start_weft(serve, directory)
    }

    /// Returns the number of worker threads that a Weft that is started has.
    pub(crate) fn workers(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
        self.workers.map_or_else(cores, usize::from)
    }
}
