//! PostgreSQL's reserved words, which are names only in quotes.

use sqlparser::tokenizer::{Token, Word};

/// Words that no name is.
const RESERVED: &str = "all analyse analyze and any array as asc asymmetric both case cast check collate column \
    constraint create current_catalog current_date current_role current_time current_timestamp current_user default \
    deferrable desc distinct do else end except false fetch for foreign from grant group having in initially intersect \
    into lateral leading limit localtime localtimestamp not null offset on only or order placing primary references \
    returning select session_user some symmetric table then to trailing true union unique user using variadic when \
    where window with";

/// Words that functions, types and roles may have for a name, but no relation, column, statement or setting.
const RESERVED_FOR_FUNCTIONS: &str = "authorization binary collation concurrently cross current_schema freeze full \
    ilike inner is isnull join left like natural notnull outer overlaps right similar tablesample verbose";

/// The names that a word has to be one of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameKind {
    /// The name of a statement, a cursor, a savepoint or a setting.
    Object,
    /// The name of a role, or the word that a setting is set to.
    Role,
}

impl NameKind {
    /// Returns whether a word may be a name of the kind.
    pub(crate) fn admits(self, word: &Word) -> bool {
        let is_in = |words: &str| {
            let mut words = words.split_ascii_whitespace();
            words.any(|reserved| word.value.eq_ignore_ascii_case(reserved))
        };
        word.quote_style.is_some()
            || !is_in(RESERVED) && (self == Self::Role || !is_in(RESERVED_FOR_FUNCTIONS))
    }
}

/// Returns the word that a token is, if it may be a name of a kind.
pub(crate) fn name(token: Option<&Token>, kind: NameKind) -> Option<&Word> {
    match token {
        Some(Token::Word(word)) if kind.admits(word) => Some(word),
        _ => None,
    }
}
