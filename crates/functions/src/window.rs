//! Window functions: a value for a row that depends on its partition.
//!
//! The executor has the partition, sorted, and shows it through [`Partition`]. The executor
//! handles aggregates over frames.

use types::{Result, SqlError, SqlState, Value};

use crate::function::{Body, FLOAT8, Function, INT4, INT8, Parameter};

/// A row's view of its partition. Rows, peers and frames are numbered from 0.
pub trait Partition<'a> {
    /// Returns the number of rows in the partition.
    fn rows(&self) -> usize;

    /// Returns the current row.
    fn row(&self) -> usize;

    /// Returns the first row that is equal to the current one by `ORDER BY`, and the first
    /// behind those.
    fn peers(&self) -> (usize, usize);

    /// Returns the number of groups of equal rows before the current one's.
    fn groups_before(&self) -> usize;

    /// Returns a row of the frame by its number in it; `None` behind its end.
    fn framed(&self, number: usize) -> Option<usize>;

    /// Returns the number of rows in the frame.
    fn frame_rows(&self) -> usize;

    /// Returns an argument of the call, evaluated at a row.
    ///
    /// # Errors
    ///
    /// Returns the error of the evaluation.
    fn argument(&self, row: usize, position: usize) -> Result<Value<'a>>;

    /// Returns the number of arguments of the call.
    fn arguments(&self) -> usize;
}

/// The value of a window function at the partition's current row.
pub type WindowFunction = for<'a> fn(&dyn Partition<'a>) -> Result<Value<'a>>;

/// Returns whether a function is one of those over windows that need to know a row's place in its partition alone: the
/// rows, peers and groups before it.
pub fn looks_at_place_alone(function: &Function) -> bool {
    let is_window = matches!(function.body, Body::Window(_));
    is_window && matches!(function.name, "row_number" | "rank" | "dense_rank")
}

/// The place of a row in its partition: all that functions need that [look at it alone](looks_at_place_alone).
#[derive(Clone, Copy, Default)]
pub struct Place {
    /// Number of rows before it.
    pub row: usize,
    /// Number of rows before its first peer.
    pub peers: usize,
    /// Number of groups of peers before its own.
    pub group: usize,
}

impl Place {
    /// Returns the value of a function that looks at the place alone.
    ///
    /// # Errors
    /// XX000 if it looks at more.
    pub fn value<'a>(self, function: WindowFunction) -> Result<Value<'a>> {
        function(&self)
    }
}

impl<'a> Partition<'a> for Place {
    fn rows(&self) -> usize {
        self.row + 1
    }

    fn row(&self) -> usize {
        self.row
    }

    fn peers(&self) -> (usize, usize) {
        (self.peers, self.row + 1)
    }

    fn groups_before(&self) -> usize {
        self.group
    }

    fn framed(&self, _: usize) -> Option<usize> {
        None
    }

    fn frame_rows(&self) -> usize {
        0
    }

    fn argument(&self, _: usize, _: usize) -> Result<Value<'a>> {
        let message = "a window function looks at more than a row's place";
        Err(SqlError::new(SqlState::INTERNAL_ERROR, message))
    }

    fn arguments(&self) -> usize {
        0
    }
}

fn number(count: usize) -> Value<'static> {
    Value::Int8(count as i64)
}

/// Returns a number that is an argument at the current row.
fn argument(partition: &dyn Partition<'_>, position: usize) -> Result<Option<i32>> {
    match partition.argument(partition.row(), position)? {
        Value::Int4(number) => Ok(Some(number)),
        _ => Ok(None),
    }
}

fn percent_rank(partition: &dyn Partition<'_>) -> f64 {
    match partition.rows() {
        0 | 1 => 0.0,
        rows => partition.peers().0 as f64 / (rows - 1) as f64,
    }
}

