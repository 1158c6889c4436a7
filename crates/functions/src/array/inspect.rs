//! Contents and sizes of arrays.

use std::cmp::Ordering;

use types::{
    Array, Result, Type, Value,
    array::Dimension,
    compare::{compare, compare_as},
};

use super::{elements, only_one_dimension};
use crate::{
    Context,
    argument::take,
    function::{BOOL, Function, INT4, INT4S, Parameter, TEXT, entry},
};

const ARRAY: Parameter = Parameter::AnyArray;
const COMPATIBLE: Parameter = Parameter::AnyCompatible;
const COMPATIBLES: Parameter = Parameter::AnyCompatibleArray;

fn dimension(array: Array<'_>, number: i32) -> Option<Dimension> {
    let position = usize::try_from(i64::from(number) - 1).ok()?;
    array.dimensions().nth(position)
}

fn length(array: Array<'_>, number: i32) -> Option<i32> {
    dimension(array, number).map(|dimension| dimension.length as i32)
}

fn lower(array: Array<'_>, number: i32) -> Option<i32> {
    dimension(array, number).map(|dimension| dimension.lower)
}

fn upper(array: Array<'_>, number: i32) -> Option<i32> {
    dimension(array, number)
        .map(|dimension| dimension.lower.wrapping_add(dimension.length as i32 - 1))
}

fn dimensions(array: Array<'_>) -> Option<i32> {
    Some(array.dimensions().len() as i32).filter(|dimensions| *dimensions > 0)
}

fn bounds<'a>(context: &Context<'a>, array: Array<'a>) -> Option<&'a str> {
    let mut text = String::new();
    for dimension in array.dimensions() {
        let upper = i64::from(dimension.lower) + i64::from(dimension.length) - 1;
        text.push_str(&format!("[{}:{upper}]", dimension.lower));
    }
    (!text.is_empty()).then(|| context.text(&text))
}

/// Maximum elements of an array that are searched one by one, rather than sorted first.
const SEARCHED_MAX: usize = 16;

/// The elements of an array that are not NULL, to be found by their type's own equality.
struct Members<'a> {
    element: Type,
    values: Vec<Value<'a>>,
    is_sorted: bool,
}

impl<'a> Members<'a> {
    /// Reads an array in which `searches` values are going to be looked up.
    fn new(context: &Context<'_>, array: Array<'a>, searches: usize) -> Result<Self> {
        let element = Type::Scalar(array.element());
        let mut values = elements(context, array)?;
        values.retain(|value| !value.is_null());
        let is_sorted = searches.min(values.len()) > SEARCHED_MAX;
        if is_sorted {
            values.sort_unstable_by(|one, two| compare_as(element, *one, *two));
        }
        Ok(Self {
            element,
            values,
            is_sorted,
        })
    }

    /// Returns whether an element equals a value; NULL equals none.
    fn contains(&self, wanted: Value<'_>) -> bool {
        if wanted.is_null() {
            return false;
        }
        let order = |value: &Value<'_>| -> Ordering { compare_as(self.element, *value, wanted) };
        if self.is_sorted {
            return self.values.binary_search_by(order).is_ok();
        }
        self.values.iter().any(|value| order(value).is_eq())
    }
}

