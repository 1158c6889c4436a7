//! Texts as identifiers and literals of SQL.

use std::borrow::Cow;

use types::{Result, Sink, Value};

use crate::{
    Context,
    argument::take,
    function::{Function, Parameter, TEXT, entry},
};

/// Words that cannot be identifiers without quotes, in order: PostgreSQL 15's appendix C, except
/// the unreserved ones.
const KEYWORDS: &[&str] = &[
    "all",
    "analyse",
    "analyze",
    "and",
    "any",
    "array",
    "as",
    "asc",
    "asymmetric",
    "authorization",
    "between",
    "bigint",
    "binary",
    "bit",
    "boolean",
    "both",
    "case",
    "cast",
    "char",
    "character",
    "check",
    "coalesce",
    "collate",
    "collation",
    "column",
    "concurrently",
    "constraint",
    "create",
    "cross",
    "current_catalog",
    "current_date",
    "current_role",
    "current_schema",
    "current_time",
    "current_timestamp",
    "current_user",
    "dec",
    "decimal",
    "default",
    "deferrable",
    "desc",
    "distinct",
    "do",
    "else",
    "end",
    "except",
    "exists",
    "extract",
    "false",
    "fetch",
    "float",
    "for",
    "foreign",
    "freeze",
    "from",
    "full",
    "grant",
    "greatest",
    "group",
    "grouping",
    "having",
    "ilike",
    "in",
    "initially",
    "inner",
    "inout",
    "int",
    "integer",
    "intersect",
    "interval",
    "into",
    "is",
    "isnull",
    "join",
    "lateral",
    "leading",
    "least",
    "left",
    "like",
    "limit",
    "localtime",
    "localtimestamp",
    "national",
    "natural",
    "nchar",
    "none",
    "normalize",
    "not",
    "notnull",
    "null",
    "nullif",
    "numeric",
    "offset",
    "on",
    "only",
    "or",
    "order",
    "out",
    "outer",
    "overlaps",
    "overlay",
    "placing",
    "position",
    "precision",
    "primary",
    "real",
    "references",
    "returning",
    "right",
    "row",
    "select",
    "session_user",
    "setof",
    "similar",
    "smallint",
    "some",
    "substring",
    "symmetric",
    "table",
    "tablesample",
    "then",
    "time",
    "timestamp",
    "to",
    "trailing",
    "treat",
    "trim",
    "true",
    "union",
    "unique",
    "user",
    "using",
    "values",
    "varchar",
    "variadic",
    "verbose",
    "when",
    "where",
    "window",
    "with",
    "xmlattributes",
    "xmlconcat",
    "xmlelement",
    "xmlexists",
    "xmlforest",
    "xmlnamespaces",
    "xmlparse",
    "xmlpi",
    "xmlroot",
    "xmlserialize",
    "xmltable",
];

fn needs_quotes(name: &str) -> bool {
    let mut bytes = name.bytes();
    let plain = bytes
        .next()
        .is_some_and(|first| first.is_ascii_lowercase() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    !plain || KEYWORDS.binary_search(&name).is_ok()
}

/// Appends a name, in quotes if it needs them.
pub fn write_identifier(name: &str, out: &mut impl Sink) {
    out.put(quoted_identifier(name).as_bytes());
}

/// Returns a name in SQL's spelling: in quotes if it needs them.
pub fn quoted_identifier(name: &str) -> Cow<'_, str> {
    match needs_quotes(name) {
        true => Cow::Owned(format!("\"{}\"", name.replace('"', "\"\""))),
        false => Cow::Borrowed(name),
    }
}

/// Appends a literal; backslashes make it one of the form `E'...'`.
pub(crate) fn write_literal(text: &str, out: &mut impl Sink) {
    let escapes = text.contains('\\');
    if escapes {
        out.put_byte(b'E');
    }
    out.put_byte(b'\'');
    for byte in text.bytes() {
        if byte == b'\'' || byte == b'\\' {
            out.put_byte(byte);
        }
        out.put_byte(byte);
    }
    out.put_byte(b'\'');
}

/// Returns a text as a literal of SQL.
pub fn quoted_literal(text: &str) -> String {
    let mut out = Vec::new();
    write_literal(text, &mut out);
    // Only ASCII was put around it and into it.
    String::from_utf8(out).unwrap_or_default()
}

fn quote_identifier<'a>(context: &Context<'a>, name: &'a str) -> Result<&'a str> {
    if !needs_quotes(name) {
        return Ok(name);
    }
    let mut out = bumpalo::collections::Vec::new_in(context.scratch);
    write_identifier(name, &mut out);
    context.finish_text(out)
}

fn quote_literal<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let value: Value<'a> = take(arguments, 0)?;
    if value.is_null() {
        return Ok(Value::Text("NULL"));
    }
    let text = match value {
        Value::Text(text) => text,
        value => context.text_of(value, context.argument_type(0))?,
    };
    let mut out = bumpalo::collections::Vec::new_in(context.scratch);
    write_literal(text, &mut out);
    context.finish_text(out).map(Value::Text)
}

pub(crate) static FUNCTIONS: &[Function] = &[
    entry!("quote_ident"(TEXT) -> TEXT, in context quote_identifier),
    Function::scalar("quote_literal", &[TEXT], TEXT, quote_literal),
    Function::scalar(
        "quote_literal",
        &[Parameter::AnyElement],
        TEXT,
        quote_literal,
    )
    .stable()
    .typed(),
    Function::scalar("quote_nullable", &[TEXT], TEXT, quote_literal).lenient(),
    Function::scalar(
        "quote_nullable",
        &[Parameter::AnyElement],
        TEXT,
        quote_literal,
    )
    .lenient()
    .stable()
    .typed(),
];
