//! Expressions of definitions.

use std::fmt;

use sqlparser::ast;

use crate::{
    convert,
    expression::{Expr, ExprKind},
    refusal::Misplaced,
};

/// An expression of a definition, as a default or the condition of a check.
///
/// Its text, as the catalog keeps it, is what [`fmt::Display`] writes.
#[derive(Debug, Clone)]
pub struct Expression {
    text: String,
    tree: Expr,
}

impl Expression {
    /// Takes an expression from the parser.
    ///
    /// # Errors
    /// Forms that PostgreSQL's grammar does not have.
    pub(crate) fn of(tree: ast::Expr) -> Result<Self, Misplaced> {
        Ok(Self {
            text: tree.to_string(),
            tree: convert::expression(tree)?,
        })
    }

    /// Returns the expression itself.
    pub fn tree(&self) -> &Expr {
        &self.tree
    }

    /// Returns whether the expression is a name without a qualifier, and nothing else.
    pub fn is_name(&self) -> bool {
        matches!(self.tree.kind, ExprKind::Name(_))
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}
