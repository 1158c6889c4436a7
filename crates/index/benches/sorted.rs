//! Nanoseconds per lookup in large sorted arrays, in every way, alternating. Arguments: MiB of the
//! array (default 2048), lookups (default 4000), then numbers in flight (default 12 16 24 32 48).
//! `--test`: tiny, checks only. `--ordinary`: on ordinary pages. `--strings`: of 15 characters.
#![allow(clippy::print_stdout)]

use std::time::Instant;

use index::{
    baseline::binary_search as baseline,
    sorted::{FixedString, PagedArray, SortedArray},
};
use interleave::{Execution, Lookup, look_up_all};

const REPEATS: usize = 60;

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
        lookups: numbers.next().unwrap_or(if is_tiny { 2000 } else { 4000 }),
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

/// A way to look up: name, in flight, body, nanoseconds of each run.
type Row<'s, T> = (
    &'s str,
    usize,
    Box<dyn Fn(&[T], &mut [usize]) + 's>,
    Vec<f64>,
);

fn compare<T: Copy + Ord>(name: &str, options: &Options, element: impl Fn(usize) -> T) {
    let len = options.bytes / size_of::<T>();
    let mut elements = vector(options, len);
    elements.extend((0..len).map(&element));
    let array = &SortedArray::from_sorted(elements).expect("in order");
    let mut elements = vector(options, len);
    elements.extend_from_slice(array.as_slice());
    let paged = SortedArray::from_sorted(elements).expect("in order");
    let paged = &PagedArray::new(paged).expect("memory");
    println!(
        "{name}, {} MiB, {} lookups",
        options.bytes >> 20,
        options.lookups
    );

    let mut rows: Vec<Row<'_, T>> = Vec::new();
    let mut ways: Vec<(&str, Search<T>)> = vec![
        ("std", baseline::std_search),
        ("branch-free", baseline::branch_free),
    ];
    for &group in [0].iter().chain(&options.groups) {
        for (name, search) in ways {
            if !["std", "amac"].contains(&name) {
                continue;
            }
            let body = move |keys: &[T], places: &mut [usize]| {
                search(array.as_slice(), keys, group, places)
            };
            rows.push((name, group, Box::new(body), Vec::new()));
        }
        rows.push(structure("sorted array", group, array));
        rows.push(structure("paged array", group, paged));
        ways = vec![
            ("group prefetching", baseline::group_prefetching),
            ("software pipelined", baseline::software_pipelined),
            ("amac", baseline::amac),
            ("coroutines", baseline::coroutines),
            ("from the root", baseline::coroutines_from_root),
            ("boxed", baseline::coroutines_boxed),
        ];
    }

    let mut state = 88172645463325252_u64;
    let mut places = vec![0; options.lookups];
    for _ in 0..if options.is_tiny { 1 } else { REPEATS } {
        for (name, _, body, ns) in &mut rows {
            // Other keys each time: the lines of earlier lookups are in the cache.
            let expected: Vec<usize> = (0..options.lookups)
                .map(|_| {
                    state ^= state << 13;
                    state ^= state >> 7;
                    state ^= state << 17;
                    ((u128::from(state) * len as u128) >> 64) as usize
                })
                .collect();
            let keys: Vec<T> = expected.iter().map(|place| element(*place)).collect();
            places.fill(usize::MAX);
            let start = Instant::now();
            body(&keys, &mut places);
            ns.push(start.elapsed().as_nanos() as f64 / options.lookups as f64);
            assert_eq!(places, expected, "{name}");
        }
    }
    for (name, group, _, mut ns) in rows {
        ns.sort_by(f64::total_cmp);
        let (least, quarter, median) = (ns[0], ns[ns.len() / 4], ns[ns.len() / 2]);
        println!("{name:20}{group:3} {quarter:8.1} ns ({least:.1}, median {median:.1})");
    }
}

fn structure<'s, T: Copy, L: Lookup<T, Found = Result<usize, usize>>>(
    name: &'s str,
    group: usize,
    structure: &'s L,
) -> Row<'s, T> {
    let body = move |keys: &[T], places: &mut [usize]| {
        look_up_all(structure, keys, Execution::in_flight(group), |at, found| {
            places[at] = found.expect("is there");
        });
    };
    (name, group, Box::new(body), Vec::new())
}
