//! Nanoseconds per lookup of 8-byte keys: sequential, prefetching, AMAC,
//! coroutines, alternating on one tree, beside the machine's limit (random
//! independent reads of lines in the same memory). Arguments: number of keys
//! (default 1000000), in flight (default 24). `--test`: tiny, checks only.
#![allow(clippy::print_stdout)]

use std::{hint::black_box, time::Instant};

use index::{Tree, baseline};
use interleave::{Prefetching, Sequential, run_inline};
use memory::{Arena, Epochs, LINE_BYTES, Local};

const MODES: [&str; 5] = ["limit/line", "sequential", "prefetch", "amac", "coroutines"];
const REPEATS: usize = 5;

fn key(number: u64) -> [u8; 8] {
    // The factor is odd: a permutation of the numbers.
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()
}

fn main() {
    let tiny = std::env::args().any(|argument| argument == "--test");
    let mut numbers = std::env::args().filter_map(|argument| argument.parse().ok());
    let keys: u64 = numbers
        .next()
        .unwrap_or(if tiny { 5000 } else { 1_000_000 });
    let in_flight = numbers.next().unwrap_or(24) as usize;
    let lookups = if tiny { 2000 } else { 400_000 };

    let arena = Arena::new((keys as usize * 64).max(64 << 20)).expect("memory");
    let local = Local::new(&arena, &Epochs::new());
    let tree = Tree::new(&local).expect("memory");
    let pin = local.pin();
    let started = Instant::now();
    // Values of the keys are checked below.
    for number in 0..keys {
        run_inline(tree.insert::<Sequential>(&local, &pin, &key(number), number)).expect("memory");
    }
    let load_ns = started.elapsed().as_nanos() as u64 / keys;
    let stats = tree.stats(&pin);
    println!(
        "{keys} keys, {load_ns} ns per insertion, {:.1} bytes per key, get future {} bytes",
        stats.lines as f64 * LINE_BYTES as f64 / keys as f64,
        size_of_val(&tree.get::<interleave::Grouped>(&pin, &[])),
    );
    println!(
        "interior nodes by level {:?}, borders {}",
        stats.interior_by_level, stats.border_nodes
    );

    let mut state = 1u64;
    let mut answers = vec![None; lookups];
    let mut results = vec![Vec::new(); MODES.len()];
    for _ in 0..if tiny { 1 } else { REPEATS } {
        for (mode, name) in MODES.into_iter().enumerate() {
            let wanted: Vec<[u8; 8]> = (0..lookups)
                .map(|_| {
                    state = state
                        .wrapping_mul(6364136223846793005)
                        .wrapping_add(1442695040888963407);
                    key((state >> 20) % keys)
                })
                .collect();
            let started = Instant::now();
            match name {
                "limit/line" => limit(&arena, &wanted),
                "sequential" => baseline::multi_get_sequential(&tree, &pin, &wanted, &mut answers),
                "prefetch" => {
                    for (key, answer) in wanted.iter().zip(&mut answers) {
                        *answer = run_inline(tree.get::<Prefetching>(&pin, key));
                    }
                }
                "amac" => {
                    baseline::multi_get_amac(&tree, &pin, &wanted, &mut answers, in_flight);
                }
                _ => baseline::multi_get_coroutines(&tree, &pin, &wanted, &mut answers, in_flight),
            }
            results[mode].push(started.elapsed().as_nanos() as f64 / lookups as f64);
            if mode > 0 {
                for (wanted, answer) in wanted.iter().zip(&answers) {
                    assert_eq!(answer.map(key).as_ref(), Some(wanted), "{name}");
                }
            }
            answers.fill(None);
        }
    }
    for (name, mut ns) in MODES.into_iter().zip(results) {
        ns.sort_by(f64::total_cmp);
        let (median, least, most) = (ns[ns.len() / 2], ns[0], ns[ns.len() - 1]);
        println!("{name:12} {median:8.1} ns ({least:.1} to {most:.1})");
    }
}

/// Reads one line per key, at an address drawn from the key.
fn limit(arena: &Arena, wanted: &[[u8; 8]]) {
    let (base, bytes) = arena.claimed();
    let lines = (bytes / LINE_BYTES) as u64;
    let mut sum = 0u64;
    for key in wanted {
        let line = u64::from_be_bytes(*key).wrapping_mul(0xd134_2543_de82_ef95) >> 20;
        let offset = (line % lines) as usize * LINE_BYTES;
        // SAFETY: within the claimed part of the reservation, which is mapped; no thread writes
        // while the bench reads.
        sum = sum.wrapping_add(unsafe { base.add(offset).cast::<u64>().read_volatile() });
    }
    black_box(sum);
}
