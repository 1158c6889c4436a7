//! Statements and their answers, in text files (`logic/*.slt`) that the `sqllogictest` crate runs.
//!
//! The answers are PostgreSQL's: with `WEFT_ASK_POSTGRES` set to a connection string of an empty
//! database of PostgreSQL 15 that may be thrown away, the files are written anew from the output of
//! `psql`, and then Weft has to agree with them. Errors have to agree in SQLSTATE and message; a
//! bare `statement error`, which any error would satisfy, is refused. `WEFT_LOGIC` selects files by
//! a part of their paths.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::mpsc,
    thread,
};

use sqllogictest::{
    DBOutput, DefaultColumnType, ExpectedError, Location, QueryExpect, Record, Runner,
    StatementExpect, default_column_validator, default_normalizer, default_validator,
};

/// An error as both databases report it.
#[derive(Debug)]
struct Told {
    state: String,
    message: String,
}

impl fmt::Display for Told {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.state, self.message)
    }
}

impl std::error::Error for Told {}

type Output = Result<DBOutput<DefaultColumnType>, Told>;

/// Weft, on a thread of its own.
struct Weft {
    statements: mpsc::Sender<String>,
    answers: mpsc::Receiver<Output>,
}

impl Weft {
    fn new() -> Weft {
        let (statements, requests) = mpsc::channel::<String>();
        let (replies, answers) = mpsc::channel();
        thread::spawn(move || {
            let mut bed = crate::bed::Bed::new();
            for text in requests {
                let answer = bed.run(&text).map(output).map_err(|error| Told {
                    state: error.state().code().to_owned(),
                    message: error.message().to_owned(),
                });
                if replies.send(answer).is_err() {
                    break;
                }
                // A text is a connection of its own in PostgreSQL; here one session goes on, so
                // that its plans are used again.
                bed.run("rollback; reset all; deallocate all; close all")
                    .unwrap();
            }
        });
        Weft {
            statements,
            answers,
        }
    }
}

fn output(answer: crate::bed::Answer) -> DBOutput<DefaultColumnType> {
    if answer.fields.is_empty() {
        return DBOutput::StatementComplete(0);
    }
    rows(answer.rows, answer.fields.len())
}

fn rows(rows: Vec<Vec<String>>, columns: usize) -> DBOutput<DefaultColumnType> {
    let shown = |value: String| match value.as_str() {
        "" => "(empty)".to_owned(),
        _ => value,
    };
    let rows = rows.into_iter();
    let rows = rows.map(|row| row.into_iter().map(shown).collect());
    DBOutput::Rows {
        types: vec![DefaultColumnType::Text; columns],
        rows: rows.collect(),
    }
}

impl sqllogictest::DB for Weft {
    type Error = Told;
    type ColumnType = DefaultColumnType;

    fn run(&mut self, sql: &str) -> Output {
        self.statements.send(sql.to_owned()).unwrap();
        self.answers.recv().expect("the database has panicked")
    }

    fn engine_name(&self) -> &str {
        "weft"
    }
}

/// PostgreSQL, by `psql`, with a connection for each statement.
struct Postgres(String);

impl sqllogictest::DB for Postgres {
    type Error = Told;
    type ColumnType = DefaultColumnType;

    fn run(&mut self, sql: &str) -> Output {
        let settings = [
            "VERBOSITY=verbose",
            "ON_ERROR_STOP=1",
            // The answer to several statements is the last one's rows.
            "SHOW_ALL_RESULTS=off",
        ];
        let mut psql = Command::new("psql");
        psql.arg(&self.0).args(["-X", "-q", "-A", "-F", "\u{1f}"]);
        psql.args(["-P", "null=NULL", "-P", "footer=off"]);
        settings.iter().for_each(|setting| {
            psql.args(["-v", setting]);
        });
        let found = psql.args(["-c", sql]).output().unwrap();
        if !found.status.success() {
            let text = String::from_utf8(found.stderr).unwrap();
            let line = text.lines().next().unwrap_or_default();
            let line = line.strip_prefix("ERROR:  ").unwrap_or(line);
            let (state, message) = line.split_once(": ").unwrap();
            return Err(Told {
                state: state.to_owned(),
                message: message.to_owned(),
            });
        }
        let text = String::from_utf8(found.stdout).unwrap();
        let mut lines = text.lines();
        let Some(header) = lines.next() else {
            return Ok(DBOutput::StatementComplete(0));
        };
        let columns = header.split('\u{1f}').count();
        let found = lines.map(|line| line.split('\u{1f}').map(str::to_owned).collect());
        Ok(rows(found.collect(), columns))
    }

    fn engine_name(&self) -> &str {
        "postgres"
    }
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logic");
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    if let Ok(only) = std::env::var("WEFT_LOGIC") {
        files.retain(|file| file.to_string_lossy().contains(&only));
    }
    files.sort();
    assert!(!files.is_empty());
    files
}

#[test]
fn answers_are_those_of_postgresql() {
    if let Ok(postgres) = std::env::var("WEFT_ASK_POSTGRES") {
        files().iter().for_each(|file| ask(&postgres, file));
    }
    let mut failed = Vec::new();
    for file in files() {
        let mut runner = Runner::new(async || Ok(Weft::new()));
        for record in sqllogictest::parse_file(&file).unwrap() {
            if let Some(place) = accepts_any_error(&record) {
                failed.push(format!("{place}: no error is told"));
            }
            if let Err(error) = runner.run(record) {
                failed.push(format!("{}: {error}", file.display()));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

/// Returns the place of a record that any error would satisfy: an internal error of Weft's would,
/// too.
fn accepts_any_error(record: &Record<DefaultColumnType>) -> Option<&Location> {
    match record {
        Record::Statement {
            loc,
            expected: StatementExpect::Error(ExpectedError::Empty),
            ..
        }
        | Record::Query {
            loc,
            expected: QueryExpect::Error(ExpectedError::Empty),
            ..
        } => Some(loc),
        _ => None,
    }
}

/// Writes a file's answers anew.
fn ask(postgres: &str, file: &Path) {
    use sqllogictest::DB as _;
    let mut database = Postgres(postgres.to_owned());
    let emptied = "drop schema if exists public cascade; create schema public";
    database.run(emptied).unwrap();
    let connection = postgres.to_owned();
    let mut runner = Runner::new(async || Ok(Postgres(connection.clone())));
    let update = runner.update_test_file(
        file,
        "\t",
        default_validator,
        default_normalizer,
        default_column_validator,
    );
    futures_lite::future::block_on(update).unwrap();
}
