//! Memory that the system is asked for before it is needed.
#![cfg(all(target_os = "linux", not(miri)))]

use memory::Arena;

const MIB: usize = 1 << 20;

/// Returns the bytes of this process that the system has backed.
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    let resident: usize = pages.split(' ').nth(1).unwrap().parse().unwrap();
    resident * 4096
}

#[test]
fn prefaulting_backs_memory_up_to_the_limit_and_claims_nothing() {
    let arena = Arena::new(64 * MIB).unwrap();
    let before = resident();
    let backed = arena.prefault(16 * MIB);
    if backed == 0 {
        // This kernel cannot back memory ahead.
        return;
    }
    assert_eq!(backed, 16 * MIB);
    assert!(resident() >= before + 15 * MIB);
    assert_eq!(arena.usage().claimed_bytes, 0);

    let elsewhere = arena.reserve(40 * MIB).unwrap();
    assert_eq!(arena.prefault(1 << 40), 24 * MIB);
    drop(elsewhere);
    assert_eq!(arena.prefault(usize::MAX), 64 * MIB);
}
