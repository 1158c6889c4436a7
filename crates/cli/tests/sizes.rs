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
    let Some((before, tests)) = text.split_once("\n#[cfg(test)]\nmod tests {\n") else {
        return text.lines().count();
    };
    let behind = tests.split_once("\n}\n").map_or("", |(_, behind)| behind);
    before.lines().count() + behind.lines().count()
}

/// Returns the faults of a file: its length, and comments that are too wide. Examples and tables may be.
fn faults_of(place: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let length = text.lines().count();
    if length > FILE_MAX {
        faults.push(format!("{place}: {length} lines, {FILE_MAX} at most"));
    }
    let mut in_example = false;
    for (number, line) in (1..).zip(text.lines()) {
        let comment = line.trim_start();
        let is_table = comment.starts_with("//! |");
        // An example ends with its comment, whether its fence is closed or not.
        in_example &= comment.starts_with("//");
        in_example ^= comment.starts_with("//! ```") || comment.starts_with("/// ```");
        let is_prose = comment.starts_with("//") && !in_example && !is_table;
        if is_prose && line.chars().count() > COMMENT_MAX {
            faults.push(format!("{place}:{number}: over {COMMENT_MAX} characters"));
        }
    }
    faults
}

#[test]
fn files_crates_and_comments_are_no_larger_than_one_can_read() {
    let mut faults = Vec::new();
    let mut lines_of_all = 0;
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
            faults.extend(faults_of(&format!("{name}/{}", place.display()), &text));
        }
        lines_of_all += lines;
        if name != ENGINE && lines > CRATE_MAX {
            faults.push(format!(
                "{name}: {lines} lines without tests, {CRATE_MAX} at most"
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(
        lines_of_all > 10 * CRATE_MAX,
        "most of the workspace is not seen"
    );
}

/// A check that sees no fault anywhere passes too.
#[test]
fn faults_are_seen() {
    let wide = "x".repeat(COMMENT_MAX);
    let long = "fn f() {}\n".repeat(FILE_MAX + 1);
    for (text, faults) in [
        (&*long, 1),
        (&format!("// {wide}\n    /// {wide}\n"), 2),
        (&format!("/// ```\n/// {wide}\n/// ```\n"), 0),
        (&format!("/// ```\nfn f() {{}}\n// {wide}\n"), 1),
        (&format!("//! | {wide} |\nlet {wide};\n"), 0),
    ] {
        assert_eq!(faults_of("a.rs", text).len(), faults, "{text}");
    }
    let tests = "fn f() {}\n\n#[cfg(test)]\nmod tests {\n    fn g() {}\n}\n";
    assert_eq!(lines_without_tests(Path::new("src/a.rs"), tests), 1);
    let behind = format!("{tests}fn h() {{}}\n");
    assert_eq!(lines_without_tests(Path::new("src/a.rs"), &behind), 2);
    assert_eq!(lines_without_tests(Path::new("src/tests/a.rs"), tests), 0);
}
