//! `COMMENT ON`.

use sqlparser::{
    ast::{Ident, ObjectName},
    keywords::Keyword,
    parser::Parser,
    tokenizer::Token,
};

use super::{ObjectKind, Parsed, object_kind, unexpected, word};

/// What a comment is on.
#[derive(Debug, Clone)]
pub enum Commented {
    /// An object of one of the kinds that can be altered.
    Object(ObjectKind, ObjectName),
    /// The last part is the column.
    Column(ObjectName),
    /// A constraint, by its name and that of its table.
    Constraint(Ident, ObjectName),
    /// A type.
    Type(ObjectName),
    /// A role.
    Role(Ident),
    /// What there is not, or not with a comment.
    Other(String),
}

/// Reads on behind COMMENT.
pub(super) fn parse(parser: &mut Parser<'_>) -> Parsed<(Commented, Option<String>)> {
    parser.expect_keyword_is(Keyword::ON)?;
    let on = if let Some(kind) = object_kind(parser) {
        Commented::Object(kind, parser.parse_object_name(false)?)
    } else if parser.parse_keyword(Keyword::COLUMN) {
        Commented::Column(parser.parse_object_name(false)?)
    } else if parser.parse_keyword(Keyword::TYPE) {
        Commented::Type(parser.parse_object_name(false)?)
    } else if parser.parse_keyword(Keyword::ROLE) {
        Commented::Role(parser.parse_identifier()?)
    } else if parser.parse_keyword(Keyword::CONSTRAINT) {
        let name = parser.parse_identifier()?;
        parser.expect_keyword_is(Keyword::ON)?;
        if word(parser, "domain") {
            pass_over(parser);
            Commented::Other("CONSTRAINT of a domain".to_owned())
        } else {
            Commented::Constraint(name, parser.parse_object_name(false)?)
        }
    } else {
        let what = parser.peek_token_ref().token.to_string().to_uppercase();
        pass_over(parser);
        Commented::Other(what)
    };
    parser.expect_keyword_is(Keyword::IS)?;
    if parser.parse_keyword(Keyword::NULL) {
        return Ok((on, None));
    }
    let text = match &parser.peek_token_ref().token {
        Token::SingleQuotedString(text)
        | Token::EscapedStringLiteral(text)
        | Token::UnicodeStringLiteral(text) => text.clone(),
        Token::DollarQuotedString(text) => text.value.clone(),
        _ => return unexpected(parser, "a string or NULL"),
    };
    parser.advance_token();
    // An empty one is none.
    Ok((on, Some(text).filter(|text| !text.is_empty())))
}

/// Passes over a name whose form does not matter.
fn pass_over(parser: &mut Parser<'_>) {
    while !parser.peek_keyword(Keyword::IS) && parser.peek_token_ref().token != Token::EOF {
        parser.advance_token();
    }
}
