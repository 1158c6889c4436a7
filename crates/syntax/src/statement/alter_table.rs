//! `ALTER TABLE` and its actions.

use sqlparser::{keywords::Keyword, parser::Parser, tokenizer::Token};
use types::{Result, SqlError, SqlState};

use super::{
    column::{ColumnDefinition, IdentityMode},
    constraint::TableConstraint,
    definition::{Parsed, unexpected},
    expression::Expression,
    passed_over,
    sequence::SequenceClauses,
    type_name::TypeName,
};
use crate::words::take_word;
use crate::{
    name::{DottedName, Name},
    refusal::{Misplaced, Refusal},
};

/// A table that is changed.
#[derive(Debug, Clone)]
pub struct AlterTable {
    /// The name of the table, with or without a schema.
    pub name: DottedName,
    /// Whether `IF EXISTS` is written: a missing table is no error.
    pub if_exists: bool,
    /// The actions in the order in which they were written, at least one.
    pub actions: Vec<TableAction>,
}

/// One action.
#[derive(Debug, Clone)]
pub enum TableAction {
    /// `ADD [COLUMN]`.
    AddColumn {
        /// The definition of the new column.
        definition: Box<ColumnDefinition>,
        /// Whether `IF NOT EXISTS` is written: a column of this name makes the action do nothing.
        if_not_exists: bool,
    },
    /// `DROP [COLUMN]`.
    DropColumn {
        /// The name of the column.
        name: Name,
        /// Whether `IF EXISTS` is written: a missing column is no error.
        if_exists: bool,
        /// Whether `CASCADE` drops dependent objects too.
        cascade: bool,
    },
    /// `ALTER [COLUMN]`.
    AlterColumn {
        /// The name of the column.
        name: Name,
        /// The change to make.
        change: ColumnChange,
    },
    /// `ADD [CONSTRAINT name] constraint`.
    AddConstraint {
        /// The definition of the new constraint.
        constraint: Box<TableConstraint>,
        /// Whether existing rows are checked; false for `NOT VALID`.
        is_valid: bool,
    },
    /// `ADD [CONSTRAINT name] {UNIQUE | PRIMARY KEY} USING INDEX index`
    AddIndex {
        /// The name of the constraint; `None` for that of the index.
        name: Option<Name>,
        /// Whether the constraint is a `PRIMARY KEY`; false for `UNIQUE`.
        is_primary: bool,
        /// The name of the unique index.
        index: Name,
    },
    /// `DROP CONSTRAINT`.
    DropConstraint {
        /// The name of the constraint.
        name: Name,
        /// Whether `IF EXISTS` is written: a missing constraint is no error.
        if_exists: bool,
        /// Whether `CASCADE` drops dependent objects too.
        cascade: bool,
    },
    /// `VALIDATE CONSTRAINT name`.
    ValidateConstraint(Name),
    /// `OWNER TO`
    Owner(Name),
    /// `CLUSTER ON index`, which says how another engine stores the table, and nothing here.
    Cluster(Name),
    /// Another clause that says how another engine stores the table: the error for one that there is not.
    Storage(Result<()>),
    /// An action that there is not, by its words.
    Unsupported(&'static str),
}

/// A change of a column.
#[derive(Debug, Clone)]
pub enum ColumnChange {
    /// `[SET DATA] TYPE`.
    Type {
        /// The new type of the column.
        data_type: TypeName,
        /// The name behind `COLLATE`, if there is one.
        collation: Option<DottedName>,
        /// The expression behind `USING` that computes the new values from the old row; `None` for
        /// a conversion of the old value.
        using: Option<Expression>,
    },
    /// `SET DEFAULT expression`.
    SetDefault(Expression),
    /// `DROP DEFAULT`.
    DropDefault,
    /// `SET NOT NULL`.
    SetNotNull,
    /// `DROP NOT NULL`.
    DropNotNull,
    /// `DROP EXPRESSION`: what was generated stays as it is.
    DropExpression {
        /// Whether `IF EXISTS` is written: a column that is not generated is no error.
        if_exists: bool,
    },
    /// `ADD GENERATED .. AS IDENTITY`.
    AddIdentity {
        /// The mode, `ALWAYS` or `BY DEFAULT`.
        mode: IdentityMode,
        /// The clauses in parentheses for the sequence of the column.
        clauses: SequenceClauses,
    },
    /// `SET GENERATED ..`, `SET` and a clause of the sequence, or `RESTART`, once or repeatedly.
    SetIdentity(IdentityChange),
    /// `DROP IDENTITY`.
    DropIdentity {
        /// Whether `IF EXISTS` is written: a column without an identity is no error.
        if_exists: bool,
    },
    /// Clause that says how another engine stores the column: the error for one that there is not.
    Storage(Result<()>),
}

/// A change of an identity column.
#[derive(Debug, Clone, Default)]
pub struct IdentityChange {
    /// The new mode, from `SET GENERATED ..`; `None` keeps the mode.
    pub mode: Option<IdentityMode>,
    /// The clauses to change of the column's sequence.
    pub clauses: SequenceClauses,
}

impl TableAction {
    /// Reads as many as there are.
    pub(super) fn parse_all(parser: &mut Parser<'_>) -> std::result::Result<Vec<Self>, Refusal> {
        let mut actions = vec![Self::parse(parser)?];
        while parser.consume_token(&Token::Comma) {
            actions.push(Self::parse(parser)?);
        }
        Ok(actions)
    }

