//! Evaluates the expressions of the cases: literals, casts, calls, operators.

pub(crate) mod evaluate;
pub(crate) mod parse;

use functions::{Context, Environment, Patterns};
use types::{Scratch, Settings, SqlError, TimeZone};

use evaluate::{evaluate, evaluate_aggregate, evaluate_rows};
use parse::Parser;

/// A session with constant answers.
pub(crate) struct Session {
    settings: Settings,
    patterns: Patterns,
}

impl Default for Session {
    fn default() -> Self {
        Self {
            settings: Settings {
                time_zone: TimeZone::named("Europe/Berlin").expect("a zone of the database"),
                ..Settings::default()
            },
            patterns: Patterns::new(),
        }
    }
}

impl Environment for Session {
    fn transaction_time(&self) -> i64 {
        700_000_000_000_000
    }

    fn statement_time(&self) -> i64 {
        700_000_000_000_000
    }

    fn clock_time(&self) -> i64 {
        700_000_000_000_000
    }

    fn random(&self) -> u64 {
        0
    }

    fn seed(&self, _: f64) {}

    fn current_user(&self) -> &str {
        "postgres"
    }

    fn database(&self) -> &str {
        "postgres"
    }

    fn schema(&self) -> Option<&str> {
        Some("public")
    }

    fn version(&self) -> &str {
        "15"
    }

    fn process_id(&self) -> i32 {
        1
    }
}

impl Session {
    pub(crate) fn context<'a>(&'a self, scratch: &'a Scratch) -> Context<'a> {
        Context {
            scratch,
            settings: &self.settings,
            environment: self,
            patterns: &self.patterns,
            argument_types: &[],
        }
    }
}

/// Returns the answer to a case in the form of the files.
pub(crate) fn answer(session: &Session, case: &str) -> String {
    let scratch = Scratch::new();
    let context = session.context(&scratch);
    let result = if let Some(call) = case.strip_prefix("rows ") {
        evaluate_rows(&context, &Parser::new(call).expression())
    } else if let Some(call) = case.strip_prefix("aggregate ") {
        let (call, arrays) = call.rsplit_once(" from ").expect("arrays");
        evaluate_aggregate(&context, call, &Parser::new(arrays).list())
    } else {
        evaluate(&context, &Parser::new(case).expression())
            .and_then(|(value, ty)| evaluate::display(&context, value, ty))
    };
    match result {
        Ok(text) => text.replace('\n', "⏎"),
        Err(error) => failure(&error),
    }
}

fn failure(error: &SqlError) -> String {
    format!("error {}", error.state().code())
}
