//! Resident memory of a process in which nothing else happens.

use bench::measure::Resident;

const BYTES: u64 = 256 << 20;
/// Bytes that the process itself may take or give back meanwhile.
const OTHERS: u64 = 4 << 20;

fn taken() -> Vec<u8> {
    std::hint::black_box(vec![1; BYTES as usize])
}

#[test]
fn the_peak_is_seen_without_what_another_one_takes() {
    let mut resident = Resident::begin();
    resident.elsewhere_begins();
    let other = taken();
    resident.elsewhere_ends();
    resident.forget_peak();
    assert!(resident.peak().unwrap() < OTHERS);
    let own = taken();
    let peak = resident.peak().unwrap();
    assert!(peak.abs_diff(BYTES) < OTHERS, "{peak}");
    drop(own);
    // The peak counts memory that was given back.
    let peak = resident.peak().unwrap();
    assert!(peak.abs_diff(BYTES) < OTHERS, "{peak}");
    resident.forget_peak();
    assert!(resident.peak().unwrap() < OTHERS);
    // Memory that the other database gives back is not this one's either.
    resident.elsewhere_begins();
    drop(other);
    resident.elsewhere_ends();
    let own = taken();
    let peak = resident.peak().unwrap();
    assert!(peak.abs_diff(BYTES) < OTHERS, "{peak}");
    drop(own);
}
