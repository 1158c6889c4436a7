//! The nesting depth of relations.

use std::collections::HashMap;

use types::{Result, SqlError, SqlState};

use super::{Relation, SharedBody, SharedId};
use syntax::phase;

/// Greatest nesting depth of relations; a relation that is read by its name in a WITH counts where
/// it is read. The operators that are made of relations are polled from the outermost to the
/// innermost, on their worker's stack, which bears this many (`interleave`, `runtime.rs`; shown by
/// `tests/hostile.rs`).
pub(crate) const PLAN_DEPTH_MAX: usize = 400;

impl Relation {
    /// Checks the nesting depth.
    ///
    /// # Errors
    /// 54001 if it is more than [`PLAN_DEPTH_MAX`].
    pub(crate) fn check_depth(&mut self) -> Result<()> {
        if self.depth(&mut HashMap::new()) <= PLAN_DEPTH_MAX {
            return Ok(());
        }
        let message = "the statement has too many relations upon each other";
        let error = SqlError::new(SqlState::STATEMENT_TOO_COMPLEX, message);
        Err(error.hint(format!(
            "Use at most {PLAN_DEPTH_MAX} joins, subqueries and WITH queries one upon the other, or put a part of the result into a table."
        )))
    }

    /// Returns the depth, given those of the shared relations that it reads.
    fn depth(&mut self, shared: &mut HashMap<SharedId, usize>) -> usize {
        phase::pause();
        if let Relation::Shared { number, .. } = self {
            // A relation that reads itself reads rows that it has computed before.
            return 1 + shared.get(number).copied().unwrap_or_default();
        }
        if let Relation::With { definitions, body } = self {
            for definition in definitions {
                let depth = match &mut definition.body {
                    SharedBody::Query(query) => query.depth(shared),
                    SharedBody::Recursive { initial, step, .. } => {
                        initial.depth(shared).max(step.depth(shared))
                    }
                };
                shared.insert(definition.number, depth);
            }
            return 1 + body.depth(shared);
        }
        let mut deepest = 0;
        self.for_each_input_mut(&mut |input| deepest = deepest.max(input.depth(shared)));
        deepest + 1
    }
}
