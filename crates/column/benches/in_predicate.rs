//! IN-predicate queries on a column: the list encoded sequentially, interleaved and as the predicate
//! chooses, against Main and Delta (paper 003, figures 1 and 8).
//!
//! `cargo bench -p column --bench in_predicate -- [values of the dictionary] [rows]`; as a test, few.

#![allow(clippy::print_stdout)]

use std::time::Instant;

use column::{Column, Delta, InPredicate, Main};
use interleave::Execution;

/// Values of a list.
const LIST: usize = 10_000;

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
    let [values, rows] = if is_bench {
        [1 << 24, 1 << 20]
    } else {
        [10_000, 1000]
    };
    let values: u32 = numbers.next().unwrap_or(values);
    let rows: u32 = numbers.next().unwrap_or(rows);
    // Half of each list is absent: it is drawn from twice as many numbers.
    let odd = 0x9e37_79b1_u32;
    let code = |row: u32| (u64::from(row.wrapping_mul(odd)) * u64::from(values)) >> 32;
    let codes = (0..rows).map(|row| Some(code(row) as u32));
    let start = Instant::now();
    let main = Main::<u32>::from_dictionary((0..values).map(|number| 2 * number), codes.clone());
    let main = main.expect("memory");
    println!(
        "# Main built in {:?}, {} MiB",
        start.elapsed(),
        main.bytes() >> 20
    );
    let column = Column::of_parts(main, Delta::new());
    measure("main", &column, |number| number % (2 * values));
    drop(column);

    let start = Instant::now();
    // The values are distinct, as the factor is odd.
    let arrived = (0..values).map(|number| number.wrapping_mul(odd));
    let delta = Delta::<u32>::from_dictionary(arrived, codes).expect("memory");
    println!(
        "# Delta built in {:?}, {} MiB",
        start.elapsed(),
        delta.bytes() >> 20
    );
    let column = Column::of_parts(Main::new().expect("memory"), delta);
    measure("delta", &column, |number| {
        (number % (2 * values)).wrapping_mul(odd)
    });
}

fn measure(part: &str, column: &Column<u32>, value: impl Fn(u32) -> u32) {
    let snapshot = column.snapshot();
    let mut state = 1;
    let predicates = [
        (
            "sequential",
            InPredicate::fixed(Execution::Sequential, false),
        ),
        (
            "sequential sorted",
            InPredicate::fixed(Execution::Sequential, true),
        ),
        ("16", InPredicate::fixed(Execution::in_flight(16), false)),
        ("32", InPredicate::fixed(Execution::in_flight(32), false)),
        (
            "32 sorted",
            InPredicate::fixed(Execution::in_flight(32), true),
        ),
        ("auto", InPredicate::auto()),
    ];
    println!("part,predicate,found,us_per_list,execution,sorts");
    for (name, mut predicate) in predicates {
        let mut found = Vec::new();
        let mut times: Vec<f64> = (0..15)
            .map(|_| {
                let list: Vec<_> = (0..LIST)
                    .map(|_| Some(value(random(&mut state) as u32)))
                    .collect();
                found.clear();
                let start = Instant::now();
                predicate
                    .rows_in(&snapshot, &list, &mut found)
                    .expect("memory");
                start.elapsed().as_secs_f64() * 1e6
            })
            .collect();
        times.sort_by(f64::total_cmp);
        println!(
            "{part},{name},{},{:.0},{:?},{:?}",
            found.len(),
            times[times.len() / 2],
            match part {
                "main" => predicate.main_execution(),
                _ => predicate.delta_execution(),
            },
            predicate.sorts()
        );
        assert!(found.is_sorted());
    }
}
