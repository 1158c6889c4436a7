//! Queries over many rows: a table of facts, two tables that explain them, and a table of keys.
//!
//! Every column follows from the row's number, so the right answers are computed here, and each
//! answer is compared with them.

use postgres::Statement;

use bench::measure::Isolation;
use commands::Result;
use commands::progress::Step;
use servers::{Client, Done, Rows, Server, Workload, failed};

/// Distinct values of the column that the scan filters by.
const KINDS: u32 = 100;
/// The kind that the scan looks for.
const KIND: i32 = 42;
/// Rows of the two tables that explain facts.
const SHOPS: u32 = 10_000;
const GOODS: u32 = 1_000;
/// Groups that shops are in.
const REGIONS: u32 = 25;

const TABLES: &str = "\
create table fact (id int primary key, kind int not null, shop int not null, good int not null,
    amount int not null, note text not null);
create table shop (id int primary key, region int not null);
create table good (id int primary key, price int not null);
create table wanted (id int primary key, fact int not null)";

const DROPS: &str = "drop table fact, shop, good, wanted";

/// Returns a number that follows from `number` and `salt` and looks random.
fn mixed(number: u32, salt: u32) -> u32 {
    let mut bits = (u64::from(salt) << 32 | u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (bits >> 32) as u32
}

/// The tables' contents, which follow from the number of rows.
#[derive(Clone, Copy)]
pub(super) struct Facts {
    rows: u32,
}

struct Fact {
    kind: u32,
    shop: u32,
    good: u32,
    amount: u32,
}

impl Facts {
    pub(super) fn new(rows: u32) -> Self {
        Self { rows }
    }

    fn fact(self, id: u32) -> Fact {
        Fact {
            kind: mixed(id, 1) % KINDS,
            shop: mixed(id, 2) % SHOPS,
            good: mixed(id, 3) % GOODS,
            amount: mixed(id, 4) % 1_000,
        }
    }

    fn region(self, shop: u32) -> u32 {
        mixed(shop, 5) % REGIONS
    }

    fn price(self, good: u32) -> u32 {
        mixed(good, 6) % 500
    }

    fn wanted(self) -> u32 {
        self.rows.div_ceil(10)
    }

    /// Returns the number of the fact that row `wanted` of the table of keys refers to.
    fn fact_wanted(self, wanted: u32) -> u32 {
        mixed(wanted, 7) % self.rows
    }
}

/// The queries over these tables.
#[derive(Clone, Copy)]
pub(super) enum FactQuery {
    One,
    Scan,
    Join,
    IndexJoin,
}

impl FactQuery {
    fn text(self) -> String {
        match self {
            Self::One => "select 1::bigint, 1::bigint, 1::bigint".to_owned(),
            Self::Scan => {
                format!("select 0::bigint, count(*), sum(amount) from fact where kind = {KIND}")
            }
            Self::Join => "select s.region::bigint, count(*), sum(f.amount * g.price) \
                           from fact f join shop s on s.id = f.shop join good g on g.id = f.good \
                           group by s.region order by s.region"
                .to_owned(),
            Self::IndexJoin => "select 0::bigint, count(*), sum(f.amount) \
                                from wanted w join fact f on f.id = w.fact"
                .to_owned(),
        }
    }
}

/// A query over these tables.
pub(super) struct Queries {
    pub(super) facts: Facts,
    pub(super) query: FactQuery,
}

impl Queries {
    /// Returns the right answer: rows of group, count and sum.
    fn right(&self) -> Vec<[i64; 3]> {
        let facts = self.facts;
        let all = (0..facts.rows).map(|id| facts.fact(id));
        let add = |row: &mut [i64; 3], amount: u32| {
            row[1] += 1;
            row[2] += i64::from(amount);
        };
        match self.query {
            FactQuery::One => vec![[1; 3]],
            FactQuery::Scan => {
                let mut row = [0; 3];
                all.filter(|fact| fact.kind as i32 == KIND)
                    .for_each(|fact| add(&mut row, fact.amount));
                vec![row]
            }
            FactQuery::Join => {
                let mut rows: Vec<[i64; 3]> = (0..REGIONS).map(|at| [at.into(), 0, 0]).collect();
                for fact in all {
                    let row = &mut rows[facts.region(fact.shop) as usize];
                    add(row, fact.amount * facts.price(fact.good));
                }
                rows.retain(|row| row[1] > 0);
                rows
            }
            FactQuery::IndexJoin => {
                let mut row = [0; 3];
                (0..facts.wanted())
                    .map(|wanted| facts.fact(facts.fact_wanted(wanted)))
                    .for_each(|fact| add(&mut row, fact.amount));
                vec![row]
            }
        }
    }
}

impl Workload for Queries {
    fn name(&self) -> String {
        match self.query {
            FactQuery::One => "select-one",
            FactQuery::Scan => "scan",
            FactQuery::Join => "join",
            FactQuery::IndexJoin => "index-join",
        }
        .to_owned()
    }

    fn clients(&self) -> u16 {
        1
    }

    fn rows(&self) -> u64 {
        match self.query {
            FactQuery::One => 0,
            _ => u64::from(self.facts.rows + SHOPS + GOODS + self.facts.wanted()),
        }
    }

    fn load(&self, connection: &mut postgres::Client, step: &Step) -> Result<()> {
        if let FactQuery::One = self.query {
            return Ok(());
        }
        let facts = self.facts;
        connection.batch_execute(TABLES).map_err(failed)?;
        let mut rows = Rows::into(connection, "shop", step);
        for shop in 0..SHOPS {
            rows.push(format_args!("{shop},{}", facts.region(shop)))?;
        }
        rows.finish()?;
        let mut rows = Rows::into(connection, "good", step);
        for good in 0..GOODS {
            rows.push(format_args!("{good},{}", facts.price(good)))?;
        }
        rows.finish()?;
        let mut rows = Rows::into(connection, "wanted", step);
        for wanted in 0..facts.wanted() {
            rows.push(format_args!("{wanted},{}", facts.fact_wanted(wanted)))?;
        }
        rows.finish()?;
        let mut rows = Rows::into(connection, "fact", step);
        for id in 0..facts.rows {
            let fact = facts.fact(id);
            rows.push(format_args!(
                "{id},{},{},{},{},'fact {id:08}'",
                fact.kind, fact.shop, fact.good, fact.amount
            ))?;
        }
        rows.finish()?;
        // The planners of both servers use statistics of the tables.
        let tables = ["fact", "shop", "good", "wanted"];
        tables.iter().try_for_each(|table| {
            let analyse = format!("analyze {table}");
            connection.batch_execute(&analyse).map_err(failed)
        })
    }

    fn clear(&self, connection: &mut postgres::Client) -> Result<()> {
        match self.query {
            FactQuery::One => Ok(()),
            _ => connection.batch_execute(DROPS).map_err(failed),
        }
    }

    fn client(
        &self,
        server: &Server,
        isolation: Isolation,
        _: u64,
        _: u64,
    ) -> Result<Box<dyn Client>> {
        let mut connection = server.connect_at(isolation)?;
        let statement = connection.prepare(&self.query.text()).map_err(failed)?;
        Ok(Box::new(Asking {
            connection,
            statement,
            right: self.right(),
        }))
    }

    fn verify(&self, _: &mut postgres::Client) -> Result<Vec<String>> {
        Ok(Vec::new())
    }
}

struct Asking {
    connection: postgres::Client,
    statement: Statement,
    right: Vec<[i64; 3]>,
}

impl Client for Asking {
    fn draw(&mut self) {}

    fn attempt(&mut self) -> Result<Done, postgres::Error> {
        let rows = self.connection.query(&self.statement, &[])?;
        let found = rows.iter().map(|row| [row.get(0), row.get(1), row.get(2)]);
        let found: Vec<[i64; 3]> = found.collect();
        Ok(match found == self.right {
            true => Done::Right,
            false => Done::Wrong(format!("the answer is {found:?}, not {:?}", self.right)),
        })
    }
}
