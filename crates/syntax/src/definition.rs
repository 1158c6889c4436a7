//! Definitions that the parser does not know, or not whole: sequences, tables from queries,
//! comments, and everything that alters.
//!
//! They are read with the parser's own tools, from the same tokens, so that expressions, types and
//! columns in them are what they are elsewhere.

mod comment;
mod sequence;
mod table;
mod table_as;

use sqlparser::{
    ast::{CreateTable, Ident, ObjectName},
    keywords::Keyword,
    parser::{Parser, ParserError},
    tokenizer::{Token, TokenWithSpan},
};

pub use self::{
    comment::Commented,
    sequence::{Integer, SequenceClauses},
    table::{ColumnChange, IdentityChange, TableAction},
    table_as::{TableAs, has_into},
};

use super::table_like::TableLike;

type Parsed<T> = Result<T, ParserError>;

/// A definition.
#[derive(Debug, Clone)]
pub enum Definition {
    /// `CREATE SEQUENCE`
    CreateSequence {
        /// The name of the new sequence, with or without a schema.
        name: ObjectName,
        /// Whether `IF NOT EXISTS` is written: a relation of this name makes the statement do
        /// nothing.
        if_not_exists: bool,
        /// Whether the sequence is `TEMPORARY`.
        temporary: bool,
        /// The clauses behind the name.
        clauses: SequenceClauses,
    },
    /// `CREATE TABLE ... AS`
    CreateTableAs(Box<TableAs>),
    /// `CREATE TABLE (LIKE ...)`
    CreateTableLike {
        /// The statement without its `LIKE` elements.
        create: Box<CreateTable>,
        /// The `LIKE` elements, in order.
        likes: Vec<TableLike>,
    },
    /// `COMMENT ON ... IS`
    Comment {
        /// The object that the comment is on.
        on: Commented,
        /// The text of the comment; `None`, for NULL or an empty string, removes the comment.
        text: Option<String>,
    },
    /// `ALTER SEQUENCE`, of what it counts.
    AlterSequence {
        /// The name of the sequence, with or without a schema.
        name: ObjectName,
        /// Whether `IF EXISTS` is written: a missing sequence is no error.
        if_exists: bool,
        /// The clauses to change.
        clauses: SequenceClauses,
    },
    /// `ALTER TABLE`, of what it consists of.
    AlterTable {
        /// The name of the table, with or without a schema.
        name: ObjectName,
        /// Whether `IF EXISTS` is written: a missing table is no error.
        if_exists: bool,
        /// The actions in the order in which they were written, at least one.
        actions: Vec<TableAction>,
    },
    /// `ALTER ... RENAME TO`, `SET SCHEMA`, `OWNER TO`.
    AlterObject {
        /// The kind of object that the statement names.
        kind: ObjectKind,
        /// The name of the object, with or without a schema.
        name: ObjectName,
        /// Whether `IF EXISTS` is written: a missing object is no error.
        if_exists: bool,
        /// The change to make.
        change: ObjectChange,
    },
}

impl Definition {
    /// Its first words.
    pub fn words(&self) -> &'static str {
        match self {
            Self::CreateSequence { .. } => "CREATE SEQUENCE",
            Self::CreateTableAs(_) => TableAs::WORDS,
            Self::CreateTableLike { .. } => "CREATE TABLE",
            Self::Comment { .. } => "COMMENT",
            Self::AlterSequence { .. } => "ALTER SEQUENCE",
            Self::AlterTable { .. } => "ALTER TABLE",
            Self::AlterObject { kind, .. } => kind.tag(),
        }
    }
}

/// What kind of object a statement says it alters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectKind {
    /// `TABLE`.
    Table,
    /// `INDEX`.
    Index,
    /// `VIEW`.
    View,
    /// `SEQUENCE`.
    Sequence,
    /// `SCHEMA`.
    Schema,
}

impl ObjectKind {
    /// What messages call it.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Index => "index",
            Self::View => "view",
            Self::Sequence => "sequence",
            Self::Schema => "schema",
        }
    }

    /// How a statement that alters it has ended.
    pub fn tag(self) -> &'static str {
        match self {
            Self::Table => "ALTER TABLE",
            Self::Index => "ALTER INDEX",
            Self::View => "ALTER VIEW",
            Self::Sequence => "ALTER SEQUENCE",
            Self::Schema => "ALTER SCHEMA",
        }
    }
}

/// What is changed of it.
#[derive(Debug, Clone)]
pub enum ObjectChange {
    /// `RENAME TO`
    Name(Ident),
    /// `RENAME [COLUMN] ... TO`
    ColumnName(Ident, Ident),
    /// `RENAME CONSTRAINT ... TO`
    ConstraintName(Ident, Ident),
    /// `SET SCHEMA`
    Schema(Ident),
    /// `OWNER TO`
    Owner(Ident),
}

