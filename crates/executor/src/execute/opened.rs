//! A plan with its running operators, kept as one value that outlives the function that opened it.
//!
//! # Safety argument
//! Operators borrow from their plan, which a struct cannot say of its own field: they are kept as
//! if they borrowed forever. The plan is behind an `Arc` that is held until after they are dropped,
//! and is never borrowed mutably: an `Arc` that is shared gives no such access, and this one is not
//! given away. Rows that an operator hands out ([`Opened::next`]) live no longer than the borrow
//! of [`Opened`] with which it was called.

use std::{rc::Rc, sync::Arc};

use types::Result;

use super::{
    ExecutionContext, Step,
    node::OperatorNode,
    open::{open, width},
};
use batch::{Rows, SpareRows};
use planner::plan::Plan;

/// A plan and its operators.
pub struct Opened {
    /// Operator, dropped before the plan.
    operator: OperatorNode<'static>,
    plan: Arc<Plan>,
}

impl Opened {
    /// Opens `plan` and keeps it with its operators, whose batches take memory from `spare` and give it back.
    ///
    /// # Errors
    /// XX000 for a plan that no operator can run.
    pub fn new(plan: Arc<Plan>, spare: &Rc<SpareRows>) -> Result<Self> {
        let operator = open(&plan, spare)?;
        // SAFETY: the plan stays where it is as long as the operator; see the module's header.
        let operator =
            unsafe { std::mem::transmute::<OperatorNode<'_>, OperatorNode<'static>>(operator) };
        Ok(Self { operator, plan })
    }

    /// Returns the number of values in each row.
    pub fn width(&self) -> usize {
        width(&self.plan)
    }

    /// Returns the next rows: see [`Operator::next`](super::Operator::next).
    ///
    /// # Errors
    /// Errors of the operators.
    pub fn next<'f>(
        &'f mut self,
        context: &'f ExecutionContext<'_>,
        out: &'f mut Rows,
    ) -> Step<'f> {
        self.operator.step(context, out)
    }

    /// Returns whether there are no more rows: see [`Operator::is_over`](super::Operator::is_over).
    pub fn is_over(&self) -> bool {
        self.operator.is_over()
    }

    /// Settles the operator: see [`Operator::settle`](super::Operator::settle).
    ///
    /// # Errors
    /// Errors of the operators.
    pub fn settle<'f>(&'f mut self, context: &'f ExecutionContext<'_>) -> Step<'f> {
        self.operator.settle(context)
    }

    /// Begins again: see [`Operator::rewind`](super::Operator::rewind).
    pub fn rewind(&mut self) {
        self.operator.rewind();
    }
}
