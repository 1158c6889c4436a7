//! Options of a column that contradict each other.

use types::{Result, SqlError, SqlState};

use syntax::statement::{ColumnDefinition, ColumnOptionKind};

/// Refuses a column whose value would come from two places, or that must and must not be NULL.
///
/// # Errors
/// 42601.
pub(super) fn refuse_contradictions(definition: &ColumnDefinition, table: &str) -> Result<()> {
    let count = |is: fn(&ColumnOptionKind) -> bool| {
        let options = definition.options.iter();
        options.filter(|option| is(&option.kind)).count()
    };
    let defaults = count(|option| matches!(option, ColumnOptionKind::Default(_)));
    let expressions = count(|option| matches!(option, ColumnOptionKind::Generated(_)));
    let identities = count(|option| matches!(option, ColumnOptionKind::Identity { .. }));
    let nulls = count(|option| matches!(option, ColumnOptionKind::Null));
    let not_nulls = count(|option| matches!(option, ColumnOptionKind::NotNull));
    let what = if defaults > 1 {
        "multiple default values specified"
    } else if identities > 1 {
        "multiple identity specifications"
    } else if expressions > 1 {
        "multiple generation clauses specified"
    } else if defaults > 0 && identities > 0 {
        "both default and identity specified"
    } else if defaults > 0 && expressions > 0 {
        "both default and generation expression specified"
    } else if identities > 0 && expressions > 0 {
        "both identity and generation expression specified"
    } else if nulls > 0 && (not_nulls > 0 || identities > 0) {
        "conflicting NULL/NOT NULL declarations"
    } else {
        return Ok(());
    };
    let column = definition.name.as_str();
    let message = format!("{what} for column \"{column}\" of table \"{table}\"");
    Err(SqlError::new(SqlState::SYNTAX_ERROR, message))
}
