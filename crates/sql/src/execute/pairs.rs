//! What joins by keys hand over: rows with equal keys for which the join's other conditions hold, and
//! rows that have no partner.

use std::ops::Range;

use types::{Result, Scratch};

use super::{BATCH_ROWS, ROWS_AT_ONCE, Run};
use crate::{
    plan::HandedOn,
    program::Program,
    relation::JoinKind,
    rows::{NO_ROW, Rows},
};

/// The sides of a join by keys.
pub(super) struct Sides<'s> {
    pub(super) left: &'s Rows,
    pub(super) right: &'s Rows,
    /// Values of the right side's rows; keys may follow them.
    pub(super) right_width: usize,
}

/// Pairs that were found, and how many of them were handed over.
#[derive(Default)]
pub(super) struct Pairs {
    found: Vec<(u32, u32)>,
    next: usize,
}

impl Pairs {
    pub(super) fn clear(&mut self) {
        self.found.clear();
        self.next = 0;
    }

    /// Bytes that they take.
    pub(super) fn bytes(&self) -> usize {
        self.found.capacity() * size_of::<(u32, u32)>()
    }

    /// Tells the pairs among the candidates for some rows of the left side, which are in the order of
    /// these rows. `matched` hears of each row of the right side that has a partner.
    ///
    /// # Errors
    /// Those of the other conditions.
    pub(super) fn tell(
        &mut self,
        (kind, residual): (JoinKind, Option<&Program>),
        (rows, sides): (Range<usize>, Sides<'_>),
        candidates: &mut Vec<(u32, u32)>,
        (run, scratch): (&Run<'_>, &Scratch),
        mut matched: impl FnMut(u32),
    ) -> Result<()> {
        self.clear();
        if kind == JoinKind::Inner && residual.is_none() {
            std::mem::swap(&mut self.found, candidates);
            return Ok(());
        }
        let mut machine = run.machine(scratch);
        let mut candidates = candidates.iter().copied().peekable();
        let mut both = Vec::with_capacity(sides.left.width() + sides.right_width);
        for at in rows {
            let row = sides.left.row(at);
            let at = at as u32;
            let mut any = false;
            while let Some((_, number)) = candidates.next_if(|(of, _)| *of == at) {
                if any && matches!(kind, JoinKind::Semi | JoinKind::Anti) {
                    continue;
                }
                if let Some(residual) = residual {
                    both.clear();
                    both.extend_from_slice(row);
                    both.extend_from_slice(&sides.right.row(number as usize)[..sides.right_width]);
                    if !residual.holds(&mut machine, &both)? {
                        continue;
                    }
                }
                any = true;
                matched(number);
                if !matches!(kind, JoinKind::Anti | JoinKind::Semi) {
                    self.found.push((at, number));
                }
            }
            let alone = match kind {
                JoinKind::Left | JoinKind::Full | JoinKind::Anti => !any,
                JoinKind::Semi => any,
                JoinKind::Inner | JoinKind::Right => false,
            };
            if alone {
                self.found.push((at, NO_ROW));
            }
        }
        Ok(())
    }

    /// Adds rows of the next pairs to `out`.
    pub(super) fn hand_over(
        &mut self,
        left: &Rows,
        right: &Rows,
        handed_on: &HandedOn,
        out: &mut Rows,
    ) {
        let pairs = &self.found[self.next..];
        let pairs = &pairs[..pairs.len().min(BATCH_ROWS)];
        self.next += out.push_pairs((left, &handed_on.left), (right, &handed_on.right), pairs);
    }
}

/// How many rows to look up next, of which so many had so many candidates: about a turn's work.
pub(super) fn slice(rows: usize, candidates: usize) -> usize {
    let slice = (rows * ROWS_AT_ONCE).checked_div(candidates);
    slice.map_or(usize::MAX, |slice| slice.max(1))
}
