//! `FOR NO KEY UPDATE` and `FOR KEY SHARE`, which the parser does not know.
//!
//! It is given the stronger lock that it knows, of a relation whose name begins with a part that says
//! which one was meant: PostgreSQL takes no qualified names there. All relations are `"*"`.

use engine::Strength;
use sqlparser::{
    ast::{Ident, LockClause, LockType, NonBlock, ObjectName, ObjectNamePart},
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan, Word},
};

use crate::{phase, words::keyword_at};

const KEY_SHARE: &str = "key share";
const NO_KEY_UPDATE: &str = "no key update";
const ALL: &str = "*";

/// Names the locks that the parser does not know.
pub(super) fn mark(tokens: &mut Vec<TokenWithSpan>) {
    let Some(first) = (0..tokens.len()).find(|at| meant_at(tokens, *at).is_some()) else {
        return;
    };
    let mut marked = tokens[..first].to_vec();
    let mut at = first;
    while at < tokens.len() {
        phase::pause();
        marked.push(tokens[at].clone());
        let Some((words, meant)) = meant_at(tokens, at) else {
            at += 1;
            continue;
        };
        // The strength that the parser knows, then the name.
        at += 1 + words;
        marked.push(tokens[at].clone());
        let span = tokens[at].span;
        at += 1;
        let token = |token| TokenWithSpan { token, span };
        let name = [token(quoted(meant)), token(Token::Period)];
        match keyword_at(tokens, at) == Keyword::OF {
            true => {
                marked.push(tokens[at].clone());
                at += 1;
                marked.extend(name);
            }
            false => {
                marked.push(token(Token::make_keyword("OF")));
                marked.extend(name);
                marked.push(token(quoted(ALL)));
            }
        }
    }
    *tokens = marked;
}

/// The lock that begins here, if the parser does not know it, and how many words the parser is not to
/// see.
fn meant_at(tokens: &[TokenWithSpan], at: usize) -> Option<(usize, &'static str)> {
    let is = |ahead: usize, keyword| keyword_at(tokens, at + ahead) == keyword;
    if !is(0, Keyword::FOR) {
        None
    } else if is(1, Keyword::NO) && is(2, Keyword::KEY) && is(3, Keyword::UPDATE) {
        Some((2, NO_KEY_UPDATE))
    } else if is(1, Keyword::KEY) && is(2, Keyword::SHARE) {
        Some((1, KEY_SHARE))
    } else {
        None
    }
}

fn quoted(value: &str) -> Token {
    Token::Word(Word {
        value: value.to_owned(),
        quote_style: Some('"'),
        keyword: Keyword::NoKeyword,
    })
}

/// Returns how strongly rows are to be locked, of which relation, and what becomes of rows that others have locked.
pub(crate) fn of(lock: LockClause) -> (Strength, Option<ObjectName>, Option<NonBlock>) {
    let known = match lock.lock_type {
        LockType::Update => Strength::Update,
        LockType::Share => Strength::Share,
    };
    let Some(ObjectName(mut parts)) = lock.of else {
        return (known, None, lock.nonblock);
    };
    let is = |part: Option<&ObjectNamePart>, value: &str| {
        let part = part.and_then(ObjectNamePart::as_ident);
        part.is_some_and(|Ident { value: own, .. }| own == value)
    };
    let meant = match known {
        Strength::Share if is(parts.first(), KEY_SHARE) => Some(Strength::KeyShare),
        Strength::Update if is(parts.first(), NO_KEY_UPDATE) => Some(Strength::NoKeyUpdate),
        _ => None,
    };
    let Some(meant) = meant.filter(|_| parts.len() > 1) else {
        return (known, Some(ObjectName(parts)), lock.nonblock);
    };
    parts.remove(0);
    let is_all = parts.len() == 1 && is(parts.first(), ALL);
    (meant, (!is_all).then_some(ObjectName(parts)), lock.nonblock)
}

/// As PostgreSQL writes it.
pub fn shown(strength: Strength) -> &'static str {
    match strength {
        Strength::KeyShare => "FOR KEY SHARE",
        Strength::Share => "FOR SHARE",
        Strength::NoKeyUpdate => "FOR NO KEY UPDATE",
        Strength::Update => "FOR UPDATE",
    }
}
