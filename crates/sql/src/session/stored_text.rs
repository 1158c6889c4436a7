//! Expressions as the catalog keeps them: what their texts name.
//!
//! The expressions of a table name its own columns and nothing else, so that their names are found
//! among the tokens. A default that names a sequence has its number in the name's place, which
//! `regclass` takes as well: so a sequence can be renamed.

use sqlparser::{
    ast::{self, Ident},
    dialect::PostgreSqlDialect,
    tokenizer::{Token, Tokenizer},
};
use types::{Names, Result, SqlError, SqlState};

use crate::{
    catalog::{Catalog, Column, Dependency, ObjectId, StoredExpression},
    name,
};

/// An expression's text; which columns it names is to be told ([`name_columns`]).
pub(super) fn stored(expr: &ast::Expr) -> StoredExpression {
    StoredExpression {
        text: expr.to_string().into(),
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

/// A default as the catalog keeps it.
///
/// # Errors
/// 42P01 for a sequence that is not there.
pub(super) fn stored_default(catalog: &Catalog, value: &ast::Expr) -> Result<StoredExpression> {
    let text = value.to_string();
    let mut tokens = tokens(&text)?;
    let mut dependencies = Vec::new();
    for at in 2..tokens.len() {
        let calls = matches!((&tokens[at - 2], &tokens[at - 1]), (Token::Word(word), Token::LParen)
            if ["nextval", "currval", "setval"]
                .iter()
                .any(|name| word.value.eq_ignore_ascii_case(name)));
        let is_cast = matches!(tokens.get(at + 1), Some(Token::DoubleColon));
        if let Token::SingleQuotedString(name) = &tokens[at]
            && calls
        {
            let id = match name.parse() {
                Ok(number) => number,
                Err(_) => catalog.relation_named(name).ok_or_else(|| {
                    let message = format!("relation \"{name}\" does not exist");
                    SqlError::new(SqlState::UNDEFINED_TABLE, message)
                })?,
            };
            let sequence = catalog.expect_sequence(ObjectId(id))?;
            dependencies.push(Dependency::on(sequence.id));
            let cast = if is_cast { "" } else { "::regclass" };
            tokens[at] = Token::make_word(&format!("'{id}'{cast}"), None);
        }
    }
    let text: String = tokens.iter().map(Token::to_string).collect();
    Ok(StoredExpression {
        text: text.into(),
        dependencies: dependencies.into(),
    })
}

fn tokens(text: &str) -> Result<Vec<Token>> {
    Tokenizer::new(&PostgreSqlDialect {}, text)
        .tokenize()
        .map_err(|error| SqlError::new(SqlState::INTERNAL_ERROR, error.to_string()))
}

/// The places where an expression of a table names its column: a name that is neither a
/// function's nor a type's.
fn places(tokens: &[Token], column: &str) -> Vec<usize> {
    let solid: Vec<usize> = (0..tokens.len())
        .filter(|at| !matches!(tokens[*at], Token::Whitespace(_)))
        .collect();
    let is_column = |at: usize| {
        let Token::Word(word) = &tokens[solid[at]] else {
            return false;
        };
        let ident = Ident {
            value: word.value.clone(),
            quote_style: word.quote_style,
            span: sqlparser::tokenizer::Span::empty(),
        };
        let follows = at.checked_sub(1).map(|before| &tokens[solid[before]]);
        let is_type = matches!(follows, Some(Token::DoubleColon));
        let called = solid.get(at + 1).map(|after| &tokens[*after]);
        name::fold(&ident) == column && !is_type && !matches!(called, Some(Token::LParen))
    };
    (0..solid.len())
        .filter(|at| is_column(*at))
        .map(|at| solid[at])
        .collect()
}

/// The text with a column named otherwise.
///
/// # Errors
/// XX000 if it is no expression.
pub(super) fn renamed_text(text: &str, old: &str, new: &str) -> Result<String> {
    let mut tokens = tokens(text)?;
    for at in places(&tokens, old) {
        let quote = (name::quoted(new) != new).then_some('"');
        tokens[at] = Token::make_word(new, quote);
    }
    Ok(tokens.iter().map(Token::to_string).collect())
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
