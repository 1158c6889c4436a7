//! Binds and evaluates an expression, as an executor would.

use functions::{
    Body, CastContext, Context, Resolved, cast, common_type, resolve_function, resolve_operator,
};
use types::{Array, NoNames, Result, Scalar, SqlError, SqlState, Type, Value, compare::compare};

use super::parse::{Expression, Parser};

/// Returns the value and the type of an expression.
pub(crate) fn evaluate<'a>(
    context: &Context<'a>,
    expression: &Expression,
) -> Result<(Value<'a>, Type)> {
    match expression {
        Expression::Literal(None) => Ok((Value::Null, Type::Unknown)),
        Expression::Literal(Some(text)) => {
            Ok((Value::Text(context.scratch.alloc_str(text)), Type::Unknown))
        }
        Expression::Cast(operand, name) => {
            let operand = evaluate(context, operand)?;
            let ty = named(name);
            Ok((convert(context, operand, ty, CastContext::Explicit)?, ty))
        }
        Expression::Prefix(symbol, operand) => {
            let operand = evaluate(context, operand)?;
            let resolved = resolve_operator(symbol, None, operand.1, &NoNames)?;
            call(context, &resolved, &[operand])
        }
        Expression::Binary(symbol, left, right) => {
            let operands = [evaluate(context, left)?, evaluate(context, right)?];
            let (left, right) = (operands[0].1, operands[1].1);
            let resolved = resolve_operator(symbol, Some(left), right, &NoNames)?;
            call(context, &resolved, &operands)
        }
        Expression::Call(name, arguments) => {
            let arguments = all(context, arguments)?;
            if name == "coalesce" || name == "greatest" || name == "least" {
                let types: Vec<_> = arguments.iter().map(|argument| argument.1).collect();
                let ty = common_type(&types, &name.to_uppercase(), &NoNames)?;
                let value = match arguments.iter().find(|argument| !argument.0.is_null()) {
                    Some(first) => convert(context, *first, ty, CastContext::Implicit)?,
                    None => Value::Null,
                };
                return Ok((value, ty));
            }
            let types: Vec<_> = arguments.iter().map(|argument| argument.1).collect();
            let resolved = resolve_function(name, &types, false, &NoNames)?;
            call(context, &resolved, &arguments)
        }
    }
}

fn named(name: &str) -> Type {
    if name == "\"char\"" {
        return Type::Scalar(Scalar::Char);
    }
    Type::named(name).unwrap_or_else(|| panic!("a type called {name}"))
}

fn all<'a>(context: &Context<'a>, arguments: &[Expression]) -> Result<Vec<(Value<'a>, Type)>> {
    arguments
        .iter()
        .map(|argument| evaluate(context, argument))
        .collect()
}

fn convert<'a>(
    context: &Context<'a>,
    (value, from): (Value<'a>, Type),
    to: Type,
    asked: CastContext,
) -> Result<Value<'a>> {
    match cast(from, to, asked) {
        Some(cast) => cast.apply(context, value),
        None => Err(SqlError::new(
            SqlState::CANNOT_COERCE,
            format!(
                "cannot cast type {} to {}",
                from.name(&NoNames),
                to.name(&NoNames)
            ),
        )),
    }
}

/// Returns the arguments as the function wants them.
fn prepared<'a>(
    context: &Context<'a>,
    resolved: &Resolved,
    arguments: &[(Value<'a>, Type)],
) -> Result<Vec<Value<'a>>> {
    let mut values = Vec::new();
    for (argument, ty) in arguments.iter().zip(&resolved.arguments) {
        values.push(convert(context, *argument, *ty, CastContext::Implicit)?);
    }
    if let Some((from, element)) = resolved.gather {
        let gathered = Array::of(element, &values[from..], context.scratch)?;
        values.truncate(from);
        values.push(Value::Array(gathered));
    }
    Ok(values)
}

fn with_types<'a>(context: &Context<'a>, resolved: &Resolved) -> Context<'a> {
    Context {
        argument_types: context.scratch.alloc_slice_copy(&resolved.arguments),
        ..*context
    }
}

fn call<'a>(
    context: &Context<'a>,
    resolved: &Resolved,
    arguments: &[(Value<'a>, Type)],
) -> Result<(Value<'a>, Type)> {
    let values = prepared(context, resolved, arguments)?;
    let Body::Scalar(body) = resolved.function.body else {
        return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, "a set"));
    };
    let value = if resolved.function.strict && values.iter().any(Value::is_null) {
        Value::Null
    } else {
        body(&with_types(context, resolved), &values)?
    };
    Ok((value, resolved.result))
}

