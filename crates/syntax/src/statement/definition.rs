//! Definitions that the parser does not know, or not whole: sequences, statistics objects, tables from
//! queries, comments, and everything that alters; and `EXPLAIN EXECUTE`.
//!
//! They are read with the parser's own tools, from the same tokens, so that expressions, types and
//! columns in them are what they are elsewhere.

use sqlparser::{
    keywords::Keyword,
    parser::{Parser, ParserError},
    tokenizer::{Token, TokenWithSpan},
};

use types::SqlError;

use super::{
    AlterObject, AlterSequence, AlterTable, CreateSequence, CreateStatistics, Drop, Explain,
    ObjectChange, ObjectKind, SequenceClauses, Statement, TableAction, TableAs, comment,
    create_table_as::is_table_as, storage_parameter,
};
use crate::{name::DottedName, refusal::Refusal};

pub(super) type Parsed<T> = Result<T, ParserError>;

/// Returns whether a statement may be one of these.
pub(crate) fn is_definition(tokens: &[TokenWithSpan]) -> bool {
    let word = |at: usize| match tokens.get(at).map(|token| &token.token) {
        Some(Token::Word(word)) => word.keyword,
        _ => Keyword::NoKeyword,
    };
    match word(0) {
        Keyword::ALTER => matches!(
            word(1),
            Keyword::TABLE
                | Keyword::INDEX
                | Keyword::VIEW
                | Keyword::SEQUENCE
                | Keyword::SCHEMA
                | Keyword::STATISTICS
        ),
        Keyword::COMMENT => true,
        Keyword::DROP => word(1) == Keyword::STATISTICS,
        Keyword::EXPLAIN => tokens.iter().any(is_execute),
        Keyword::CREATE => {
            matches!(word(1), Keyword::SEQUENCE | Keyword::STATISTICS)
                || matches!(word(1), Keyword::TEMPORARY | Keyword::TEMP)
                    && word(2) == Keyword::SEQUENCE
                || is_table_as(tokens)
        }
        _ => false,
    }
}

fn is_execute(token: &TokenWithSpan) -> bool {
    matches!(&token.token, Token::Word(word) if word.keyword == Keyword::EXECUTE)
}

/// Reads a definition; `None` if it is one that is better left to the parser.
pub(crate) fn parse(parser: &mut Parser<'_>) -> Result<Option<Statement>, Refusal> {
    if parser.parse_keywords(&[Keyword::CREATE, Keyword::STATISTICS]) {
        let new = CreateStatistics::parse(parser)?;
        return Ok(Some(Statement::CreateStatistics(Box::new(new))));
    }
    if parser.parse_keywords(&[Keyword::DROP, Keyword::STATISTICS]) {
        return Ok(Some(Statement::Drop(Drop::parse_statistics(parser)?)));
    }
    if parser.parse_keyword(Keyword::CREATE) {
        return Ok(Some(match TableAs::parse(parser)? {
            Some(new) => Statement::CreateTableAs(Box::new(new)),
            None => Statement::CreateSequence(CreateSequence::parse(parser)?),
        }));
    }
    if parser.parse_keyword(Keyword::EXPLAIN) {
        return Ok(Explain::parse_execute(parser)?.map(Statement::Explain));
    }
    if parser.parse_keyword(Keyword::COMMENT) {
        return Ok(Some(Statement::Comment(comment::parse(parser)?)));
    }
    parser.expect_keyword_is(Keyword::ALTER)?;
    let Some(kind) = ObjectKind::parse(parser) else {
        return Ok(None);
    };
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    if kind == ObjectKind::Table {
        let _ = parser.parse_keyword(Keyword::ONLY);
    }
    let name = DottedName::parse(parser)?;
    if kind == ObjectKind::Table {
        let _ = parser.consume_token(&Token::Mul);
    }
    // PostgreSQL's grammar has this clause for one change of statistics objects alone.
    let is_other_change = kind == ObjectKind::Statistics && if_exists;
    if !is_other_change && let Some(change) = ObjectChange::parse(parser)? {
        return Ok(Some(Statement::AlterObject(AlterObject {
            kind,
            name,
            if_exists,
            change,
        })));
    }
    Ok(match kind {
        ObjectKind::Table => Some(Statement::AlterTable(AlterTable {
            name,
            if_exists,
            actions: TableAction::parse_all(parser)?,
        })),
        ObjectKind::Sequence => Some(Statement::AlterSequence(AlterSequence {
            name,
            if_exists,
            clauses: SequenceClauses::parse(parser)?,
        })),
        ObjectKind::Statistics => {
            parser.expect_keywords(&[Keyword::SET, Keyword::STATISTICS])?;
            let _ = parser.consume_token(&Token::Minus) || parser.consume_token(&Token::Plus);
            storage_parameter::number(parser)?;
            let what = "ALTER STATISTICS ... SET STATISTICS";
            Some(Statement::Refused(SqlError::unsupported(what)))
        }
        ObjectKind::Index | ObjectKind::View | ObjectKind::Schema => None,
    })
}

pub(super) fn unexpected<T>(parser: &Parser<'_>, expected: &str) -> Parsed<T> {
    parser.expected_ref(expected, parser.peek_token_ref())
}
