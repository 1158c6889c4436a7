//! The answers of databases, and whether two of them agree.

use std::panic::{AssertUnwindSafe, catch_unwind};

use postgres::{Client, NoTls, SimpleQueryMessage};

use super::tables::{DROPS, SETUP};
use crate::bed::Bed;

/// The outcome of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Rows as text; `NULL` stands for NULL.
    Rows(Vec<Vec<String>>),
    /// SQLSTATE and message.
    Error(String, String),
    /// A panic.
    Panic,
}

/// The difference between two answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    /// The first database says that it does not support the statement.
    Unsupported,
    /// The first database panicked, or reported an internal error.
    Internal,
    Rows,
    /// One database has rows, the other an error.
    Error,
    State,
}

/// Returns the difference that counts, if there is one.
pub(crate) fn compare(one: &Outcome, other: &Outcome, is_ordered: bool) -> Option<Difference> {
    match (one, other) {
        (Outcome::Panic, _) => Some(Difference::Internal),
        (Outcome::Error(state, _), _) if state == "XX000" => Some(Difference::Internal),
        (Outcome::Error(state, _), Outcome::Error(other, _)) if state == other => None,
        (Outcome::Error(state, _), _) if state == "0A000" => Some(Difference::Unsupported),
        (Outcome::Error(state, _), _) | (_, Outcome::Error(state, _)) if depends(state) => None,
        (Outcome::Error(..), Outcome::Error(..)) => Some(Difference::State),
        (Outcome::Rows(one), Outcome::Rows(other)) => {
            let (mut one, mut other) = (one.clone(), other.clone());
            if !is_ordered {
                one.sort();
                other.sort();
            }
            (one != other).then_some(Difference::Rows)
        }
        _ => Some(Difference::Error),
    }
}

/// Returns whether an error depends on which rows and branches are computed, which each database
/// may choose.
fn depends(state: &str) -> bool {
    state.starts_with("22") || state == "21000"
}

/// Weft with the tables.
pub(crate) struct Weft(Bed);

impl Weft {
    pub(crate) fn new() -> Weft {
        let mut bed = Bed::new();
        bed.run(SETUP).unwrap();
        Weft(bed)
    }

    pub(crate) fn run(&mut self, text: &str) -> Outcome {
        match catch_unwind(AssertUnwindSafe(|| self.0.run(text))) {
            Ok(Ok(answer)) => Outcome::Rows(answer.rows),
            Ok(Err(error)) => {
                Outcome::Error(error.state().code().to_owned(), error.message().to_owned())
            }
            Err(_) => {
                *self = Weft::new();
                Outcome::Panic
            }
        }
    }
}

/// PostgreSQL with the tables.
pub(crate) struct Postgres(Client);

impl Postgres {
    pub(crate) fn new(connection: &str) -> Postgres {
        let mut client = Client::connect(connection, NoTls).unwrap();
        client.batch_execute(DROPS).unwrap();
        client.batch_execute(SETUP).unwrap();
        Postgres(client)
    }

    pub(crate) fn run(&mut self, text: &str) -> Outcome {
        match self.0.simple_query(text) {
            Ok(messages) => {
                let rows = messages.iter().filter_map(|message| match message {
                    SimpleQueryMessage::Row(row) => Some(row),
                    _ => None,
                });
                let shown = |value: Option<&str>| value.unwrap_or("NULL").to_owned();
                let rows = rows.map(|row| (0..row.len()).map(|at| shown(row.get(at))).collect());
                Outcome::Rows(rows.collect())
            }
            Err(error) => {
                let error = error.as_db_error().expect("PostgreSQL is there");
                Outcome::Error(error.code().code().to_owned(), error.message().to_owned())
            }
        }
    }
}
