//! Benchmark of the cost of a row in scans of packed codes, by width and set.
//!
//! `cargo bench -p segment --bench scan -- [rows]`; as a test, few rows.

#![allow(clippy::print_stdout)]

use std::time::Instant;

use segment::{CodeSet, Codes, PackedCodes};

/// Returns pseudo-random numbers (splitmix64).
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

fn main() {
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let mut numbers = std::env::args().filter_map(|argument| argument.parse().ok());
    let rows: usize = numbers
        .next()
        .unwrap_or(if is_bench { 1 << 24 } else { 1000 });
    let mut state = 1;
    println!("width,set,codes,found,ns_per_row");
    for width in [4, 8, 12, 17, 20, 24, 27, 29, 32] {
        let below = 1_u64 << width;
        let plain: Vec<u32> = (0..rows)
            .map(|_| (random(&mut state) % below) as u32)
            .collect();
        let packed =
            PackedCodes::from_codes(width, plain.iter().copied()).expect("memory for the codes");
        for members in [1, 2, 4, 8, 100, 10_000, 1_000_000] {
            if members * 2 > below {
                continue;
            }
            let mut list = (0..members)
                .map(|_| (random(&mut state) % below) as u32)
                .collect();
            let set = CodeSet::new(&mut list, below).expect("memory for the set");
            let expected = plain
                .iter()
                .filter(|code| list.binary_search(code).is_ok())
                .count();
            let mut best = f64::INFINITY;
            for _ in 0..5 {
                let mut count = 0;
                let start = Instant::now();
                Codes::Packed(packed.as_slice())
                    .scan(0..rows, &set, |_, mask| count += mask.count_ones());
                best = best.min(start.elapsed().as_nanos() as f64 / rows as f64);
                assert_eq!(count as usize, expected);
            }
            println!("{width},{},{members},{expected},{best:.3}", set.form_name());
        }
    }
}
