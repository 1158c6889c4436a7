//! pgbench's tables and two of its transactions.

use postgres::{
    GenericClient, Statement, Transaction,
    types::{ToSql, Type},
};

use crate::Protocol;
use bench::distribution::{Rng, below, rng};
use bench::measure::Isolation;
use commands::Result;
use commands::progress::Step;
use servers::{Client, Done, Rows, Server, Workload, failed};

/// Rows for each unit of scale.
const ACCOUNTS: u32 = 100_000;
const TELLERS: u32 = 10;

const TABLES: &str = "\
create table pgbench_branches (bid int primary key, bbalance int not null, filler char(88));
create table pgbench_tellers
    (tid int primary key, bid int not null, tbalance int not null, filler char(84));
create table pgbench_accounts
    (aid int primary key, bid int not null, abalance int not null, filler char(84));
create table pgbench_history
    (tid int, bid int, aid int, delta int, mtime timestamp, filler char(22))";

const DROPS: &str =
    "drop table pgbench_branches, pgbench_tellers, pgbench_accounts, pgbench_history";

/// The transaction that a workload consists of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Transactions {
    SelectOnly,
    Tpcb,
}

/// A workload of pgbench; see the module text.
pub(super) struct Pgbench {
    pub(super) scale: u32,
    pub(super) transactions: Transactions,
    pub(super) protocol: Protocol,
}

impl Workload for Pgbench {
    fn name(&self) -> String {
        let name = match self.transactions {
            Transactions::SelectOnly => "select-only",
            Transactions::Tpcb => "tpcb",
        };
        match self.protocol {
            Protocol::Prepared => name.to_owned(),
            Protocol::Unnamed => format!("{name} unnamed"),
            Protocol::Simple => format!("{name} simple"),
        }
    }

    fn clients(&self) -> u16 {
        16
    }

    fn rows(&self) -> u64 {
        u64::from(self.scale) * u64::from(1 + TELLERS + ACCOUNTS)
    }

    fn load(&self, connection: &mut postgres::Client, step: &Step) -> Result<()> {
        connection.batch_execute(TABLES).map_err(failed)?;
        let mut rows = Rows::into(connection, "pgbench_branches", step);
        for branch in 1..=self.scale {
            rows.push(format_args!("{branch},0,null"))?;
        }
        rows.finish()?;
        let mut rows = Rows::into(connection, "pgbench_tellers", step);
        for teller in 0..self.scale * TELLERS {
            let branch = teller / TELLERS + 1;
            rows.push(format_args!("{},{branch},0,null", teller + 1))?;
        }
        rows.finish()?;
        let mut rows = Rows::into(connection, "pgbench_accounts", step);
        for account in 0..self.scale * ACCOUNTS {
            let branch = account / ACCOUNTS + 1;
            rows.push(format_args!("{},{branch},0,''", account + 1))?;
        }
        rows.finish()
    }

    fn clear(&self, connection: &mut postgres::Client) -> Result<()> {
        connection.batch_execute(DROPS).map_err(failed)
    }

    fn client(
        &self,
        server: &Server,
        isolation: Isolation,
        number: u64,
        seed: u64,
    ) -> Result<Box<dyn Client>> {
        let mut connection = server.connect_at(isolation)?;
        let random = rng(seed, number);
        let scale = self.scale;
        let texts = match self.transactions {
            Transactions::SelectOnly => SELECT_ONLY,
            Transactions::Tpcb => TPCB,
        };
        let statements = match self.protocol {
            Protocol::Simple => Statements::Texts,
            Protocol::Unnamed => Statements::Unnamed(texts),
            Protocol::Prepared => {
                let prepared = texts.iter().map(|text| connection.prepare(text));
                Statements::Prepared(prepared.collect::<Result<_, _>>().map_err(failed)?)
            }
        };
        Ok(Box::new(Session {
            connection,
            random,
            scale,
            transactions: self.transactions,
            statements,
            drawn: Drawn::default(),
        }))
    }

    fn verify(&self, connection: &mut postgres::Client) -> Result<Vec<String>> {
        let sums = connection
            .query_one(
                "select (select sum(abalance) from pgbench_accounts), \
                 (select sum(tbalance) from pgbench_tellers), \
                 (select sum(bbalance) from pgbench_branches), \
                 coalesce((select sum(delta) from pgbench_history), 0), \
                 (select count(*) from pgbench_accounts)",
                &[],
            )
            .map_err(failed)?;
        let [accounts, tellers, branches, history, count] =
            std::array::from_fn(|at| sums.get::<_, i64>(at));
        let mut violations = Vec::new();
        if [accounts, tellers, branches] != [history; 3] {
            violations.push(format!(
                "balances of accounts add up to {accounts}, of tellers to {tellers}, of branches \
                 to {branches}, and what was moved to {history}"
            ));
        }
        let loaded = i64::from(self.scale * ACCOUNTS);
        if count != loaded {
            violations.push(format!(
                "{count} accounts are there, and {loaded} were loaded"
            ));
        }
        Ok(violations)
    }
}

/// Parameters of one transaction.
#[derive(Clone, Copy, Default)]
struct Drawn {
    account: i32,
    teller: i32,
    branch: i32,
    delta: i32,
}

