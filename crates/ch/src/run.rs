//! One run: terminals and streams beside each other, with a common beginning and a common end.

use std::{
    sync::Barrier,
    thread::{self, ScopedJoinHandle},
    time::{Duration, Instant},
};

use applications::tpcc::wire::{Session, Wire};
use bench::measure::LatencyNs;
use commands::{Error, Result};
use postgres::Client;
use servers::{Server, failed};

use crate::{
    Settings,
    freshness::Acknowledged,
    streams::{self, Answered},
    terminals,
};

/// Numbers of clients of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clients {
    pub(crate) terminals: u16,
    pub(crate) streams: u16,
}

/// Results of a run.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) transactions_per_second: f64,
    pub(crate) new_orders_per_minute: f64,
    pub(crate) new_order_ns: LatencyNs,
    pub(crate) aborts_per_transaction: f64,
    pub(crate) queries_per_hour: f64,
    pub(crate) queries: Vec<Query>,
    /// Queries that were under way at the end.
    pub(crate) unended: Vec<u8>,
    pub(crate) violations: Vec<String>,
}

/// A query that was answered in a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Query {
    pub(crate) number: u8,
    pub(crate) time: Duration,
    /// Delay of what the query saw; `None` if no terminal ran.
    pub(crate) delay: Option<Duration>,
    /// Age of the newest order that the query saw; `None` if the order is not of the run.
    pub(crate) age: Option<Duration>,
}

/// Runs clients on the loaded tables of a server. `next` has the place of each stream in the list of queries.
pub(crate) fn run(
    settings: &Settings,
    workload: &Wire,
    server: &Server,
    clients: Clients,
    next: &mut [usize],
    seed: u64,
) -> Result<Run> {
    let before = streams::orders(&mut server.connect()?).map_err(failed)?;
    let session = |number| workload.session(server, settings.isolation, number, seed, false);
    let sessions = (0..u64::from(clients.terminals)).map(session);
    let mut sessions: Vec<Session> = sessions.collect::<Result<_>>()?;
    let connections = (0..clients.streams).map(|_| server.connect());
    let mut connections: Vec<Client> = connections.collect::<Result<_>>()?;
    let start = &Barrier::new(sessions.len() + connections.len() + 1);
    let duration = settings.duration;
    let (began, terminals, streams) = thread::scope(|scope| {
        let terminals: Vec<_> = sessions
            .iter_mut()
            .map(|session| {
                scope.spawn(move || {
                    start.wait();
                    let work = terminals::work(session, Instant::now() + duration);
                    (Instant::now(), work)
                })
            })
            .collect();
        let streams: Vec<_> = connections
            .iter_mut()
            .zip(next)
            .map(|(client, next)| {
                scope.spawn(move || {
                    start.wait();
                    let end = Instant::now() + duration;
                    streams::work(client, &settings.queries, next, end)
                })
            })
            .collect();
        start.wait();
        let began = Instant::now();
        let terminals: Vec<_> = terminals.into_iter().map(joined).collect();
        let streams: Vec<_> = streams.into_iter().map(joined).collect();
        (began, terminals, streams)
    });
    let (mut work, mut took) = (terminals::Work::default(), duration);
    for joined in terminals {
        let (ended, one) = joined?;
        took = took.max(ended - began);
        work.merge(one?);
    }
    let (mut answered, mut unended) = (Vec::new(), Vec::new());
    for joined in streams {
        let one = joined??;
        answered.extend(one.answered);
        unended.extend(one.unended);
    }
    let orders = work.new_orders.count() as f64;
    let acknowledged = Acknowledged::of(before, work.acknowledged);
    let query = |query: &Answered| Query {
        number: query.query,
        time: query.ended - query.began,
        delay: (clients.terminals > 0).then(|| acknowledged.delay(query.orders, query.asked)),
        age: acknowledged.age(query.orders, query.ended),
    };
    Ok(Run {
        transactions_per_second: work.commits as f64 / took.as_secs_f64(),
        new_orders_per_minute: orders / took.as_secs_f64() * 60.0,
        new_order_ns: work.new_orders.percentiles(),
        aborts_per_transaction: work.aborts as f64 / work.commits.max(1) as f64,
        queries_per_hour: answered.len() as f64 / duration.as_secs_f64() * 3600.0,
        queries: answered.iter().map(query).collect(),
        unended,
        violations: work.violations,
    })
}

fn joined<T>(client: ScopedJoinHandle<'_, T>) -> Result<T> {
    let joined = client.join();
    joined.map_err(|_| Error::run("a client has panicked"))
}
