//! Arrays made of others.

use types::{Array, Result, SqlError, SqlState, Value, array::Dimension, compare::compare};

use super::{element_of, elements, only_one_dimension, reshaped, room_for};
use crate::{
    Context,
    argument::take,
    function::{Chain, Function, INT4, INT4S, Parameter},
};

const COMPATIBLE: Parameter = Parameter::AnyCompatible;
const COMPATIBLES: Parameter = Parameter::AnyCompatibleArray;

fn incompatible(detail: &'static str) -> SqlError {
    SqlError::new(
        SqlState::ARRAY_SUBSCRIPT_ERROR,
        "cannot concatenate incompatible arrays",
    )
    .detail(detail)
}

/// Returns an array of one dimension with elements put at one of its ends.
fn extended<'a>(
    context: &Context<'a>,
    array: Option<Array<'a>>,
    new: &[Value<'a>],
    at_end: bool,
    array_position: usize,
) -> Result<Value<'a>> {
    let scalar = element_of(context, array_position)?;
    let (mut values, lower) = match array {
        None => (Vec::new(), 1),
        Some(array) => {
            let mut dimensions = array.dimensions();
            let lower = dimensions.next().map_or(1, |dimension| dimension.lower);
            if dimensions.next().is_some() {
                return Err(SqlError::new(
                    SqlState::DATA_EXCEPTION,
                    "argument must be empty or one-dimensional array",
                ));
            }
            (elements(context, array)?, lower)
        }
    };
    let at = if at_end { values.len() } else { 0 };
    values.splice(at..at, new.iter().copied());
    let dimension = Dimension {
        length: values.len() as u32,
        lower,
    };
    Array::build(scalar, &[dimension], &values, context.scratch).map(Value::Array)
}

/// Appends any number of elements to an array.
pub(crate) fn append<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let new = arguments.get(1..).unwrap_or_default();
    extended(context, take(arguments, 0)?, new, true, 0)
}

fn prepend<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    extended(context, take(arguments, 1)?, &arguments[..1], false, 1)
}

/// Concatenates arrays; an array of one dimension less is an element of the other.
fn concatenate<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let (left, right): (Option<Array<'a>>, Option<Array<'a>>) =
        (take(arguments, 0)?, take(arguments, 1)?);
    let (left, right) = match (left, right) {
        (None, None) => return Ok(Value::Null),
        (Some(one), None) | (None, Some(one)) => return Ok(Value::Array(one)),
        (Some(left), Some(right)) => (left, right),
    };
    let of_left: Vec<Dimension> = left.dimensions().collect();
    let of_right: Vec<Dimension> = right.dimensions().collect();
    if of_left.is_empty() {
        return Ok(Value::Array(right));
    }
    if of_right.is_empty() {
        return Ok(Value::Array(left));
    }
    let lengths = |dimensions: &[Dimension]| {
        dimensions
            .iter()
            .map(|dimension| dimension.length)
            .collect::<Vec<_>>()
    };
    let mut result;
    if of_left.len() == of_right.len() {
        if lengths(&of_left[1..]) != lengths(&of_right[1..]) {
            return Err(incompatible(
                "Arrays with differing element dimensions are not compatible for concatenation.",
            ));
        }
        result = of_left.clone();
        result[0].length += of_right[0].length;
    } else if of_left.len() == of_right.len() + 1 {
        if lengths(&of_left[1..]) != lengths(&of_right) {
            return Err(incompatible(
                "Arrays with differing dimensions are not compatible for concatenation.",
            ));
        }
        result = of_left.clone();
        result[0].length += 1;
    } else if of_left.len() + 1 == of_right.len() {
        if lengths(&of_right[1..]) != lengths(&of_left) {
            return Err(incompatible(
                "Arrays with differing dimensions are not compatible for concatenation.",
            ));
        }
        result = of_right.clone();
        result[0].length += 1;
    } else {
        return Err(incompatible(
            "Arrays of differing dimensions are not compatible for concatenation.",
        ));
    }
    let mut values = elements(context, left)?;
    values.extend(elements(context, right)?);
    Array::build(left.element(), &result, &values, context.scratch).map(Value::Array)
}

fn same(left: Value<'_>, right: Value<'_>) -> bool {
    left.is_null() && right.is_null()
        || !left.is_null() && !right.is_null() && compare(left, right).is_eq()
}

fn remove<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let Some(array) = take::<Option<Array<'a>>>(arguments, 0)? else {
        return Ok(Value::Null);
    };
    let unwanted: Value<'a> = take(arguments, 1)?;
    if array.dimensions().len() > 1 {
        return Err(only_one_dimension(
            "removing elements from multidimensional arrays is not supported",
        ));
    }
    let mut values = elements(context, array)?;
    values.retain(|value| !same(*value, unwanted));
    if values.len() == array.len() {
        return Ok(Value::Array(array));
    }
    let dimensions: Vec<_> = array
        .dimensions()
        .filter(|_| !values.is_empty())
        .map(|dimension| Dimension {
            length: values.len() as u32,
            ..dimension
        })
        .collect();
    Array::build(array.element(), &dimensions, &values, context.scratch).map(Value::Array)
}

fn replace<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let Some(array) = take::<Option<Array<'a>>>(arguments, 0)? else {
        return Ok(Value::Null);
    };
    let (old, new): (Value<'a>, Value<'a>) = (take(arguments, 1)?, take(arguments, 2)?);
    let mut values = elements(context, array)?;
    for value in &mut values {
        if same(*value, old) {
            *value = new;
        }
    }
    reshaped(context, array, &values).map(Value::Array)
}

