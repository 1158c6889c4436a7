//! `EXPLAIN`; the meaning of its options is `sql`'s to tell.

use sqlparser::{
    ast::{self, AnalyzeFormatKind, DescribeAlias, Expr, UtilityOption, Value},
    keywords::Keyword,
    parser::Parser,
    tokenizer::Token,
};

use super::{
    inner::{Execute, InnerStatement},
    rows::RowStatement,
};
use crate::{
    name::Name,
    refusal::{Misplaced, Refusal, refuse_keywords},
};

/// A statement whose plan is shown.
#[derive(Debug, Clone)]
pub struct Explain {
    /// Whether `ANALYZE` stands before the statement: it is carried out.
    pub analyze: bool,
    /// Whether `VERBOSE` stands before the statement.
    pub verbose: bool,
    /// The word behind `FORMAT` before the statement, in upper case.
    pub format: Option<String>,
    /// The options in parentheses, in the order in which they were written.
    pub options: Vec<ExplainOption>,
    /// The statement; `None` for one that neither reads nor changes rows.
    pub statement: Option<InnerStatement>,
}

/// An option in parentheses.
#[derive(Debug, Clone)]
pub struct ExplainOption {
    /// The name of the option.
    pub name: Name,
    /// The value of the option, in lower case and without quotes.
    pub value: Option<String>,
}

impl Explain {
    /// Takes an EXPLAIN from the parser.
    ///
    /// # Errors
    /// Forms of other systems.
    pub(super) fn of(tree: ast::Statement) -> Result<Self, Misplaced> {
        let ast::Statement::Explain {
            analyze,
            verbose,
            query_plan,
            estimate,
            statement,
            format,
            options,
            describe_alias,
        } = tree
        else {
            return Err(Misplaced::Keyword(Keyword::EXPLAIN));
        };
        refuse_keywords(&[
            (describe_alias == DescribeAlias::Describe, Keyword::DESCRIBE),
            (describe_alias == DescribeAlias::Desc, Keyword::DESC),
            (query_plan, Keyword::QUERY),
            (estimate, Keyword::ESTIMATE),
        ])?;
        let format = format.map(|format| match format {
            AnalyzeFormatKind::Keyword(format) | AnalyzeFormatKind::Assignment(format) => {
                format.to_string()
            }
        });
        Ok(Self {
            analyze,
            verbose,
            format,
            options: options.map_or_else(Vec::new, ExplainOption::of),
            statement: RowStatement::of(statement)?.ok().map(InnerStatement::Rows),
        })
    }

    /// Reads `EXPLAIN EXECUTE` behind EXPLAIN, since the parser reads an EXECUTE of other systems; `None` if it is
    /// another statement.
    pub(super) fn parse_execute(
        parser: &mut Parser<'_>,
    ) -> std::result::Result<Option<Self>, Refusal> {
        let mut options = Vec::new();
        let (mut analyze, mut verbose) = (false, false);
        match parser.peek_token_ref().token {
            Token::LParen => options = ExplainOption::of(parser.parse_utility_options()?),
            _ => {
                analyze = parser.parse_keyword(Keyword::ANALYZE);
                verbose = parser.parse_keyword(Keyword::VERBOSE);
            }
        }
        if !parser.parse_keyword(Keyword::EXECUTE) {
            return Ok(None);
        }
        Ok(Some(Self {
            analyze,
            verbose,
            format: None,
            options,
            statement: Some(InnerStatement::Execute(Execute::parse(parser)?)),
        }))
    }
}

impl ExplainOption {
    /// Takes options from the parser.
    fn of(options: Vec<UtilityOption>) -> Vec<Self> {
        let options = options.into_iter().map(|option| Self {
            name: Name::of(&option.name),
            value: option.arg.as_ref().map(word),
        });
        options.collect()
    }
}

/// Returns the word that an option's value is, in lower case.
fn word(value: &Expr) -> String {
    let word = match value {
        Expr::Identifier(ident) => ident.value.clone(),
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => text.clone(),
            other => other.to_string(),
        },
        other => other.to_string(),
    };
    word.to_lowercase()
}
