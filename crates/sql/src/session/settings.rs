//! SET, SHOW and RESET.
//!
//! Most settings that clients send mean nothing here; they are kept, so that SHOW tells them, and
//! refused if there is none of the name.

use std::collections::BTreeMap;

use sqlparser::ast::{self, Reset, Set, Statement};
use types::{Result, Scalar, SqlError, SqlState, TimeZone, Type, TypeModifier, Value};

use super::{Field, ResultRow, Session, Sink, Tag};
use crate::name;

/// Names, as they are shown, and what they are where nobody has set them.
const KNOWN: &[(&str, &str)] = &[
    ("application_name", ""),
    ("bytea_output", "hex"),
    ("client_encoding", "UTF8"),
    ("client_min_messages", "notice"),
    ("DateStyle", "ISO, MDY"),
    ("default_transaction_isolation", "read committed"),
    ("default_transaction_read_only", "off"),
    ("extra_float_digits", "1"),
    ("idle_in_transaction_session_timeout", "0"),
    ("integer_datetimes", "on"),
    ("IntervalStyle", "postgres"),
    ("is_superuser", "on"),
    ("lock_timeout", "0"),
    ("max_identifier_length", "63"),
    ("search_path", "public"),
    ("server_encoding", "UTF8"),
    ("server_version", "15.0"),
    ("server_version_num", "150000"),
    ("standard_conforming_strings", "on"),
    ("statement_timeout", "0"),
    ("synchronous_commit", "on"),
    ("TimeZone", "UTC"),
    ("transaction_isolation", "read committed"),
];

/// What a client can only ask.
const FIXED: &[&str] = &[
    "integer_datetimes",
    "is_superuser",
    "max_identifier_length",
    "server_encoding",
    "server_version",
    "server_version_num",
    "transaction_isolation",
];

