//! `WITH (fillfactor)` of a table: the parser wants a value for each storage parameter.

use sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};

use super::{Form, Given, word};
use crate::words::keyword;

impl Given<'_> {
    /// Writes `= TRUE` behind each parameter without a value, in the list behind WITH.
    pub(super) fn parameters(&self, at: usize, before: &[TokenWithSpan]) -> Option<Form> {
        let mut kinds = before.iter().take(4).map(keyword);
        if !kinds.any(|kind| kind == Keyword::TABLE) {
            return None;
        }
        let list = self.brackets(at + 1)?;
        let mut tokens = self.tokens[at..at + 2].to_vec();
        for (place, token) in list.iter().enumerate() {
            tokens.push(token.clone());
            let is_end = |token: Option<&TokenWithSpan>| {
                token.is_none_or(|token| token.token == Token::Comma)
            };
            let previous = place.checked_sub(1).map(|place| &list[place]);
            let is_name = matches!(token.token, Token::Word(_)) && is_end(previous);
            if is_name && is_end(list.get(place + 1)) {
                tokens.push(TokenWithSpan::new(Token::Eq, token.span));
                tokens.push(word("TRUE", Keyword::TRUE, token.span));
            }
        }
        Form::new(tokens, 2 + list.len())
    }
}
