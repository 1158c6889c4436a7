//! Statements that differ only in their literals have one plan.
//!
//! A client that does not prepare sends `... WHERE id = 17`, then `... WHERE id = 18`. A shape is
//! such a text with its numbers and strings taken out; they become parameters. The binder
//! refuses a parameter where it needs the literal itself, as in `ORDER BY 1`; such statements are
//! planned by their whole text.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::Source;

/// What was taken out of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Literal {
    /// Digits, perhaps with a point and an exponent.
    Number(String),
    /// Between quotes; its type is found where it is used.
    Text(String),
}

/// A statement's text without its literals.
pub(crate) struct Shape {
    /// Equal for statements with the same plan. Not SQL.
    pub(crate) key: String,
    /// The statement with parameters in their place.
    pub(crate) tokens: Vec<TokenWithSpan>,
    /// In the order of their parameters, `$1` first.
    pub(crate) literals: Vec<Literal>,
}

impl Shape {
    /// The shape of a statement whose plan may be shared; `None` for those that have none, or that
    /// have parameters already.
    pub(crate) fn of(source: &Source<'_>) -> Option<Shape> {
        let first = source.tokens().first()?;
        let Token::Word(word) = &first.token else {
            return None;
        };
        let planned = ["select", "insert", "update", "delete", "with"];
        if !planned
            .iter()
            .any(|planned| word.value.eq_ignore_ascii_case(planned))
        {
            return None;
        }
        let mut shape = Shape {
            key: String::with_capacity(source.text().len()),
            tokens: Vec::with_capacity(source.tokens().len()),
            literals: Vec::new(),
        };
        for token in source.tokens() {
            shape.push(token)?;
        }
        Some(shape)
    }

    fn push(&mut self, token: &TokenWithSpan) -> Option<()> {
        let literal = match &token.token {
            Token::Placeholder(_) => return None,
            Token::Number(digits, false) => Some(Literal::Number(digits.clone())),
            Token::SingleQuotedString(text) => Some(Literal::Text(text.clone())),
            _ => None,
        };
        match literal {
            Some(literal) => {
                // Numbers of different types are different shapes.
                self.key.push_str(match &literal {
                    Literal::Number(digits) => kind(digits),
                    Literal::Text(_) => "\0s ",
                });
                self.literals.push(literal);
                self.tokens.push(TokenWithSpan {
                    token: Token::Placeholder(format!("${}", self.literals.len())),
                    span: token.span,
                });
            }
            None => {
                use std::fmt::Write as _;
                write!(self.key, "{} ", token.token).expect("writing to a string");
                self.tokens.push(token.clone());
            }
        }
        Some(())
    }
}

/// Which type a number has, as a part of a shape's key.
fn kind(digits: &str) -> &'static str {
    if digits.parse::<i32>().is_ok() {
        "\0i "
    } else if digits.parse::<i64>().is_ok() {
        "\0l "
    } else {
        "\0n "
    }
}
