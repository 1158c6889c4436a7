//! The simulation's tests as one program: each program that uses the simulation compiles it anew.

#[path = "common/seeds.rs"]
mod seeds;

mod columns;
mod crashes;
mod faults;
mod fuzz_smoke;
mod indexes;
mod read_committed;
mod serializable;
mod snapshot_isolation;
mod threads;
mod ttl;
mod waiting;

/// A file that the list above lacks would never run.
#[test]
fn every_file_of_tests_is_part_of_a_program() {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let listed = include_str!("main.rs");
    for entry in std::fs::read_dir(directory).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(module) = name.strip_suffix(".rs") else {
            continue;
        };
        let is_part = ["main"].contains(&module) || listed.contains(&format!("\nmod {module};\n"));
        assert!(is_part, "tests/main.rs lacks `mod {module};`");
    }
}