/// What was set.
#[derive(Debug, Default)]
pub(super) struct Values(BTreeMap<&'static str, String>);

fn known(name: &str) -> Result<(&'static str, &'static str)> {
    let found = KNOWN
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.copied().ok_or_else(|| {
        let message = format!("unrecognized configuration parameter \"{name}\"");
        SqlError::new(SqlState::UNDEFINED_OBJECT, message)
    })
}

impl Session {
    /// A setting as a client is shown it.
    ///
    /// # Errors
    /// 42704 if there is none of the name.
    pub fn shows(&self, name: &str) -> Result<String> {
        let (name, default) = known(name)?;
        let value = self.values.0.get(name);
        Ok(value.cloned().unwrap_or_else(|| default.to_owned()))
    }

    /// Sets a setting, as SET does.
    ///
    /// # Errors
    /// 42704 if there is none of the name, 55P02 if it cannot be changed, 22023 if the value is
    /// none of its.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let (name, _) = known(name)?;
        let invalid = || {
            let message = format!("invalid value for parameter \"{name}\": \"{value}\"");
            SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
        };
        if FIXED.contains(&name) {
            let message = format!("parameter \"{name}\" cannot be changed");
            return Err(SqlError::new(SqlState::CANT_CHANGE_RUNTIME_PARAM, message));
        }
        match name {
            "TimeZone" => {
                self.settings.time_zone = TimeZone::named(value).map_err(|_| invalid())?;
                // Literals of timestamps were read with the other.
                self.plans.borrow_mut().clear();
            }
            "client_encoding" => {
                let plain = value.replace(['-', '_'], "");
                if !plain.eq_ignore_ascii_case("utf8") && !plain.eq_ignore_ascii_case("unicode") {
                    return Err(invalid());
                }
            }
            "DateStyle" if !value.to_ascii_lowercase().starts_with("iso") => {
                return Err(SqlError::unsupported(format_args!("DateStyle {value}")));
            }
            "IntervalStyle" if !value.eq_ignore_ascii_case("postgres") => {
                return Err(SqlError::unsupported(format_args!("IntervalStyle {value}")));
            }
            "standard_conforming_strings" if !value.eq_ignore_ascii_case("on") => {
                return Err(SqlError::unsupported("standard_conforming_strings off"));
            }
            "search_path" => {
                let schemas = value
                    .split(',')
                    .map(|schema| schema.trim().trim_matches('"').to_owned());
                self.search_path.schemas = schemas.filter(|schema| schema != "$user").collect();
                self.plans.borrow_mut().clear();
            }
            _ => {}
        }
        self.values.0.insert(name, value.to_owned());
        Ok(())
    }

    /// The column that SHOW or EXPLAIN gives.
    pub(super) fn shown(&self, statement: &Statement) -> Option<Vec<Field>> {
        let variable = match statement {
            Statement::ShowVariable { variable } => variable,
            Statement::Explain { .. } => return self.explained(statement),
            _ => return None,
        };
        Some(vec![Field {
            name: shown_name(variable),
            ty: Type::Scalar(Scalar::Text),
            modifier: TypeModifier::NONE,
            origin: None,
        }])
    }

    pub(super) async fn setting(
        &mut self,
        statement: &Statement,
        sink: &mut impl Sink,
    ) -> Result<()> {
        match statement {
            Statement::ShowVariable { variable } => {
                let value = self.shows(&shown_name(variable))?;
                let fields = self.shown(statement).unwrap_or_default();
                sink.fields(&fields)?;
                let catalog = self.changes.catalog();
                sink.row(&ResultRow {
                    fields: &fields,
                    values: &[Value::Text(&value)],
                    context: self.context(&catalog),
                })?;
                sink.complete(Tag::Word("SHOW"))
            }
            Statement::Set(Set::SingleAssignment {
                variable, values, ..
            }) => {
                let name = name::qualified(variable, &self.database.name)?.name;
                let values: Vec<String> = values.iter().map(written).collect();
                if let [value] = values.as_slice()
                    && value.eq_ignore_ascii_case("default")
                {
                    self.reset(&name)?;
                } else {
                    self.set(&name, &values.join(", "))?;
                }
                sink.complete(Tag::Word("SET"))
            }
            Statement::Set(Set::SetTimeZone { value, .. }) => {
                self.set("TimeZone", &written(value))?;
                sink.complete(Tag::Word("SET"))
            }
            Statement::Set(Set::SetNames { charset_name, .. }) => {
                self.set("client_encoding", &charset_name.value)?;
                sink.complete(Tag::Word("SET"))
            }
            Statement::Set(Set::SetTransaction {
                modes,
                session: false,
                ..
            }) => {
                self.set_modes(modes)?;
                sink.complete(Tag::Word("SET"))
            }
            Statement::Reset(reset) => {
                match &reset.reset {
                    Reset::ALL => {
                        let names: Vec<_> = self.values.0.keys().copied().collect();
                        names.into_iter().try_for_each(|name| self.reset(name))?;
                    }
                    Reset::ConfigurationParameter(name) => {
                        let name = name::qualified(name, &self.database.name)?.name;
                        self.reset(&name)?;
                    }
                }
                sink.complete(Tag::Word("RESET"))
            }
            other => Err(SqlError::unsupported(format_args!("{other}"))),
        }
    }

    fn reset(&mut self, name: &str) -> Result<()> {
        let (name, default) = known(name)?;
        self.set(name, default)?;
        self.values.0.remove(name);
        Ok(())
    }
}

fn shown_name(variable: &[ast::Ident]) -> String {
    match variable {
        [first, second]
            if first.value.eq_ignore_ascii_case("time")
                && second.value.eq_ignore_ascii_case("zone") =>
        {
            "TimeZone".to_owned()
        }
        _ => variable
            .iter()
            .map(|ident| ident.value.as_str())
            .collect::<Vec<_>>()
            .join("_"),
    }
}

/// A value as it was written, without quotes.
fn written(value: &ast::Expr) -> String {
    match value {
        ast::Expr::Value(value) => match &value.value {
            ast::Value::SingleQuotedString(text) => text.clone(),
            other => other.to_string(),
        },
        ast::Expr::Identifier(ident) => ident.value.clone(),
        other => other.to_string(),
    }
}
