//! Simulated transactions that wait for each other, lock records and return to
//! savepoints, among others that abort: no transaction waits for ever, every answer
//! is right, and nothing is left behind, whatever is cancelled, dropped or panics
//! meanwhile.

use crate::seeds;

use seeds::survive;
use sim::{Levels, Parameters};

const SEEDS: u64 = 200;

#[test]
fn waiting_transactions_survive_faults() {
    let parameters = Parameters::preset("waiting").unwrap();
    let report = survive(SEEDS, &parameters);
    assert!(report.deadlocks > 0 && report.locked > 0 && report.write_conflicts > 0);
    assert!(report.cancelled > 0 && report.panics > 0 && report.restarts > 0);
}

/// Snapshots and read committed alone, all of them waiting, without faults.
#[test]
fn no_write_conflict_is_reported_where_all_wait() {
    for levels in [Levels::Snapshot, Levels::ReadCommitted] {
        let parameters = Parameters {
            levels,
            waits: 1000,
            registers: 2,
            accounts: 3,
            ..Parameters::default()
        };
        let report = survive(SEEDS / 2, &parameters);
        assert!(report.deadlocks > 0);
        assert_eq!(report.write_conflicts, 0);
    }
}
