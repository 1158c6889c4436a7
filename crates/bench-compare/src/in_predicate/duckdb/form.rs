//! Forms in which DuckDB can be asked for the rows that have one of a list of values.

use std::str::FromStr;

use commands::{Error, Result};

use crate::in_predicate::{Answer, Taken};

/// Forms in which DuckDB is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Form {
    /// The values are in the text of the query.
    Text,
    /// The query of [`Form::Text`] has been prepared before.
    Prepared,
    /// A prepared query has the list as a parameter, `= ANY`.
    Bound,
    /// A prepared query has the list as a parameter, `list_contains`.
    Contains,
    /// The list is inserted into a temporary table, with which a prepared query has a semi join.
    Temporary,
    /// The temporary table of [`Form::Temporary`] has been filled before.
    Filled,
    /// The query of [`Form::Text`], with an index on the column.
    IndexText,
    /// The query of [`Form::Prepared`], with an index on the column.
    IndexPrepared,
}

impl Form {
    /// Every form.
    pub(crate) const ALL: [Self; 8] = [
        Self::Text,
        Self::Prepared,
        Self::Bound,
        Self::Contains,
        Self::Temporary,
        Self::Filled,
        Self::IndexText,
        Self::IndexPrepared,
    ];

    /// Returns the name used on the command line and in results.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Prepared => "prepared",
            Self::Bound => "bound",
            Self::Contains => "contains",
            Self::Temporary => "temporary",
            Self::Filled => "filled",
            Self::IndexText => "index-text",
            Self::IndexPrepared => "index-prepared",
        }
    }

    /// Returns the work on a list that counts towards the time.
    pub(super) fn taken(self) -> Taken {
        match self {
            Self::Text | Self::IndexText => Taken::Parsed,
            Self::Prepared | Self::IndexPrepared | Self::Filled => Taken::Ready,
            Self::Bound | Self::Contains => Taken::Bound,
            Self::Temporary => Taken::Inserted,
        }
    }

    /// Returns whether the form needs the index.
    pub(super) fn has_index(self) -> bool {
        matches!(self, Self::IndexText | Self::IndexPrepared)
    }

    /// Returns the query that serves every list, if there is one.
    pub(super) fn query(self, answer: Answer) -> Option<String> {
        let condition = match self {
            Self::Text | Self::Prepared | Self::IndexText | Self::IndexPrepared => return None,
            Self::Bound => "value = ANY($1::UINTEGER[])",
            Self::Contains => "list_contains($1::UINTEGER[], value)",
            Self::Temporary | Self::Filled => "value IN (SELECT value FROM wanted)",
        };
        let what = selected(answer);
        Some(format!("SELECT {what} FROM plain WHERE {condition}"))
    }

    /// Returns the query of one list.
    pub(super) fn text(self, answer: Answer, list: &[u32]) -> String {
        let values: Vec<String> = list.iter().map(u32::to_string).collect();
        let table = if self.has_index() { "indexed" } else { "plain" };
        format!(
            "SELECT {} FROM {table} WHERE value IN ({})",
            selected(answer),
            values.join(",")
        )
    }
}

impl FromStr for Form {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|form| form.name() == text);
        found.ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            Error::input(format!("`{text}` is not a form; choose from {known}"))
        })
    }
}

fn selected(answer: Answer) -> &'static str {
    match answer {
        Answer::Rows => "rowid",
        Answer::Count => "count(*)",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_others_are_refused_with_them() {
        for form in Form::ALL {
            assert_eq!(form.name().parse::<Form>().unwrap(), form);
        }
        let error = "hash".parse::<Form>().unwrap_err().to_string();
        assert!(
            error.contains("`hash`") && error.contains("filled"),
            "{error}"
        );
    }
}
