//! A plan with its running operators, kept as one: what outlives the function that opened it.
//!
//! # Safety argument
//! Operators borrow from their plan, which a struct cannot say of its own field: they are kept as
//! if they borrowed forever. The plan is behind an `Rc` that is held until after they are dropped,
//! and nobody has the plan mutably: an `Rc` that is shared gives no such access, and this one is
//! not given away. What an operator hands out ([`Operator::next`]) lives no longer than the
//! borrow of [`Opened`] that it was asked with.

use std::sync::Arc;

use types::Result;

use super::{
    Operator, Run, Step,
    open::{open, width},
};
use batch::Rows;
use planner::plan::Plan;

/// A plan and its operators.
pub struct Opened {
    /// Dropped before the plan.
    operator: Box<dyn Operator>,
    plan: Arc<Plan>,
}

impl Opened {
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

    /// Values in each row.
    pub fn width(&self) -> usize {
        width(&self.plan)
    }

    /// As [`Operator::next`].
    ///
    /// # Errors
    /// As there.
    pub fn next<'f>(&'f mut self, run: &'f Run<'_>, out: &'f mut Rows) -> Step<'f> {
        self.operator.next(run, out)
    }

    /// As [`Operator::settle`].
    ///
    /// # Errors
    /// As there.
    pub fn settle<'f>(&'f mut self, run: &'f Run<'_>) -> Step<'f> {
        self.operator.settle(run)
    }

    /// As [`Operator::rewind`].
    pub fn rewind(&mut self) {
        self.operator.rewind();
    }
}
