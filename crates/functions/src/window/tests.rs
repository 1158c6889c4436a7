//! Functions over a partition of five rows in three groups of peers, with PostgreSQL's
//! answers.

use types::{NoNames, Result, Scalar, Type, Value};

use super::Partition;
use crate::{Body, resolve_function};

/// The rows' keys are 1, 1, 2, 3, 3; the frame is from the first row to the last peer.
struct Five<'v> {
    row: usize,
    arguments: &'v [Value<'static>],
}

const PEERS: [(usize, usize); 5] = [(0, 2), (0, 2), (2, 3), (3, 5), (3, 5)];
const GROUPS: [usize; 5] = [0, 0, 1, 2, 2];

impl<'a> Partition<'a> for Five<'_> {
    fn rows(&self) -> usize {
        5
    }

    fn row(&self) -> usize {
        self.row
    }

    fn peers(&self) -> (usize, usize) {
        PEERS[self.row]
    }

    fn groups_before(&self) -> usize {
        GROUPS[self.row]
    }

    fn framed(&self, number: usize) -> Option<usize> {
        Some(number).filter(|number| *number < self.frame_rows())
    }

    fn frame_rows(&self) -> usize {
        self.peers().1
    }

    /// Returns the row's number times ten as the first argument.
    fn argument(&self, row: usize, position: usize) -> Result<Value<'a>> {
        Ok(match position {
            0 if self.arguments.len() != 1 || !matches!(self.arguments[0], Value::Int4(_)) => {
                Value::Int4(row as i32 * 10)
            }
            _ => self.arguments[position],
        })
    }

    fn arguments(&self) -> usize {
        self.arguments.len()
    }
}

fn over(name: &str, arguments: &[Value<'static>]) -> Vec<String> {
    let types = vec![Type::Scalar(Scalar::Int4); arguments.len()];
    let resolved = resolve_function(name, &types, false, &NoNames).expect("a function");
    let Body::Window(body) = resolved.function.body else {
        panic!("{name} is no window function");
    };
    (0..5)
        .map(|row| match body(&Five { row, arguments }) {
            Ok(Value::Int8(number)) => number.to_string(),
            Ok(Value::Int4(number)) => number.to_string(),
            Ok(Value::Float8(number)) => number.to_string(),
            Ok(Value::Null) => "NULL".to_owned(),
            Ok(other) => format!("{other:?}"),
            Err(error) => error.state().code().to_owned(),
        })
        .collect()
}

#[test]
fn numbers_and_ranks() {
    assert_eq!(over("row_number", &[]), ["1", "2", "3", "4", "5"]);
    assert_eq!(over("rank", &[]), ["1", "1", "3", "4", "4"]);
    assert_eq!(over("dense_rank", &[]), ["1", "1", "2", "3", "3"]);
    assert_eq!(over("percent_rank", &[]), ["0", "0", "0.5", "0.75", "0.75"]);
    assert_eq!(over("cume_dist", &[]), ["0.4", "0.4", "0.6", "1", "1"]);
}

#[test]
fn buckets() {
    assert_eq!(over("ntile", &[Value::Int4(2)]), ["1", "1", "1", "2", "2"]);
    assert_eq!(over("ntile", &[Value::Int4(3)]), ["1", "1", "2", "2", "3"]);
    assert_eq!(over("ntile", &[Value::Int4(9)]), ["1", "2", "3", "4", "5"]);
    assert_eq!(over("ntile", &[Value::Int4(0)])[0], "22014");
}

#[test]
fn rows_before_and_after() {
    let any = Value::Null;
    assert_eq!(over("lag", &[any]), ["NULL", "0", "10", "20", "30"]);
    assert_eq!(over("lead", &[any]), ["10", "20", "30", "40", "NULL"]);
    assert_eq!(
        over("lag", &[any, Value::Int4(2)]),
        ["NULL", "NULL", "0", "10", "20"]
    );
    assert_eq!(over("lag", &[any, Value::Int4(-1)])[0], "10");
    assert_eq!(
        over("lead", &[any, Value::Int4(2), Value::Int4(-7)]),
        ["20", "30", "40", "-7", "-7"]
    );
}

#[test]
fn rows_of_the_frame() {
    let any = Value::Null;
    assert_eq!(over("first_value", &[any]), ["0", "0", "0", "0", "0"]);
    assert_eq!(over("last_value", &[any]), ["10", "10", "20", "40", "40"]);
    assert_eq!(
        over("nth_value", &[any, Value::Int4(3)]),
        ["NULL", "NULL", "20", "20", "20"]
    );
    assert_eq!(over("nth_value", &[any, Value::Int4(0)])[0], "22016");
}
