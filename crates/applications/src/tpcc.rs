//! TPC-C and its family: an order entry, as an [`Application`].
//!
//! The implementation follows the specification of TPC Benchmark C, revision 5.11, with CoroBase's changes (section
//! 5.2) for its experiments:
//! - a closed loop: no keying, no thinking, no terminals to wait for (`terminal.rs`);
//! - a transaction's home warehouse is drawn, or bound to the worker ([`Home`]);
//! - two more mixes ([`Mix`]), one of them with a query over three more tables
//!   (`query2.rs`).
//!
//! | subject | where |
//! | --- | --- |
//! | tables, keys, rows, indexes | `schema.rs` |
//! | loaded rows | `population.rs`, `load.rs` |
//! | requests | `terminal.rs`, `mix.rs`, `random.rs` |
//! | transactions | `new_order.rs`, `payment.rs`, `order_status.rs`, `delivery.rs`, `stock_level.rs`, `query2.rs` |
//! | conditions that always hold | `consistency.rs` |
//! | counts of transactions in the tables | `tallies.rs` |
//!
//! Transactions are ordinary code, one operation after another, and read in place. They are right at every isolation
//! level: a record that is read in order to be changed is locked first under read committed (`application/access.rs`),
//! and guarded by the other levels themselves.

mod consistency;
mod customer;
mod delivery;
mod load;
mod mix;
mod new_order;
mod order_status;
mod payment;
mod population;
mod query2;
mod random;
mod schema;
mod settings;
mod stock_level;
mod tallies;
mod terminal;
pub mod wire;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weft::{Database, Policy, Transaction};

pub use self::delivery::Delivery;
use self::mix::Kind;
pub use self::mix::Mix;
pub use self::new_order::NewOrder;
pub use self::order_status::OrderStatus;
pub use self::payment::Payment;
use self::population::Population;
pub use self::query2::Query2;
use self::schema::{Indexes, StockKey, Tables};
pub use self::settings::{Home, Scale, Settings};
pub use self::stock_level::StockLevel;
use self::terminal::{Terminal, terminal_of};
use crate::application::driver::{self, Load};
use crate::application::{self, Application, Reads, Source, Tally};
use bench::databases;
use commands::Result;
use commands::progress::Step;

/// A loaded TPC-C database. Each worker has a clone.
#[derive(Clone)]
pub struct Tpcc {
    settings: Settings,
    population: Population,
    tables: Tables,
    indexes: Indexes,
    /// Keys of the stock supplied by each of the suppliers that `Query2` looks at.
    supplied: Arc<[Vec<StockKey>]>,
    /// Number of the next terminal, for all clones.
    next_terminal: Arc<AtomicU64>,
}

/// Request for one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Enter an order.
    NewOrder(NewOrder),
    /// Take a payment.
    Payment(Payment),
    /// Show a customer's last order.
    OrderStatus(OrderStatus),
    /// Deliver the oldest orders of a warehouse.
    Delivery(Delivery),
    /// Count the items that run short in a district.
    StockLevel(StockLevel),
    /// Raise the stock that a region's suppliers have least of.
    Query2(Query2),
}

impl application::Request for Request {
    fn kind(&self) -> usize {
        let kind = match self {
            Self::NewOrder(_) => Kind::NewOrder,
            Self::Payment(_) => Kind::Payment,
            Self::OrderStatus(_) => Kind::OrderStatus,
            Self::Delivery(_) => Kind::Delivery,
            Self::StockLevel(_) => Kind::StockLevel,
            Self::Query2(_) => Kind::Query2,
        };
        kind as usize
    }

    fn only_reads(&self) -> bool {
        matches!(self, Self::OrderStatus(_) | Self::StockLevel(_))
    }
}