/// Returns an array of equal elements with the given dimensions.
fn fill<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let numbers = |position: usize| -> Result<Option<Vec<i32>>> {
        let Some(array) = take::<Option<Array<'a>>>(arguments, position)? else {
            return Ok(None);
        };
        if array.dimensions().len() > 1 {
            return Err(SqlError::new(
                SqlState::ARRAY_SUBSCRIPT_ERROR,
                "wrong number of array subscripts",
            )
            .detail("Dimension array must be one dimensional."));
        }
        let numbers = elements(context, array)?
            .into_iter()
            .map(|value| match value {
                Value::Int4(number) => Ok(number),
                _ => Err(null_dimension("dimension values cannot be null")),
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(Some(numbers))
    };
    let missing = || null_dimension("dimension array or low bound array cannot be null");
    let lengths = numbers(1)?.ok_or_else(missing)?;
    let lowers = match arguments.len() {
        3 => numbers(2)?.ok_or_else(missing)?,
        _ => vec![1; lengths.len()],
    };
    if lowers.len() != lengths.len() {
        return Err(SqlError::new(
            SqlState::ARRAY_SUBSCRIPT_ERROR,
            "wrong number of array subscripts",
        ));
    }
    let mut dimensions = Vec::new();
    let mut count = 1u64;
    for (length, lower) in lengths.iter().zip(&lowers) {
        let length = u32::try_from(*length).map_err(|_| too_large())?;
        count = count.saturating_mul(length.into());
        dimensions.push(Dimension {
            length,
            lower: *lower,
        });
    }
    if count == 0 {
        dimensions.clear();
    }
    let count = if dimensions.is_empty() { 0 } else { count };
    if count > types::array::ELEMENTS_MAX.into() {
        return Err(too_large());
    }
    let value = take::<Value<'a>>(arguments, 0)?;
    let bytes = match value {
        Value::Text(text) | Value::Json(text) => text.len(),
        Value::Bytea(bytes) => bytes.len(),
        Value::Jsonb(document) => document.as_stored().len(),
        _ => size_of::<i32>(),
    };
    let count = count as usize;
    room_for(context, count, count.saturating_mul(bytes))?;
    let values = vec![value; count];
    let element = element_of(context, 0)?;
    Array::build(element, &dimensions, &values, context.scratch).map(Value::Array)
}

fn too_large() -> SqlError {
    SqlError::new(
        SqlState::PROGRAM_LIMIT_EXCEEDED,
        format!(
            "array size exceeds the maximum allowed ({})",
            types::array::ELEMENTS_MAX
        ),
    )
}

fn null_dimension(message: &'static str) -> SqlError {
    SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, message)
}

/// Removes the last elements of the first dimension.
fn trim<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let array: Array<'a> = take(arguments, 0)?;
    let count: i32 = take(arguments, 1)?;
    let mut dimensions: Vec<Dimension> = array.dimensions().collect();
    let length = dimensions.first().map_or(0, |dimension| dimension.length);
    let count = u32::try_from(count).ok().filter(|count| *count <= length);
    let Some(count) = count else {
        return Err(SqlError::new(
            SqlState::ARRAY_SUBSCRIPT_ERROR,
            format!("number of elements to trim must be between 0 and {length}"),
        ));
    };
    let mut values = elements(context, array)?;
    if let Some(first) = dimensions.first_mut() {
        let per = values.len() / length as usize;
        first.length -= count;
        first.lower = 1;
        values.truncate(per * first.length as usize);
    }
    if values.is_empty() {
        dimensions.clear();
    }
    for dimension in &mut dimensions {
        dimension.lower = 1;
    }
    Array::build(array.element(), &dimensions, &values, context.scratch).map(Value::Array)
}

pub(super) static FUNCTIONS: &[Function] = &[
    Function::scalar(
        "array_append",
        &[COMPATIBLES, COMPATIBLE],
        COMPATIBLES,
        append,
    )
    .lenient()
    .typed()
    .chain(Chain::Elements),
    Function::scalar(
        "array_prepend",
        &[COMPATIBLE, COMPATIBLES],
        COMPATIBLES,
        prepend,
    )
    .lenient()
    .typed(),
    Function::scalar(
        "array_cat",
        &[COMPATIBLES, COMPATIBLES],
        COMPATIBLES,
        concatenate,
    )
    .lenient(),
    Function::scalar(
        "array_remove",
        &[COMPATIBLES, COMPATIBLE],
        COMPATIBLES,
        remove,
    )
    .lenient(),
    Function::scalar(
        "array_replace",
        &[COMPATIBLES, COMPATIBLE, COMPATIBLE],
        COMPATIBLES,
        replace,
    )
    .lenient(),
    Function::scalar(
        "array_fill",
        &[Parameter::AnyElement, INT4S, INT4S],
        Parameter::AnyArray,
        fill,
    )
    .optional(1)
    .lenient()
    .typed(),
    Function::scalar(
        "trim_array",
        &[Parameter::AnyArray, INT4],
        Parameter::AnyArray,
        trim,
    ),
];

pub(super) static OPERATORS: &[Function] = &[
    Function::scalar("||", &[COMPATIBLES, COMPATIBLE], COMPATIBLES, append)
        .lenient()
        .typed()
        .chain(Chain::Elements),
    Function::scalar("||", &[COMPATIBLE, COMPATIBLES], COMPATIBLES, prepend)
        .lenient()
        .typed(),
    Function::scalar("||", &[COMPATIBLES, COMPATIBLES], COMPATIBLES, concatenate).lenient(),
];
