//! Options of a column that contradict each other.

use sqlparser::ast::{ColumnDef, ColumnOption};
use types::{Result, SqlError, SqlState};

use syntax::name;

/// Refuses a column whose value would come from two places, or that must and must not be NULL.
///
/// # Errors
/// 42601.
pub(super) fn refuse_contradictions(definition: &ColumnDef, table: &str) -> Result<()> {
    let count = |is: fn(&ColumnOption) -> bool| {
        let options = definition.options.iter();
        options.filter(|option| is(&option.option)).count()
    };
    let defaults = count(|option| matches!(option, ColumnOption::Default(_)));
    let expressions = count(|option| {
        matches!(
            option,
            ColumnOption::Generated {
                generation_expr: Some(_),
                ..
            }
        )
    });
    let identities = count(|option| {
        matches!(
            option,
            ColumnOption::Generated {
                generation_expr: None,
                ..
            }
        )
    });
    let nulls = count(|option| matches!(option, ColumnOption::Null));
    let not_nulls = count(|option| matches!(option, ColumnOption::NotNull));
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
    let column = name::fold(&definition.name);
    let message = format!("{what} for column \"{column}\" of table \"{table}\"");
    Err(SqlError::new(SqlState::SYNTAX_ERROR, message))
}
