//! References from columns of one table to a key of another.

use sqlparser::ast::{
    self, ConstraintCharacteristics, ConstraintReferenceMatchKind, DeferrableInitial,
};
use types::{Result, SqlError, SqlState};

use crate::{
    name::{DottedName, Name},
    refusal::Misplaced,
};

/// The part of a foreign key that is about the table that it refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignKey {
    /// The table that the key refers to.
    pub table: DottedName,
    /// The columns there; none for those of the primary key.
    pub columns: Vec<Name>,
    /// The treatment of rows that refer to a row that is deleted.
    pub on_delete: ReferentialAction,
    /// The treatment of rows that refer to a key that is changed.
    pub on_update: ReferentialAction,
    /// Whether a key is all NULL or not NULL at all: `MATCH FULL`.
    pub is_full: bool,
    /// The moment at which rows are checked.
    pub timing: Timing,
}

/// The treatment of rows that refer to a row that goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferentialAction {
    /// `NO ACTION`, also where nothing is said.
    NoAction,
    /// `RESTRICT`.
    Restrict,
    /// `CASCADE`.
    Cascade,
    /// `SET NULL`.
    SetNull,
    /// `SET DEFAULT`.
    SetDefault,
}

/// The moment at which a constraint is checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timing {
    /// Whether the check can be put off until the commit.
    pub is_deferrable: bool,
    /// Whether the check is put off where nobody says otherwise.
    pub is_deferred: bool,
}

impl ForeignKey {
    /// Takes a foreign key from the parser.
    ///
    /// # Errors
    /// Those of [`Timing::of`].
    pub(super) fn of(written: &ast::ForeignKeyConstraint) -> Result<Self> {
        Ok(Self {
            table: DottedName::of(&written.foreign_table),
            columns: written.referred_columns.iter().map(Name::of).collect(),
            on_delete: action(written.on_delete),
            on_update: action(written.on_update),
            is_full: written.match_kind == Some(ConstraintReferenceMatchKind::Full),
            timing: Timing::of(written.characteristics.as_ref())?,
        })
    }
}

/// Refuses `MATCH PARTIAL`, as PostgreSQL's grammar does.
///
/// # Errors
/// 0A000.
pub(super) fn refuse_partial(
    written: &ast::ForeignKeyConstraint,
) -> std::result::Result<(), Misplaced> {
    match written.match_kind {
        Some(ConstraintReferenceMatchKind::Partial) => {
            let message = "MATCH PARTIAL not yet implemented";
            let error = SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message);
            Err(Misplaced::Told(error))
        }
        _ => Ok(()),
    }
}

impl Timing {
    /// Takes what is said of a constraint from the parser.
    ///
    /// # Errors
    /// 0A000 for `ENFORCED`, 42601 for words that contradict each other.
    fn of(written: Option<&ConstraintCharacteristics>) -> Result<Self> {
        let Some(written) = written else {
            return Ok(Self::default());
        };
        refuse_enforced(written.enforced)?;
        let is_deferred = written.initially == Some(DeferrableInitial::Deferred);
        if is_deferred && written.deferrable == Some(false) {
            let message = "constraint declared INITIALLY DEFERRED must be DEFERRABLE";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
        }
        Ok(Self {
            is_deferrable: written.deferrable.unwrap_or(is_deferred),
            is_deferred,
        })
    }
}

/// Refuses a constraint that is said to be enforced, or not to be.
///
/// # Errors
/// 0A000.
pub(super) fn refuse_enforced(enforced: Option<bool>) -> Result<()> {
    super::refuse_first(&[(enforced.is_some(), "[NOT] ENFORCED")])
}

/// Refuses a unique or primary key whose check is to be put off: these keys are checked row by row.
///
/// # Errors
/// 0A000; those of [`Timing::of`].
pub(super) fn refuse_deferrable(written: Option<&ConstraintCharacteristics>) -> Result<()> {
    if !Timing::of(written)?.is_deferrable {
        return Ok(());
    }
    let error = SqlError::unsupported("a DEFERRABLE unique or primary key");
    Err(error.hint(
        "Leave DEFERRABLE away: the key is then checked for each row. \
         Statements that exchange keys have to go by a third value.",
    ))
}

fn action(written: Option<ast::ReferentialAction>) -> ReferentialAction {
    match written {
        None | Some(ast::ReferentialAction::NoAction) => ReferentialAction::NoAction,
        Some(ast::ReferentialAction::Restrict) => ReferentialAction::Restrict,
        Some(ast::ReferentialAction::Cascade) => ReferentialAction::Cascade,
        Some(ast::ReferentialAction::SetNull) => ReferentialAction::SetNull,
        Some(ast::ReferentialAction::SetDefault) => ReferentialAction::SetDefault,
    }
}
