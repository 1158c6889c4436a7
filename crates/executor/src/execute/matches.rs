//! The output of joins by keys: rows with equal keys for which the join's other conditions hold,
//! and rows that have no match.

use types::{Result, Scratch};

use super::{BATCH_ROWS, ExecutionContext, ROWS_AT_ONCE};
use batch::{NO_ROW, Rows};
use logical::relation::JoinKind;
use planner::{plan::JoinProjection, program::Program};

/// The sides of a join by keys.
pub(super) struct Sides<'s> {
    pub(super) left: &'s Rows,
    pub(super) right: &'s Rows,
    /// Number of values in the right side's rows; keys may follow them.
    pub(super) right_width: usize,
}

/// Matches that were found, and how many of them were handed over.
#[derive(Default)]
pub(super) struct Matches {
    found: Vec<(u32, u32)>,
    next: usize,
    /// Whether the row that has further candidates has had a match.
    has_match: bool,
}

impl Matches {
    pub(super) fn clear(&mut self) {
        self.forget();
        self.has_match = false;
    }

    /// Forgets the matches that were found; a row that has further candidates keeps what was seen of it.
    pub(super) fn forget(&mut self) {
        self.found.clear();
        self.next = 0;
    }

    /// Returns the bytes that the matches take.
    pub(super) fn bytes(&self) -> usize {
        self.found.capacity() * size_of::<(u32, u32)>()
    }

    /// Finds the matches among the candidates for some rows of the left side, which are in the
    /// order of these rows. The left side is not read without another condition. `matched` is called for each row of
    /// the right side that has a match. With `goes_on` the last row has further candidates, which a later call is given
    /// with that row as its first. Returns whether the last row is done: further candidates would make no difference to
    /// it.
    ///
    /// # Errors
    /// Errors of the other conditions.
    ///
    /// # Suspension
    /// Suspends between candidates, and after them, where the task's turn is over.
    pub(super) async fn find<'a, P>(
        &mut self,
        (kind, residual): (JoinKind, Option<&'a Program>),
        (rows, sides): (P, Sides<'a>),
        (candidates, goes_on): (&mut Vec<(u32, u32)>, bool),
        (context, scratch): (&'a ExecutionContext<'_>, &'a Scratch),
        mut matched: impl FnMut(u32),
    ) -> Result<bool>
    where
        P: DoubleEndedIterator<Item = usize> + ExactSizeIterator + Clone,
    {
        self.found.clear();
        self.next = 0;
        let Some(last) = rows.clone().next_back() else {
            return Ok(true);
        };
        if residual.is_none() {
            context
                .pause(candidates.len().saturating_sub(rows.len()))
                .await;
        }
        if kind == JoinKind::Inner && residual.is_none() {
            std::mem::swap(&mut self.found, candidates);
            return Ok(!goes_on);
        }
        let mut evaluator = context.evaluator(scratch);
        let mut candidates = candidates.iter().copied().peekable();
        let mut both = Vec::with_capacity(sides.left.width() + sides.right_width);
        let is_test = matches!(kind, JoinKind::Semi | JoinKind::Anti);
        for at in rows {
            let mut any = std::mem::take(&mut self.has_match);
            while let Some((_, number)) = candidates.next_if(|(of, _)| *of as usize == at) {
                if any && is_test {
                    continue;
                }
                if let Some(residual) = residual {
                    context.pause(1).await;
                    both.clear();
                    both.extend_from_slice(sides.left.row(at));
                    both.extend_from_slice(&sides.right.row(number as usize)[..sides.right_width]);
                    if !residual.holds(&mut evaluator, &both)? {
                        continue;
                    }
                }
                any = true;
                matched(number);
                if !is_test {
                    self.found.push((at as u32, number));
                }
            }
            if goes_on && at == last && !(any && is_test) {
                self.has_match = any;
                return Ok(false);
            }
            let alone = match kind {
                JoinKind::Left | JoinKind::Full | JoinKind::Anti => !any,
                JoinKind::Semi => any,
                JoinKind::Inner | JoinKind::Right => false,
            };
            if alone {
                self.found.push((at as u32, NO_ROW));
            }
        }
        Ok(true)
    }

    /// Returns whether matches have not been handed over.
    pub(super) fn are_left(&self) -> bool {
        self.next < self.found.len()
    }

    /// Returns the next matches, `most` at most.
    pub(super) fn left(&self, most: usize) -> &[(u32, u32)] {
        let left = &self.found[self.next..];
        &left[..left.len().min(most)]
    }

    /// Lets the next matches count as handed over.
    pub(super) fn skip(&mut self, matches: usize) {
        self.next += matches;
    }

    /// Adds rows of the next matches to `out`.
    pub(super) fn hand_over(
        &mut self,
        left: &Rows,
        right: &Rows,
        projection: &JoinProjection,
        out: &mut Rows,
    ) {
        let matches = self.left(BATCH_ROWS);
        self.next += out.push_pairs(
            (left, &projection.left),
            (right, &projection.right),
            matches,
        );
    }
}

/// Returns how many rows to look up next, about a turn's work, given that `rows` rows had
/// `candidates` candidates.
pub(super) fn slice(rows: usize, candidates: usize) -> usize {
    let slice = (rows * ROWS_AT_ONCE).checked_div(candidates);
    slice.map_or(usize::MAX, |slice| slice.max(1))
}