/// Returns whether `array` contains all elements of `part`; no array contains NULLs.
fn contains(context: &Context<'_>, array: Array<'_>, part: Array<'_>) -> Result<bool> {
    let members = Members::new(context, array, part.len())?;
    for wanted in part.iter() {
        if !members.contains(wanted?) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn overlap(context: &Context<'_>, left: Array<'_>, right: Array<'_>) -> Result<bool> {
    let (fewer, more) = if left.len() <= right.len() {
        (left, right)
    } else {
        (right, left)
    };
    let members = Members::new(context, fewer, more.len())?;
    for wanted in more.iter() {
        if members.contains(wanted?) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn same(left: Value<'_>, right: Value<'_>) -> bool {
    match (left.is_null(), right.is_null()) {
        (true, true) => true,
        (false, false) => compare(left, right).is_eq(),
        _ => false,
    }
}

/// Returns the subscripts of the elements that are not distinct from a value.
fn places(array: Array<'_>, wanted: Value<'_>) -> Result<Vec<i32>> {
    if array.dimensions().len() > 1 {
        return Err(only_one_dimension(
            "searching for elements in multidimensional arrays is not supported",
        ));
    }
    let lower = lower(array, 1).unwrap_or(1);
    let mut places = Vec::new();
    for (position, value) in array.iter().enumerate() {
        if same(value?, wanted) {
            places.push(lower.wrapping_add(position as i32));
        }
    }
    Ok(places)
}

fn position<'a>(_: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let Some(array) = take::<Option<Array<'a>>>(arguments, 0)? else {
        return Ok(Value::Null);
    };
    let from = match arguments.len() {
        3 => match take::<Option<i32>>(arguments, 2)? {
            Some(from) => from,
            None => {
                return Err(types::SqlError::new(
                    types::SqlState::NULL_VALUE_NOT_ALLOWED,
                    "initial position must not be null",
                ));
            }
        },
        _ => i32::MIN,
    };
    let places = places(array, take(arguments, 1)?)?;
    let place = places.into_iter().find(|place| *place >= from);
    Ok(place.map_or(Value::Null, Value::Int4))
}

fn positions<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let Some(array) = take::<Option<Array<'a>>>(arguments, 0)? else {
        return Ok(Value::Null);
    };
    let places: Vec<_> = places(array, take(arguments, 1)?)?
        .into_iter()
        .map(Value::Int4)
        .collect();
    Array::of(types::Scalar::Int4, &places, context.scratch).map(Value::Array)
}

/// Counts the sorted thresholds that are not greater than the operand.
fn width_bucket<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let operand: Value<'a> = take(arguments, 0)?;
    let thresholds: Array<'a> = take(arguments, 1)?;
    if thresholds.dimensions().len() > 1 {
        return Err(types::SqlError::new(
            types::SqlState::ARRAY_SUBSCRIPT_ERROR,
            "thresholds must be one-dimensional array",
        ));
    }
    let values = elements(context, thresholds)?;
    if values.iter().any(Value::is_null) {
        return Err(types::SqlError::new(
            types::SqlState::NULL_VALUE_NOT_ALLOWED,
            "thresholds array must not contain NULLs",
        ));
    }
    let bucket = values.partition_point(|threshold| compare(*threshold, operand).is_le());
    Ok(Value::Int4(bucket as i32))
}

pub(super) static FUNCTIONS: &[Function] = &[
    entry!("array_length"(ARRAY, INT4) -> INT4, length),
    entry!("array_lower"(ARRAY, INT4) -> INT4, lower),
    entry!("array_upper"(ARRAY, INT4) -> INT4, upper),
    entry!("array_ndims"(ARRAY) -> INT4, dimensions),
    entry!("array_dims"(ARRAY) -> TEXT, in context bounds),
    entry!("cardinality"(ARRAY) -> INT4, |array: Array<'_>| array.len() as i32),
    Function::scalar(
        "array_position",
        &[COMPATIBLES, COMPATIBLE, INT4],
        INT4,
        position,
    )
    .optional(1)
    .lenient(),
    Function::scalar(
        "width_bucket",
        &[COMPATIBLE, COMPATIBLES],
        INT4,
        width_bucket,
    ),
    Function::scalar(
        "array_positions",
        &[COMPATIBLES, COMPATIBLE],
        INT4S,
        positions,
    )
    .lenient(),
];

pub(super) static OPERATORS: &[Function] = &[
    entry!("@>"(ARRAY, ARRAY) -> BOOL, in context contains),
    entry!("<@"(ARRAY, ARRAY) -> BOOL, in context |context, part, array| {
        contains(context, array, part)
    }),
    entry!("&&"(ARRAY, ARRAY) -> BOOL, in context overlap),
];
