//! A server that is measured.

use std::time::Duration;

use postgres::config::Host;
use postgres::{Client, NoTls};
use tokio_postgres::Config;

use crate::{cpu, failed, level};
use bench::measure::Isolation;
use commands::{Error, Result};

/// A server: its name, its address, and the process whose processor time counts.
#[derive(Clone, Debug)]
pub struct Server {
    name: String,
    config: Config,
    /// First process of the server, if that is on this machine.
    process: Option<u32>,
}

impl Server {
    /// Returns a server that runs already, from `name=connection string`, the latter as libpq
    /// understands it.
    ///
    /// # Errors
    /// [`Error::Input`] when `text` has no such form.
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

    /// Returns a server that this crate has started as `process`.
    pub(crate) fn started(name: &str, config: Config, process: u32) -> Server {
        Server {
            name: name.to_owned(),
            config,
            process: Some(process),
        }
    }

    /// Returns the server with another name in results.
    pub fn named(self, name: String) -> Server {
        Server { name, ..self }
    }

    /// Returns the server's name in results.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the parameters of a connection to the server.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Connects to the server and sets `isolation` as the level of the connection's transactions.
    ///
    /// # Errors
    /// [`Error::Run`] when the server cannot be reached.
    pub fn connect_at(&self, isolation: Isolation) -> Result<Client> {
        let mut connection = self.connect()?;
        let set = connection.batch_execute(&level(isolation));
        set.map_err(failed)?;
        Ok(connection)
    }

    /// Connects to the server.
    ///
    /// # Errors
    /// [`Error::Run`] when the server cannot be reached.
    pub fn connect(&self) -> Result<Client> {
        let config = postgres::Config::from(self.config.clone());
        config
            .connect(NoTls)
            .map_err(|error| Error::run(format!("cannot connect to {}: {error}", self.name)))
    }

    /// Returns the processor time that the server has taken so far; `None` where its processes
    /// cannot be looked at.
    pub fn cpu_taken(&self) -> Option<Duration> {
        cpu::taken(self.process?)
    }

    /// Returns `error` with the server's name before its text.
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
