//! SET, SHOW, RESET and DISCARD.

use functions::quoted_identifier;
use types::{Result, Scalar, SqlError, SqlState, Value};

use super::known::Definition;
use crate::session::{Field, Notice, ResultRow, Session, Sink};
use syntax::command::{Assigned, Command, Modes, Scope};

/// Settings whose values are lists of names.
const LISTS: &[&str] = &["search_path", "DateStyle", "temp_tablespaces"];

fn text_field(name: &str) -> Field {
    Field::of_scalar(name, Scalar::Text)
}

/// Returns the columns that a statement gives, if it is a form of SHOW.
pub(in crate::session) fn shown_fields(command: &Command) -> Option<Vec<Field>> {
    match command {
        Command::Show(name) => {
            let definition = Definition::named(name);
            let name = definition.map_or_else(|| name.clone(), |found| found.kept_name(name));
            Some(vec![text_field(&name)])
        }
        Command::ShowAll => Some(["name", "setting", "description"].map(text_field).to_vec()),
        _ => None,
    }
}

impl Session {
    pub(in crate::session) fn show(
        &mut self,
        command: &Command,
        sink: &mut impl Sink,
    ) -> Result<()> {
        let rows: Vec<Vec<String>> = match command {
            Command::Show(name) => vec![vec![self.shows(name)?]],
            _ => self
                .all_settings()
                .map(|(definition, value)| {
                    let description = definition.description.to_owned();
                    vec![definition.name.to_owned(), value, description]
                })
                .collect(),
        };
        let fields = shown_fields(command).unwrap_or_default();
        sink.fields(&fields)?;
        let catalog = self.transaction.catalog();
        for row in &rows {
            let values: Vec<Value<'_>> = row.iter().map(|text| Value::Text(text)).collect();
            sink.row(&ResultRow {
                fields: &fields,
                values: &values,
                context: self.context(&self.names(&catalog)),
            })?;
        }
        Ok(())
    }

    pub(in crate::session) fn set_statement(
        &mut self,
        name: &str,
        scope: Scope,
        value: &Assigned,
        sink: &mut impl Sink,
    ) -> Result<()> {
        if scope == Scope::Local && !self.transaction.is_in_block() {
            self.tell(sink, &Notice::outside_block("SET LOCAL"));
        }
        let value = match value {
            Assigned::Default => None,
            Assigned::Values(values) => Some(joined(name, values)?),
        };
        self.assign(name, scope, value.as_deref())
    }

    /// Carries out SET SESSION CHARACTERISTICS AS TRANSACTION, which sets the characteristics of
    /// new transactions.
    pub(in crate::session) fn set_characteristics(
        &mut self,
        modes: Modes,
        scope: Scope,
    ) -> Result<()> {
        if modes.deferrable == Some(true) {
            return Err(SqlError::unsupported("DEFERRABLE"));
        }
        if let Some(level) = modes.level {
            let name = "default_transaction_isolation";
            self.assign(name, scope, Some(level.name()))?;
        }
        if let Some(read_only) = modes.read_only {
            let value = if read_only { "on" } else { "off" };
            let name = "default_transaction_read_only";
            self.assign(name, scope, Some(value))?;
        }
        Ok(())
    }

    pub(in crate::session) fn reset(&mut self, name: &str) -> Result<()> {
        self.assign(name, Scope::Session, None)
    }

    pub(in crate::session) fn reset_all(&mut self) -> Result<()> {
        let names: Vec<String> = self.settings.values.set.keys().cloned().collect();
        // The session's user and role stay, as in PostgreSQL.
        let kept = ["role", "session_authorization"];
        let names = names.iter().filter(|name| !kept.contains(&name.as_str()));
        names.into_iter().try_for_each(|name| self.reset(name))
    }

    pub(in crate::session) fn discard_all(&mut self) -> Result<()> {
        self.not_in_block("DISCARD ALL")?;
        self.reset_all()?;
        self.reset("role")?;
        self.reset("session_authorization")?;
        self.settings.forget_custom();
        self.cursors.clear();
        self.transaction.advisory().unlock_all();
        self.forget_all_prepared();
        self.transaction.forget_private_plans();
        self.environment.sequences().clear();
        Ok(())
    }
}

/// Returns the text of several values.
fn joined(name: &str, values: &[String]) -> Result<String> {
    let is_list = LISTS.iter().any(|list| list.eq_ignore_ascii_case(name));
    let is_quoted = name.eq_ignore_ascii_case("search_path");
    match values {
        values if is_quoted => {
            let quoted = values.iter().map(|value| quoted_identifier(value));
            Ok(quoted.collect::<Vec<_>>().join(", "))
        }
        [value] => Ok(value.clone()),
        values if is_list => Ok(values.join(", ")),
        _ => Err(SqlError::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("SET {name} takes only one argument"),
        )),
    }
}
