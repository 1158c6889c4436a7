//! Where the step of a recursion may read what the step before has added.
//!
//! A step sees only the newest rows. Of what does not go row by row — the outer side that a join
//! fills with NULLs, what EXCEPT takes away, set operations with ALL, a subquery's answer — the
//! newest rows alone would give another answer than all of them, so that SQL forbids it.

use super::{JoinKind, Relation, SetKind, SharedId};
use syntax::phase;

/// The uses of a shared relation in a relation and all within it.
#[derive(Debug, Clone, Copy, Default)]
struct Uses {
    /// The shared relation is read there.
    reads: bool,
    /// The outermost construct within which it is read where it must not.
    misplaced: Option<&'static str>,
}

impl Uses {
    /// The uses in two parts; a construct in the first one is named.
    fn and(self, other: Uses) -> Uses {
        Uses {
            reads: self.reads || other.reads,
            misplaced: self.misplaced.or(other.misplaced),
        }
    }

    /// The uses in a construct that reads the relation where it must not, or does not.
    fn within(self, construct: &'static str, must_not: bool) -> Uses {
        Uses {
            misplaced: must_not.then_some(construct).or(self.misplaced),
            ..self
        }
    }
}

impl Relation {
    /// The construct within which a shared relation is read where a recursion must not, as
    /// messages name it.
    pub(crate) fn misplaced(&mut self, number: SharedId) -> Option<&'static str> {
        self.uses(number).misplaced
    }

    /// Looks at each relation once.
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
