//! Nanoseconds per lookup in a CSB+-tree over an unsorted array, sequentially and interleaved, and the ratio of the two
//! within each repeat; then both for lookups that ignore fingerprints. Every answer is checked. Arguments: number of
//! values, rounded up to a power of two (default 16777216), in flight (default 24), `u32`, `u64` or `string` (default
//! `u32`), `absent` to look up absent keys. `--test`: tiny, checks only.
#![allow(clippy::print_stdout)]

use std::time::Instant;

use index::csb::{CodesOnly, CsbTree, StringHeap, Values};
use interleave::{Execution, Lookup, look_up_all};

const REPEATS: usize = 5;
/// Factor: odd, with an inverse modulo each power of two up to 2^32. Values arrive in an order that is a permutation,
/// so that the codes in the order of their values are known without sorting.
const FACTOR: u32 = 0x9E37_79B1;

fn inverse() -> u32 {
    // Newton: each round doubles the bits that are right.
    (0..5).fold(FACTOR, |inverse, _| {
        inverse.wrapping_mul(2_u32.wrapping_sub(FACTOR.wrapping_mul(inverse)))
    })
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let has = |word: &str| arguments.iter().any(|argument| argument == word);
    let mut numbers = arguments
        .iter()
        .filter_map(|argument| argument.parse().ok());
    let default = if has("--test") { 4096 } else { 1 << 24 };
    let values: usize = numbers.next().unwrap_or(default);
    let in_flight = numbers.next().unwrap_or(24);
    let lookups = if has("--test") { 2000 } else { 200_000 };
    let mask = values.next_power_of_two() as u32 - 1;
    let bench = Bench {
        mask,
        in_flight,
        lookups,
        is_absent: has("absent"),
    };
    // Even numbers are there, odd ones are absent.
    if has("string") {
        let text = |rank: u32| format!("key {rank:011}").into_bytes();
        let mut heap = StringHeap::new();
        for code in 0..=mask {
            heap.push(&text(2 * (code.wrapping_mul(FACTOR) & mask)))
                .expect("memory");
        }
        let texts: Vec<_> = bench.asked().map(text).collect();
        bench.run(&heap, texts.iter().map(Vec::as_slice).collect());
    } else if has("u64") {
        let number = |rank: u32| u64::from(rank) << 20;
        let mut array = memory::on_huge_pages(mask as usize + 1).expect("memory");
        array.extend((0..=mask).map(|code| number(2 * (code.wrapping_mul(FACTOR) & mask))));
        bench.run(&array, bench.asked().map(number).collect());
    } else {
        let mut array = memory::on_huge_pages(mask as usize + 1).expect("memory");
        array.extend((0..=mask).map(|code| 2 * (code.wrapping_mul(FACTOR) & mask)));
        bench.run(&array, bench.asked().collect());
    }
}

struct Bench {
    mask: u32,
    in_flight: usize,
    lookups: usize,
    is_absent: bool,
}

impl Bench {
    /// Returns the keys to look up: another part of them in each repeat.
    fn asked(&self) -> impl Iterator<Item = u32> {
        let (mask, odd) = (self.mask, u32::from(self.is_absent));
        let mut state = 1_u64;
        (0..self.lookups * REPEATS * 4).map(move |_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            2 * ((state >> 32) as u32 & mask) + odd
        })
    }

    fn run<K: Copy, V: Values<K>>(&self, values: &V, keys: Vec<K>) {
        let inverse = inverse();
        let in_order =
            (0..self.mask as usize + 1).map(|rank| (rank as u32).wrapping_mul(inverse) & self.mask);
        let start = Instant::now();
        let tree = CsbTree::bulk_load(values, in_order, 100).expect("memory");
        println!(
            "{} values, tree of {} MiB with {} inner levels, loaded in {:.1} s",
            tree.len(),
            tree.bytes() >> 20,
            tree.height(),
            start.elapsed().as_secs_f64()
        );
        let expected: Vec<_> = self
            .asked()
            .map(|asked| (asked % 2 == 0).then(|| (asked / 2).wrapping_mul(inverse) & self.mask))
            .collect();
        let over = tree.over(values);
        let mut rows = Vec::new();
        let mut parts = keys.chunks(self.lookups).zip(expected.chunks(self.lookups));
        let executions = [Execution::Sequential, Execution::in_flight(self.in_flight)];
        for _ in 0..REPEATS {
            let mut part = || parts.next().expect("a part for each run");
            let tree = executions.map(|execution| ns(&over, part(), execution));
            let codes_only = executions.map(|execution| ns(&CodesOnly(over), part(), execution));
            rows.push((tree, codes_only));
        }
        rows.sort_by(|(a, _), (b, _)| (a[0] / a[1]).total_cmp(&(b[0] / b[1])));
        for (tree, codes_only) in rows {
            for (name, [sequential, interleaved]) in [("tree", tree), ("codes", codes_only)] {
                let ratio = sequential / interleaved;
                print!("{name} {sequential:7.1} {interleaved:7.1} {ratio:.2}    ");
            }
            println!();
        }
    }
}

/// Returns nanoseconds per lookup. Checks the results.
fn ns<K: Copy, S: Lookup<K, Found = Option<u32>>>(
    structure: &S,
    (keys, expected): (&[K], &[Option<u32>]),
    execution: Execution,
) -> f64 {
    let mut found = vec![None; keys.len()];
    let start = Instant::now();
    look_up_all(structure, keys, execution, |at, one| found[at] = one);
    let ns = start.elapsed().as_nanos() as f64 / keys.len() as f64;
    assert_eq!(found, expected);
    ns
}
