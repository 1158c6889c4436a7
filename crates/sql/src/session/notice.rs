//! Notices for the client, beside its results.

use types::{SqlError, SqlState};

use super::{Session, Sink};

/// The importance of a notice, in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Information.
    Notice,
    /// Warning that the effect may not be the intended one.
    Warning,
    /// Level at which only errors are sent. No notice has it.
    Error,
}

impl Severity {
    /// Returns the least importance that is sent, by a value of `client_min_messages`.
    pub(super) fn named(name: &str) -> Severity {
        match name {
            "warning" => Severity::Warning,
            "error" => Severity::Error,
            _ => Severity::Notice,
        }
    }
}

/// A message to the client that does not end the statement.
#[derive(Debug, Clone)]
pub struct Notice {
    /// Importance of the notice.
    pub severity: Severity,
    /// Text of the notice, with the fields of an error.
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

    /// Returns the notice for an object that is not created a second time.
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

    /// Returns the warning for a statement that has no effect where no block is open.
    pub(super) fn outside_block(statement: &str) -> Notice {
        Notice::warning(
            SqlState::NO_ACTIVE_SQL_TRANSACTION,
            format!("{statement} can only be used in transaction blocks"),
        )
    }
}

impl Session {
    /// Sends a notice to the client, unless `client_min_messages` excludes it.
    pub(super) fn tell(&self, sink: &mut impl Sink, notice: &Notice) {
        if notice.severity >= self.settings.effects().least_told {
            sink.notice(notice);
        }
    }
}