    fn parse(parser: &mut Parser<'_>) -> std::result::Result<Self, Refusal> {
        match parser.parse_keyword(Keyword::ADD) {
            true => add(parser),
            false => Self::parse_other(parser),
        }
    }

    /// Reads an action that adds nothing.
    fn parse_other(parser: &mut Parser<'_>) -> std::result::Result<Self, Refusal> {
        if parser.parse_keyword(Keyword::DROP) {
            return Ok(drop(parser)?);
        }
        if parser.parse_keyword(Keyword::ALTER) {
            if parser.parse_keyword(Keyword::CONSTRAINT) {
                Name::parse(parser)?;
                passed_over::constraint_attributes(parser)?;
                return Ok(Self::Unsupported("ALTER CONSTRAINT"));
            }
            let _ = parser.parse_keyword(Keyword::COLUMN);
            let name = Name::parse(parser)?;
            let change = ColumnChange::parse(parser)?;
            return Ok(Self::AlterColumn { name, change });
        }
        if parser.parse_keywords(&[Keyword::VALIDATE, Keyword::CONSTRAINT]) {
            return Ok(Self::ValidateConstraint(Name::parse(parser)?));
        }
        if parser.parse_keywords(&[Keyword::OWNER, Keyword::TO]) {
            return Ok(Self::Owner(Name::parse(parser)?));
        }
        match passed_over::action(parser)? {
            Some(action) => Ok(action),
            None => Ok(unexpected(parser, "an action of ALTER TABLE")?),
        }
    }
}

fn add(parser: &mut Parser<'_>) -> std::result::Result<TableAction, Refusal> {
    let by_index = parser.maybe_parse(|parser| {
        let name = match parser.parse_keyword(Keyword::CONSTRAINT) {
            true => Some(Name::parse(parser)?),
            false => None,
        };
        let is_primary = parser.parse_keywords(&[Keyword::PRIMARY, Keyword::KEY]);
        if !is_primary {
            parser.expect_keyword_is(Keyword::UNIQUE)?;
        }
        parser.expect_keywords(&[Keyword::USING, Keyword::INDEX])?;
        let index = Name::parse(parser)?;
        Ok(TableAction::AddIndex {
            name,
            is_primary,
            index,
        })
    })?;
    if let Some(found) = by_index {
        return Ok(found);
    }
    if let Some(constraint) = parser.parse_optional_table_constraint()? {
        let constraint = TableConstraint::of(constraint)?;
        let is_valid = !parser.parse_keywords(&[Keyword::NOT, Keyword::VALID]);
        if let (false, Some(key)) = (is_valid, constraint.kind.key()) {
            let message = format!("{key} constraints cannot be marked NOT VALID");
            let error = SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message);
            return Err(Misplaced::Told(error).into());
        }
        return Ok(TableAction::AddConstraint {
            constraint: Box::new(constraint),
            is_valid,
        });
    }
    let _ = parser.parse_keyword(Keyword::COLUMN);
    let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    Ok(TableAction::AddColumn {
        definition: Box::new(ColumnDefinition::of(parser.parse_column_def()?)?),
        if_not_exists,
    })
}

