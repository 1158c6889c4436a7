//! One workload on one server: clients on threads, with a common beginning and a common end.
//!
//! Clients connect and prepare before the clock starts, and disconnect after it has stopped, so
//! neither is measured. A transaction that begins before the end is finished after it and
//! counts; the time that counts is until the last one is done.

use std::{
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

use crate::{Run, Settings};
use bench::measure::Latencies;
use commands::{Error, Result};
use servers::{Client, Done, Server, Workload, complete};

/// Work that one client has done.
#[derive(Default)]
struct Work {
    commits: u64,
    aborts: u64,
    latencies: Latencies,
    violations: Vec<String>,
}

/// Most sentences about wrong answers that are kept of a client.
const VIOLATIONS_MAX: usize = 5;

/// Runs `clients` clients for the time that the settings say, then has the tables verified.
pub(super) fn run(
    settings: &Settings,
    workload: &dyn Workload,
    server: &Server,
    clients: u16,
    repeat: u64,
) -> Result<Run> {
    let clients = (0..u64::from(clients)).map(|number| {
        let seed = settings.seed.wrapping_add(repeat);
        workload.client(server, settings.isolation, number, seed)
    });
    let clients: Vec<Box<dyn Client>> = clients.collect::<Result<_>>()?;
    let start = Barrier::new(clients.len() + 1);
    let (cpu, began, works) = thread::scope(|scope| {
        let clients: Vec<_> = clients
            .into_iter()
            .map(|mut client| {
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    let work = work(&mut *client, Instant::now() + settings.duration);
                    (Instant::now(), work, client)
                })
            })
            .collect();
        let cpu = server.cpu_taken();
        let began = Instant::now();
        start.wait();
        let works: Vec<_> = clients
            .into_iter()
            .map(thread::ScopedJoinHandle::join)
            .collect();
        (cpu, began, works)
    });
    let cpu = cpu.and_then(|before| Some(server.cpu_taken()?.saturating_sub(before)));
    let mut all = Work::default();
    let mut took = Duration::ZERO;
    for joined in works {
        let (ended, work, _client) = joined.map_err(|_| Error::run("a client has panicked"))?;
        let work = work?;
        took = took.max(ended - began);
        all.commits += work.commits;
        all.aborts += work.aborts;
        all.latencies.merge(&work.latencies);
        all.violations.extend(work.violations);
    }
    let mut connection = server.connect()?;
    all.violations.extend(workload.verify(&mut connection)?);
    let commits = all.commits.max(1) as f64;
    Ok(Run {
        transactions_per_second: all.commits as f64 / took.as_secs_f64(),
        latency_ns: all.latencies.percentiles(),
        server_cpu_us: cpu.map(|cpu| cpu.as_secs_f64() * 1e6 / commits),
        aborts_per_transaction: all.aborts as f64 / commits,
        violations: all.violations,
    })
}

/// Runs transactions until `end`, at least one.
fn work(client: &mut dyn Client, end: Instant) -> Result<Work> {
    let mut work = Work::default();
    let mut now = Instant::now();
    loop {
        let began = now;
        client.draw();
        let (done, aborts) = complete(client)?;
        now = Instant::now();
        work.commits += 1;
        work.aborts += aborts;
        work.latencies.record((now - began).as_nanos() as u64);
        if let Done::Wrong(how) = done
            && work.violations.len() < VIOLATIONS_MAX
        {
            work.violations.push(how);
        }
        if now >= end {
            return Ok(work);
        }
    }
}
