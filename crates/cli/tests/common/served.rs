//! A running `weft serve`, which ends when its [`Served`] is dropped.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
};

use assert_cmd::cargo::CommandCargoExt as _;
use postgres::{Client, NoTls};

/// A running server; see the module text.
pub(crate) struct Served {
    child: Child,
    port: u16,
}

impl Served {
    pub(crate) fn start(arguments: &[&str]) -> Served {
        Served::start_with(2, arguments)
    }

    /// Starts a server with `workers` workers.
    pub(crate) fn start_with(workers: u32, arguments: &[&str]) -> Served {
        Served::spawn(workers, arguments, Stdio::inherit())
    }

    /// Starts a server, and returns the lines that it writes on standard error too.
    pub(crate) fn start_heard(arguments: &[&str]) -> (Served, mpsc::Receiver<String>) {
        let mut served = Served::spawn(1, arguments, Stdio::piped());
        let told = served.child.stderr.take().unwrap();
        // The lines are read at once: a server whose output is not read would wait.
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            let lines = BufReader::new(told).lines().map_while(Result::ok);
            // The test may have dropped the receiver.
            lines.for_each(|line| drop(sender.send(line)));
        });
        (served, receiver)
    }

    fn spawn(workers: u32, arguments: &[&str], error: Stdio) -> Served {
        let mut command = Command::cargo_bin("weft").unwrap();
        command.args(["serve", "--listen", "127.0.0.1:0", "--workers"]);
        command.arg(workers.to_string());
        let mut child = command
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(error)
            .spawn()
            .unwrap();
        let mut line = String::new();
        let output = child.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        let port = line.trim().rsplit(':').next().unwrap().parse().unwrap();
        Served { child, port }
    }

    /// Returns the port that the server listens on.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Returns the server's connection string.
    pub(crate) fn connection(&self) -> String {
        format!("host=127.0.0.1 port={} user=weft dbname=weft", self.port)
    }

    pub(crate) fn connect(&self) -> Client {
        Client::connect(&self.connection(), NoTls).unwrap()
    }

    pub(crate) fn connect_as(&self, user: &str, database: &str) -> Result<Client, postgres::Error> {
        let to = format!(
            "host=127.0.0.1 port={} user={user} dbname={database}",
            self.port
        );
        Client::connect(&to, NoTls)
    }

    /// Returns the most memory that the process has had, in bytes; `None` where the system does not
    /// tell.
    pub(crate) fn peak_bytes(&self) -> Option<usize> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kibibytes: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kibibytes * 1024)
    }

    /// Kills the process, as the system does when it is short of memory.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