/// Returns the current row's bucket; the first buckets have one row more if they are not equal.
fn bucket<'a>(partition: &dyn Partition<'a>) -> Result<Value<'a>> {
    let Some(buckets) = argument(partition, 0)? else {
        return Ok(Value::Null);
    };
    let Ok(buckets @ 1..) = usize::try_from(buckets) else {
        return Err(SqlError::new(
            SqlState::INVALID_ARGUMENT_FOR_NTILE,
            "argument of ntile must be greater than zero",
        ));
    };
    let (size, larger) = (partition.rows() / buckets, partition.rows() % buckets);
    let row = partition.row();
    let of_larger = larger * (size + 1);
    let bucket = if row < of_larger {
        row / (size + 1)
    } else {
        larger + (row - of_larger) / size.max(1)
    };
    Ok(Value::Int4(bucket as i32 + 1))
}

/// Returns the first argument at a row an offset before or after.
fn shifted<'a>(partition: &dyn Partition<'a>, direction: i64) -> Result<Value<'a>> {
    let offset = match partition.arguments() {
        1 => 1,
        _ => match argument(partition, 1)? {
            Some(offset) => i64::from(offset),
            None => return Ok(Value::Null),
        },
    };
    let row = partition.row() as i64 + direction * offset;
    match usize::try_from(row) {
        Ok(row) if row < partition.rows() => partition.argument(row, 0),
        _ if partition.arguments() > 2 => partition.argument(partition.row(), 2),
        _ => Ok(Value::Null),
    }
}

fn framed<'a>(partition: &dyn Partition<'a>, number: usize) -> Result<Value<'a>> {
    match partition.framed(number) {
        Some(row) => partition.argument(row, 0),
        None => Ok(Value::Null),
    }
}

fn last<'a>(partition: &dyn Partition<'a>) -> Result<Value<'a>> {
    match partition.frame_rows() {
        0 => Ok(Value::Null),
        rows => framed(partition, rows - 1),
    }
}

fn nth<'a>(partition: &dyn Partition<'a>) -> Result<Value<'a>> {
    let Some(number) = argument(partition, 1)? else {
        return Ok(Value::Null);
    };
    match usize::try_from(number) {
        Ok(number @ 1..) => framed(partition, number - 1),
        _ => Err(SqlError::new(
            SqlState::INVALID_ARGUMENT_FOR_NTH_VALUE,
            "argument of nth_value must be greater than zero",
        )),
    }
}

const fn window(
    name: &'static str,
    parameters: &'static [Parameter],
    result: Parameter,
    body: WindowFunction,
) -> Function {
    Function::new(name, parameters, result, Body::Window(body))
}

const ELEMENT: Parameter = Parameter::AnyElement;
const COMPATIBLE: Parameter = Parameter::AnyCompatible;

pub(crate) static FUNCTIONS: &[Function] = &[
    window("row_number", &[], INT8, |partition| {
        Ok(number(partition.row() + 1))
    }),
    window("rank", &[], INT8, |partition| {
        Ok(number(partition.peers().0 + 1))
    }),
    window("dense_rank", &[], INT8, |partition| {
        Ok(number(partition.groups_before() + 1))
    }),
    window("percent_rank", &[], FLOAT8, |partition| {
        Ok(Value::Float8(percent_rank(partition)))
    }),
    window("cume_dist", &[], FLOAT8, |partition| {
        Ok(Value::Float8(
            partition.peers().1 as f64 / partition.rows() as f64,
        ))
    }),
    window("ntile", &[INT4], INT4, bucket),
    window("lag", &[ELEMENT], ELEMENT, |partition| {
        shifted(partition, -1)
    }),
    window("lag", &[ELEMENT, INT4], ELEMENT, |partition| {
        shifted(partition, -1)
    }),
    window(
        "lag",
        &[COMPATIBLE, INT4, COMPATIBLE],
        COMPATIBLE,
        |partition| shifted(partition, -1),
    ),
    window("lead", &[ELEMENT], ELEMENT, |partition| {
        shifted(partition, 1)
    }),
    window("lead", &[ELEMENT, INT4], ELEMENT, |partition| {
        shifted(partition, 1)
    }),
    window(
        "lead",
        &[COMPATIBLE, INT4, COMPATIBLE],
        COMPATIBLE,
        |partition| shifted(partition, 1),
    ),
    window("first_value", &[ELEMENT], ELEMENT, |partition| {
        framed(partition, 0)
    }),
    window("last_value", &[ELEMENT], ELEMENT, last),
    window("nth_value", &[ELEMENT, INT4], ELEMENT, nth),
];

#[cfg(test)]
mod tests;
