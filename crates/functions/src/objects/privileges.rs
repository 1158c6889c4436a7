//! Privileges: every role has every privilege on existing objects.

use types::{Result, SqlError, SqlState, Value};

use super::ObjectClass;
use crate::{
    Context, Function,
    function::{BOOL, INT2, NAME, OID, TEXT},
};

/// Returns the privileges that may be asked for on objects of a class.
fn privileges(class: ObjectClass) -> &'static [&'static str] {
    match class {
        ObjectClass::Relation => &[
            "SELECT",
            "INSERT",
            "UPDATE",
            "DELETE",
            "TRUNCATE",
            "REFERENCES",
            "TRIGGER",
            "RULE",
            "USAGE",
        ],
        ObjectClass::Schema => &["CREATE", "USAGE"],
        ObjectClass::Database => &["CREATE", "CONNECT", "TEMPORARY", "TEMP"],
        ObjectClass::Role => &["MEMBER", "USAGE"],
        ObjectClass::Routine => &["EXECUTE"],
        _ => &["USAGE", "CREATE"],
    }
}

fn check(class: ObjectClass, asked: &str) -> Result<()> {
    for privilege in asked.split(',') {
        let word = privilege.trim().to_ascii_uppercase();
        let plain = word.strip_suffix(" WITH GRANT OPTION").unwrap_or(&word);
        let plain = plain.strip_suffix(" WITH ADMIN OPTION").unwrap_or(plain);
        if !privileges(class).contains(&plain) {
            let message = format!("unrecognized privilege type: \"{}\"", privilege.trim());
            return Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
    }
    Ok(())
}

fn noun(class: ObjectClass) -> (SqlState, &'static str) {
    match class {
        ObjectClass::Relation => (SqlState::UNDEFINED_TABLE, "relation"),
        ObjectClass::Schema => (SqlState::INVALID_SCHEMA_NAME, "schema"),
        ObjectClass::Database => (SqlState::INVALID_CATALOG_NAME, "database"),
        ObjectClass::Role => (SqlState::UNDEFINED_OBJECT, "role"),
        ObjectClass::Routine => (SqlState::UNDEFINED_FUNCTION, "function"),
        _ => (SqlState::UNDEFINED_OBJECT, "object"),
    }
}

/// Returns true if an object exists; otherwise NULL by number, an error by name.
fn allowed<'a>(
    context: &Context<'a>,
    class: ObjectClass,
    object: Value<'a>,
    privilege: Value<'a>,
) -> Result<Value<'a>> {
    if let Value::Text(privilege) = privilege {
        check(class, privilege)?;
    }
    let objects = context.environment.objects();
    match object {
        Value::Oid(oid) if objects.exists(class, oid) => Ok(Value::Bool(true)),
        Value::Text(name) if objects.named(class, name).is_some() => Ok(Value::Bool(true)),
        Value::Text(name) => {
            let (state, noun) = noun(class);
            Err(SqlError::new(
                state,
                format!("{noun} \"{name}\" does not exist"),
            ))
        }
        _ => Ok(Value::Null),
    }
}

/// Answers a call; the object is the first argument, or the second after a role; the
/// privilege comes last.
fn asked<'a>(
    context: &Context<'a>,
    class: ObjectClass,
    arguments: &[Value<'a>],
    with_role: bool,
) -> Result<Value<'a>> {
    if with_role && matches!(arguments.first(), Some(Value::Text(name)) if *name != "public") {
        allowed(context, ObjectClass::Role, arguments[0], Value::Null)?;
    }
    let argument = |at: usize| arguments.get(at).copied().unwrap_or(Value::Null);
    let privilege = argument(arguments.len().saturating_sub(1));
    allowed(context, class, argument(usize::from(with_role)), privilege)
}

/// Defines `has_..._privilege` in all its forms: with a role before the object or without.
macro_rules! forms {
    ($name:literal, $class:ident, [$($parameter:expr),*]) => {
        &[
            forms!(@ $name, $class, false, [TEXT $(, $parameter)*]),
            forms!(@ $name, $class, false, [OID $(, $parameter)*]),
            forms!(@ $name, $class, true, [NAME, TEXT $(, $parameter)*]),
            forms!(@ $name, $class, true, [NAME, OID $(, $parameter)*]),
            forms!(@ $name, $class, true, [OID, TEXT $(, $parameter)*]),
            forms!(@ $name, $class, true, [OID, OID $(, $parameter)*]),
        ]
    };
    (@ $name:literal, $class:ident, $with_role:literal, [$($parameter:expr),*]) => {
        Function::scalar($name, &[$($parameter),*], BOOL, |context, arguments| {
            asked(context, ObjectClass::$class, arguments, $with_role)
        })
        .stable()
    };
}

pub(crate) static FUNCTIONS: &[&[Function]] = &[
    forms!("has_table_privilege", Relation, [TEXT]),
    forms!("has_sequence_privilege", Relation, [TEXT]),
    forms!("has_any_column_privilege", Relation, [TEXT]),
    forms!("has_column_privilege", Relation, [TEXT, TEXT]),
    forms!("has_column_privilege", Relation, [INT2, TEXT]),
    forms!("has_schema_privilege", Schema, [TEXT]),
    forms!("has_database_privilege", Database, [TEXT]),
    forms!("has_function_privilege", Routine, [TEXT]),
    forms!("has_type_privilege", Type, [TEXT]),
    forms!("pg_has_role", Role, [TEXT]),
];
