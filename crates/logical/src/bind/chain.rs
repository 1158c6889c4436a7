//! Chains: operators of which each has the one before it as its left operand, as in `a + b + c`.
//!
//! The parser makes a tree of them that is as deep as the chain is long. Of a long one the binder
//! goes down the left side in a loop, and binds each link over what the links before it have
//! become. The result is not deep either: conjunctions and disjunctions are flat, and of others,
//! [`STEP_LINKS`] at a time become a step of [`Kind::Steps`], which the next step takes up.

use types::{Result, Type};

use super::{Binder, clause::Clause, scope::Scope};
use crate::expression::{Expression, Kind};
use syntax::{
    depth::too_deep,
    expression::{Expr, ExprKind},
    phase::{self, DEPTH_MAX},
};

/// Chains of fewer links are bound by recursion.
const PLAIN_LINKS: usize = 32;

/// Links of a chain that are one expression within the other.
const STEP_LINKS: usize = 32;

/// Expressions within expressions, and queries within queries, those of views within views counted
/// together.
const LEVELS_MAX: usize = 4 * DEPTH_MAX;

/// Expressions with fewer parts are copied where they are needed twice.
const COPIED_PARTS: usize = 32;

/// The bound form of a link of a chain, for the link around it to find.
pub(super) struct Found {
    /// Where the syntax of the link is, which is told apart by that alone.
    syntax: *const Expr,
    expression: Expression,
}

impl Binder<'_> {
    /// Binds an expression; literals whose type nothing tells stay [`Type::Unknown`].
    pub(super) fn scalar(
        &mut self,
        expr: &Expr,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        if let Some(found) = self.take_found(expr) {
            return Ok(found);
        }
        phase::pause();
        if is_long(expr) {
            return self.chain(expr, scope, clause);
        }
        self.deeper(|binder| binder.operation(expr, scope, clause))
    }

    /// Binds what is one level further within the statement.
    ///
    /// # Errors
    /// 54001 beyond [`LEVELS_MAX`].
    pub(super) fn deeper<T>(&mut self, bind: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.levels == LEVELS_MAX {
            return Err(too_deep());
        }
        self.levels += 1;
        let bound = bind(self);
        self.levels -= 1;
        bound
    }

    /// Takes the bound form of a link, if it is the one before the link that is being bound.
    pub(super) fn take_found(&mut self, expr: &Expr) -> Option<Expression> {
        let found = self.found.take_if(|found| std::ptr::eq(found.syntax, expr));
        found.map(|found| found.expression)
    }

    fn chain(
        &mut self,
        expr: &Expr,
        scope: &Scope<'_>,
        clause: &mut Clause<'_>,
    ) -> Result<Expression> {
        let outer = self.found.take();
        let mut links = Vec::new();
        let mut at = expr;
        while let Some(left) = at.left_operand() {
            links.push(at);
            at = left;
        }
        let mut bound = self.scalar(at, scope, clause)?;
        let mut steps = Vec::new();
        let mut since = 0;
        for link in links.into_iter().rev() {
            phase::pause();
            if since >= STEP_LINKS && is_step(&bound) {
                let previous = previous(&bound);
                steps.push(std::mem::replace(&mut bound, previous));
                since = 0;
            }
            self.found = Some(Found {
                syntax: at,
                expression: bound,
            });
            bound = self.operation(link, scope, clause)?;
            // A link that has looked at its left side in another way has not taken it.
            self.found = None;
            since += usize::from(!is_flat(link));
            at = link;
        }
        self.found = outer;
        Ok(after(steps, bound))
    }

    /// Readies an expression that is needed more than once: there is a copy for each place if it is small, else it is
    /// computed once.
    pub(super) fn shared(
        &mut self,
        expression: Expression,
        make: impl FnOnce(&mut Self, Expression) -> Result<Expression>,
    ) -> Result<Expression> {
        if expression.ty == Type::Unknown || !expression.has_parts(COPIED_PARTS) {
            return make(self, expression);
        }
        let made = make(self, previous(&expression))?;
        Ok(after(vec![expression], made))
    }
}

/// An expression over what steps have come to.
fn after(mut steps: Vec<Expression>, last: Expression) -> Expression {
    if steps.is_empty() {
        return last;
    }
    let (ty, modifier) = (last.ty, last.modifier);
    steps.push(last);
    Expression {
        kind: Kind::Steps(steps),
        ty,
        modifier,
    }
}

/// The value of the step before.
fn previous(step: &Expression) -> Expression {
    Expression {
        kind: Kind::Previous,
        ty: step.ty,
        modifier: step.modifier,
    }
}

/// Whether what is bound around an expression does not have to see what it is.
fn is_step(expression: &Expression) -> bool {
    expression.ty != Type::Unknown
        && matches!(
            expression.kind,
            Kind::Call { .. }
                | Kind::Convert { .. }
                | Kind::Fit { .. }
                | Kind::IsNull { .. }
                | Kind::Is { .. }
                | Kind::Distinct { .. }
                | Kind::Steps(_)
        )
}

/// Whether a link is put beside those before it, and not around them.
fn is_flat(link: &Expr) -> bool {
    matches!(link.kind, ExprKind::Connected { .. })
}

/// Whether a chain is bound in a loop.
fn is_long(expr: &Expr) -> bool {
    let mut at = expr;
    for _ in 0..PLAIN_LINKS {
        match at.left_operand() {
            Some(left) => at = left,
            None => return false,
        }
    }
    true
}
