//! Where the step of a recursion may read what the step before has added.
//!
//! A step sees only the newest rows. Of what does not go row by row — the outer side that a join
//! fills with NULLs, what EXCEPT takes away, set operations with ALL, a subquery's answer — the
//! newest rows alone would give another answer than all of them, so that SQL forbids it.

use super::{JoinKind, Relation, SetKind, SharedId};

impl Relation {
    /// The construct within which a shared relation is read where a recursion must not, as
    /// messages name it.
    pub(crate) fn misplaced(&mut self, number: SharedId) -> Option<&'static str> {
        match self {
            Self::Shared { .. } => None,
            Self::Join(join) => {
                let (left, right) = (&mut join.left, &mut join.right);
                let is_outside = match join.kind {
                    JoinKind::Left => right.reads(number),
                    JoinKind::Right => left.reads(number),
                    JoinKind::Full => left.reads(number) || right.reads(number),
                    _ => false,
                };
                match is_outside {
                    true => Some("an outer join"),
                    false => left.misplaced(number).or_else(|| right.misplaced(number)),
                }
            }
            Self::Apply { input, subquery } => match subquery.relation.reads(number) {
                true => Some("a subquery"),
                false => input.misplaced(number),
            },
            Self::Set(set) => {
                let (left, right) = (&mut set.left, &mut set.right);
                // With ALL, an answer depends on how often a row was there before, which the newest
                // rows do not tell.
                match set.kind {
                    SetKind::Except if right.reads(number) || set.all && left.reads(number) => {
                        Some("EXCEPT")
                    }
                    SetKind::Intersect
                        if set.all && (left.reads(number) || right.reads(number)) =>
                    {
                        Some("INTERSECT")
                    }
                    _ => left.misplaced(number).or_else(|| right.misplaced(number)),
                }
            }
            other => {
                let mut found = None;
                other.for_each_input_mut(&mut |input| {
                    found = found.or_else(|| input.misplaced(number));
                });
                found
            }
        }
    }

    /// Whether a shared relation is read anywhere within.
    fn reads(&mut self, shared: SharedId) -> bool {
        if let Self::Shared { number, .. } = self {
            return *number == shared;
        }
        let mut reads = false;
        self.for_each_input_mut(&mut |input| reads = reads || input.reads(shared));
        reads
    }
}
