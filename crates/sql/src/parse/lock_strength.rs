//! `FOR NO KEY UPDATE` and `FOR KEY SHARE`, which the parser does not know.
//!
//! It is given the stronger lock that it knows, of a relation whose name begins with a part that says
//! which one was meant: PostgreSQL takes no qualified names there. All relations are `"*"`.

use engine::Strength;
use sqlparser::{
    ast::{Ident, LockClause, LockType, ObjectName, ObjectNamePart},
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan, Word},
};

const KEY_SHARE: &str = "key share";
const NO_KEY_UPDATE: &str = "no key update";
const ALL: &str = "*";

/// Names the locks that the parser does not know.
pub(super) fn mark(tokens: &mut Vec<TokenWithSpan>) {
    let is = |token: Option<&TokenWithSpan>, keyword| matches!(token.map(|token| &token.token), Some(Token::Word(word)) if word.quote_style.is_none() && word.keyword == keyword);
    let mut at = 0;
    while at < tokens.len() {
        let is_next = |ahead: usize, keyword| is(tokens.get(at + ahead), keyword);
        let found = if !is_next(0, Keyword::FOR) {
            None
        } else if is_next(1, Keyword::NO) && is_next(2, Keyword::KEY) && is_next(3, Keyword::UPDATE)
        {
            Some((2, NO_KEY_UPDATE))
        } else if is_next(1, Keyword::KEY) && is_next(2, Keyword::SHARE) {
            Some((1, KEY_SHARE))
        } else {
            None
        };
        at += 1;
        let Some((words, meant)) = found else {
            continue;
        };
        tokens.drain(at..at + words);
        at += 1;
        let span = tokens[at - 1].span;
        let token = |token| TokenWithSpan { token, span };
        let mut name = vec![token(quoted(meant)), token(Token::Period)];
        if is(tokens.get(at), Keyword::OF) {
            at += 1;
        } else {
            name.insert(0, token(Token::make_keyword("OF")));
            name.push(token(quoted(ALL)));
        }
        tokens.splice(at..at, name);
    }
}

fn quoted(value: &str) -> Token {
    Token::Word(Word {
        value: value.to_owned(),
        quote_style: Some('"'),
        keyword: Keyword::NoKeyword,
    })
}

/// How strongly rows are to be locked, and of which relation.
pub(crate) fn of(lock: &LockClause) -> (Strength, Option<ObjectName>) {
    let known = match lock.lock_type {
        LockType::Update => Strength::Update,
        LockType::Share => Strength::Share,
    };
    let Some(ObjectName(parts)) = &lock.of else {
        return (known, None);
    };
    let is = |at: usize, value: &str| {
        let part = parts.get(at).and_then(ObjectNamePart::as_ident);
        part.is_some_and(|Ident { value: own, .. }| own == value)
    };
    let meant = match known {
        Strength::Share if is(0, KEY_SHARE) => Strength::KeyShare,
        Strength::Update if is(0, NO_KEY_UPDATE) => Strength::NoKeyUpdate,
        _ => return (known, lock.of.clone()),
    };
    match parts.get(1..) {
        None | Some([]) => (known, lock.of.clone()),
        Some([_]) if is(1, ALL) => (meant, None),
        Some(rest) => (meant, Some(ObjectName(rest.to_vec()))),
    }
}

/// As PostgreSQL writes it.
pub(crate) fn shown(strength: Strength) -> &'static str {
    match strength {
        Strength::KeyShare => "FOR KEY SHARE",
        Strength::Share => "FOR SHARE",
        Strength::NoKeyUpdate => "FOR NO KEY UPDATE",
        Strength::Update => "FOR UPDATE",
    }
}