/// Returns type and text of a value in the form of the files.
pub(crate) fn display(context: &Context<'_>, value: Value<'_>, ty: Type) -> Result<String> {
    // A literal of no type is text in the end.
    let ty = if ty == Type::Unknown {
        Type::Scalar(Scalar::Text)
    } else {
        ty
    };
    let name = ty.name(&NoNames);
    if value.is_null() {
        return Ok(format!("{name} NULL"));
    }
    let text = text(context, value, ty)?;
    let quoted = text.replace('\'', "''").replace('\\', "\\\\");
    let escape = if text.contains('\\') { "E" } else { "" };
    Ok(format!("{name} {escape}'{quoted}'"))
}

/// Returns the text of `value::text`.
fn text(context: &Context<'_>, value: Value<'_>, ty: Type) -> Result<String> {
    let settings = types::Context {
        settings: context.settings,
        names: context.environment.names(),
        now: context.environment.transaction_time(),
    };
    let mut out = Vec::new();
    match value {
        Value::Bool(value) => return Ok(value.to_string()),
        Value::Text(text) if ty == Type::Scalar(Scalar::Bpchar) => {
            return Ok(text.trim_end_matches(' ').to_owned());
        }
        value => types::text::write(value, ty, &settings, &mut out)?,
    }
    Ok(String::from_utf8(out).expect("text is UTF-8"))
}

/// Returns the texts of the rows of a set, as an array.
pub(crate) fn evaluate_rows(context: &Context<'_>, expression: &Expression) -> Result<String> {
    let Expression::Call(name, arguments) = expression else {
        panic!("rows of a call");
    };
    let arguments = all(context, arguments)?;
    let types: Vec<_> = arguments.iter().map(|argument| argument.1).collect();
    let resolved = resolve_function(name, &types, false, &NoNames)?;
    let Body::Set(body) = resolved.function.body else {
        panic!("{name} is no set");
    };
    let values = prepared(context, &resolved, &arguments)?;
    let mut texts = Vec::new();
    if !(resolved.function.strict && values.iter().any(Value::is_null)) {
        for value in body(&with_types(context, &resolved), &values)? {
            texts.push(match value? {
                Value::Null => Value::Null,
                value => {
                    let text = text(context, value, resolved.result)?;
                    Value::Text(context.scratch.alloc_str(&text))
                }
            });
        }
    }
    let array = Array::of(Scalar::Text, &texts, context.scratch)?;
    text(context, Value::Array(array), Type::Array(Scalar::Text))
}

/// Evaluates a call over arrays that stand for columns `a` and `b`.
pub(crate) fn evaluate_aggregate(
    context: &Context<'_>,
    call: &str,
    arrays: &[Expression],
) -> Result<String> {
    let (direct, ordered) = match call.split_once(" within group") {
        Some((direct, _)) => (direct, true),
        None => (call, false),
    };
    let (name, inside) = direct
        .strip_suffix(')')
        .and_then(|direct| direct.split_once('('))
        .expect("a call");
    let direct = match ordered {
        true => all(context, &Parser::new(inside).list())?,
        false => Vec::new(),
    };
    let mut columns = Vec::new();
    let mut types: Vec<Type> = direct.iter().map(|argument| argument.1).collect();
    for array in all(context, arrays)? {
        let (Value::Array(values), Type::Array(element)) = array else {
            panic!("an array");
        };
        let mut column = values.iter().collect::<Result<Vec<_>>>()?;
        if ordered {
            column.sort_by(|one, two| compare(*one, *two));
        }
        columns.push(column);
        types.push(Type::Scalar(element));
    }
    if inside == "*" {
        types.clear();
    }
    let resolved = resolve_function(name, &types, false, &NoNames)?;
    let Body::Aggregate(aggregate) = resolved.function.body else {
        panic!("{name} is no aggregate");
    };
    let context = &with_types(context, &resolved);
    let mut state = (aggregate.start)();
    for row in 0..columns[0].len() {
        let mut values = Vec::new();
        for (column, ty) in columns.iter().zip(&types[direct.len().min(types.len())..]) {
            let position = direct.len() + values.len();
            let to = resolved.arguments[position];
            values.push(convert(
                context,
                (column[row], *ty),
                to,
                CastContext::Implicit,
            )?);
        }
        if resolved.function.strict && values.iter().any(Value::is_null) {
            continue;
        }
        (aggregate.accumulate)(context, &mut state, &values)?;
    }
    let mut direct_values = Vec::new();
    for (argument, ty) in direct.iter().zip(&resolved.arguments) {
        direct_values.push(convert(context, *argument, *ty, CastContext::Implicit)?);
    }
    let value = (aggregate.finish)(context, &state, &direct_values)?;
    display(context, value, resolved.result)
}
