//! `SET CONSTRAINTS`, which the parser does not know.

use sqlparser::parser::{Parser, ParserError};
use types::Result;

use super::{Source, name::DottedName, parse_whole};
use crate::words::take_word;

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
    let names = match take_word(parser, "all") {
        true => None,
        false => Some(parser.parse_comma_separated(DottedName::parse)?),
    };
    let is_deferred = take_word(parser, "deferred");
    if !is_deferred && !take_word(parser, "immediate") {
        return parser.expected_ref("DEFERRED or IMMEDIATE", parser.peek_token_ref());
    }
    Ok(SetConstraints { names, is_deferred })
}
