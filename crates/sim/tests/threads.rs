//! Workloads and checkers of the simulation on real threads.

use std::time::{Duration, Instant};

use sim::{Faults, Parameters, run_threads};

const SECONDS: u64 = 2;

#[test]
fn threads_keep_to_the_rules() {
    let start = Instant::now();
    let mut committed = 0;
    let mut seed = 1;
    while start.elapsed() < Duration::from_secs(SECONDS) || seed <= 4 {
        let preset = ["snapshot", "mixed", "read-committed", "waiting"][seed as usize % 4];
        let parameters = Parameters {
            transactions: 1500,
            faults: Faults {
                rollback: 60,
                abandon: 40,
                join: 60,
                ..Faults::NONE
            },
            ..Parameters::preset(preset).expect("it is a preset")
        };
        let workers = 2 + seed as usize % 3;
        let report = run_threads(seed, workers, &parameters)
            .unwrap_or_else(|failure| panic!("{workers} workers: {failure}"));
        committed += report.committed;
        seed += 1;
    }
    assert!(committed > 1000, "only {committed} transactions committed");
}
