//! Expressions with the answers of PostgreSQL 15: value and type, or SQLSTATE.
//!
//! Each text file here has lines `expression => type 'text'`, `expression => type NULL`,
//! `expression => error SQLSTATE`, `rows function => {texts}`, `aggregate call from arrays => ...`.
//! `regenerate.sh` has PostgreSQL answer them again.

mod extremes;
mod support;

use std::fs;

use support::{Session, answer};

/// Returns whether an answer is PostgreSQL's. The last digit of a float may differ, as between C
/// libraries.
fn agrees(found: &str, expected: &str) -> bool {
    let float = |answer: &str| -> Option<f64> {
        let text = answer.strip_prefix("double precision '")?;
        text.strip_suffix('\'')?.parse().ok()
    };
    match (float(found), float(expected)) {
        (Some(found), Some(expected)) if found.is_finite() && expected.is_finite() => {
            (found - expected).abs() <= expected.abs() * 4.0 * f64::EPSILON
        }
        _ => found == expected,
    }
}

#[test]
fn answers_are_those_of_postgresql() {
    let session = Session::default();
    let mut wrong = Vec::new();
    let mut cases = 0;
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/postgres");
    let mut files: Vec<_> = fs::read_dir(directory)
        .expect("the directory of cases")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    files.sort();
    for path in files {
        let text = fs::read_to_string(&path).expect("a file of cases");
        for (number, line) in text.lines().enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (case, expected) = line.rsplit_once(" => ").expect("a case with its answer");
            cases += 1;
            let found = answer(&session, case);
            if !agrees(&found, expected) {
                let file = path.file_name().unwrap_or_default().to_string_lossy();
                wrong.push(format!(
                    "{file}:{}: {case}\n  expected {expected}\n  found    {found}",
                    number + 1
                ));
            }
        }
    }
    assert!(cases > 1000, "there are cases");
    assert!(
        wrong.is_empty(),
        "{} of {cases} are wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
