//! Statements, in types of this crate's own.
//!
//! [`Statement`] says once what a statement is. Names in it are folded and types have a form, but
//! nothing in it was looked up. Queries, their expressions and changes of rows are trees
//! ([`crate::query`], [`crate::expression`], [`crate::change`]). A clause that there is not is kept as
//! the error that refuses it by its name, which is raised when the statement is carried out: only
//! errors of grammar are raised where a statement is read.
//!
//! | statement | file |
//! | --- | --- |
//! | what reads or changes rows | `rows.rs`, `../query.rs`, `../change.rs` |
//! | transactions, settings, prepared statements, cursors, roles, locks | `../command.rs` |
//! | tables, their columns and constraints | `create_table.rs`, `column.rs`, `constraint.rs`, `foreign_key.rs`; `create_table_as.rs`; `alter_table.rs`, `passed_over.rs`; `storage_parameter.rs` |
//! | other objects | `create_index.rs`, `create_statistics.rs`, `create_view.rs`, `create_schema.rs`, `enumeration.rs`, `sequence.rs` |
//! | what is done to objects of all kinds | `drop.rs`, `alter_object.rs`, `comment.rs` |
//! | TRUNCATE; EXPLAIN; the statements within others | `truncate.rs`; `explain.rs`; `inner.rs` |
//! | expressions of definitions; types | `expression.rs`; `type_name.rs` |
//! | what is read without the parser's own trees | `definition.rs` |

mod alter_object;
mod alter_table;
mod column;
mod comment;
mod constraint;
mod create_index;
mod create_schema;
mod create_statistics;
mod create_table;
mod create_table_as;
mod create_view;
pub(crate) mod definition;
mod drop;
mod enumeration;
mod explain;
mod expression;
mod foreign_key;
mod inner;
mod passed_over;
mod rows;
mod sequence;
mod storage_parameter;
mod truncate;
mod type_name;

use std::fmt::{self, Write as _};

use sqlparser::{ast, keywords::Keyword};
use types::{Result, SqlError};

pub use self::{
    alter_object::{AlterObject, ObjectChange, ObjectKind},
    alter_table::{AlterTable, ColumnChange, IdentityChange, TableAction},
    column::{ColumnDefinition, ColumnOption, ColumnOptionKind, IdentityMode},
    comment::{Comment, Commented},
    constraint::{ConstraintKind, TableConstraint},
    create_index::{CreateIndex, IndexColumn},
    create_schema::CreateSchema,
    create_statistics::CreateStatistics,
    create_table::CreateTable,
    create_table_as::TableAs,
    create_view::CreateView,
    drop::{Drop, DropKind},
    enumeration::{AlterType, CreateType, LabelPlace, TypeChange},
    explain::{Explain, ExplainOption},
    expression::Expression,
    foreign_key::{ForeignKey, ReferentialAction, Timing},
    inner::{Execute, InnerStatement},
    rows::{DefiningQuery, RowKind, RowStatement},
    sequence::{AlterSequence, CreateSequence, Integer, SequenceClauses},
    truncate::Truncate,
    type_name::{TypeForm, TypeName},
};
use crate::{
    command::Command,
    constraints::SetConstraints,
    copy::Copy,
    maintenance::Maintenance,
    name::DottedName,
    refusal::{Misplaced, refuse_keywords},
};

/// A statement.
#[derive(Debug, Clone)]
pub enum Statement {
    /// A query, INSERT, UPDATE, DELETE or MERGE.
    Rows(RowStatement),
    /// A statement about the session itself, or about roles.
    Session(Command),
    /// `SET CONSTRAINTS`.
    SetConstraints(SetConstraints),
    /// `COPY`.
    Copy(Copy),
    /// `EXPLAIN`.
    Explain(Explain),
    /// `VACUUM` and `ANALYZE`.
    Maintenance(Maintenance),
    /// `CREATE TABLE`.
    CreateTable(Box<CreateTable>),
    /// `CREATE TABLE AS` and `SELECT INTO`.
    CreateTableAs(Box<TableAs>),
    /// `CREATE INDEX`.
    CreateIndex(Box<CreateIndex>),
    /// `CREATE STATISTICS`.
    CreateStatistics(Box<CreateStatistics>),
    /// `CREATE VIEW`.
    CreateView(Box<CreateView>),
    /// `CREATE SCHEMA`.
    CreateSchema(CreateSchema),
    /// `CREATE TYPE`.
    CreateType(CreateType),
    /// `CREATE SEQUENCE`.
    CreateSequence(CreateSequence),
    /// `ALTER TABLE`, of what the table consists of.
    AlterTable(AlterTable),
    /// `ALTER TYPE`.
    AlterType(AlterType),
    /// `ALTER SEQUENCE`, of what the sequence counts.
    AlterSequence(AlterSequence),
    /// `ALTER ... RENAME TO`, `SET SCHEMA`, `OWNER TO`.
    AlterObject(AlterObject),
    /// `DROP`.
    Drop(Drop),
    /// `TRUNCATE`.
    Truncate(Truncate),
    /// `COMMENT`.
    Comment(Comment),
    /// A statement that there is not, by the error that refuses it.
    Refused(SqlError),
}