fn drop(parser: &mut Parser<'_>) -> Parsed<TableAction> {
    let is_constraint = parser.parse_keyword(Keyword::CONSTRAINT);
    if !is_constraint {
        let _ = parser.parse_keyword(Keyword::COLUMN);
    }
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let name = Name::parse(parser)?;
    let cascade = parser.parse_keyword(Keyword::CASCADE);
    let _ = !cascade && parser.parse_keyword(Keyword::RESTRICT);
    Ok(match is_constraint {
        true => TableAction::DropConstraint {
            name,
            if_exists,
            cascade,
        },
        false => TableAction::DropColumn {
            name,
            if_exists,
            cascade,
        },
    })
}

impl ColumnChange {
    fn parse(parser: &mut Parser<'_>) -> std::result::Result<Self, Refusal> {
        if parser.parse_keywords(&[Keyword::SET, Keyword::DATA, Keyword::TYPE])
            || parser.parse_keyword(Keyword::TYPE)
        {
            let data_type = TypeName::of(&parser.parse_data_type()?);
            let collation = match parser.parse_keyword(Keyword::COLLATE) {
                true => Some(DottedName::parse(parser)?),
                false => None,
            };
            let using = match parser.parse_keyword(Keyword::USING) {
                true => Some(Expression::of(parser.parse_expr()?)?),
                false => None,
            };
            return Ok(Self::Type {
                data_type,
                collation,
                using,
            });
        }
        if parser.parse_keywords(&[Keyword::SET, Keyword::DEFAULT]) {
            let value = Expression::of(parser.parse_expr()?)?;
            return Ok(Self::SetDefault(value));
        }
        if parser.parse_keywords(&[Keyword::SET, Keyword::NOT, Keyword::NULL]) {
            return Ok(Self::SetNotNull);
        }
        if parser.parse_keywords(&[Keyword::ADD, Keyword::GENERATED]) {
            let mode = mode(parser)?;
            parser.expect_keywords(&[Keyword::AS, Keyword::IDENTITY])?;
            let mut clauses = SequenceClauses::default();
            if parser.consume_token(&Token::LParen) {
                clauses = SequenceClauses::parse(parser)?;
                parser.expect_token(&Token::RParen)?;
            }
            return Ok(Self::AddIdentity { mode, clauses });
        }
        if parser.parse_keyword(Keyword::DROP) {
            if parser.parse_keyword(Keyword::DEFAULT) {
                return Ok(Self::DropDefault);
            }
            if parser.parse_keywords(&[Keyword::NOT, Keyword::NULL]) {
                return Ok(Self::DropNotNull);
            }
            let is_identity = parser.parse_keyword(Keyword::IDENTITY);
            if !is_identity && !take_word(parser, "expression") {
                return Ok(unexpected(
                    parser,
                    "DEFAULT, NOT NULL, IDENTITY or EXPRESSION",
                )?);
            }
            let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
            return Ok(match is_identity {
                true => Self::DropIdentity { if_exists },
                false => Self::DropExpression { if_exists },
            });
        }
        match passed_over::column_change(parser)? {
            Some(change) => Ok(change),
            None => Ok(identity_change(parser)?),
        }
    }
}

/// `SET GENERATED ...`, `SET` and an option of the sequence, `RESTART`: as many as there are.
fn identity_change(parser: &mut Parser<'_>) -> Parsed<ColumnChange> {
    let mut change = IdentityChange::default();
    let mut any = false;
    loop {
        if parser.parse_keyword(Keyword::SET) {
            if parser.parse_keyword(Keyword::GENERATED) {
                let mode = mode(parser)?;
                change.clauses.is_redundant |= change.mode.replace(mode).is_some();
            } else if !change.clauses.parse_one(parser)? {
                return unexpected(parser, "what is to be set of the column");
            }
        } else if parser.peek_keyword(Keyword::RESTART) {
            change.clauses.parse_one(parser)?;
        } else if any {
            return Ok(ColumnChange::SetIdentity(change));
        } else {
            return unexpected(parser, "what is to be changed of the column");
        }
        any = true;
    }
}

fn mode(parser: &mut Parser<'_>) -> Parsed<IdentityMode> {
    if parser.parse_keyword(Keyword::ALWAYS) {
        return Ok(IdentityMode::Always);
    }
    parser.expect_keywords(&[Keyword::BY, Keyword::DEFAULT])?;
    Ok(IdentityMode::ByDefault)
}
