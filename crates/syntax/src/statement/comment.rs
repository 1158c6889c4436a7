//! `COMMENT ON`.

use sqlparser::{keywords::Keyword, parser::Parser, tokenizer::Token};

use super::{
    alter_object::ObjectKind,
    definition::{Parsed, unexpected},
};
use crate::{
    name::{DottedName, Name},
    words::take_word,
};

/// A comment on something.
#[derive(Debug, Clone)]
pub struct Comment {
    /// The object that the comment is on.
    pub on: Commented,
    /// The text of the comment; `None`, for NULL or an empty string, removes the comment.
    pub text: Option<String>,
}

/// The object that a comment is on.
#[derive(Debug, Clone)]
pub enum Commented {
    /// An object of one of the kinds that can be altered.
    Object(ObjectKind, DottedName),
    /// The last part is the column.
    Column(DottedName),
    /// A constraint, by its name and that of its table.
    Constraint(Name, DottedName),
    /// A type.
    Type(DottedName),
    /// A role.
    Role(Name),
    /// An object that there is not, or not with a comment.
    Other(String),
}

/// Reads on behind COMMENT.
pub(super) fn parse(parser: &mut Parser<'_>) -> Parsed<Comment> {
    parser.expect_keyword_is(Keyword::ON)?;
    let on = if let Some(kind) = ObjectKind::parse(parser) {
        Commented::Object(kind, DottedName::parse(parser)?)
    } else if parser.parse_keyword(Keyword::COLUMN) {
        Commented::Column(DottedName::parse(parser)?)
    } else if parser.parse_keyword(Keyword::TYPE) {
        Commented::Type(DottedName::parse(parser)?)
    } else if parser.parse_keyword(Keyword::ROLE) {
        Commented::Role(Name::parse(parser)?)
    } else if parser.parse_keyword(Keyword::CONSTRAINT) {
        let name = Name::parse(parser)?;
        parser.expect_keyword_is(Keyword::ON)?;
        if take_word(parser, "domain") {
            pass_over(parser);
            Commented::Other("CONSTRAINT of a domain".to_owned())
        } else {
            Commented::Constraint(name, DottedName::parse(parser)?)
        }
    } else {
        let what = parser.peek_token_ref().token.to_string().to_uppercase();
        pass_over(parser);
        Commented::Other(what)
    };
    parser.expect_keyword_is(Keyword::IS)?;
    if parser.parse_keyword(Keyword::NULL) {
        return Ok(Comment { on, text: None });
    }
    let text = match &parser.peek_token_ref().token {
        Token::SingleQuotedString(text)
        | Token::EscapedStringLiteral(text)
        | Token::UnicodeStringLiteral(text) => text.clone(),
        Token::DollarQuotedString(text) => text.value.clone(),
        _ => return unexpected(parser, "a string or NULL"),
    };
    parser.advance_token();
    // An empty comment is none.
    let text = Some(text).filter(|text| !text.is_empty());
    Ok(Comment { on, text })
}

/// Passes over a name whose form does not matter.
fn pass_over(parser: &mut Parser<'_>) {
    while !parser.peek_keyword(Keyword::IS) && parser.peek_token_ref().token != Token::EOF {
        parser.advance_token();
    }
}
