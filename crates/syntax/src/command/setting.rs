//! SET, SHOW, RESET and DISCARD.

use sqlparser::tokenizer::Token;
use types::{
    IntervalFields, Result, Scalar, SqlError, SqlState, TimeZone, Type, TypeModifier, Value,
};

use super::{Command, Reader, transaction::modes};
use crate::reserved::NameKind;
use batch::OwnedValue;

/// How long a setting stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Until the session ends, if the transaction commits.
    Session,
    /// Until the transaction ends.
    Local,
}

/// The value that a setting is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Assigned {
    /// `DEFAULT`, or a form without a value, as `SET NAMES`: the setting is reset.
    Default,
    /// One value or several, without quotes.
    Values(Vec<String>),
}

pub(super) fn read(reader: &mut Reader<'_, '_>) -> Result<Option<Command>> {
    let command = if reader.sees(&["set", "constraints"])
        || reader.sees(&["set", "transaction", "snapshot"])
        || reader.sees(&["set", "local", "transaction", "snapshot"])
        || reader.sees(&["set", "session", "transaction", "snapshot"])
        || reader.sees(&["set", "xml", "option"])
    {
        return Ok(None);
    } else if reader.eat(&["set"]) {
        set(reader)?
    } else if reader.eat(&["show"]) {
        match reader.eat(&["all"]) {
            true => Command::ShowAll,
            false => Command::Show(variable(reader)?),
        }
    } else if reader.eat(&["reset"]) {
        match reader.eat(&["all"]) {
            true => Command::ResetAll,
            false => Command::Reset(variable(reader)?),
        }
    } else if reader.eat(&["discard"]) {
        if reader.eat(&["all"]) {
            Command::DiscardAll
        } else if reader.eat(&["plans"]) {
            Command::DiscardPlans
        } else if reader.eat(&["sequences"]) {
            Command::DiscardSequences
        } else if reader.eat(&["temp"]) || reader.eat(&["temporary"]) {
            Command::DiscardTemporary
        } else {
            return Err(reader.unexpected());
        }
    } else {
        return Ok(None);
    };
    Ok(Some(command))
}

fn set(reader: &mut Reader<'_, '_>) -> Result<Command> {
    let scopes: [(&[&str], Scope); 3] = [
        (&[], Scope::Session),
        (&["session"], Scope::Session),
        (&["local"], Scope::Local),
    ];
    for (before, scope) in scopes {
        if reader.eat(&[before, &["session", "characteristics"]].concat()) {
            reader.expect(&["as", "transaction"])?;
            let modes = some_modes(reader)?;
            return Ok(Command::SetCharacteristics { modes, scope });
        }
    }
    // The modes are those of this transaction, whatever scope is named.
    if reader.eat(&["transaction"])
        || reader.eat(&["local", "transaction"])
        || reader.eat(&["session", "transaction"])
    {
        return some_modes(reader).map(Command::SetTransaction);
    }
    let authorization = reader.eat(&["session", "authorization"])
        || reader.eat(&["session", "session", "authorization"]);
    let scope = match reader.eat(&["local"]) {
        true => Scope::Local,
        false => {
            reader.eat(&["session"]);
            Scope::Session
        }
    };
    let (name, value) = if authorization || reader.eat(&["session", "authorization"]) {
        ("session_authorization".to_owned(), one(reader)?)
    } else if reader.eat(&["role"]) {
        let value = match reader.sees(&["to"]) || reader.token() == Some(&Token::Eq) {
            true => assigned(reader)?,
            false => one(reader)?,
        };
        ("role".to_owned(), value)
    } else if reader.eat(&["time", "zone"]) {
        let value = if reader.eat(&["local"]) {
            Assigned::Default
        } else if reader.eat(&["interval"]) {
            distance(reader)?
        } else {
            one(reader)?
        };
        ("TimeZone".to_owned(), value)
    } else if reader.eat(&["schema"]) {
        let schema = reader.string().ok_or_else(|| reader.unexpected())?;
        ("search_path".to_owned(), Assigned::Values(vec![schema]))
    } else if reader.eat(&["names"]) {
        let value = match reader.token() {
            None => Assigned::Default,
            Some(_) => one(reader)?,
        };
        ("client_encoding".to_owned(), value)
    } else {
        (dotted(reader)?, assigned(reader)?)
    };
    Ok(Command::Set { name, scope, value })
}

