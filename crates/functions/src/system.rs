//! Functions about the session and about types, and others.

use types::{Result, Scalar, SqlError, SqlState, Type, TypeModifier, Value};

use crate::{
    Context,
    argument::{Oid, take},
    function::{BOOL, Function, INT4, NAME, NAMES, OID, Parameter, REGTYPE, TEXT, UUID, entry},
};

fn type_of<'a>(context: &Context<'a>, _: &[Value<'a>]) -> Result<Value<'a>> {
    Ok(Value::Oid(context.argument_type(0).oid()))
}

fn format_type<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let Some(Oid(oid)) = take::<Option<Oid>>(arguments, 0)? else {
        return Ok(Value::Null);
    };
    let modifier = take::<Option<i32>>(arguments, 1)?.unwrap_or(-1);
    if oid == 0 {
        return Ok(Value::Text("-"));
    }
    let names = context.environment.names();
    let text = match Type::from_oid(oid) {
        Some(ty) => ty.format(TypeModifier(modifier), names),
        None => names
            .enum_name(types::EnumId(oid))
            .map_or_else(|| "???".to_owned(), str::to_owned),
    };
    Ok(Value::Text(context.text(&text)))
}

fn schemas<'a>(context: &Context<'a>, implicit: bool) -> Result<types::Array<'a>> {
    let all = context.environment.schemas(implicit).into_iter();
    let all: Vec<Value<'_>> = all.map(Value::Text).collect();
    types::Array::of(Scalar::Name, &all, context.scratch)
}

/// Returns a UUID of version 4: random, of the operating system's source.
fn random_uuid<'a>(context: &Context<'a>) -> Result<&'a [u8; 16]> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        SqlError::new(
            SqlState::INTERNAL_ERROR,
            format!("could not generate random values: {error}"),
        )
    })?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    Ok(context.scratch.alloc(bytes))
}

fn type_name<'a>(context: &Context<'a>, name: &str) -> Option<Oid> {
    if let Some(ty) = Type::named(name) {
        return Some(Oid(ty.oid()));
    }
    let id = context.environment.names().enum_named(name)?;
    Some(Oid(id.0))
}

/// Returns the value of a setting; NULL if there is none and the second argument
/// allows it.
fn setting<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let name: &str = take(arguments, 0)?;
    let may_be_missing = arguments.len() == 2 && take(arguments, 1)?;
    match context.environment.setting(name) {
        Some(value) => Ok(Value::Text(context.text(&value))),
        None if may_be_missing => Ok(Value::Null),
        None => Err(SqlError::new(
            SqlState::UNDEFINED_OBJECT,
            format!("unrecognized configuration parameter \"{name}\""),
        )),
    }
}

fn set_setting<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let Some(name) = take::<Option<&str>>(arguments, 0)? else {
        return Err(SqlError::new(
            SqlState::NULL_VALUE_NOT_ALLOWED,
            "SET requires parameter name",
        ));
    };
    let value = take::<Option<&str>>(arguments, 1)?.unwrap_or("");
    let local = take::<Option<bool>>(arguments, 2)?.unwrap_or(false);
    context.environment.set_setting(name, value, local)?;
    let shown = context.environment.setting(name);
    Ok(shown.map_or(Value::Null, |shown| Value::Text(context.text(&shown))))
}

fn version<'a>(context: &Context<'a>) -> &'a str {
    context.environment.version()
}

fn database<'a>(context: &Context<'a>) -> &'a str {
    context.environment.database()
}

fn schema<'a>(context: &Context<'a>) -> Option<&'a str> {
    context.environment.schema()
}

fn current_user<'a>(context: &Context<'a>) -> &'a str {
    context.environment.current_user()
}

fn session_user<'a>(context: &Context<'a>) -> &'a str {
    context.environment.session_user()
}

fn process_id(context: &Context<'_>) -> i32 {
    context.environment.process_id()
}

pub(crate) static FUNCTIONS: &[Function] = &[
    entry!("version"() -> TEXT, in context version).stable(),
    entry!("current_database"() -> NAME, in context database).stable(),
    entry!("current_catalog"() -> NAME, in context database).stable(),
    entry!("current_schema"() -> NAME, in context schema).stable(),
    entry!("current_schemas"(BOOL) -> NAMES, in context schemas).stable(),
    entry!("current_user"() -> NAME, in context current_user).stable(),
    entry!("current_role"() -> NAME, in context current_user).stable(),
    entry!("user"() -> NAME, in context current_user).stable(),
    entry!("session_user"() -> NAME, in context session_user).stable(),
    entry!("pg_backend_pid"() -> INT4, in context process_id).stable(),
    entry!("gen_random_uuid"() -> UUID, in context random_uuid).volatile(),
    entry!("to_regtype"(TEXT) -> REGTYPE, in context type_name).stable(),
    Function::scalar("current_setting", &[TEXT, BOOL], TEXT, setting)
        .optional(1)
        .stable(),
    Function::scalar("set_config", &[TEXT, TEXT, BOOL], TEXT, set_setting)
        .lenient()
        .volatile(),
    entry!("getdatabaseencoding"() -> NAME, || "UTF8").stable(),
    Function::scalar("pg_typeof", &[Parameter::Any], REGTYPE, type_of)
        .lenient()
        .stable()
        .typed(),
    Function::scalar("format_type", &[OID, INT4], TEXT, format_type)
        .lenient()
        .stable(),
];
