//! Nanoseconds per key of building and probing hash tables from `u64` to `u32`: sequentially, as
//! coroutines, by group prefetching and by AMAC; least and median of some repeats, and the median of the
//! ratios of the sequential run to each within one repeat; beside the probes of the open table the machine's
//! limit. Every answer is checked. Arguments: entries
//! (default 4194304), in flight (default 24), the spread of keys as a power of two (default 0).
//! `--test`: tiny, checks only.
#![allow(clippy::print_stdout)]

use std::time::Instant;

use index::{
    baseline::hash as baseline,
    hash::{ChainedTable, OpenTable},
};
use interleave::{Execution, look_up_all};

const REPEATS: usize = 3;
const TECHNIQUES: [&str; 4] = ["sequential", "coroutines", "group prefetching", "amac"];

fn main() {
    let is_tiny = std::env::args().any(|argument| argument == "--test");
    let mut numbers = std::env::args().filter_map(|argument| argument.parse::<usize>().ok());
    let entries = numbers
        .next()
        .unwrap_or(if is_tiny { 5000 } else { 1 << 22 });
    let in_flight = numbers.next().unwrap_or(24);
    let spread = numbers.next().unwrap_or(0);
    let probes = if is_tiny { 2000 } else { 400_000 };
    let mut state = 1_u64;
    let mut random = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state >> 32
    };
    // Each number comes once, in an order of its own; odd factor: a permutation of the numbers below a power of two.
    let mask = entries.next_power_of_two() as u64 - 1;
    let shuffled = |n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15) & mask;
    let pairs: Vec<(u64, u32)> = (0..=mask)
        .map(|n| (shuffled(n) << spread, shuffled(n) as u32))
        .collect();
    let executions = [Execution::Sequential, Execution::in_flight(in_flight)];

    let mut report = Report::new("open build");
    let mut table = OpenTable::new();
    for repeat in 0..REPEATS {
        for turn in 0..TECHNIQUES.len() {
            let technique = (turn + repeat) % TECHNIQUES.len();
            drop(table);
            table = OpenTable::with_capacity(pairs.len()).expect("memory");
            report
                .time(technique, pairs.len(), || match technique {
                    0 | 1 => table.insert_all(&pairs, executions[technique], |_, _| {}),
                    2 => baseline::build_open_group_prefetching(&mut table, &pairs, in_flight),
                    _ => baseline::build_open_amac(&mut table, &pairs, in_flight),
                })
                .expect("memory");
            assert_eq!(table.len(), pairs.len());
        }
    }
    report.print(table.bytes());

    let mut found = vec![None; probes];
    let mut keys = || {
        let keys: Vec<u64> = (0..probes).map(|_| random() & mask).collect();
        let spread: Vec<u64> = keys.iter().map(|key| key << spread).collect();
        (keys, spread)
    };
    let check = |found: &mut [Option<u32>], keys: &[u64]| {
        assert!(
            found
                .iter()
                .zip(keys)
                .all(|(&one, &key)| one == Some(key as u32))
        );
        found.fill(None);
    };
    let mut report = Report::new("open probe");
    for repeat in 0..REPEATS {
        for turn in 0..TECHNIQUES.len() {
            let technique = (turn + repeat) % TECHNIQUES.len();
            let (numbers, keys) = keys();
            report.time(technique, probes, || match technique {
                0 | 1 => look_up_all(&table, &keys, executions[technique], |at, one| {
                    found[at] = one;
                }),
                2 => baseline::probe_open_group_prefetching(&table, &keys, in_flight, &mut found),
                _ => baseline::probe_open_amac(&table, &keys, in_flight, &mut found),
            });
            check(&mut found, &numbers);
        }
    }
    report.print(table.bytes());
    limit(table.bytes(), &keys().0);
    drop(table);

    let mut report = Report::new("chained build");
    let mut table = ChainedTable::new();
    for repeat in 0..REPEATS {
        for turn in 0..TECHNIQUES.len() {
            let technique = (turn + repeat) % TECHNIQUES.len();
            drop(table);
            table = ChainedTable::with_capacity(pairs.len()).expect("memory");
            report
                .time(technique, pairs.len(), || match technique {
                    0 | 1 => table.insert_all(&pairs, executions[technique]),
                    2 => baseline::build_chained_group_prefetching(&mut table, &pairs, in_flight),
                    _ => baseline::build_chained_amac(&mut table, &pairs, in_flight),
                })
                .expect("memory");
            assert_eq!(table.len(), pairs.len());
        }
    }
    report.print(table.bytes());

    let mut report = Report::new("chained probe");
    for repeat in 0..REPEATS {
        for turn in 0..TECHNIQUES.len() {
            let technique = (turn + repeat) % TECHNIQUES.len();
            let (numbers, keys) = keys();
            report.time(technique, probes, || match technique {
                0 | 1 => look_up_all(&table, &keys, executions[technique], |at, one| {
                    found[at] = one;
                }),
                2 => {
                    baseline::probe_chained_group_prefetching(&table, &keys, in_flight, &mut found);
                }
                _ => baseline::probe_chained_amac(&table, &keys, in_flight, &mut found),
            });
            check(&mut found, &numbers);
        }
    }
    report.print(table.bytes());
}

/// Reads independent lines of `bytes` of memory, one a key: no probe can be faster.
fn limit(bytes: usize, keys: &[u64]) {
    let words = bytes / size_of::<u64>();
    let mut memory = memory::on_huge_pages(words).expect("memory");
    memory.resize(words, 1_u64);
    let start = Instant::now();
    let read = keys.iter().map(|key| {
        let place = u128::from(key.wrapping_mul(0xD134_2543_DE82_EF95)) * words as u128;
        memory[(place >> 64) as usize]
    });
    let sum: u64 = std::hint::black_box(read.sum());
    let ns = start.elapsed().as_nanos() as f64 / keys.len() as f64;
    assert_eq!(sum, keys.len() as u64);
    println!("  {:18} {ns:7.1}", "limit");
}

/// Times of each technique, one per repeat.
struct Report {
    name: &'static str,
    ns: [Vec<f64>; TECHNIQUES.len()],
}

impl Report {
    fn new(name: &'static str) -> Report {
        Report {
            name,
            ns: Default::default(),
        }
    }

    fn time<R>(&mut self, technique: usize, keys: usize, run: impl FnOnce() -> R) -> R {
        let start = Instant::now();
        let result = run();
        self.ns[technique].push(start.elapsed().as_nanos() as f64 / keys as f64);
        result
    }

    fn print(&self, bytes: usize) {
        println!("{} ({} MiB)", self.name, bytes >> 20);
        let median = |mut all: Vec<f64>| {
            all.sort_by(f64::total_cmp);
            (all[0], all[all.len() / 2])
        };
        for (name, ns) in TECHNIQUES.into_iter().zip(&self.ns) {
            let ratios = self.ns[0].iter().zip(ns).map(|(first, ns)| first / ns);
            let ((least, middle), (_, ratio)) = (median(ns.clone()), median(ratios.collect()));
            println!("  {name:18} {least:7.1} {middle:7.1} ns  {ratio:5.2}");
        }
    }
}