fn some_modes(reader: &mut Reader<'_, '_>) -> Result<super::Modes> {
    match reader.token() {
        None => Err(reader.unexpected()),
        Some(_) => modes(reader),
    }
}

/// The name of a setting, with those of two words.
fn variable(reader: &mut Reader<'_, '_>) -> Result<String> {
    let words: [(&[&str], &str); 3] = [
        (&["time", "zone"], "TimeZone"),
        (
            &["transaction", "isolation", "level"],
            "transaction_isolation",
        ),
        (&["session", "authorization"], "session_authorization"),
    ];
    for (words, name) in words {
        if reader.eat(words) {
            return Ok(name.to_owned());
        }
    }
    dotted(reader)
}

fn dotted(reader: &mut Reader<'_, '_>) -> Result<String> {
    let mut name = reader.name()?;
    while reader.eat_token(&Token::Period) {
        name.push('.');
        name.push_str(&reader.name()?);
    }
    Ok(name)
}

fn assigned(reader: &mut Reader<'_, '_>) -> Result<Assigned> {
    if !reader.eat_token(&Token::Eq) {
        reader.expect(&["to"])?;
    }
    if reader.eat(&["default"]) {
        return Ok(Assigned::Default);
    }
    let mut values = vec![value(reader)?];
    while reader.eat_token(&Token::Comma) {
        values.push(value(reader)?);
    }
    Ok(Assigned::Values(values))
}

fn one(reader: &mut Reader<'_, '_>) -> Result<Assigned> {
    match reader.eat(&["default"]) {
        true => Ok(Assigned::Default),
        false => Ok(Assigned::Values(vec![value(reader)?])),
    }
}

/// `'-03:30' hour to minute`: a time zone by how far it is from Greenwich.
fn distance(reader: &mut Reader<'_, '_>) -> Result<Assigned> {
    let text = reader.string().ok_or_else(|| reader.unexpected())?;
    let modifier = if reader.eat(&["hour", "to", "minute"]) {
        TypeModifier::interval(IntervalFields::HourToMinute, None)?
    } else if reader.eat(&["hour"]) {
        TypeModifier::interval(IntervalFields::Hour, None)?
    } else {
        TypeModifier::NONE
    };
    let value = OwnedValue::parse_fitted(&text, Type::Scalar(Scalar::Interval), modifier)?;
    let Value::Interval(interval) = value.value() else {
        return Err(reader.unexpected());
    };
    let part = match (interval.months, interval.days) {
        (0, 0) => None,
        (0, _) => Some("days"),
        _ => Some("months"),
    };
    if let Some(part) = part {
        let message = format!("invalid value for parameter \"TimeZone\": \"INTERVAL '{text}'\"");
        let error = SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message);
        return Err(error.detail(format!("Cannot specify {part} in time zone interval.")));
    }
    let seconds = i32::try_from(interval.microseconds / 1_000_000).unwrap_or(i32::MAX);
    let zone = TimeZone::fixed(seconds);
    Ok(Assigned::Values(vec![zone.name().to_owned()]))
}

fn value(reader: &mut Reader<'_, '_>) -> Result<String> {
    if let Some(text) = reader.string() {
        return Ok(text);
    }
    match reader.number() {
        Some(number) => Ok(number),
        None => word(reader),
    }
}

/// A word that a setting is set to: of those that are reserved, the ones that settings of two values have.
fn word(reader: &mut Reader<'_, '_>) -> Result<String> {
    let values = ["true", "false", "on"];
    match values.iter().find(|value| reader.eat(&[value])) {
        Some(value) => Ok((*value).to_owned()),
        None => reader.name_of(NameKind::Role),
    }
}
