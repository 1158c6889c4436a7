//! TPC-C over a connection: its tables, rows, requests and conditions, as statements for a server
//! that speaks PostgreSQL's protocol.
//!
//! Rows are those of `population.rs`, requests those of `terminal.rs`, and the conditions those of
//! `consistency.rs`; this module has only the statements. Money is `numeric(12, 2)`, as the
//! standard has it. A payment has no key, which the standard allows; the conditions count them all.
//!
//! Every statement is prepared. It is sent when the one before it is answered; or, if the client
//! pipelines, together with other statements that do not need each other's answers, as drivers
//! offer it.

mod conditions;
mod connection;
pub mod ledger;
mod load;
mod schema;
mod session;
mod statements;
mod transactions;

use std::sync::atomic::{AtomicU64, Ordering};

use self::connection::Connection;
use self::ledger::Ledger;
pub use self::session::Session;
use super::population::Population;
use super::settings::Settings;
use super::terminal::Terminal;
use bench::measure::Isolation;
use commands::Result;
use commands::progress::Step;
use servers::{Client, Decimal, Server, Workload, failed, level};

/// Money in cents.
type Money = Decimal<2>;
/// A rate in ten-thousandths.
type Rate = Decimal<4>;

/// TPC-C as a workload of servers.
pub struct Wire {
    settings: Settings,
    population: Population,
    is_pipelined: bool,
    next_terminal: AtomicU64,
}

impl Wire {
    /// Returns the workload of `settings`, with clients that pipeline, or not.
    pub fn new(settings: &Settings, is_pipelined: bool) -> Self {
        Self {
            is_pipelined,
            settings: settings.clone(),
            population: Population::of(settings),
            next_terminal: AtomicU64::new(1),
        }
    }

    /// Connects a client, which records its commits in the ledger, if it is told to.
    ///
    /// # Errors
    /// [`Error::Run`](commands::Error::Run) when the server refuses or cannot be reached.
    pub fn session(
        &self,
        server: &Server,
        isolation: Isolation,
        number: u64,
        seed: u64,
        has_ledger: bool,
    ) -> Result<Session> {
        let connection = Connection::new(server)?;
        let set = level(isolation);
        let is_set = connection.wait(connection.command(&set));
        is_set.map_err(failed)?;
        // Relaxed: the counter only gives out numbers, no data is published through it.
        let terminal = self.next_terminal.fetch_add(1, Ordering::Relaxed);
        let population = self.population;
        let terminal = Terminal::new(&self.settings, population, terminal, number as usize, seed);
        let ledger = has_ledger.then(|| Ledger::prepare(&connection, number));
        let ledger = ledger.transpose().map_err(failed)?;
        let districts = population.scale.districts;
        Session::new(connection, terminal, districts, self.is_pipelined, ledger).map_err(failed)
    }

    /// Counts the orders and payments that the tables have beyond those that were loaded.
    ///
    /// # Errors
    /// [`Error::Run`](commands::Error::Run) when the server refuses.
    pub fn entered(&self, connection: &mut postgres::Client) -> Result<[i64; 2]> {
        let text = "select (select sum(d_next_o_id - 1) from district), \
                    (select count(*) from history)";
        let row = connection.query_one(text, &[]).map_err(failed)?;
        let scale = self.population.scale;
        let districts = i64::from(self.population.warehouses) * i64::from(scale.districts);
        // One order and one payment for each customer.
        let loaded = districts * i64::from(scale.customers);
        Ok([row.get::<_, i64>(0) - loaded, row.get::<_, i64>(1) - loaded])
    }
}

impl Workload for Wire {
    fn name(&self) -> String {
        let warehouses = self.settings.warehouses;
        let pipelined = if self.is_pipelined { ", pipelined" } else { "" };
        format!("{} of {warehouses}{pipelined}", self.settings.mix_name())
    }

    fn clients(&self) -> u16 {
        16
    }

    fn rows(&self) -> u64 {
        load::rows(&self.population)
    }

    fn load(&self, connection: &mut postgres::Client, step: &Step) -> Result<()> {
        load::load(&self.population, connection, step)
    }

    fn clear(&self, connection: &mut postgres::Client) -> Result<()> {
        connection.batch_execute(schema::DROPS).map_err(failed)
    }

    fn client(
        &self,
        server: &Server,
        isolation: Isolation,
        number: u64,
        seed: u64,
    ) -> Result<Box<dyn Client>> {
        let session = self.session(server, isolation, number, seed, false)?;
        Ok(Box::new(session))
    }

    fn verify(&self, connection: &mut postgres::Client) -> Result<Vec<String>> {
        conditions::check(&self.population, connection).map_err(failed)
    }
}
