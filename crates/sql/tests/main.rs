//! Tests of statements and sessions, as one program: each program that runs sessions compiles them
//! anew. The tests that count allocations are a program of their own (`allocations.rs`).

#[path = "common/bed.rs"]
mod bed;

mod alter_table;
mod copy;
mod dependencies;
mod explain;
mod foreign_keys;
mod giving_up;
mod hostile;
mod indexes;
mod logic;
mod many_matches;
mod memory;
mod plans;
mod portals;
mod random_queries;
mod sequences;
mod sessions;
mod settings;
mod sorting;
mod turns;

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
        let is_part = ["main", "allocations"].contains(&module)
            || listed.contains(&format!("\nmod {module};\n"));
        assert!(is_part, "tests/main.rs lacks `mod {module};`");
    }
}
