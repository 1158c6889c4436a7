//! `DROP`.

use sqlparser::{
    ast::{self, ObjectType},
    keywords::Keyword,
    parser::Parser,
    tokenizer::Token,
};

use super::definition::Parsed;
use crate::name::DottedName;

/// Objects that are dropped.
#[derive(Debug, Clone)]
pub struct Drop {
    /// The kind of object that the statement names.
    pub kind: DropKind,
    /// The names of the objects, with or without a schema.
    pub names: Vec<DottedName>,
    /// Whether `IF EXISTS` is written: missing objects are no error.
    pub if_exists: bool,
    /// Whether `CASCADE` drops dependent objects too.
    pub cascade: bool,
    /// Whether `CONCURRENTLY` is written: the statement is in no transaction block.
    pub concurrently: bool,
}

/// The kind of object that a statement drops.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DropKind {
    /// `TABLE`.
    Table,
    /// `VIEW`.
    View,
    /// `INDEX`.
    Index,
    /// `SCHEMA`.
    Schema,
    /// `SEQUENCE`.
    Sequence,
    /// `TYPE`.
    Type,
    /// `STATISTICS`.
    Statistics,
    /// A kind that there is not, by the tag that its statements would have.
    Other(&'static str),
}

impl DropKind {
    fn of(written: ObjectType) -> Self {
        match written {
            ObjectType::Table => Self::Table,
            ObjectType::View => Self::View,
            ObjectType::Index => Self::Index,
            ObjectType::Schema => Self::Schema,
            ObjectType::Sequence => Self::Sequence,
            ObjectType::Type => Self::Type,
            ObjectType::Collation => Self::Other("DROP COLLATION"),
            ObjectType::MaterializedView => Self::Other("DROP MATERIALIZED VIEW"),
            ObjectType::Database => Self::Other("DROP DATABASE"),
            ObjectType::Role => Self::Other("DROP ROLE"),
            ObjectType::Stage => Self::Other("DROP STAGE"),
            ObjectType::User => Self::Other("DROP USER"),
            ObjectType::Stream => Self::Other("DROP STREAM"),
        }
    }

    /// Returns what messages call an object of the kind.
    pub fn noun(&self) -> String {
        match self {
            Self::Statistics => "statistics object".to_owned(),
            _ => self.tag()["DROP ".len()..].to_lowercase(),
        }
    }

    /// Returns how a statement that drops an object of the kind has ended.
    pub fn tag(&self) -> &'static str {
        match self {
            Self::View => "DROP VIEW",
            Self::Index => "DROP INDEX",
            Self::Schema => "DROP SCHEMA",
            Self::Sequence => "DROP SEQUENCE",
            Self::Type => "DROP TYPE",
            Self::Statistics => "DROP STATISTICS",
            Self::Table => "DROP TABLE",
            Self::Other(tag) => tag,
        }
    }
}

impl Drop {
    /// Takes what is dropped from the parser, which knows no `CONCURRENTLY`.
    pub(super) fn of(
        kind: ObjectType,
        names: &[ast::ObjectName],
        if_exists: bool,
        cascade: bool,
    ) -> Self {
        Self {
            kind: DropKind::of(kind),
            names: names.iter().map(DottedName::of).collect(),
            if_exists,
            cascade,
            concurrently: false,
        }
    }

    /// Reads on behind DROP STATISTICS, which the parser does not know.
    pub(super) fn parse_statistics(parser: &mut Parser<'_>) -> Parsed<Self> {
        let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
        let mut names = vec![DottedName::parse(parser)?];
        while parser.consume_token(&Token::Comma) {
            names.push(DottedName::parse(parser)?);
        }
        let cascade = parser.parse_keyword(Keyword::CASCADE);
        if !cascade {
            let _ = parser.parse_keyword(Keyword::RESTRICT);
        }
        Ok(Self {
            kind: DropKind::Statistics,
            names,
            if_exists,
            cascade,
            concurrently: false,
        })
    }
}
