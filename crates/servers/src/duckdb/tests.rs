//! The program's place is taken by scripts of the shell.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::*;

/// Held by each test: a process that another test starts would inherit a script that is being written, which the system
/// does not start as long as it is open for writing.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    // A test that failed has left nothing behind that concerns the others.
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A program that answers each line that is no command with a row of two values, the second of which is NULL; `sleep`
/// with nothing for long, and `wrong` with an error.
const PROGRAM: &str = r#"#!/bin/sh
while read -r line; do
  case "$line" in
    .print*) printf '%s\n' "${line#.print }" ;;
    sleep*) sleep 600 ;;
    wrong*) echo "no such table" >&2; exit 1 ;;
    set*) echo "loading" >&2 ;;
    *) printf '%s\037<null>\036' "${line%;}" ;;
  esac
done
"#;

/// Returns a directory of the test's own with a program in it.
fn program(name: &str, text: &str) -> (Place, PathBuf) {
    let name = format!("weft-duckdb-{name}-{}", std::process::id());
    let place = Place::make(&std::env::temp_dir().join(name)).unwrap();
    let program = place.path().join("program");
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    (place, program)
}

#[test]
fn answers_come_until_one_is_an_error() {
    let _alone = alone();
    let (place, program) = program("answers", PROGRAM);
    let directory = place.path().join("database");
    let mut duckdb = DuckDb::start(&program, 2, &directory).unwrap();
    for text in ["one", "two"] {
        let output = duckdb.ask(text, TIME_MAX).unwrap().unwrap();
        assert_eq!(output.answer(), Answer::of_texts([[Some(text), None]]));
    }
    let version = duckdb.version().unwrap();
    assert!(version.starts_with("select version()"), "{version:?}");
    let error = duckdb.execute("wrong").unwrap_err().to_string();
    assert!(error.contains("no such table"), "{error}");
    // The program is started again.
    assert!(duckdb.ask("three", TIME_MAX).unwrap().is_some());
    drop(duckdb);
    assert!(!directory.exists(), "it is removed");
}

#[test]
fn a_statement_over_its_time_is_ended() {
    let _alone = alone();
    let (place, program) = program("time", PROGRAM);
    let mut duckdb = DuckDb::start(&program, 1, &place.path().join("database")).unwrap();
    let output = duckdb.ask("sleep", Duration::from_millis(50)).unwrap();
    assert!(output.is_none(), "{output:?}");
    assert!(duckdb.ask("one", TIME_MAX).unwrap().is_some());
}

#[test]
fn another_program_is_refused() {
    let _alone = alone();
    let (place, program) = program("other", "#!/bin/sh\necho hello\n");
    for program in [program.as_path(), &place.path().join("missing")] {
        let started = DuckDb::start(program, 1, &place.path().join("database"));
        let error = started.unwrap_err().to_string();
        assert!(error.contains("program of DuckDB"), "{error}");
    }
}
