//! Joins without a key: each row of the outer side with each of the inner, which is read once, or
//! for each outer row if it refers to that.

use types::{Charge, Result, Scratch, Value};

use super::{ExecutionContext, Input, JoinTables, Operator, Step};
use batch::Rows;
use logical::relation::JoinKind;
use planner::{
    plan::NestedLoopJoin,
    program::{Evaluator, Program},
};

pub(super) struct NestedLoopJoinOperator<'p> {
    join: &'p NestedLoopJoin,
    outer: Input<'p>,
    inner: Input<'p>,
    /// All rows of the inner side, if it is read once.
    kept: Option<Rows>,
    /// For each kept row, whether it had a match, for a full join.
    matched: Vec<bool>,
    /// Charge for the kept rows and these marks.
    charge: Charge,
    /// Next inner row for the current outer row, and whether that had a match.
    next: usize,
    found: bool,
    /// Parameters of the inner side for the current outer row.
    parameters: Option<Rows>,
    /// Inner row up to which rows without a match were handed over.
    rest: usize,
    scratch: Scratch,
}

impl<'p> NestedLoopJoinOperator<'p> {
    pub(super) fn new(join: &'p NestedLoopJoin, outer: Input<'p>, inner: Input<'p>) -> Self {
        Self {
            join,
            outer,
            inner,
            kept: None,
            matched: Vec::new(),
            charge: Charge::default(),
            next: 0,
            found: false,
            parameters: None,
            rest: 0,
            scratch: Scratch::new(),
        }
    }

    async fn advance(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        if self.join.correlated.is_empty() {
            return self.over_kept(context, out).await;
        }
        while out.is_empty() && self.outer.more(context).await? {
            let row = self.outer.batch.row(self.outer.taken);
            if self.parameters.is_none() {
                self.parameters = Some(context.extended(row, &self.join.correlated));
                self.inner.rewind();
                self.found = false;
            }
            let Some(parameters) = &self.parameters else {
                return Ok(false);
            };
            let inside = context.with(parameters);
            if self.decided() || !self.inner.more(&inside).await? {
                self.alone(out);
                self.parameters = None;
                self.outer.taken += 1;
                continue;
            }
            self.scratch.reset();
            let mut pair = Pair::of(row, self.join, context.evaluator(&self.scratch));
            for at in self.inner.taken..self.inner.batch.len() {
                context.pause(1).await;
                let inner = self.inner.batch.row(at);
                if pair.holds(inner)? {
                    self.found = true;
                    if gives_pairs(self.join.kind) {
                        out.push(row.iter().chain(inner).copied());
                    }
                }
                self.inner.taken = at + 1;
                if out.is_large() {
                    break;
                }
            }
        }
        Ok(!out.is_empty())
    }

    async fn over_kept(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        if self.kept.is_none() {
            // A part of a division has its share in the outer side, and all of the inner.
            let whole = ExecutionContext {
                part: None,
                ..*context
            };
            let kept = self.inner.all(&whole).await?;
            self.charge.set(context.memory(), kept.len())?;
            self.matched = vec![false; kept.len()];
            self.kept = Some(kept);
        }
        while out.is_empty() && self.outer.more(context).await? {
            if self.look_on(context, out)? {
                context.end_turn().await;
            }
        }
        if out.is_empty() && self.join.kind == JoinKind::Full {
            self.without_match(out);
        }
        Ok(!out.is_empty())
    }

    /// Looks for matches of the current outer row among the kept rows, until the task's turn is
    /// over; returns whether it is over.
    fn look_on(&mut self, context: &ExecutionContext<'_>, out: &mut Rows) -> Result<bool> {
        let Some(kept) = &self.kept else {
            return Ok(false);
        };
        self.scratch.reset();
        let row = self.outer.batch.row(self.outer.taken);
        let mut pair = Pair::of(row, self.join, context.evaluator(&self.scratch));
        let mut is_over = context.turn().spend(1);
        while self.next < kept.len() && !is_over && !out.is_full() && !self.decided() {
            let inner = kept.row(self.next);
            if pair.holds(inner)? {
                self.found = true;
                self.matched[self.next] = true;
                if gives_pairs(self.join.kind) {
                    out.push(row.iter().chain(inner).copied());
                }
            }
            self.next += 1;
            is_over = context.turn().spend(1);
        }
        if self.next >= kept.len() || self.decided() {
            self.alone(out);
            self.outer.taken += 1;
            self.next = 0;
            self.found = false;
        }
        Ok(is_over)
    }

    /// Returns whether further inner rows make no difference to the outer one.
    fn decided(&self) -> bool {
        self.found && !gives_pairs(self.join.kind)
    }

    /// Hands the outer row over by itself, if the kind of join says so.
    fn alone(&self, out: &mut Rows) {
        let row = self.outer.batch.row(self.outer.taken).iter().copied();
        match (self.join.kind, self.found) {
            (JoinKind::Semi, true) | (JoinKind::Anti, false) => out.push(row),
            (JoinKind::Left | JoinKind::Full, false) => {
                out.push(row.chain(std::iter::repeat_n(Value::Null, self.join.inner_width)));
            }
            _ => {}
        }
    }

    fn without_match(&mut self, out: &mut Rows) {
        let Some(kept) = &self.kept else {
            return;
        };
        while self.rest < kept.len() && !out.is_full() {
            if !self.matched[self.rest] {
                let nulls = std::iter::repeat_n(Value::Null, self.join.outer_width);
                out.push(nulls.chain(kept.row(self.rest).iter().copied()));
            }
            self.rest += 1;
        }
    }
}

fn gives_pairs(kind: JoinKind) -> bool {
    !matches!(kind, JoinKind::Semi | JoinKind::Anti)
}

/// An outer row that is paired with one inner row after the other.
struct Pair<'a> {
    on: Option<&'a Program>,
    evaluator: Evaluator<'a>,
    outer_width: usize,
    both: Vec<Value<'a>>,
}

impl<'a> Pair<'a> {
    fn of(outer: &[Value<'a>], join: &'a NestedLoopJoin, evaluator: Evaluator<'a>) -> Self {
        let on = join.on.as_ref();
        let mut both = Vec::new();
        if on.is_some() {
            both.reserve(outer.len() + join.inner_width);
            both.extend_from_slice(outer);
        }
        Self {
            on,
            evaluator,
            outer_width: outer.len(),
            both,
        }
    }

    /// Returns whether the join's conditions are true with an inner row.
    fn holds(&mut self, inner: &[Value<'a>]) -> Result<bool> {
        let Some(on) = self.on else {
            return Ok(true);
        };
        self.both.truncate(self.outer_width);
        self.both.extend_from_slice(inner);
        on.holds(&mut self.evaluator, &self.both)
    }
}

impl Operator for NestedLoopJoinOperator<'_> {
    fn next<'f>(&'f mut self, context: &'f ExecutionContext<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(context, out))
    }

    fn share<'f>(
        &'f mut self,
        context: &'f ExecutionContext<'_>,
        tables: &'f mut JoinTables,
    ) -> Step<'f> {
        self.outer.share(context, tables)
    }

    fn rewind(&mut self) {
        self.outer.rewind();
        // The inner side is kept if its rows are the same each time.
        if self.join.is_fixed && self.kept.is_some() {
            self.matched.fill(false);
        } else {
            self.inner.rewind();
            self.kept = None;
        }
        self.next = 0;
        self.found = false;
        self.parameters = None;
        self.rest = 0;
    }
}
