//! Names as SQL writes them: folded to lower case unless quoted, with or without a schema.

use std::fmt;

use sqlparser::{
    ast::{Ident, ObjectName, ObjectNamePart},
    parser::{Parser, ParserError},
    tokenizer::Token,
};
use types::{Result, SqlError, SqlState};

use crate::position::Span;

/// Bytes of the longest name; longer ones are cut, as PostgreSQL does.
const NAME_BYTES_MAX: usize = 63;

/// Returns a name folded and cut.
pub(crate) fn fold(ident: Ident) -> String {
    Name::from(ident).folded
}

/// A name as it stands in a statement.
#[derive(Debug, Clone, Eq)]
pub struct Name {
    /// The name itself, folded and cut.
    folded: String,
    /// The name as messages repeat it, without quotes, where it is written otherwise than folded.
    written: Option<Box<str>>,
    is_quoted: bool,
    span: Span,
}

/// Names are equal if they are written alike but for letters' case, wherever they stand.
impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        (&self.folded, self.is_quoted) == (&other.folded, other.is_quoted)
    }
}

/// Takes a name from the parser.
impl From<Ident> for Name {
    fn from(ident: Ident) -> Self {
        let is_quoted = ident.quote_style.is_some();
        let is_folded = |name: &str| {
            let mut bytes = name.bytes();
            bytes.all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase())
        };
        let cut = match is_quoted {
            true => cut(&ident.value).map(str::to_owned),
            false if is_folded(&ident.value) => cut(&ident.value).map(str::to_owned),
            false => {
                let lower = ident.value.to_lowercase();
                Some(cut(&lower).map(str::to_owned).unwrap_or(lower))
            }
        };
        let (folded, written) = match cut {
            Some(folded) => (folded, Some(ident.value.into())),
            None => (ident.value, None),
        };
        Self {
            folded,
            written,
            is_quoted,
            span: ident.span.into(),
        }
    }
}

/// Returns the first bytes of a name that is too long.
fn cut(name: &str) -> Option<&str> {
    if name.len() <= NAME_BYTES_MAX {
        return None;
    }
    let mut ends = (0..=NAME_BYTES_MAX).rev();
    ends.find_map(|end| name.get(..end))
}

impl Name {
    /// Takes a name from the parser.
    pub(crate) fn of(ident: &Ident) -> Self {
        Self::from(ident.clone())
    }

    /// Reads a name, which a string is none of, though the parser takes it for one.
    pub(crate) fn parse(parser: &mut Parser<'_>) -> std::result::Result<Self, ParserError> {
        match parser.peek_token_ref().token {
            Token::SingleQuotedString(_) => parser.expected_ref("a name", parser.peek_token_ref()),
            _ => parser.parse_identifier().map(Self::from),
        }
    }

    /// Returns the name, folded to lower case unless it is quoted, and cut.
    pub fn as_str(&self) -> &str {
        &self.folded
    }

    /// Returns whether the name stands in quotes.
    pub fn is_quoted(&self) -> bool {
        self.is_quoted
    }

    /// Returns the place of the name in the text.
    pub fn span(&self) -> Span {
        self.span
    }
}

/// The name as it was written.
impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let written = self.written.as_deref().unwrap_or(&self.folded);
        match self.is_quoted {
            true => write!(formatter, "\"{}\"", written.replace('"', "\"\"")),
            false => formatter.write_str(written),
        }
    }
}

/// A name with others before it, as that of a schema; dots stand between them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DottedName(Vec<Name>);

impl From<Vec<Name>> for DottedName {
    fn from(parts: Vec<Name>) -> Self {
        Self(parts)
    }
}

impl DottedName {
    /// Takes a name from the parser, which makes no other parts than names in PostgreSQL's dialect.
    pub(crate) fn of(name: &ObjectName) -> Self {
        let idents = name.0.iter().filter_map(ObjectNamePart::as_ident);
        Self(idents.map(Name::of).collect())
    }

