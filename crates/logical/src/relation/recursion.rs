//! The places where the step of a recursion may read the rows that the step before has added.
//!
//! A step sees only the newest rows. Constructs that do not go row by row — the outer side that a
//! join fills with NULLs, the rows that EXCEPT takes away, set operations with ALL, a subquery's
//! answer — would give another answer for the newest rows alone than for all of them. SQL forbids a
//! recursive reference there.

use super::{JoinKind, Relation, SetKind, SharedId};
use syntax::phase;

/// The uses of a shared relation in a relation and all within it.
#[derive(Debug, Clone, Copy, Default)]
struct Uses {
    /// Whether the shared relation is read there.
    reads: bool,
    /// Outermost construct within which the relation is read although it must not be.
    misplaced: Option<&'static str>,
}

impl Uses {
    /// Returns the uses in two parts; a construct in the first one is named.
    fn and(self, other: Uses) -> Uses {
        Uses {
            reads: self.reads || other.reads,
            misplaced: self.misplaced.or(other.misplaced),
        }
    }

    /// Returns the uses in `construct`; `must_not` says that the relation must not be read there.
    fn within(self, construct: &'static str, must_not: bool) -> Uses {
        Uses {
            misplaced: must_not.then_some(construct).or(self.misplaced),
            ..self
        }
    }
}

impl Relation {
    /// Returns the construct within which a shared relation is read where a recursion must not read
    /// it, as messages name it.
    pub(crate) fn misplaced(&mut self, number: SharedId) -> Option<&'static str> {
        self.uses(number).misplaced
    }

    /// Returns the uses of `shared`; each relation is looked at once.
    fn uses(&mut self, shared: SharedId) -> Uses {
        phase::pause();
        match self {
            Self::Shared { number, .. } => Uses {
                reads: *number == shared,
                misplaced: None,
            },
            Self::Join(join) => {
                let (left, right) = (join.left.uses(shared), join.right.uses(shared));
                let is_outside = match join.kind {
                    JoinKind::Left => right.reads,
                    JoinKind::Right => left.reads,
                    JoinKind::Full => left.reads || right.reads,
                    _ => false,
                };
                left.and(right).within("an outer join", is_outside)
            }
            Self::Apply { input, subquery } => {
                let (input, within) = (input.uses(shared), subquery.relation.uses(shared));
                input.and(within).within("a subquery", within.reads)
            }
            Self::Set(set) => {
                let (left, right) = (set.left.uses(shared), set.right.uses(shared));
                // With ALL, an answer depends on how often a row was there before, which the newest
                // rows do not tell.
                let (construct, must_not) = match set.kind {
                    SetKind::Except => ("EXCEPT", right.reads || set.all && left.reads),
                    SetKind::Intersect => ("INTERSECT", set.all && (left.reads || right.reads)),
                    SetKind::Union => ("UNION", false),
                };
                left.and(right).within(construct, must_not)
            }
            other => {
                let mut uses = Uses::default();
                other.for_each_input_mut(&mut |input| uses = uses.and(input.uses(shared)));
                uses
            }
        }
    }
}
