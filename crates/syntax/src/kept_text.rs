//! Names in the texts of expressions and queries that the catalog keeps.
//!
//! The expressions of a table name its own columns and nothing else, so that their names are found
//! among the tokens, and can be written anew there. All else of a text stays as it is: tokens do not
//! know how they were quoted.

use sqlparser::{
    keywords::Keyword,
    tokenizer::{Span, Token, TokenWithSpan, Tokenizer, Word},
};
use types::{Result, SqlError, SqlState};

use crate::{dialect::Postgres, name, position::Lines};

/// Returns the tokens of an expression or a query, without what is between them.
fn tokens(text: &str) -> Result<Vec<TokenWithSpan>> {
    let mut tokens = Tokenizer::new(&Postgres::new(0), text)
        .tokenize_with_location()
        .map_err(|error| SqlError::new(SqlState::INTERNAL_ERROR, error.to_string()))?;
    tokens.retain(|token| !matches!(token.token, Token::Whitespace(_)));
    Ok(tokens)
}

/// Returns a text with something else in some places, which are in order.
fn spliced(text: &str, changes: &[(Span, String)]) -> String {
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

/// Returns the places where an expression of a table names its column: a name that is neither a
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

/// Returns the name that a word is.
pub(crate) fn folded(word: &Word) -> String {
    name::fold(word.to_ident(Span::empty()))
}

/// Returns the text of an expression with a column named otherwise.
///
/// # Errors
/// XX000 if it is no expression.
pub fn with_column_renamed(text: &str, old: &str, new: &str) -> Result<String> {
    let places = places(&tokens(text)?, old).into_iter();
    let changes: Vec<_> = places.map(|span| (span, name::quoted(new))).collect();
    Ok(spliced(text, &changes))
}

/// Returns whether an expression of a table names its column.
pub fn names_column(text: &str, column: &str) -> bool {
    tokens(text).is_ok_and(|tokens| !places(&tokens, column).is_empty())
}

/// Returns the text of a default in which sequences have their numbers in the place of their names,
/// which `regclass` takes as well: so a sequence can be renamed. `number` finds the number for what
/// stands between the quotes.
///
/// # Errors
/// Those of `number`; XX000 if it is no expression.
pub fn with_sequence_numbers(
    text: &str,
    mut number: impl FnMut(&str) -> Result<u32>,
) -> Result<String> {
    let tokens = tokens(text)?;
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
            let cast = if is_cast { "" } else { "::regclass" };
            changes.push((tokens[at].span, format!("'{}'{cast}", number(name)?)));
        }
    }
    Ok(spliced(text, &changes))
}

/// Returns whether a text has a type's name in the place of one: in a cast, or before a literal.
pub fn names_type(text: &str, name: &str) -> bool {
    any_token(text, |tokens, at| {
        let Token::Word(word) = &tokens[at].token else {
            return false;
        };
        let before = |back: usize| at.checked_sub(back).map(|at| &tokens[at].token);
        let makes_type = |token: Option<&Token>| match token {
            Some(Token::DoubleColon) => true,
            Some(Token::Word(word)) => word.keyword == Keyword::AS,
            _ => false,
        };
        let is_literal = |next: &TokenWithSpan| quoted(&next.token).is_some();
        let is_place = match before(1) {
            Some(Token::Period) => makes_type(before(3)),
            token => makes_type(token),
        };
        folded(word) == name && (is_place || tokens.get(at + 1).is_some_and(is_literal))
    })
}

/// Returns whether a text has a name before a dot.
pub fn names_schema(text: &str, name: &str) -> bool {
    any_token(text, |tokens, at| {
        let is_before_dot = tokens
            .get(at + 1)
            .is_some_and(|next| next.token == Token::Period);
        match &tokens[at].token {
            Token::Word(word) => is_before_dot && folded(word) == name,
            // As in `'schema.sequence'::regclass`.
            token => quoted(token).is_some_and(|text| text.contains('.') && text.contains(name)),
        }
    })
}

