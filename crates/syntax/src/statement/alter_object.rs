//! `ALTER ... RENAME`, `SET SCHEMA`, `OWNER TO`, of objects of all kinds.

use sqlparser::{keywords::Keyword, parser::Parser};

use super::definition::Parsed;
use crate::name::{DottedName, Name};

/// An object that gets another name, schema or owner.
#[derive(Debug, Clone)]
pub struct AlterObject {
    /// The kind of object that the statement names.
    pub kind: ObjectKind,
    /// The name of the object, with or without a schema.
    pub name: DottedName,
    /// Whether `IF EXISTS` is written: a missing object is no error.
    pub if_exists: bool,
    /// The change to make.
    pub change: ObjectChange,
}

/// The kind of object that a statement names.
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
    /// `STATISTICS`.
    Statistics,
}

impl ObjectKind {
    /// Reads the kind of an object that ALTER and COMMENT name so, if there is one.
    pub(super) fn parse(parser: &mut Parser<'_>) -> Option<Self> {
        let kinds = [
            (Keyword::TABLE, Self::Table),
            (Keyword::INDEX, Self::Index),
            (Keyword::VIEW, Self::View),
            (Keyword::SEQUENCE, Self::Sequence),
            (Keyword::SCHEMA, Self::Schema),
            (Keyword::STATISTICS, Self::Statistics),
        ];
        let mut kinds = kinds.into_iter();
        let found = kinds.find(|(keyword, _)| parser.parse_keyword(*keyword));
        found.map(|(_, kind)| kind)
    }

    /// Returns what messages call such an object.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Index => "index",
            Self::View => "view",
            Self::Sequence => "sequence",
            Self::Schema => "schema",
            Self::Statistics => "statistics object",
        }
    }

    /// Returns how a statement that alters such an object has ended.
    pub fn tag(self) -> &'static str {
        match self {
            Self::Table => "ALTER TABLE",
            Self::Index => "ALTER INDEX",
            Self::View => "ALTER VIEW",
            Self::Sequence => "ALTER SEQUENCE",
            Self::Schema => "ALTER SCHEMA",
            Self::Statistics => "ALTER STATISTICS",
        }
    }
}

/// A change of an object.
#[derive(Debug, Clone)]
pub enum ObjectChange {
    /// `RENAME TO`
    Name(Name),
    /// `RENAME [COLUMN] ... TO`
    ColumnName(Name, Name),
    /// `RENAME CONSTRAINT ... TO`
    ConstraintName(Name, Name),
    /// `SET SCHEMA`
    Schema(Name),
    /// `OWNER TO`
    Owner(Name),
}

impl ObjectChange {
    /// Reads a change that objects of all kinds know, if there is one.
    pub(super) fn parse(parser: &mut Parser<'_>) -> Parsed<Option<Self>> {
        if parser.parse_keywords(&[Keyword::SET, Keyword::SCHEMA]) {
            return Ok(Some(ObjectChange::Schema(Name::parse(parser)?)));
        }
        if parser.parse_keywords(&[Keyword::OWNER, Keyword::TO]) {
            return Ok(Some(ObjectChange::Owner(Name::parse(parser)?)));
        }
        if !parser.parse_keyword(Keyword::RENAME) {
            return Ok(None);
        }
        if parser.parse_keyword(Keyword::TO) {
            return Ok(Some(ObjectChange::Name(Name::parse(parser)?)));
        }
        let is_constraint = parser.parse_keyword(Keyword::CONSTRAINT);
        if !is_constraint {
            let _ = parser.parse_keyword(Keyword::COLUMN);
        }
        let old = Name::parse(parser)?;
        parser.expect_keyword_is(Keyword::TO)?;
        let new = Name::parse(parser)?;
        Ok(Some(match is_constraint {
            true => ObjectChange::ConstraintName(old, new),
            false => ObjectChange::ColumnName(old, new),
        }))
    }
}