const SELECT_ONLY: &[&str] = &["select abalance from pgbench_accounts where aid = $1"];

const TPCB: &[&str] = &[
    "update pgbench_accounts set abalance = abalance + $1 where aid = $2",
    "select abalance from pgbench_accounts where aid = $1",
    "update pgbench_tellers set tbalance = tbalance + $1 where tid = $2",
    "update pgbench_branches set bbalance = bbalance + $1 where bid = $2",
    "insert into pgbench_history (tid, bid, aid, delta, mtime) \
     values ($1, $2, $3, $4, current_timestamp)",
];

/// The statements of a transaction, in the order in which they run.
enum Statements {
    Prepared(Vec<Statement>),
    Unnamed(&'static [&'static str]),
    /// Texts with their values in them.
    Texts,
}

impl Statements {
    /// Runs a statement whose parameters are all integers, and returns how many rows it gives.
    fn run(
        &self,
        client: &mut impl GenericClient,
        statement: usize,
        parameters: &[i32],
    ) -> Result<usize, postgres::Error> {
        match self {
            Statements::Prepared(statements) => {
                let values = parameters.iter().map(|value| value as &(dyn ToSql + Sync));
                let values: Vec<_> = values.collect();
                Ok(client.query(&statements[statement], &values)?.len())
            }
            Statements::Unnamed(texts) => {
                let values = parameters
                    .iter()
                    .map(|value| (value as &(dyn ToSql + Sync), Type::INT4));
                let values: Vec<_> = values.collect();
                Ok(client.query_typed(texts[statement], &values)?.len())
            }
            // Texts contain their values: `simple` writes them.
            Statements::Texts => Ok(0),
        }
    }
}

struct Session {
    connection: postgres::Client,
    random: Rng,
    scale: u32,
    transactions: Transactions,
    statements: Statements,
    drawn: Drawn,
}

impl Client for Session {
    fn draw(&mut self) {
        let mut up_to = |most: u32| below(&mut self.random, most.into()) as i32 + 1;
        self.drawn = Drawn {
            account: up_to(self.scale * ACCOUNTS),
            teller: up_to(self.scale * TELLERS),
            branch: up_to(self.scale),
            delta: up_to(10_001) - 5_001,
        };
    }

    fn attempt(&mut self) -> Result<Done, postgres::Error> {
        let drawn = self.drawn;
        let found = match (self.transactions, &self.statements) {
            (Transactions::SelectOnly, Statements::Texts) => {
                let text = format!(
                    "SELECT abalance FROM pgbench_accounts WHERE aid = {};",
                    drawn.account
                );
                rows(&self.connection.simple_query(&text)?)
            }
            (Transactions::SelectOnly, statements) => {
                statements.run(&mut self.connection, 0, &[drawn.account])?
            }
            (Transactions::Tpcb, statements) => {
                let mut transaction = self.connection.transaction()?;
                let found = match statements {
                    Statements::Texts => simple(&mut transaction, drawn)?,
                    statements => with_parameters(&mut transaction, statements, drawn)?,
                };
                transaction.commit()?;
                found
            }
        };
        Ok(match found {
            1 => Done::Right,
            other => Done::Wrong(format!("account {} was found {other} times", drawn.account)),
        })
    }
}

/// Runs TPC-B's statements with parameters, and returns how many rows the query of the account
/// gave.
fn with_parameters(
    transaction: &mut Transaction<'_>,
    statements: &Statements,
    drawn: Drawn,
) -> Result<usize, postgres::Error> {
    let Drawn {
        account,
        teller,
        branch,
        delta,
    } = drawn;
    statements.run(transaction, 0, &[delta, account])?;
    let found = statements.run(transaction, 1, &[account])?;
    statements.run(transaction, 2, &[delta, teller])?;
    statements.run(transaction, 3, &[delta, branch])?;
    statements.run(transaction, 4, &[teller, branch, account, delta])?;
    Ok(found)
}

/// Runs TPC-B's statements as texts, each a message, and returns how many rows the query of the
/// account gave.
fn simple(transaction: &mut Transaction<'_>, drawn: Drawn) -> Result<usize, postgres::Error> {
    let Drawn {
        account,
        teller,
        branch,
        delta,
    } = drawn;
    let texts = [
        format!("UPDATE pgbench_accounts SET abalance = abalance + {delta} WHERE aid = {account};"),
        format!("SELECT abalance FROM pgbench_accounts WHERE aid = {account};"),
        format!("UPDATE pgbench_tellers SET tbalance = tbalance + {delta} WHERE tid = {teller};"),
        format!("UPDATE pgbench_branches SET bbalance = bbalance + {delta} WHERE bid = {branch};"),
        format!(
            "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) \
             VALUES ({teller}, {branch}, {account}, {delta}, CURRENT_TIMESTAMP);"
        ),
    ];
    let mut found = 0;
    for text in &texts {
        found += rows(&transaction.simple_query(text)?);
    }
    Ok(found)
}

fn rows(messages: &[postgres::SimpleQueryMessage]) -> usize {
    let is_row = |message: &&_| matches!(message, postgres::SimpleQueryMessage::Row(_));
    messages.iter().filter(is_row).count()
}
