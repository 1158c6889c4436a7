//! A server that is measured.

use std::time::Duration;

use postgres::config::Host;
use postgres::{Client, NoTls};
use tokio_postgres::Config;

use crate::{cpu, failed, level};
use bench::measure::Isolation;
use commands::{Error, Result};

/// Where a server is, what it is called, and whose processor time is its.
#[derive(Clone, Debug)]
pub struct Server {
    name: String,
    config: Config,
    /// Its first process, if that is on this machine.
    process: Option<u32>,
}

impl Server {
    /// One that runs: `name=connection string`, as libpq understands those.
    ///
    /// # Errors
    /// [`Error::Input`] when the text is none.
    pub fn given(text: &str) -> Result<Server> {
        let wrong = |why: &dyn std::fmt::Display| {
            Error::input(format!(
                "`{text}` is no server: {why}; give name=connection string, as in \
                 \"pg=host=127.0.0.1 port=5432 user=postgres\""
            ))
        };
        let (name, connection) = text
            .split_once('=')
            .ok_or_else(|| wrong(&"it has no name"))?;
        let config: Config = connection
            .parse()
            .map_err(|error: postgres::Error| wrong(&error))?;
        let port = config.get_ports().first().copied().unwrap_or(5432);
        let is_here = config.get_hosts().iter().any(|host| match host {
            Host::Tcp(host) => host == "localhost" || host == "127.0.0.1" || host == "::1",
            Host::Unix(_) => true,
        });
        Ok(Server {
            name: name.trim().to_owned(),
            config,
            process: is_here.then(|| cpu::listening_on(port)).flatten(),
        })
    }

    /// One that we have started.
    pub(crate) fn started(name: &str, config: Config, process: u32) -> Server {
        Server {
            name: name.to_owned(),
            config,
            process: Some(process),
        }
    }

    /// What it is called in results.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns how it is reached.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Connects to it, for transactions of a level.
    ///
    /// # Errors
    /// [`Error::Run`] when it cannot be reached.
    pub fn connect_at(&self, isolation: Isolation) -> Result<Client> {
        let mut connection = self.connect()?;
        let set = connection.batch_execute(&level(isolation));
        set.map_err(failed)?;
        Ok(connection)
    }

    /// A connection to it.
    ///
    /// # Errors
    /// [`Error::Run`] when it cannot be reached.
    pub fn connect(&self) -> Result<Client> {
        let config = postgres::Config::from(self.config.clone());
        config
            .connect(NoTls)
            .map_err(|error| Error::run(format!("cannot connect to {}: {error}", self.name)))
    }

    /// Returns the processor time that it has taken so far; none where its processes cannot be looked
    /// at.
    pub fn cpu_taken(&self) -> Option<Duration> {
        cpu::taken(self.process?)
    }

    /// Puts its name before an error.
    pub fn says(&self, error: &Error) -> Error {
        Error::run(format!("{}: {error}", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_has_a_name_and_a_connection_string() {
        let server = Server::given("pg=host=localhost port=1 user=me").unwrap();
        assert_eq!((server.name(), server.process), ("pg", None));
        for wrong in ["host", "pg=host", "pg=port=x"] {
            let error = Server::given(wrong).unwrap_err().to_string();
            assert!(error.contains("is no server"), "{error}");
        }
    }
}
