//! Expressions of statements, whose trees `logical` alone looks into.

use std::fmt;

use sqlparser::ast::Expr;

/// An expression, as a default or the condition of a check.
///
/// Its text, as the catalog keeps it, is what [`fmt::Display`] writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression(Box<Expr>);

impl Expression {
    /// Wraps the parser's tree of an expression.
    pub(crate) fn new(tree: impl Into<Box<Expr>>) -> Self {
        Self(tree.into())
    }

    /// Returns the parser's tree, for the binder.
    pub fn tree(&self) -> &Expr {
        &self.0
    }

    /// Returns whether the expression is a name without a qualifier, and nothing else.
    pub fn is_name(&self) -> bool {
        matches!(*self.0, Expr::Identifier(_))
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}
