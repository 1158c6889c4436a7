//! The statements within others whose plan is shown, or whose rows make a table: `EXPLAIN` and `CREATE TABLE AS`.

use sqlparser::{parser::Parser, tokenizer::Token};

use super::rows::RowStatement;
use crate::{convert, expression::Expr, name::Name, refusal::Refusal};

/// A statement within another one.
#[derive(Debug, Clone)]
pub enum InnerStatement {
    /// A statement that reads or changes rows.
    Rows(RowStatement),
    /// `EXECUTE`, in whose place the prepared statement stands.
    Execute(Execute),
}

/// `EXECUTE name (arguments)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Execute {
    /// The name of the prepared statement.
    pub name: String,
    /// The values of the parameters, in order; empty without a list.
    pub arguments: Vec<Expr>,
}

impl Execute {
    /// Reads on behind EXECUTE.
    pub(crate) fn parse(parser: &mut Parser<'_>) -> Result<Self, Refusal> {
        let name = Name::parse(parser)?.as_str().to_owned();
        let mut arguments = Vec::new();
        if parser.consume_token(&Token::LParen) {
            let written = parser.parse_comma_separated(Parser::parse_expr)?;
            parser.expect_token(&Token::RParen)?;
            arguments = written
                .into_iter()
                .map(convert::expression)
                .collect::<Result<_, _>>()?;
        }
        Ok(Self { name, arguments })
    }
}
