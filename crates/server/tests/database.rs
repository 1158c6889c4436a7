//! Connections on the workers of a real database, in memory and on a device: a worker sleeps on
//! its device and its sockets at once, and misses neither.

#![allow(dead_code, reason = "the common files are shared by several tests")]

#[path = "common/client.rs"]
mod client;

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use client::Client as Dialled;
use server::{
    Backend, Client, CommandTag, Config, Execution, Field, Named, ParameterTypes, Parameters,
    Reactor, Server, Session, Startup, Statement, Task, TransactionStatus, Verifier,
};
use types::{Result, SqlError, SqlState};
use weft::{Context, Database, Isolation, Options, Outside, Table, Transaction};

/// A backend whose statements each add one to a counter in a table, durably, and return it.
struct Counting {
    database: Database,
    counts: Table<u64, u64>,
}

impl Backend for Counting {
    type Context = Context;
    type Session = Counter;

    fn spawn(&self, worker: usize, task: Task<Context>) {
        self.database.workers()[worker].spawn(task);
    }

    async fn verifier(&self, _: &Context, _: &str) -> Result<Option<Verifier>> {
        Ok(None)
    }

    async fn open(&self, context: Context, _: Startup) -> Result<Counter> {
        Ok(Counter {
            context,
            counts: self.counts.clone(),
            statements: Named::default(),
        })
    }
}

struct Counter {
    context: Context,
    counts: Table<u64, u64>,
    statements: Named<Nothing>,
}

/// A statement type for a backend without prepared statements.
#[derive(Clone)]
struct Nothing;

impl Statement for Nothing {
    fn parameter_types(&self) -> &[u32] {
        &[]
    }

    fn fields(&self) -> Option<&[Field]> {
        None
    }
}

impl Session for Counter {
    type Statement = Nothing;
    type Portal = ();

    fn parameters(&self, _: &mut dyn FnMut(&str, &str)) {}

    fn status(&self) -> TransactionStatus {
        TransactionStatus::Idle
    }

    fn statement(&mut self, name: &str) -> Option<Nothing> {
        self.statements.get(name).cloned()
    }

    fn keep_statement(&mut self, name: &str, statement: Nothing) -> Result<()> {
        self.statements.insert(name, statement);
        Ok(())
    }

    fn forget_statement(&mut self, name: &str) {
        self.statements.remove(name);
    }

    async fn simple(&mut self, _: &str, client: &mut Client<'_>) -> Result<()> {
        let failed =
            |error: weft::Error| SqlError::new(SqlState::INTERNAL_ERROR, error.to_string());
        let counts = self.counts.clone();
        let count = async |txn: &Transaction| {
            let count = txn.get(&counts, &1).await?.unwrap_or(0) + 1;
            txn.upsert(&counts, &1, &count).await?;
            Ok(count)
        };
        let counted = self.context.run(Isolation::Serializable, &count).await;
        let count = counted.map_err(failed)?;
        client.fields(&[Field {
            name: "count".into(),
            table: 0,
            column: 0,
            type_oid: 20,
            type_size: 8,
            type_modifier: -1,
        }])?;
        client.row(1, |row| {
            row.bytes(count.to_string().as_bytes());
            Ok(())
        })?;
        client.complete(CommandTag::Rows("SELECT", 1));
        Ok(())
    }

    async fn parse(&mut self, _: &str, _: ParameterTypes<'_>) -> Result<Nothing> {
        Err(SqlError::unsupported("preparing"))
    }

    async fn bind(&mut self, _: &Nothing, _: Parameters<'_>) -> Result<()> {
        Err(SqlError::unsupported("binding"))
    }

    async fn execute(
        &mut self,
        (): &mut (),
        _: Option<NonZeroU32>,
        _: &mut Client<'_>,
    ) -> Result<Execution> {
        Err(SqlError::unsupported("executing"))
    }

    async fn failed(&mut self) {}

    async fn sync(&mut self) -> Result<()> {
        Ok(())
    }
}

fn count_together(options: Options, clients: u64, turns: u64) {
    let reactors: Vec<_> = (0..2).map(|_| Reactor::new().unwrap()).collect();
    let outsides = reactors
        .iter()
        .map(|reactor| reactor.clone() as Arc<dyn Outside>);
    let database = Database::open_beside(options, outsides.collect(), |_| {}).unwrap();
    let backend = Counting {
        counts: database.create_table("counts").unwrap(),
        database: database.clone(),
    };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let server = Server::start(
        Arc::new(backend),
        reactors,
        vec![listener],
        Config::default(),
    );
    let server = server.unwrap();
    let address = server.addresses()[0];
    std::thread::scope(|scope| {
        for _ in 0..clients {
            scope.spawn(|| {
                let mut client = Dialled::connect(address);
                for _ in 0..turns {
                    let answers = client.query("count");
                    assert!(answers[1].starts_with("row "), "{answers:?}");
                }
            });
        }
    });
    let answers = Dialled::connect(address).query("count");
    assert_eq!(answers[1], format!("row {}", clients * turns + 1));
    assert_eq!(server.stop(Duration::from_secs(30)), 0);
    database.close();
}

fn options() -> Options {
    Options {
        idle_spin_us: 0,
        memory_bytes_max: Some(256 << 20),
        ..Options::default()
    }
}

#[test]
fn in_memory() {
    count_together(options(), 4, 200);
}

#[test]
fn on_a_device() {
    for backend in [weft::Backend::Auto, weft::Backend::Blocking] {
        let directory = tempfile::tempdir().unwrap();
        let mut options = options();
        options.data_dir = Some(directory.path().to_owned());
        options.storage.backend = backend;
        count_together(options, 4, 50);
    }
}
