//! `LIKE ANY (array)`: the parser knows ANY alone behind LIKE, and takes `all (array)` for a call. Behind the operator
//! in signs, which LIKE is another form of, it knows all quantifiers.

use sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};

use super::{Form, Given};
use crate::words::keyword;

impl Given<'_> {
    /// Writes LIKE or ILIKE before a quantifier, and NOT before it, in signs.
    pub(super) fn quantified_pattern(&self, at: usize, before: &[TokenWithSpan]) -> Option<Form> {
        let quantifier = self.keyword(at + 1);
        if !matches!(quantifier, Keyword::ANY | Keyword::ALL | Keyword::SOME) {
            return None;
        }
        let not = before.last().filter(|last| keyword(last) == Keyword::NOT);
        let signs = match (self.keyword(at), not.is_some()) {
            (Keyword::LIKE, false) => Token::DoubleTilde,
            (Keyword::LIKE, true) => Token::ExclamationMarkDoubleTilde,
            (_, false) => Token::DoubleTildeAsterisk,
            (_, true) => Token::ExclamationMarkDoubleTildeAsterisk,
        };
        let first = not.unwrap_or(&self.tokens[at]);
        Some(Form {
            tokens: vec![TokenWithSpan::new(signs, first.span)],
            taken: 1,
            before: usize::from(not.is_some()),
            closing: Vec::new(),
        })
    }
}