impl Statement {
    /// Takes a statement from the parser.
    ///
    /// # Errors
    /// Clauses that PostgreSQL's grammar does not have.
    pub(crate) fn of(tree: ast::Statement) -> std::result::Result<Self, Misplaced> {
        let tree = match RowStatement::of(Box::new(tree))? {
            Ok(rows) => return Ok(Self::Rows(rows)),
            Err(tree) => tree,
        };
        Ok(match *tree {
            ast::Statement::Query(query) => match TableAs::of_query(query)? {
                Ok(new) => Self::CreateTableAs(Box::new(new)),
                Err(query) => Self::Refused(refused(&ast::Statement::Query(query))),
            },
            tree @ ast::Statement::Explain { .. } => Self::Explain(Explain::of(tree)?),
            ast::Statement::ExplainTable {
                describe_alias,
                table_name,
                ..
            } => {
                return Err(match describe_alias {
                    ast::DescribeAlias::Describe => Misplaced::Keyword(Keyword::DESCRIBE),
                    ast::DescribeAlias::Desc => Misplaced::Keyword(Keyword::DESC),
                    ast::DescribeAlias::Explain => {
                        Misplaced::At(DottedName::of(&table_name).span())
                    }
                });
            }
            ast::Statement::CreateTable(create) => {
                Self::CreateTable(Box::new(CreateTable::of(create, Vec::new())?))
            }
            ast::Statement::CreateIndex(create) => {
                Self::CreateIndex(Box::new(CreateIndex::of(create)?))
            }
            ast::Statement::CreateView(create) => {
                Self::CreateView(Box::new(CreateView::of(create)?))
            }
            ast::Statement::CreateSchema {
                schema_name,
                if_not_exists,
                with,
                options,
                default_collate_spec,
                clone,
            } => {
                refuse_keywords(&[
                    (with.is_some(), Keyword::WITH),
                    (options.is_some(), Keyword::OPTIONS),
                    (default_collate_spec.is_some(), Keyword::DEFAULT),
                    (clone.is_some(), Keyword::CLONE),
                ])?;
                Self::CreateSchema(CreateSchema::of(schema_name, if_not_exists))
            }
            ast::Statement::CreateType {
                name,
                representation,
            } => Self::CreateType(CreateType::of(&name, representation.as_ref())?),
            ast::Statement::AlterType(alter) => Self::AlterType(AlterType::of(&alter)?),
            ast::Statement::Drop {
                object_type,
                if_exists,
                names,
                cascade,
                restrict: _,
                purge,
                temporary,
                table,
            } => {
                refuse_keywords(&[
                    (temporary, Keyword::TEMPORARY),
                    (table.is_some(), Keyword::ON),
                    (purge, Keyword::PURGE),
                ])?;
                Self::Drop(Drop::of(object_type, &names, if_exists, cascade))
            }
            ast::Statement::Truncate(truncate) => Self::Truncate(Truncate::of(truncate)?),
            other => Self::Refused(refused(&other)),
        })
    }

    /// Returns whether a transaction that has failed lets the statement through: it ends the
    /// transaction, or returns to before the failure.
    pub fn heals(&self) -> bool {
        matches!(self, Self::Session(command) if command.heals())
    }

    /// Returns the name of a statement that changes definitions or tables as a whole, which is
    /// refused in a transaction that only reads. `None` for other statements.
    pub fn defines(&self) -> Option<&'static str> {
        Some(match self {
            Self::CreateTable(_) => "CREATE TABLE",
            Self::CreateTableAs(new) if new.is_into => "SELECT INTO",
            Self::CreateTableAs(_) => TableAs::TAG,
            Self::CreateIndex(_) => "CREATE INDEX",
            Self::CreateStatistics(_) => "CREATE STATISTICS",
            Self::CreateView(_) => "CREATE VIEW",
            Self::CreateSchema(_) => "CREATE SCHEMA",
            Self::CreateType(_) => "CREATE TYPE",
            Self::CreateSequence(_) => "CREATE SEQUENCE",
            Self::AlterTable(_) => "ALTER TABLE",
            Self::AlterType(_) => "ALTER TYPE",
            Self::AlterSequence(_) => "ALTER SEQUENCE",
            Self::AlterObject(alter) => alter.kind.tag(),
            Self::Drop(dropped) => dropped.kind.tag(),
            Self::Truncate(_) => "TRUNCATE TABLE",
            Self::Comment(_) => "COMMENT",
            Self::Rows(_)
            | Self::Session(_)
            | Self::SetConstraints(_)
            | Self::Copy(_)
            | Self::Explain(_)
            | Self::Maintenance(_)
            | Self::Refused(_) => return None,
        })
    }
}

/// Refuses the first clause that is there.
///
/// # Errors
/// 0A000.
pub(crate) fn refuse_first(clauses: &[(bool, &str)]) -> Result<()> {
    match clauses.iter().find(|(is_there, _)| *is_there) {
        Some((_, what)) => Err(SqlError::unsupported(what)),
        None => Ok(()),
    }
}

/// Returns the error for a statement that there is not, which has its first two words. No more of it is written.
fn refused(statement: &ast::Statement) -> SqlError {
    let mut head = Head(String::new());
    // The error says that there is more.
    let _ = write!(head, "{statement}");
    let words: Vec<&str> = head.0.split_whitespace().take(2).collect();
    SqlError::unsupported(words.join(" "))
}

/// The first two words of a text, which refuses what is written behind them.
struct Head(String);

impl fmt::Write for Head {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.push_str(text);
        match self.0.split_whitespace().nth(2) {
            Some(_) => Err(fmt::Error),
            None => Ok(()),
        }
    }
}