/// Returns whether a text has a string that is an enum's label, or could be an array with it.
pub fn has_label(text: &str, label: &str) -> bool {
    let has = |quoted: &str| {
        let is_array = quoted.trim_start().starts_with(['{', '[']);
        // With a backslash, a label may be written otherwise there.
        quoted == label || is_array && (quoted.contains(label) || quoted.contains('\\'))
    };
    any_token(text, |tokens, at| {
        quoted(&tokens[at].token).is_some_and(has)
    })
}

/// Returns what a string literal says, in whichever of the forms that the binder takes.
fn quoted(token: &Token) -> Option<&str> {
    match token {
        Token::SingleQuotedString(text)
        | Token::EscapedStringLiteral(text)
        | Token::UnicodeStringLiteral(text)
        | Token::NationalStringLiteral(text) => Some(text),
        Token::DollarQuotedString(text) => Some(&text.value),
        _ => None,
    }
}

/// Returns the text of an expression that is a label and nothing else, but for a cast, with another
/// label; `None` if it is another expression.
pub fn relabelled(text: &str, from: &str, to: &str) -> Option<String> {
    let tokens = tokens(text).ok()?;
    let (label, rest) = tokens.split_first()?;
    let is_word = |token: &TokenWithSpan| matches!(token.token, Token::Word(_));
    let is_cast = match rest {
        [] => true,
        [cast, name] => cast.token == Token::DoubleColon && is_word(name),
        [cast, schema, dot, name] => {
            cast.token == Token::DoubleColon
                && is_word(schema)
                && dot.token == Token::Period
                && is_word(name)
        }
        _ => false,
    };
    let is_alone = quoted(&label.token) == Some(from) && is_cast;
    let other = format!("'{}'", to.replace('\'', "''"));
    is_alone.then(|| spliced(text, &[(label.span, other)]))
}

fn any_token(text: &str, is: impl Fn(&[TokenWithSpan], usize) -> bool) -> bool {
    tokens(text).is_ok_and(|tokens| (0..tokens.len()).any(|at| is(&tokens, at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_renamed_where_they_are_columns() {
        let renamed = |text: &str| with_column_renamed(text, "a", "b c").unwrap();
        assert_eq!(
            renamed("a > 0 AND A < a(1)"),
            "\"b c\" > 0 AND \"b c\" < a(1)"
        );
        assert_eq!(renamed("'a' || x.a::a"), "'a' || x.\"b c\"::a");
        assert_eq!(renamed("\"a\" + \"A\""), "\"b c\" + \"A\"");
        assert!(names_column("lower(name)", "name"));
        assert!(!names_column("name(x)", "name"));
    }

    #[test]
    fn types_are_named_in_casts_and_before_literals() {
        for text in [
            "'a'::mood",
            "CAST(x AS mood)",
            "'{a}'::mood[]",
            "mood 'a'",
            "lower(x)::s.MOOD",
        ] {
            assert!(names_type(text, "mood"), "{text}");
        }
        for text in ["mood = 'a'", "t.mood", "'mood'::text", "mood(x)"] {
            assert!(!names_type(text, "mood"), "{text}");
        }
    }

    #[test]
    fn schemas_are_named_before_dots_and_labels_in_strings() {
        assert!(names_schema("'a'::s.mood", "s") && !names_schema("s + 1", "s"));
        assert!(has_label("m = ANY('{a,b}'::mood[])", "b") && !has_label("b > 'a'", "b"));
        assert!(has_label(r#"'{"a\"b"}'::mood[]"#, "a\"b"));
        for literal in ["N'a'", "E'a'", "U&'a'", "$$a$$"] {
            assert!(has_label(literal, "a"), "{literal}");
        }
        assert!(has_label("'a'", "a") && !has_label("'small'", "m"));
        let renamed = |text| relabelled(text, "a", "it's");
        assert_eq!(renamed("'a'::s.mood").unwrap(), "'it''s'::s.mood");
        assert_eq!(renamed("'a'::mood").unwrap(), "'it''s'::mood");
        for other in [
            "'a' || 'b'",
            "'a'::mood between x and y",
            "'a'::mood is distinct from x",
        ] {
            assert_eq!(renamed(other), None, "{other}");
        }
    }
}