    /// Reads a name.
    pub(crate) fn parse(parser: &mut Parser<'_>) -> std::result::Result<Self, ParserError> {
        parser.parse_object_name(false).map(|name| Self::of(&name))
    }

    /// Returns the parts from left to right.
    pub fn parts(&self) -> &[Name] {
        &self.0
    }

    /// Returns the parts from left to right.
    pub(crate) fn into_parts(self) -> Vec<Name> {
        self.0
    }

    /// Returns the place of the first part.
    pub fn span(&self) -> Span {
        self.0.first().map(Name::span).unwrap_or_default()
    }

    /// Returns the last part, and the name that the parts before it are; `None` if there are none.
    pub fn split_last(&self) -> Option<(DottedName, &Name)> {
        let (last, before) = self.0.split_last()?;
        (!before.is_empty()).then(|| (Self(before.to_vec()), last))
    }

    /// Returns the name with at most a schema before it. The database's may stand before that.
    ///
    /// # Errors
    /// 42601 for more parts, 0A000 for another database.
    pub fn qualified(&self, database: &str) -> Result<QualifiedName> {
        let (schema, name) = match self.parts() {
            [name] => (None, name),
            [schema, name] => (Some(schema), name),
            [catalog, schema, name] if catalog.as_str() == database => (Some(schema), name),
            [_, _, _] => {
                return Err(SqlError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    format!("cross-database references are not implemented: \"{self}\""),
                ));
            }
            _ => {
                return Err(SqlError::new(
                    SqlState::SYNTAX_ERROR,
                    format!("improper qualified name (too many dotted names): {self}"),
                ));
            }
        };
        Ok(QualifiedName {
            schema: schema.map(|schema| schema.as_str().to_owned()),
            name: name.as_str().to_owned(),
        })
    }
}

/// The name as it was written.
impl fmt::Display for DottedName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, part) in self.0.iter().enumerate() {
            if at > 0 {
                formatter.write_str(".")?;
            }
            part.fmt(formatter)?;
        }
        Ok(())
    }
}

/// The name of something that lies in a schema.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct QualifiedName {
    /// As written; the search path says where to look for those without.
    pub schema: Option<String>,
    /// The name itself.
    pub name: String,
}

impl fmt::Display for QualifiedName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.schema {
            Some(schema) => write!(formatter, "{schema}.{}", self.name),
            None => formatter.write_str(&self.name),
        }
    }
}

/// The parts of a dotted name that is the text of a value, as `'"Schema".name'`; none if it is no
/// name.
pub fn written(text: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = text.trim();
    loop {
        let part;
        if let Some(quoted) = rest.strip_prefix('"') {
            let mut end = 0;
            // Two quotes are one of the name's.
            loop {
                match quoted[end..].find('"') {
                    None => return Vec::new(),
                    Some(at) if quoted[end + at + 1..].starts_with('"') => end += at + 2,
                    Some(at) => break end += at,
                }
            }
            part = quoted[..end].replace("\"\"", "\"");
            rest = &quoted[end + 1..];
        } else {
            let end = rest.find(['.', '"']).unwrap_or(rest.len());
            part = rest[..end].trim().to_lowercase();
            rest = &rest[end..];
        }
        if part.is_empty() {
            return Vec::new();
        }
        parts.push(part);
        rest = rest.trim_start();
        match rest.strip_prefix('.') {
            Some(next) => rest = next.trim_start(),
            None if rest.is_empty() => return parts,
            None => return Vec::new(),
        }
    }
}

/// A name as it has to be written to mean itself.
pub fn quoted(name: &str) -> String {
    let is_plain = |name: &str| {
        let mut characters = name.chars();
        let first = characters.next();
        first.is_some_and(|first| first.is_ascii_lowercase() || first == '_')
            && characters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    let is_word = sqlparser::keywords::ALL_KEYWORDS
        .binary_search(&name.to_uppercase().as_str())
        .is_ok();
    if is_plain(name) && !is_word {
        return name.to_owned();
    }
    format!("\"{}\"", name.replace('"', "\"\""))
}
