//! A plan with its running operators, kept as one value that outlives the function that opened it.
//!
//! # Safety argument
//! Operators borrow from their plan, which a struct cannot say of its own field: they are kept as
//! if they borrowed forever. The plan is behind an `Arc` that is held until after they are dropped,
//! and is never borrowed mutably: an `Arc` that is shared gives no such access, and this one is not
//! given away. Rows that an operator hands out ([`Operator::next`]) live no longer than the borrow
//! of [`Opened`] with which it was called.

use std::sync::Arc;

use types::Result;

use super::{
    ExecutionContext, Operator, Step,
    open::{open, width},
};
use batch::Rows;
use planner::plan::Plan;

/// A plan and its operators.
pub struct Opened {
    /// Operator, dropped before the plan.
    operator: Box<dyn Operator>,
    plan: Arc<Plan>,
}

impl Opened {
    /// Opens `plan` and keeps it with its operators.
    ///
    /// # Errors
    /// XX000 for a plan that no operator can run.
    pub fn new(plan: Arc<Plan>) -> Result<Self> {
        let operator = open(&plan)?;
        // SAFETY: the plan stays where it is as long as the operator; see the module's header.
        let operator = unsafe {
            std::mem::transmute::<Box<dyn Operator + '_>, Box<dyn Operator + 'static>>(operator)
        };
        Ok(Self { operator, plan })
    }

    /// Returns the number of values in each row.
    pub fn width(&self) -> usize {
        width(&self.plan)
    }

    /// Returns the next rows: see [`Operator::next`].
    ///
    /// # Errors
    /// Errors of [`Operator::next`].
    pub fn next<'f>(
        &'f mut self,
        context: &'f ExecutionContext<'_>,
        out: &'f mut Rows,
    ) -> Step<'f> {
        self.operator.next(context, out)
    }

    /// Returns whether there are no more rows: see [`Operator::is_over`].
    pub fn is_over(&self) -> bool {
        self.operator.is_over()
    }

    /// Settles the operator: see [`Operator::settle`].
    ///
    /// # Errors
    /// Errors of [`Operator::settle`].
    pub fn settle<'f>(&'f mut self, context: &'f ExecutionContext<'_>) -> Step<'f> {
        self.operator.settle(context)
    }

    /// Begins again: see [`Operator::rewind`].
    pub fn rewind(&mut self) {
        self.operator.rewind();
    }
}
