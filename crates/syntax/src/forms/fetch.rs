//! `FETCH FIRST n ROWS`, which stands beside OFFSET in either order and takes more than the parser
//! lets it have.

use sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};

use super::{BRACKETS_MAX, Form, Given, is_form, word};
use crate::words::keyword;

impl Given<'_> {
    /// `FETCH FIRST n ROWS`, once: tokens that were put in for one have its place.
    pub(super) fn fetch(&self, at: usize, before: &[TokenWithSpan]) -> Option<Form> {
        if !matches!(self.keyword(at + 1), Keyword::FIRST | Keyword::NEXT) {
            return None;
        }
        let span = self.tokens[at].span;
        let is_limit =
            |token: &TokenWithSpan| token.span == span && keyword(token) == Keyword::LIMIT;
        if before.iter().rev().take(BRACKETS_MAX).any(is_limit) {
            return None;
        }
        let rows = at + 2 + self.row_count(at + 2)?;
        if !matches!(self.keyword(rows), Keyword::ROW | Keyword::ROWS) {
            return None;
        }
        let mut limit = vec![word("LIMIT", Keyword::LIMIT, span)];
        match &self.tokens[at + 2..rows] {
            [] => limit.push(TokenWithSpan::new(
                Token::Number("1".to_owned(), false),
                span,
            )),
            count => limit.extend_from_slice(count),
        }
        match (self.keyword(rows + 1), self.keyword(rows + 2)) {
            (Keyword::ONLY, _) => Form::new(limit, rows + 2 - at),
            (Keyword::WITH, Keyword::TIES) => {
                let offset = self.offset(rows + 3)?;
                limit.extend_from_slice(offset);
                limit.extend_from_slice(&self.tokens[at..at + 2]);
                limit.extend_from_slice(&self.tokens[rows..rows + 3]);
                Form::new(limit, rows + 3 + offset.len() - at)
            }
            _ => None,
        }
    }

    /// How many tokens a number of rows has that begins here: none, a number with its sign or another
    /// single token, parentheses, a call.
    fn row_count(&self, begin: usize) -> Option<usize> {
        let enclosed = |begin| Some(self.brackets(begin)?.len() + 2);
        match (self.token(begin)?, self.token(begin + 1)?) {
            (Token::LParen, _) => enclosed(begin),
            (Token::Plus | Token::Minus, Token::Number(..)) => Some(2),
            (Token::Word(_), Token::LParen) => Some(1 + enclosed(begin + 1)?),
            _ if matches!(self.keyword(begin), Keyword::ROW | Keyword::ROWS) => Some(0),
            _ => Some(1),
        }
    }

    /// `OFFSET m`, if it begins here, to the end of its query. `None` if it has forms in it, or more tokens
    /// than such forms have.
    fn offset(&self, begin: usize) -> Option<&[TokenWithSpan]> {
        if self.keyword(begin) != Keyword::OFFSET {
            return Some(&[]);
        }
        let mut depth = 0_usize;
        let rest = &self.tokens[begin..];
        for (at, token) in rest.iter().enumerate().take(BRACKETS_MAX) {
            match token.token {
                Token::LParen => depth += 1,
                Token::RParen if depth == 0 => return Some(&rest[..at]),
                Token::RParen => depth -= 1,
                _ if depth == 0 && keyword(token) == Keyword::FOR => {
                    return Some(&rest[..at]);
                }
                _ if is_form(&token.token) => return None,
                _ => {}
            }
        }
        (rest.len() <= BRACKETS_MAX).then_some(rest)
    }
}
