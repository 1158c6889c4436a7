//! Sizes of files, crates and lines, above which a reader does not hold them in mind any more.

use std::{
    fs,
    path::{Path, PathBuf},
};

#[path = "common/packages.rs"]
mod packages;

/// Lines of a file.
const FILE_MAX: usize = 600;

/// Lines of a crate's sources without their tests.
const CRATE_MAX: usize = 15_000;

/// The crate to which that does not apply: its parts hang together by their invariants.
const ENGINE: &str = "engine";

/// Characters of a line that is a comment, examples and tables apart. Code has the formatter.
const COMMENT_MAX: usize = 120;

/// Adds the files below a folder to `found`, if it is there.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(folder) else {
            continue;
        };
        for path in entries.map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
}

/// Returns the lines of a file that are no tests.
fn lines_without_tests(path: &Path, text: &str) -> usize {
    let is_tests = path
        .components()
        .any(|part| matches!(part.as_os_str().to_str(), Some("tests" | "loom_tests")));
    let is_tests = is_tests || path.ends_with("tests.rs") || path.ends_with("loom_tests.rs");
    if is_tests {
        return 0;
    }
    let module = text.find("\n#[cfg(test)]\nmod tests {\n");
    text[..module.unwrap_or(text.len())].lines().count()
}

#[test]
fn files_crates_and_comments_are_no_larger_than_one_can_read() {
    let mut faults = Vec::new();
    for package in packages::packages() {
        let manifest = Path::new(package["manifest_path"].as_str().unwrap());
        let root = manifest.parent().unwrap();
        let name = package["name"].as_str().unwrap();
        let mut files = Vec::new();
        for folder in ["src", "tests", "benches", "examples"] {
            sources(&root.join(folder), &mut files);
        }
        let mut lines = 0;
        for path in files {
            let text = fs::read_to_string(&path).unwrap();
            let place = path.strip_prefix(root).unwrap();
            if place.starts_with("src") {
                lines += lines_without_tests(place, &text);
            }
            let length = text.lines().count();
            if length > FILE_MAX {
                let place = place.display();
                faults.push(format!(
                    "{name}/{place}: {length} lines, {FILE_MAX} at most"
                ));
            }
            let mut in_example = false;
            for (number, line) in (1..).zip(text.lines()) {
                let comment = line.trim_start();
                let is_table = comment.starts_with("//! |");
                in_example ^= comment.starts_with("//! ```") || comment.starts_with("/// ```");
                let is_prose = comment.starts_with("//") && !in_example && !is_table;
                if is_prose && line.chars().count() > COMMENT_MAX {
                    let place = place.display();
                    faults.push(format!(
                        "{name}/{place}:{number}: over {COMMENT_MAX} characters"
                    ));
                }
            }
        }
        if name != ENGINE && lines > CRATE_MAX {
            faults.push(format!(
                "{name}: {lines} lines without tests, {CRATE_MAX} at most"
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
