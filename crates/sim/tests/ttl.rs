//! Records that expire in the middle of everything, by a wall clock that jumps: readers
//! find the same by table and by index, and nothing is left in the end.

use crate::seeds;

use seeds::survive;
use sim::{Faults, Parameters, Planted, Reason, run};

const SEEDS: u64 = 120;

/// Returns a preset with expiring records, and without operations of one transaction at once,
/// as with all indexes.
fn with_expiring(preset: &str) -> Parameters {
    let preset = Parameters::preset(preset).expect("it is a preset");
    Parameters {
        expiring: 6,
        indexes: 1,
        presence_keys: 30,
        faults: Faults {
            join: 0,
            ..preset.faults
        },
        ..preset
    }
}

#[test]
fn records_expire_beside_transactions() {
    let report = survive(SEEDS, &with_expiring("mixed"));
    assert!(report.expired > SEEDS * 10, "{} expired", report.expired);
}

#[test]
fn expiring_records_survive_all_faults() {
    let report = survive(SEEDS * 2, &with_expiring("faults"));
    assert!(report.expired > SEEDS * 5, "{} expired", report.expired);
    assert!(report.panics > SEEDS);
}

#[test]
fn a_reader_of_expired_records_is_found() {
    let parameters = Parameters {
        planted: Some(Planted::ReadExpired),
        ..with_expiring("mixed")
    };
    let found = (1..=20).find_map(|seed| run(seed, &parameters).err());
    let reason = found.expect("no checker found it").reason;
    assert!(matches!(reason, Reason::Panicked(_)), "{reason}");
}
