//! What a plan runs in: the session's side of an execution.

use engine::Transaction;

use super::{Session, environment::During, query::Planned};
use crate::{
    execute::{KeyChanges, Run, SharedRows},
    rows::Rows,
};

/// Of one plan. Operators are given what [`Execution::run`] makes of it.
pub(super) struct Execution<'s> {
    session: &'s Session,
    environment: During<'s>,
    shared: SharedRows,
}

impl Session {
    /// For a plan whose tables are locked.
    pub(super) fn execution<'s>(&'s self, planned: &'s Planned) -> Execution<'s> {
        Execution {
            session: self,
            environment: During {
                surrounding: &self.surrounding,
                catalog: &planned.catalog,
            },
            shared: SharedRows::default(),
        }
    }
}

impl Execution<'_> {
    /// With what changes rows, what reads them (the same, but for checks in the present), one row of
    /// parameters, and where changes of keys are noted.
    pub(super) fn run<'r>(
        &'r self,
        transaction: &'r Transaction,
        reads: &'r Transaction,
        parameters: &'r Rows,
        key_changes: &'r KeyChanges<'r>,
    ) -> Run<'r> {
        Run {
            transaction,
            reads,
            settings: &self.session.settings,
            environment: &self.environment,
            patterns: &self.session.patterns,
            parameters,
            shared: &self.shared,
            row_numbers: &self.session.database.row_numbers,
            key_changes,
        }
    }
}
