//! `SET CONSTRAINTS`, which the parser does not know.

use sqlparser::{
    parser::{Parser, ParserError},
    tokenizer::Token,
};
use types::Result;

use super::{Source, name::DottedName, parse_whole};

/// The moment at which constraints are to be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetConstraints {
    /// The names of the constraints; `None` for all.
    pub names: Option<Vec<DottedName>>,
    /// Whether the moment is the commit.
    pub is_deferred: bool,
}

impl SetConstraints {
    /// Reads the statement; `None` if it is another.
    ///
    /// # Errors
    /// 42601.
    pub(crate) fn read(source: &Source<'_>) -> Result<Option<SetConstraints>> {
        if !source.has_words(&["set", "constraints"]) {
            return Ok(None);
        }
        let tokens = source.tokens()[2..].to_vec();
        parse_whole(source.lines(), tokens, read).map(Some)
    }
}

fn read(parser: &mut Parser<'_>) -> std::result::Result<SetConstraints, ParserError> {
    let word = |parser: &mut Parser<'_>, word: &str| {
        let token = &parser.peek_token_ref().token;
        let is_there = matches!(token, Token::Word(found)
            if found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word));
        if is_there {
            parser.next_token();
        }
        is_there
    };
    let names = match word(parser, "all") {
        true => None,
        false => Some(parser.parse_comma_separated(DottedName::parse)?),
    };
    let is_deferred = word(parser, "deferred");
    if !is_deferred && !word(parser, "immediate") {
        return parser.expected_ref("DEFERRED or IMMEDIATE", parser.peek_token_ref());
    }
    Ok(SetConstraints { names, is_deferred })
}
