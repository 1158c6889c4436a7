//! From the parser's trees to trees of this crate's own: expressions, queries, and statements that change rows.
//!
//! A tree is taken apart by value, so that strings move, and each of its nodes is seen once. A form that there is not
//! becomes an error within the own tree, which the binder raises where it comes to it. A form that PostgreSQL's grammar
//! does not have is noted ([`Conversion::misplaced`]), and ends the reading of the statement.
//!
//! | part | file |
//! | --- | --- |
//! | expressions; operators; calls and windows | `expression.rs`; `operator.rs`; `call.rs` |
//! | queries, their clauses and bodies | `query.rs` |
//! | relations of FROM | `table.rs` |
//! | INSERT, UPDATE, DELETE, MERGE | `change.rs` |
//!
//! # Places
//! [`Conversion::span`] grows with each word that is seen, and is set aside where an expression begins: the place of an
//! expression is that of all words in it, which no node has to look for among those below it.
//!
//! # Depth
//! Chains are taken apart in loops. Elsewhere the conversion recurses as deep as the parser did, on the same stack.

mod call;
mod change;
mod expression;
mod operator;
mod query;
mod table;

#[cfg(test)]
mod tests;

use sqlparser::ast::{self, ObjectName, ObjectNamePart};
use types::{SqlError, SqlState};

use crate::{
    change::Change,
    expression::{Expr, Refused},
    name::{DottedName, Name},
    position::Span,
    query::Query,
    refusal::Misplaced,
    statement,
};

/// Converts an expression.
///
/// # Errors
/// Forms that PostgreSQL's grammar does not have.
pub(crate) fn expression(tree: ast::Expr) -> Result<Expr, Misplaced> {
    let mut conversion = Conversion::default();
    let expr = conversion.expr(tree);
    conversion.done(expr)
}

/// Converts a query.
///
/// # Errors
/// Forms that PostgreSQL's grammar does not have.
pub(crate) fn query(tree: ast::Query) -> Result<Query, Misplaced> {
    let mut conversion = Conversion::default();
    let query = conversion.query(tree);
    conversion.done(query)
}

/// Converts a statement that changes rows.
///
/// # Errors
/// Forms that PostgreSQL's grammar does not have.
pub(crate) fn change(tree: ast::Statement) -> Result<Change, Misplaced> {
    let mut conversion = Conversion::default();
    let change = conversion.change(tree);
    conversion.done(change)
}

/// A conversion on its way through a tree.
#[derive(Default)]
struct Conversion {
    /// The place of the words that were seen since the innermost expression began.
    span: Span,
    /// The first form that PostgreSQL's grammar does not have.
    misplaced: Option<Misplaced>,
}

impl Conversion {
    /// Returns what was converted, unless the grammar does not have it.
    fn done<T>(self, converted: T) -> Result<T, Misplaced> {
        match self.misplaced {
            Some(misplaced) => Err(misplaced),
            None => Ok(converted),
        }
    }

    /// Notes a form that PostgreSQL's grammar does not have.
    fn misplace(&mut self, misplaced: Misplaced) {
        self.misplaced.get_or_insert(misplaced);
    }

    /// Notes that a message is the error of PostgreSQL's grammar for a form.
    fn misplace_with(&mut self, message: &'static str) {
        self.misplace(Misplaced::Told(SqlError::new(
            SqlState::SYNTAX_ERROR,
            message,
        )));
    }

    /// Takes note of the place of a word.
    fn see(&mut self, span: impl Into<Span>) {
        self.span = self.span.union(span.into());
    }

    fn name(&mut self, ident: ast::Ident) -> Name {
        self.see(ident.span);
        Name::from(ident)
    }

    fn names(&mut self, idents: Vec<ast::Ident>) -> Vec<Name> {
        idents.into_iter().map(|ident| self.name(ident)).collect()
    }

    fn dotted_name(&mut self, name: ObjectName) -> DottedName {
        let idents = name.0.into_iter().filter_map(|part| match part {
            ObjectNamePart::Identifier(ident) => Some(ident),
            ObjectNamePart::Function(_) => None,
        });
        DottedName::from(self.names(idents.collect()))
    }

    fn dotted_names(&mut self, names: Vec<ObjectName>) -> Vec<DottedName> {
        names
            .into_iter()
            .map(|name| self.dotted_name(name))
            .collect()
    }

    fn exprs(&mut self, trees: Vec<ast::Expr>) -> Vec<Expr> {
        trees.into_iter().map(|tree| self.expr(tree)).collect()
    }

    fn boxed(&mut self, tree: Box<ast::Expr>) -> Box<Expr> {
        Box::new(self.expr(*tree))
    }

    fn optional(&mut self, tree: Option<ast::Expr>) -> Option<Expr> {
        tree.map(|tree| self.expr(tree))
    }

    fn optional_boxed(&mut self, tree: Option<Box<ast::Expr>>) -> Option<Box<Expr>> {
        tree.map(|tree| self.boxed(tree))
    }
}

/// Returns the error for a form of another system.
fn unsupported(what: impl std::fmt::Display) -> Refused {
    Refused(SqlError::unsupported(what))
}

/// Refuses the first clause that is there.
fn refuse_first(clauses: &[(bool, &str)]) -> Option<Refused> {
    statement::refuse_first(clauses).err().map(Refused)
}

/// Returns the number that stands for one that is not written. It has no place.
fn one() -> ast::Expr {
    ast::Expr::Value(ast::Value::Number("1".to_owned(), false).with_empty_span())
}