impl Tpcc {
    fn new(
        settings: &Settings,
        database: &Database,
        tables: Tables,
        next_terminal: u64,
    ) -> Result<Self> {
        let population = Population::of(settings);
        let indexes = Indexes::create(database, &tables).map_err(databases::failure)?;
        Ok(Self {
            settings: settings.clone(),
            population,
            tables,
            indexes,
            supplied: population.supplied(settings.suppliers).into(),
            next_terminal: Arc::new(AtomicU64::new(next_terminal)),
        })
    }

    fn terminal(&self, worker: usize, seed: u64) -> Terminal {
        // Relaxed: the counter only gives out numbers, no data is published through it.
        let number = self.next_terminal.fetch_add(1, Ordering::Relaxed);
        Terminal::new(&self.settings, self.population, number, worker, seed)
    }
}

/// Function that loads a database, to be measured.
pub static LOAD: Load<Settings> = driver::load::<Tpcc>;

impl Application for Tpcc {
    type Settings = Settings;
    type Request = Request;

    const NAME: &'static str = "tpcc";
    const KINDS: &'static [&'static str] = &Kind::NAMES;

    fn load(settings: &Settings, database: &Database, step: &Step) -> Result<Self> {
        settings.check()?;
        let tables = Tables::create(database).map_err(databases::failure)?;
        load::load(&Population::of(settings), database, &tables, step)?;
        Self::new(settings, database, tables, 1)
    }

    fn open(settings: &Settings, database: &Database) -> Result<Self> {
        let tables = Tables::open(database).map_err(databases::failure)?;
        let history = tables.history.clone();
        let newest = database.run_blocking(async move |txn: &Transaction| {
            let mut newest = 0;
            txn.scan(&history, ..)
                .rev()
                .for_each(|key, _| {
                    newest = key;
                    ControlFlow::Break(())
                })
                .await?;
            Ok(newest)
        });
        let next_terminal = terminal_of(newest.map_err(databases::failure)?) + 1;
        Self::new(settings, database, tables, next_terminal)
    }

    fn load_steps(settings: &Settings) -> u64 {
        load::steps(settings)
    }

    /// Returns the requests of one worker. Equal seeds give equal requests, except for the keys of payments, which are
    /// never used twice.
    fn source(&self, worker: usize, _workers: usize, seed: u64) -> Source<Request> {
        let mut terminal = self.terminal(worker, seed);
        Box::new(move || terminal.draw())
    }

    async fn execute<P: Policy>(
        &self,
        txn: &Transaction<P>,
        request: &Request,
        reads: Reads,
    ) -> weft::Result<u32> {
        Ok(match request {
            Request::NewOrder(request) => self.new_order(txn, request, reads).await?.records,
            Request::Payment(request) => self.payment(txn, request).await?.records,
            Request::OrderStatus(request) => self.order_status(txn, request).await?.records,
            Request::Delivery(request) => self.delivery(txn, request).await?.records,
            Request::StockLevel(request) => self.stock_level(txn, request, reads).await?.records,
            Request::Query2(request) => self.query2(txn, request, reads).await?.records,
        })
    }

    fn frame_bytes<P: Policy>(&self, txn: &Transaction<P>) -> Vec<usize> {
        let mut terminal = Terminal::new(&self.settings, self.population, 0, 0, 0);
        let reads = Reads::Single;
        vec![
            size_of_val(&self.new_order(txn, &terminal.new_order(), reads)),
            size_of_val(&self.payment(txn, &terminal.payment())),
            size_of_val(&self.order_status(txn, &terminal.order_status())),
            size_of_val(&self.delivery(txn, &terminal.delivery())),
            size_of_val(&self.stock_level(txn, &terminal.stock_level(), reads)),
            size_of_val(&self.query2(txn, &terminal.query2(), reads)),
        ]
    }

    fn inconsistencies<P: Policy>(
        &self,
        txn: &Transaction<P>,
    ) -> impl Future<Output = weft::Result<Vec<String>>> {
        consistency::check(self, txn)
    }

    async fn tallies<P: Policy>(&self, txn: &Transaction<P>) -> weft::Result<Vec<Tally>> {
        tallies::tallies(self, txn).await
    }
}

#[cfg(test)]
mod tests;
