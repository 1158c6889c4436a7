//! Nanoseconds per lookup in large sorted arrays, in every way, alternating. Arguments: MiB of the
//! array (default 2048), lookups (default 200000), then numbers in flight (default 12 16 24 32 48).
//! `--test`: tiny, checks only. `--ordinary`: on ordinary pages. `--strings`: of 15 characters.
#![allow(clippy::print_stdout)]

use std::time::Instant;

use index::{
    baseline::binary_search as baseline,
    sorted::{FixedString, SortedArray},
};
use interleave::{Execution, look_up_all};

const REPEATS: usize = 3;

type Search<T> = fn(&[T], &[T], usize, &mut [usize]);

struct Options {
    bytes: usize,
    lookups: usize,
    groups: Vec<usize>,
    is_tiny: bool,
    is_ordinary: bool,
}

fn main() {
    let is_given = |option| std::env::args().any(|argument| argument == option);
    let is_tiny = is_given("--test");
    let mut numbers = std::env::args().filter_map(|argument| argument.parse::<usize>().ok());
    let mut options = Options {
        bytes: numbers.next().unwrap_or(if is_tiny { 1 } else { 2048 }) << 20,
        lookups: numbers
            .next()
            .unwrap_or(if is_tiny { 2000 } else { 200_000 }),
        groups: numbers.collect(),
        is_tiny,
        is_ordinary: is_given("--ordinary"),
    };
    if options.groups.is_empty() {
        options.groups = vec![12, 16, 24, 32, 48];
    }
    if is_tiny || !is_given("--strings") {
        compare("u32", &options, |number| number as u32 * 2);
    }
    if is_tiny || is_given("--strings") {
        compare("15 characters", &options, |number| {
            FixedString::<15>::new(format!("{number:015}").as_bytes()).expect("15 bytes")
        });
    }
}

fn vector<T>(options: &Options, capacity: usize) -> Vec<T> {
    match options.is_ordinary {
        true => Vec::with_capacity(capacity),
        false => memory::on_huge_pages(capacity).expect("memory"),
    }
}

fn compare<T: Copy + Ord>(name: &str, options: &Options, element: impl Fn(usize) -> T) {
    let len = options.bytes / size_of::<T>();
    let mut elements = vector(options, len);
    elements.extend((0..len).map(&element));
    let array = SortedArray::from_sorted(elements).expect("in order");
    let mut state = 88172645463325252_u64;
    let expected: Vec<usize> = (0..options.lookups)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            ((u128::from(state) * len as u128) >> 64) as usize
        })
        .collect();
    let keys: Vec<T> = expected.iter().map(|place| element(*place)).collect();
    println!(
        "{name}, {} MiB, {} lookups",
        options.bytes >> 20,
        keys.len()
    );

    let sequential: [(&str, Search<T>); 2] = [
        ("std", baseline::std_search),
        ("branch-free", baseline::branch_free),
    ];
    let grouped: [(&str, Search<T>); 6] = [
        ("group prefetching", baseline::group_prefetching),
        ("software pipelined", baseline::software_pipelined),
        ("amac", baseline::amac),
        ("coroutines", baseline::coroutines),
        ("from the root", baseline::coroutines_from_root),
        ("boxed", baseline::coroutines_boxed),
    ];
    let mut rows = Vec::new();
    for (name, search) in sequential {
        rows.push((format!("{name:20}"), search, 1, Vec::new()));
    }
    for &group in &options.groups {
        for (name, search) in grouped {
            rows.push((format!("{name:20}{group:3}"), search, group, Vec::new()));
        }
    }
    let mut places = vec![0; keys.len()];
    let mut lookups = |_: &str, search: &mut dyn FnMut(&mut [usize])| {
        places.fill(usize::MAX);
        let start = Instant::now();
        search(&mut places);
        let ns = start.elapsed().as_nanos() as f64 / keys.len() as f64;
        assert_eq!(places, expected);
        ns
    };
    let mut structures: Vec<(String, Vec<f64>)> = Vec::new();
    for _ in 0..if options.is_tiny { 1 } else { REPEATS } {
        for (name, search, group, ns) in &mut rows {
            ns.push(lookups(name, &mut |places| {
                search(array.as_slice(), &keys, *group, places);
            }));
        }
        for (at, &group) in [0].iter().chain(&options.groups).enumerate() {
            let execution = Execution::in_flight(group);
            let name = format!("{:20}{group:3}", "sorted array");
            let ns = lookups(&name, &mut |places| {
                look_up_all(&array, &keys, execution, |at, found| {
                    places[at] = found.expect("is there");
                });
            });
            if structures.len() == at {
                structures.push((name, Vec::new()));
            }
            structures[at].1.push(ns);
        }
    }
    let rows = rows.into_iter().map(|(name, _, _, ns)| (name, ns));
    for (name, mut ns) in rows.chain(structures) {
        ns.sort_by(f64::total_cmp);
        println!("{name} {:8.1} ns ({:.1})", ns[0], ns[ns.len() / 2]);
    }
}
