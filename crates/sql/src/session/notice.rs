//! What a client is told beside its results.

use types::{SqlError, SqlState};

use super::{Session, Sink};

/// How much a client should mind it. In order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Something that one may want to know.
    Notice,
    /// It was done, but perhaps not as meant.
    Warning,
    /// Nothing is told that is no error. No notice has it.
    Error,
}

impl Severity {
    /// The least that is told, by a value of `client_min_messages`.
    pub(super) fn named(name: &str) -> Severity {
        match name {
            "warning" => Severity::Warning,
            "error" => Severity::Error,
            _ => Severity::Notice,
        }
    }
}

/// Something that a client is told, and the statement goes on.
#[derive(Debug, Clone)]
pub struct Notice {
    /// How much it matters.
    pub severity: Severity,
    /// What is said, with fields as errors have them.
    pub report: SqlError,
}

impl Notice {
    pub(super) fn warning(
        state: SqlState,
        message: impl Into<std::borrow::Cow<'static, str>>,
    ) -> Notice {
        Notice {
            severity: Severity::Warning,
            report: SqlError::new(state, message),
        }
    }

    /// Something that is not created a second time.
    pub(super) fn exists_already(noun: &str, name: &str) -> Notice {
        let state = match noun {
            "relation" => SqlState::DUPLICATE_TABLE,
            "schema" => SqlState::DUPLICATE_SCHEMA,
            _ => SqlState::DUPLICATE_OBJECT,
        };
        Notice {
            severity: Severity::Notice,
            report: SqlError::new(state, format!("{noun} \"{name}\" already exists, skipping")),
        }
    }

    /// A statement that means nothing where no block is open.
    pub(super) fn outside_block(statement: &str) -> Notice {
        Notice::warning(
            SqlState::NO_ACTIVE_SQL_TRANSACTION,
            format!("{statement} can only be used in transaction blocks"),
        )
    }
}

impl Session {
    /// Tells the client, unless it does not want to hear of such things.
    pub(super) fn tell(&self, sink: &mut impl Sink, notice: &Notice) {
        if notice.severity >= self.effects.least_told {
            sink.notice(notice);
        }
    }
}
