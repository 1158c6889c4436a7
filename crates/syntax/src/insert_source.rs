//! `INSERT INTO t (WITH ...)`, `(VALUES ...)`, `((SELECT ...))`: the parser takes parentheses behind the
//! table for a list of columns, unless they begin with SELECT. The outermost pair goes, for it means
//! nothing where no clause follows it.

use sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};

use super::forms::ends_insert_target;
use crate::{phase, words::is_keyword};

/// Takes parentheses around whole sources of INSERT away.
pub(super) fn arrange(tokens: &mut Vec<TokenWithSpan>) {
    // Those that are open, at most one for each token, and whether a source is in them.
    let mut open: Vec<(usize, bool)> = Vec::new();
    let mut gone: Vec<usize> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        phase::pause();
        match token.token {
            Token::LParen => open.push((at, begins_source(tokens, at))),
            Token::RParen => {
                if let Some((begin, true)) = open.pop()
                    && ends_source(tokens.get(at + 1))
                {
                    gone.extend([begin, at]);
                }
            }
            _ => {}
        }
    }
    if gone.is_empty() {
        return;
    }
    gone.sort_unstable();
    let mut gone = gone.into_iter().peekable();
    let mut at = 0;
    tokens.retain(|_| {
        let goes = gone.next_if_eq(&at).is_some();
        at += 1;
        !goes
    });
}

fn begins_source(tokens: &[TokenWithSpan], at: usize) -> bool {
    let is_query = |next: &TokenWithSpan| {
        next.token == Token::LParen || is_keyword(next, &[Keyword::WITH, Keyword::VALUES])
    };
    tokens.get(at + 1).is_some_and(is_query) && ends_insert_target(&tokens[..at])
}

fn ends_source(next: Option<&TokenWithSpan>) -> bool {
    next.is_none_or(|next| {
        next.token == Token::RParen || is_keyword(next, &[Keyword::ON, Keyword::RETURNING])
    })
}
