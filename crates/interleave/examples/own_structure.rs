//! Interleaves lookups in a structure of your own: the hash table of the README,
//! looked up sequentially, with prefetches alone, as an `Interleaver` finds best, and by a
//! worker.
//!
//! `cargo run --release -p interleave --example own_structure [entries] [lookups]`
//!
//! From the first `use` to the end of `sum_on_worker` the code is the README's,
//! word for word; `tests/readme.rs` compares.

#![allow(clippy::print_stdout, reason = "a program that reports to people")]

use interleave::{Interleaver, Lookup, Point, Policy};

struct Entry {
    key: u64,
    value: u64,
    next: Option<u32>,
}
struct Table {
    heads: Vec<Option<u32>>,
    entries: Vec<Entry>,
}

impl Lookup<u64> for Table {
    type Found = Option<u64>;

    async fn look_up<P: Policy>(&self, key: u64) -> Option<u64> {
        let head = &self.heads[bucket(key, self.heads.len())];
        P::touch(Point::new("head"), head, size_of::<Option<u32>>()).await;
        let mut next = *head;
        while let Some(at) = next {
            let entry = &self.entries[at as usize];
            P::touch(Point::new("entry"), entry, size_of::<Entry>()).await;
            if entry.key == key {
                return Some(entry.value);
            }
            next = entry.next;
        }
        None
    }
}

fn sum(table: &Table, interleaver: &mut Interleaver, keys: &[u64]) -> u64 {
    let mut sum = 0;
    interleaver.look_up_all(table, keys, |_, value| sum += value.unwrap_or(0));
    sum
}

use interleave::{Clock, FromFn, InFlight, Interleaved, Leaf, Worker, WorkerConfig, WorkerLocal};
use std::{cell::Cell, rc::Rc};

impl WorkerLocal for Table {}

fn sum_on_worker(table: Rc<Table>, mut keys: impl Iterator<Item = u64> + 'static) -> u64 {
    let config = WorkerConfig {
        in_flight: InFlight::Fixed(24),
        ..WorkerConfig::default()
    };
    let mut worker = Worker::new(config, table, Clock::real());
    let sum = Rc::new(Cell::new(0));
    let total = sum.clone();
    worker.set_source(FromFn(move |table: &Rc<Table>| {
        let (table, sum, key) = (table.clone(), total.clone(), keys.next()?);
        Some(async move {
            let value = Leaf::new(table.look_up::<Interleaved>(key)).await;
            sum.set(sum.get() + value.unwrap_or(0));
        })
    }));
    worker.run_until_idle();
    sum.get()
}

fn sum_in_place<P: Policy>(table: &Table, keys: impl Iterator<Item = u64>) -> u64 {
    keys.map(|key| interleave::run_inline(table.look_up::<P>(key)).unwrap_or(0))
        .sum()
}

fn bucket(key: u64, buckets: usize) -> usize {
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize % buckets
}

fn build(entries: usize) -> Table {
    let mut table = Table {
        heads: vec![None; entries / 4],
        entries: Vec::with_capacity(entries),
    };
    for number in 0..entries {
        // Neighbours in the table are no neighbours in the key space.
        let key = scattered(number as u64, entries);
        let head = &mut table.heads[bucket(key, entries / 4)];
        let next = head.replace(number as u32);
        table.entries.push(Entry {
            key,
            value: key ^ 7,
            next,
        });
    }
    table
}

/// Returns the place of `number` in a permutation of 0..entries, if `entries` is a power of two.
fn scattered(number: u64, entries: usize) -> u64 {
    number.wrapping_mul(0x2545_F491_4F6C_DD1D) & (entries as u64 - 1)
}

/// Returns keys in random order; about one in eight is not in the table.
fn keys(lookups: usize, entries: usize) -> impl Iterator<Item = u64> + 'static {
    let mut state = 0x853C_49E6_748F_EA9B_u64;
    (0..lookups).map(move |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % (entries as u64 + entries as u64 / 8)
    })
}

fn main() {
    let argument = |at| std::env::args().nth(at).and_then(|text| text.parse().ok());
    let entries = argument(1).unwrap_or(1usize << 23).next_power_of_two();
    let lookups = argument(2).unwrap_or(1usize << 20);
    println!("{entries} entries, {lookups} lookups, nanoseconds per lookup:");
    let table = Rc::new(build(entries));
    let time = |run: &dyn Fn() -> u64| {
        let start = std::time::Instant::now();
        let sum = run();
        (start.elapsed().as_nanos() as f64 / lookups as f64, sum)
    };
    let listed: Vec<u64> = keys(lookups, entries).collect();
    let modes: [(&str, &dyn Fn() -> u64); 4] = [
        ("sequential", &|| {
            sum_in_place::<interleave::Sequential>(&table, keys(lookups, entries))
        }),
        ("prefetching", &|| {
            sum_in_place::<interleave::Prefetching>(&table, keys(lookups, entries))
        }),
        ("interleaver", &|| {
            sum(&table, &mut Interleaver::auto(), &listed)
        }),
        ("worker", &|| {
            sum_on_worker(table.clone(), keys(lookups, entries))
        }),
    ];
    // Alternating, so that a noisy moment hits all of them; the median counts.
    let mut times = [const { Vec::new() }; 4];
    let mut sums = Vec::new();
    for _ in 0..5 {
        for ((_, run), times) in modes.iter().zip(&mut times) {
            let (ns, sum) = time(run);
            times.push(ns);
            sums.push(sum);
        }
    }
    assert!(sums.iter().all(|&sum| sum == sums[0]), "answers differ");
    let median = times.map(|mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    for ((name, _), ns) in modes.iter().zip(median) {
        println!(
            "{name:12} {ns:8.1}   {:5.2} times sequential",
            median[0] / ns
        );
    }
}
