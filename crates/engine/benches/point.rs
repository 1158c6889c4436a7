//! Point reads on one worker, without anything above the engine: the bare
//! traversal, sequential and prefetching transactions, interleaved ones. Prints
//! nanoseconds per read; verifies every answer by a checksum.
//!
//! `cargo bench -p engine --bench point -- [records] [seconds]`

#![allow(clippy::print_stdout)] // A bench prints.

use std::{
    cell::Cell,
    hint::black_box,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use engine::{Database, DatabaseConfig, Isolation, Session, Table};
use interleave::{
    Clock, FromFn, InFlight, Interleaved, Policy, Prefetching, Sequential, Worker, WorkerConfig,
};

const READS: u64 = 10;

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

struct Bench {
    worker: Worker<Session>,
    table: Arc<Table>,
    records: u64,
}

impl Bench {
    fn configure(&mut self, in_flight: InFlight) {
        self.worker.configure(WorkerConfig {
            in_flight,
            ..WorkerConfig::default()
        });
    }

    fn load(&mut self) {
        self.configure(InFlight::Fixed(16));
        let (table, records, next) = (self.table.clone(), self.records, Cell::new(0));
        self.worker.set_source(FromFn(move |session: &Rc<Session>| {
            let from = next.replace(next.get() + 16);
            let (table, session) = (table.clone(), session.clone());
            (from < records).then_some(async move {
                let txn = session.begin(Isolation::Snapshot).unwrap();
                for i in from..records.min(from + 16) {
                    let key = mix(i).to_be_bytes();
                    txn.insert::<Interleaved>(&table, &key, &i.to_le_bytes())
                        .await
                        .unwrap();
                }
                txn.commit().await.unwrap();
            })
        }));
        self.worker.run_until_idle();
    }

    /// Returns the nanoseconds per read of transactions of `READS` reads, run for `time`.
    fn run<P: Policy>(&mut self, in_flight: InFlight, time: Duration) -> f64 {
        self.configure(in_flight);
        let (table, records) = (self.table.clone(), self.records);
        let (seed, reads, sums) = (
            Cell::new(1u64),
            Rc::new(Cell::new(0u64)),
            Rc::new(Cell::new(0u64)),
        );
        let expected = Rc::new(Cell::new(0u64));
        let (r, s, e) = (reads.clone(), sums.clone(), expected.clone());
        let start = Instant::now();
        let checked = Cell::new(0u32);
        self.worker.set_source(FromFn(move |session: &Rc<Session>| {
            checked.set(checked.get() + 1);
            if checked.get().is_multiple_of(64) && start.elapsed() > time {
                return None;
            }
            let (session, table) = (session.clone(), table.clone());
            let (r, s, e) = (r.clone(), s.clone(), e.clone());
            let mut x = seed.get();
            seed.set(mix(x.wrapping_add(0x9e37_79b9_7f4a_7c15)));
            Some(async move {
                let txn = session.begin(Isolation::Snapshot).unwrap();
                for _ in 0..READS {
                    x = x
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    let i = ((u128::from(x) * u128::from(records)) >> 64) as u64;
                    let key = mix(i).to_be_bytes();
                    let value = txn
                        .get::<P, _>(&table, &key, |v| u64::from_le_bytes(v.try_into().unwrap()))
                        .await
                        .unwrap();
                    s.set(s.get().wrapping_add(value.unwrap()));
                    e.set(e.get().wrapping_add(i));
                }
                txn.commit().await.unwrap();
                r.set(r.get() + READS);
            })
        }));
        self.worker.run_until_idle();
        assert_eq!(sums.get(), expected.get(), "{} answered wrongly", P::NAME);
        start.elapsed().as_nanos() as f64 / reads.get() as f64
    }
}

fn main() {
    let arguments: Vec<u64> = std::env::args().filter_map(|a| a.parse().ok()).collect();
    let tiny = std::env::args().any(|a| a == "--test");
    let records = arguments
        .first()
        .copied()
        .unwrap_or(if tiny { 10_000 } else { 5_000_000 });
    let seconds = arguments.get(1).copied().unwrap_or(1);
    let time = if tiny {
        Duration::from_millis(20)
    } else {
        Duration::from_secs(seconds)
    };

    let database = Database::new(DatabaseConfig::with_memory(20 << 30)).unwrap();
    let table = database.create_table("point", &[]).unwrap();
    let session = Session::new(&database).unwrap();
    let worker = Worker::new(WorkerConfig::default(), session, Clock::real());
    let mut bench = Bench {
        worker,
        table,
        records,
    };
    let start = Instant::now();
    bench.load();
    let usage = database.memory();
    let mut report = vec![
        format!(
            "load {:.0} ns/insert",
            start.elapsed().as_nanos() as f64 / records as f64
        ),
        format!(
            "bytes per record: index {:.1} indirection {:.1} versions {:.1} claimed {:.1}",
            usage.index_bytes as f64 / records as f64,
            usage.indirection_bytes as f64 / records as f64,
            usage.version_bytes as f64 / records as f64,
            usage.claimed_bytes as f64 / records as f64
        ),
    ];
    // A third argument picks one execution, for profiling.
    let only = arguments.get(2).copied();
    for _ in 0..if tiny { 1 } else { 2 } {
        if only.is_none_or(|n| n == 0) {
            report.push(format!(
                "sequential  {:.0}",
                bench.run::<Sequential>(InFlight::Fixed(1), time)
            ));
            report.push(format!(
                "prefetch    {:.0}",
                bench.run::<Prefetching>(InFlight::Fixed(1), time)
            ));
        }
        for n in [1, 8, 12, 16, 24, 32] {
            if only.is_none_or(|only| only == n as u64) {
                let ns = bench.run::<Interleaved>(InFlight::Fixed(n), time);
                report.push(format!("interleaved {n:3} {ns:.0}"));
            }
        }
        if only.is_none() {
            report.push(format!(
                "interleaved auto {:.0}",
                bench.run::<Interleaved>(InFlight::Auto, time)
            ));
        }
    }
    for line in black_box(report) {
        println!("{line}");
    }
}
