//! REINDEX, which there is not: read to its end, since an error of grammar in it is one of the text.

use sqlparser::{
    keywords::Keyword,
    parser::{Parser, ParserError},
    tokenizer::Token,
};
use types::{Result, SqlError};

use super::{
    Source,
    maintenance::option,
    name::{DottedName, Name},
    parse_whole,
};

/// Reads the statement; returns the error that refuses it.
///
/// # Errors
/// 42601.
pub(crate) fn reindex(source: &Source<'_>) -> Result<SqlError> {
    parse_whole(source.lines(), source.tokens().to_vec(), read)?;
    let error = SqlError::unsupported("REINDEX");
    Ok(error.hint("Drop the index and create it again."))
}

fn read(parser: &mut Parser<'_>) -> std::result::Result<(), ParserError> {
    parser.expect_keyword_is(Keyword::REINDEX)?;
    if parser.consume_token(&Token::LParen) {
        parser.parse_comma_separated(option)?;
        parser.expect_token(&Token::RParen)?;
    }
    let is_relation = parser.parse_keyword(Keyword::INDEX) || parser.parse_keyword(Keyword::TABLE);
    if !is_relation {
        let kinds = [Keyword::SCHEMA, Keyword::DATABASE, Keyword::SYSTEM];
        parser.expect_one_of_keywords(&kinds)?;
    }
    let _ = parser.parse_keyword(Keyword::CONCURRENTLY);
    match is_relation {
        true => DottedName::parse(parser).map(drop),
        false => Name::parse(parser).map(drop),
    }
}