/// Whether a statement may be one of these.
pub(super) fn is_definition(tokens: &[TokenWithSpan]) -> bool {
    let word = |at: usize| match tokens.get(at).map(|token| &token.token) {
        Some(Token::Word(word)) => word.keyword,
        _ => Keyword::NoKeyword,
    };
    match word(0) {
        Keyword::ALTER => matches!(
            word(1),
            Keyword::TABLE | Keyword::INDEX | Keyword::VIEW | Keyword::SEQUENCE | Keyword::SCHEMA
        ),
        Keyword::COMMENT => true,
        Keyword::CREATE => {
            word(1) == Keyword::SEQUENCE
                || matches!(word(1), Keyword::TEMPORARY | Keyword::TEMP)
                    && word(2) == Keyword::SEQUENCE
                || table_as::is_table_as(tokens)
        }
        _ => false,
    }
}

/// Reads a definition; `None` if it is one that is better left to the parser.
pub(super) fn parse(parser: &mut Parser<'_>) -> Parsed<Option<Definition>> {
    if parser.parse_keyword(Keyword::CREATE) {
        if let Some(new) = TableAs::parse(parser)? {
            return Ok(Some(Definition::CreateTableAs(Box::new(new))));
        }
        let temporary =
            parser.parse_keyword(Keyword::TEMPORARY) || parser.parse_keyword(Keyword::TEMP);
        parser.expect_keyword_is(Keyword::SEQUENCE)?;
        let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
        return Ok(Some(Definition::CreateSequence {
            name: parser.parse_object_name(false)?,
            if_not_exists,
            temporary,
            clauses: SequenceClauses::parse(parser)?,
        }));
    }
    if parser.parse_keyword(Keyword::COMMENT) {
        let (on, text) = comment::parse(parser)?;
        return Ok(Some(Definition::Comment { on, text }));
    }
    parser.expect_keyword_is(Keyword::ALTER)?;
    let Some(kind) = object_kind(parser) else {
        return Ok(None);
    };
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    if kind == ObjectKind::Table {
        let _ = parser.parse_keyword(Keyword::ONLY);
    }
    let name = parser.parse_object_name(false)?;
    if kind == ObjectKind::Table {
        let _ = parser.consume_token(&Token::Mul);
    }
    if let Some(change) = object_change(parser)? {
        return Ok(Some(Definition::AlterObject {
            kind,
            name,
            if_exists,
            change,
        }));
    }
    Ok(match kind {
        ObjectKind::Table => Some(Definition::AlterTable {
            name,
            if_exists,
            actions: parser.parse_comma_separated(TableAction::parse)?,
        }),
        ObjectKind::Sequence => Some(Definition::AlterSequence {
            name,
            if_exists,
            clauses: SequenceClauses::parse(parser)?,
        }),
        ObjectKind::Index | ObjectKind::View | ObjectKind::Schema => None,
    })
}

/// Reads the kind of an object that ALTER and COMMENT name so, if there is one.
fn object_kind(parser: &mut Parser<'_>) -> Option<ObjectKind> {
    let kinds = [
        (Keyword::TABLE, ObjectKind::Table),
        (Keyword::INDEX, ObjectKind::Index),
        (Keyword::VIEW, ObjectKind::View),
        (Keyword::SEQUENCE, ObjectKind::Sequence),
        (Keyword::SCHEMA, ObjectKind::Schema),
    ];
    let mut kinds = kinds.into_iter();
    let found = kinds.find(|(keyword, _)| parser.parse_keyword(*keyword));
    found.map(|(_, kind)| kind)
}

fn object_change(parser: &mut Parser<'_>) -> Parsed<Option<ObjectChange>> {
    if parser.parse_keywords(&[Keyword::SET, Keyword::SCHEMA]) {
        return Ok(Some(ObjectChange::Schema(parser.parse_identifier()?)));
    }
    if parser.parse_keywords(&[Keyword::OWNER, Keyword::TO]) {
        return Ok(Some(ObjectChange::Owner(parser.parse_identifier()?)));
    }
    if !parser.parse_keyword(Keyword::RENAME) {
        return Ok(None);
    }
    if parser.parse_keyword(Keyword::TO) {
        return Ok(Some(ObjectChange::Name(parser.parse_identifier()?)));
    }
    let is_constraint = parser.parse_keyword(Keyword::CONSTRAINT);
    if !is_constraint {
        let _ = parser.parse_keyword(Keyword::COLUMN);
    }
    let old = parser.parse_identifier()?;
    parser.expect_keyword_is(Keyword::TO)?;
    let new = parser.parse_identifier()?;
    Ok(Some(match is_constraint {
        true => ObjectChange::ConstraintName(old, new),
        false => ObjectChange::ColumnName(old, new),
    }))
}

/// Passes over a word that the parser has no keyword for; whether it was there.
fn word(parser: &mut Parser<'_>, wanted: &str) -> bool {
    let is_there = matches!(&parser.peek_token_ref().token, Token::Word(word)
        if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted));
    if is_there {
        parser.advance_token();
    }
    is_there
}

fn unexpected<T>(parser: &Parser<'_>, expected: &str) -> Parsed<T> {
    parser.expected_ref(expected, parser.peek_token_ref())
}
