//! Tests of a crate that are one program are files beside its `tests/main.rs`, and modules of it.

use std::{fs, path::Path};

#[path = "common/packages.rs"]
mod packages;

/// A file of tests that is neither a program nor a module of one would never run.
#[test]
fn every_file_of_tests_is_part_of_a_program() {
    for package in packages::packages() {
        let manifest = Path::new(package["manifest_path"].as_str().unwrap());
        let Ok(files) = fs::read_dir(manifest.with_file_name("tests")) else {
            continue;
        };
        let targets = package["targets"].as_array().unwrap();
        let is_program = |path: &Path| {
            let is_at = |source: &str| Path::new(source) == path;
            targets
                .iter()
                .any(|target| is_at(target["src_path"].as_str().unwrap()))
        };
        let main = manifest.with_file_name("tests").join("main.rs");
        let modules = match is_program(&main) {
            true => fs::read_to_string(main).unwrap(),
            false => String::new(),
        };
        for file in files {
            let path = file.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "rs") {
                continue;
            }
            let name = path.file_stem().unwrap().to_str().unwrap();
            let is_part = is_program(&path) || modules.contains(&format!("\nmod {name};\n"));
            assert!(is_part, "{} is part of no program of tests", path.display());
        }
    }
}
