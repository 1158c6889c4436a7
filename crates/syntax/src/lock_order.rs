//! `FOR UPDATE ... LIMIT ...`: PostgreSQL takes LIMIT, OFFSET and FETCH behind the locking clauses as
//! well as before them; the parser knows the latter alone, so there they are brought.

use sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};

use crate::words::keyword_at;

/// Brings the limits of all queries before their locking clauses. Locations stay those of the text.
pub(super) fn arrange(tokens: &mut [TokenWithSpan]) {
    let mut at = 0;
    while at < tokens.len() {
        if let Some(locks_end) = end_of_locks(tokens, at) {
            let limits_end = end_of_limits(tokens, locks_end);
            tokens[at..limits_end].rotate_left(locks_end - at);
            // Behind both. A locking clause within a limit's brackets keeps its order.
            at = limits_end;
            continue;
        }
        at += 1;
    }
}

/// Where the locking clauses end that begin here, if some do.
fn end_of_locks(tokens: &[TokenWithSpan], begin: usize) -> Option<usize> {
    let mut at = begin;
    while keyword_at(tokens, at) == Keyword::FOR
        && matches!(keyword_at(tokens, at + 1), Keyword::UPDATE | Keyword::SHARE)
    {
        at += 2;
        if keyword_at(tokens, at) == Keyword::OF {
            at += 2;
            while matches!(
                tokens.get(at).map(|token| &token.token),
                Some(Token::Comma | Token::Period)
            ) {
                at += 2;
            }
        }
        match (keyword_at(tokens, at), keyword_at(tokens, at + 1)) {
            (Keyword::NOWAIT, _) => at += 1,
            (Keyword::SKIP, Keyword::LOCKED) => at += 2,
            _ => {}
        }
    }
    (at > begin).then_some(at.min(tokens.len()))
}

/// Where the limits end that begin here; here, if none do.
fn end_of_limits(tokens: &[TokenWithSpan], begin: usize) -> usize {
    let begins = matches!(
        keyword_at(tokens, begin),
        Keyword::LIMIT | Keyword::OFFSET | Keyword::FETCH
    );
    if !begins {
        return begin;
    }
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(begin) {
        match &token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket if depth == 0 => return at,
            Token::RParen | Token::RBracket => depth -= 1,
            Token::SemiColon | Token::EOF => return at,
            Token::Word(_) if depth == 0 => {
                let word = keyword_at(tokens, at);
                if matches!(word, Keyword::RETURNING | Keyword::ON | Keyword::FOR) {
                    return at;
                }
            }
            _ => {}
        }
    }
    tokens.len()
}
