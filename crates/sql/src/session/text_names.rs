//! Names that stored texts have in them. No text is written anew when what it names gets another name,
//! so that is refused.
//!
//! A text that depends on a thing need not name it: the literal in `color default 'red'` is of the type
//! and names it nowhere, and `nextval` in a default has its sequence's number. So it is the text that
//! is asked.

use sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};
use types::{Result, SqlError};

use super::{
    Session,
    stored_text::{folded, spliced, tokens},
};
use catalog::{Column, Dependency, Object, ObjectId, for_each_expression};

impl Session {
    /// # Errors
    /// 0A000, if `names` is true for the text of a view or of a table's expression that depends on an
    /// object as a whole.
    pub(super) fn no_text_names(
        &self,
        id: ObjectId,
        what: &str,
        names: impl Fn(&str) -> bool,
    ) -> Result<()> {
        self.no_expression_names(id, what, |_, text| names(text))
    }

    /// The same, where `names` is also given the column whose expression it is.
    ///
    /// # Errors
    /// As for [`Session::no_text_names`].
    pub(super) fn no_expression_names(
        &self,
        id: ObjectId,
        what: &str,
        names: impl Fn(Option<&Column>, &str) -> bool,
    ) -> Result<()> {
        let on = Dependency::on(id);
        let catalog = self.changes.catalog();
        for object in catalog.objects() {
            let mut is_named = false;
            match object {
                Object::View(view) => {
                    is_named = view.dependencies.contains(&on) && names(None, &view.text);
                }
                Object::Table(table) => for_each_expression(table, &mut |column, expression| {
                    is_named |=
                        expression.dependencies.contains(&on) && names(column, &expression.text);
                }),
                _ => {}
            }
            if is_named {
                return Err(named_by(object, what));
            }
        }
        Ok(())
    }
}

/// What cannot be done, since a text of this object names it.
fn named_by(object: &Object, what: &str) -> SqlError {
    let dependent = format!("{} \"{}\"", object.kind().noun(), object.name());
    SqlError::unsupported(format_args!("{what} that {dependent} names"))
        .hint("Drop what names it, and create that again.")
}

/// Whether a text has a type's name in the place of one: in a cast, or before a literal.
pub(super) fn names_type(text: &str, name: &str) -> bool {
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

/// Whether a text has a name before a dot.
pub(super) fn names_schema(text: &str, name: &str) -> bool {
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

/// Whether a text has a string that is an enum's label, or could be an array with it.
pub(super) fn has_label(text: &str, label: &str) -> bool {
    let has = |quoted: &str| {
        let is_array = quoted.trim_start().starts_with(['{', '[']);
        // With a backslash, a label may be written otherwise there.
        quoted == label || is_array && (quoted.contains(label) || quoted.contains('\\'))
    };
    any_token(text, |tokens, at| {
        quoted(&tokens[at].token).is_some_and(has)
    })
}

/// What a string literal says, in whichever of the forms that the binder takes.
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

/// The text of an expression that is a label and nothing else, but for a cast, with another label;
/// `None` if it is another expression.
pub(super) fn relabelled(text: &str, from: &str, to: &str) -> Option<String> {
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

/// Whether a text that depends on a relation has its name rather than its number.
pub(super) fn names_relation(text: &str, id: ObjectId) -> bool {
    !text.contains(&format!("'{id}'"))
}

fn any_token(text: &str, is: impl Fn(&[TokenWithSpan], usize) -> bool) -> bool {
    tokens(text).is_ok_and(|tokens| (0..tokens.len()).any(|at| is(&tokens, at)))
}

#[cfg(test)]
mod tests {
    use super::{has_label, names_schema, names_type, relabelled};

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
