//! Expressions as the catalog keeps them: what their texts name.
//!
//! The expressions of a table name its own columns and nothing else, so that their names are found
//! among the tokens. A default that names a sequence has its number in the name's place, which
//! `regclass` takes as well: so a sequence can be renamed.

use sqlparser::{
    ast::{self, Ident},
    tokenizer::{Span, Token, TokenWithSpan, Tokenizer, Word},
};
use types::{Names, Result, SqlError, SqlState};

use catalog::{Column, Dependency, ObjectId, Searched, StoredExpression};
use syntax::dialect::Postgres;
use syntax::{name, position::Lines};

/// An expression's text; which columns it names is to be told ([`name_columns`]).
pub(super) fn stored(names: &Searched<'_>, expr: &ast::Expr) -> StoredExpression {
    StoredExpression {
        text: expr.to_string().into(),
        search_path: names.schemas(),
        dependencies: [].into(),
    }
}

/// Notes which columns of its table an expression names.
pub(super) fn name_columns(stored: &mut StoredExpression, columns: &[Column], table: ObjectId) {
    let live = columns.iter().enumerate();
    let named = live.filter(|(_, column)| !column.dropped && mentions(&stored.text, &column.name));
    let dependencies = named.map(|(at, _)| {
        let position = u16::try_from(at).unwrap_or(u16::MAX);
        Dependency::on_column(table, position)
    });
    stored.dependencies = dependencies.collect();
}

/// A default as the catalog keeps it; what it refers to is to be told when it is bound.
///
/// # Errors
/// 42P01 for a sequence that is not there.
pub(super) fn stored_default(names: &Searched<'_>, value: &ast::Expr) -> Result<StoredExpression> {
    let text = value.to_string();
    let tokens = tokens(&text)?;
    let mut changes = Vec::new();
    for at in 2..tokens.len() {
        let calls = matches!((&tokens[at - 2].token, &tokens[at - 1].token), (Token::Word(word), Token::LParen)
            if ["nextval", "currval", "setval"]
                .iter()
                .any(|name| word.value.eq_ignore_ascii_case(name)));
        let is_cast = matches!(tokens.get(at + 1), Some(next) if next.token == Token::DoubleColon);
        let name = match &tokens[at].token {
            Token::SingleQuotedString(name) => name,
            Token::DollarQuotedString(name) => &name.value,
            _ => continue,
        };
        if calls {
            let id = match name.parse() {
                Ok(number) => number,
                Err(_) => names.relation_named(name).ok_or_else(|| {
                    let message = format!("relation \"{name}\" does not exist");
                    SqlError::new(SqlState::UNDEFINED_TABLE, message)
                })?,
            };
            let sequence = names.catalog.expect_sequence(ObjectId(id))?;
            let cast = if is_cast { "" } else { "::regclass" };
            changes.push((tokens[at].span, format!("'{}'{cast}", sequence.id)));
        }
    }
    Ok(StoredExpression {
        text: spliced(&text, &changes).into(),
        search_path: names.schemas(),
        dependencies: [].into(),
    })
}

/// The tokens of an expression or a query, without what is between them.
pub(super) fn tokens(text: &str) -> Result<Vec<TokenWithSpan>> {
    let mut tokens = Tokenizer::new(&Postgres::new(0), text)
        .tokenize_with_location()
        .map_err(|error| SqlError::new(SqlState::INTERNAL_ERROR, error.to_string()))?;
    tokens.retain(|token| !matches!(token.token, Token::Whitespace(_)));
    Ok(tokens)
}

/// A text with something else in some places, which are in order. All else stays as it is:
/// tokens do not know how they were quoted.
pub(super) fn spliced(text: &str, changes: &[(Span, String)]) -> String {
    let lines = Lines::new(text);
    let mut changed = String::with_capacity(text.len());
    let mut done = 0;
    for (span, instead) in changes {
        changed.push_str(&text[done..lines.byte(span.start)]);
        changed.push_str(instead);
        done = lines.byte(span.end);
    }
    changed.push_str(&text[done..]);
    changed
}

/// The places where an expression of a table names its column: a name that is neither a
/// function's nor a type's.
fn places(tokens: &[TokenWithSpan], column: &str) -> Vec<Span> {
    let is_column = |at: usize| {
        let Token::Word(word) = &tokens[at].token else {
            return false;
        };
        let is = |at: Option<usize>, token| {
            let found = at.and_then(|at| tokens.get(at));
            found.is_some_and(|found| found.token == token)
        };
        let is_type = is(at.checked_sub(1), Token::DoubleColon);
        folded(word) == column && !is_type && !is(Some(at + 1), Token::LParen)
    };
    let places = (0..tokens.len()).filter(|at| is_column(*at));
    places.map(|at| tokens[at].span).collect()
}

/// The name that a word is.
pub(super) fn folded(word: &Word) -> String {
    let mut ident = Ident::new(word.value.clone());
    ident.quote_style = word.quote_style;
    name::fold(&ident)
}

/// The text with a column named otherwise.
///
/// # Errors
/// XX000 if it is no expression.
pub(super) fn renamed_text(text: &str, old: &str, new: &str) -> Result<String> {
    let places = places(&tokens(text)?, old).into_iter();
    let changes: Vec<_> = places.map(|span| (span, name::quoted(new))).collect();
    Ok(spliced(text, &changes))
}

/// Whether an expression of a table names its column.
pub(super) fn mentions(text: &str, column: &str) -> bool {
    tokens(text).is_ok_and(|tokens| !places(&tokens, column).is_empty())
}

/// What a check of a table is called, if nobody else is, that has been given no name: after its
/// column, if it has one alone.
pub(super) fn check_name(table: &str, columns: &[Column], text: &str) -> String {
    let live = columns.iter().filter(|column| !column.dropped);
    let mut named = live.filter(|column| mentions(text, &column.name));
    match (named.next(), named.next()) {
        (Some(column), None) => format!("{table}_{}_check", column.name),
        _ => format!("{table}_check"),
    }
}

#[cfg(test)]
mod tests {
    use super::{mentions, renamed_text};

    #[test]
    fn columns_are_renamed_where_they_are_columns() {
        let renamed = |text: &str| renamed_text(text, "a", "b c").unwrap();
        assert_eq!(
            renamed("a > 0 AND A < a(1)"),
            "\"b c\" > 0 AND \"b c\" < a(1)"
        );
        assert_eq!(renamed("'a' || x.a::a"), "'a' || x.\"b c\"::a");
        assert_eq!(renamed("\"a\" + \"A\""), "\"b c\" + \"A\"");
        assert!(mentions("lower(name)", "name"));
        assert!(!mentions("name(x)", "name"));
    }
}
