//! Definitions of objects, and comments on them.

use types::Value;

use super::{BETWEEN_FORMS, ObjectClass};
use crate::{
    Context, Function,
    argument::Oid,
    function::{BOOL, INT4, NAME, OID, TEXT, entry},
};

fn index<'a>(context: &Context<'a>, Oid(oid): Oid) -> Option<&'a str> {
    let text = context
        .environment
        .objects()
        .index_definition(oid, None, false)?;
    Some(context.text(&text))
}

fn index_column<'a>(
    context: &Context<'a>,
    Oid(oid): Oid,
    column: i32,
    pretty: bool,
) -> Option<&'a str> {
    let column = u32::try_from(column).ok()?;
    let objects = context.environment.objects();
    let text = objects.index_definition(oid, (column > 0).then_some(column), pretty)?;
    Some(context.text(&text))
}

fn constraint<'a>(context: &Context<'a>, Oid(oid): Oid, pretty: bool) -> Option<&'a str> {
    let objects = context.environment.objects();
    let text = objects.constraint_definition(oid, pretty)?;
    Some(context.text(&text))
}

fn statistics<'a>(context: &Context<'a>, Oid(oid): Oid, only_columns: bool) -> Option<&'a str> {
    let objects = context.environment.objects();
    let text = objects.statistics_definition(oid, only_columns)?;
    Some(context.text(&text))
}

fn view<'a>(context: &Context<'a>, Oid(oid): Oid) -> Option<&'a str> {
    let text = context.environment.objects().view_definition(oid)?;
    Some(context.text(&text))
}

fn view_named<'a>(context: &Context<'a>, name: &str) -> Option<&'a str> {
    let found = context
        .environment
        .objects()
        .named(ObjectClass::Relation, name)?;
    view(context, Oid(found))
}

fn parameters<'a>(context: &Context<'a>, Oid(oid): Oid) -> Option<&'a str> {
    let (parameters, _) = context.environment.objects().signature(oid)?;
    Some(context.text(&parameters))
}

fn result<'a>(context: &Context<'a>, Oid(oid): Oid) -> Option<&'a str> {
    let (_, result) = context.environment.objects().signature(oid)?;
    Some(context.text(&result))
}

fn user<'a>(context: &Context<'a>, Oid(oid): Oid) -> &'a str {
    match context.environment.objects().role_name(oid) {
        Some(name) => name,
        None => context.text(&format!("unknown (OID={oid})")),
    }
}

fn serial_sequence<'a>(
    context: &Context<'a>,
    table: &str,
    column: &str,
) -> types::Result<Option<&'a str>> {
    let found = context
        .environment
        .objects()
        .owned_sequence(table, column)?;
    Ok(found.map(|name| context.text(&name)))
}

fn comment<'a>(
    context: &Context<'a>,
    Oid(oid): Oid,
    catalog: Option<&str>,
    column: i32,
) -> Option<&'a str> {
    context.environment.objects().comment(catalog, oid, column)
}

/// Defines a function about objects that do not exist here.
macro_rules! nothing {
    ($name:literal ($($parameter:expr),*) -> $result:expr) => {
        Function::scalar($name, &[$($parameter),*], $result, |_, _| Ok(Value::Null)).stable()
    };
}

pub(super) static FUNCTIONS: &[Function] = &[
    entry!("pg_get_indexdef"(OID) -> TEXT, in context index).stable(),
    entry!("pg_get_indexdef"(OID, INT4, BOOL) -> TEXT, in context index_column).stable(),
    entry!("pg_get_constraintdef"(OID) -> TEXT, in context |context, oid| {
        constraint(context, oid, false)
    })
    .stable(),
    entry!("pg_get_constraintdef"(OID, BOOL) -> TEXT, in context constraint).stable(),
    entry!("pg_get_viewdef"(OID) -> TEXT, in context view).stable(),
    entry!("pg_get_viewdef"(OID, BOOL) -> TEXT, in context |context, oid, _: bool| {
        view(context, oid)
    })
    .stable(),
    entry!("pg_get_viewdef"(OID, INT4) -> TEXT, in context |context, oid, _: i32| {
        view(context, oid)
    })
    .stable(),
    entry!("pg_get_viewdef"(TEXT) -> TEXT, in context view_named).stable(),
    entry!("pg_get_viewdef"(TEXT, BOOL) -> TEXT, in context |context, name, _: bool| {
        view_named(context, name)
    })
    .stable(),
    entry!("pg_get_expr"(TEXT, OID) -> TEXT, expression).stable(),
    entry!("pg_get_expr"(TEXT, OID, BOOL) -> TEXT, pretty_expression).stable(),
    entry!("pg_get_userbyid"(OID) -> NAME, in context user).stable(),
    entry!("pg_get_serial_sequence"(TEXT, TEXT) -> TEXT, in context serial_sequence).stable(),
    entry!("pg_get_function_arguments"(OID) -> TEXT, in context parameters).stable(),
    entry!("pg_get_function_identity_arguments"(OID) -> TEXT, in context parameters).stable(),
    entry!("pg_get_function_result"(OID) -> TEXT, in context result).stable(),
    nothing!("pg_get_functiondef"(OID) -> TEXT),
    nothing!("pg_get_function_sqlbody"(OID) -> TEXT),
    nothing!("pg_get_ruledef"(OID) -> TEXT),
    nothing!("pg_get_ruledef"(OID, BOOL) -> TEXT),
    nothing!("pg_get_triggerdef"(OID) -> TEXT),
    nothing!("pg_get_triggerdef"(OID, BOOL) -> TEXT),
    entry!("pg_get_statisticsobjdef"(OID) -> TEXT, in context |context, oid| {
        statistics(context, oid, false)
    })
    .stable(),
    entry!("pg_get_statisticsobjdef_columns"(OID) -> TEXT, in context |context, oid| {
        statistics(context, oid, true)
    })
    .stable(),
    nothing!("pg_get_partkeydef"(OID) -> TEXT),
    nothing!("pg_get_partition_constraintdef"(OID) -> TEXT),
    entry!("obj_description"(OID) -> TEXT, in context |context, oid| {
        comment(context, oid, None, 0)
    })
    .stable(),
    entry!("obj_description"(OID, NAME) -> TEXT, in context |context, oid, catalog| {
        comment(context, oid, Some(catalog), 0)
    })
    .stable(),
    entry!("col_description"(OID, INT4) -> TEXT, in context |context, oid, column| {
        comment(context, oid, Some("pg_class"), column)
    })
    .stable(),
    entry!("shobj_description"(OID, NAME) -> TEXT, in context |context, oid, catalog| {
        comment(context, oid, Some(catalog), 0)
    })
    .stable(),
];

fn expression(text: &str, _: Oid) -> &str {
    text.split_once(BETWEEN_FORMS)
        .map_or(text, |(plain, _)| plain)
}

fn pretty_expression(text: &str, relation: Oid, pretty: bool) -> &str {
    match text.split_once(BETWEEN_FORMS) {
        Some((_, form)) if pretty => form,
        _ => expression(text, relation),
    }
}
