//! Functions that have to wait, or lock beyond their statement: sleeping, advisory locks.
//!
//! Functions cannot wait: the evaluator of expressions carries these out itself, row by row, and
//! this module only has their types.

use types::{Result, SqlError, Value};

use crate::{
    Context,
    function::{BOOL, FLOAT8, Function, INT4, INT8, INTERVAL, Parameter, TIMESTAMPTZ, VOID},
};

pub(crate) fn misplaced<'a>(_: &Context<'a>, _: &[Value<'a>]) -> Result<Value<'a>> {
    Err(SqlError::unsupported(
        "a call here of a function that waits",
    ))
}

const fn waiting(
    name: &'static str,
    parameters: &'static [Parameter],
    result: Parameter,
) -> Function {
    Function::scalar(name, parameters, result, misplaced).volatile()
}

/// An advisory lock has one key of eight bytes or two of four.
macro_rules! locking {
    ($($name:literal -> $result:expr),* $(,)?) => {
        &[$(
            waiting($name, &[INT8], $result),
            waiting($name, &[INT4, INT4], $result),
        )*]
    };
}

pub(crate) static LOCKS: &[Function] = locking![
    "pg_advisory_lock" -> VOID,
    "pg_advisory_lock_shared" -> VOID,
    "pg_advisory_xact_lock" -> VOID,
    "pg_advisory_xact_lock_shared" -> VOID,
    "pg_try_advisory_lock" -> BOOL,
    "pg_try_advisory_lock_shared" -> BOOL,
    "pg_try_advisory_xact_lock" -> BOOL,
    "pg_try_advisory_xact_lock_shared" -> BOOL,
    "pg_advisory_unlock" -> BOOL,
    "pg_advisory_unlock_shared" -> BOOL,
];

pub(crate) static FUNCTIONS: &[Function] = &[
    waiting("pg_advisory_unlock_all", &[], VOID),
    waiting("pg_sleep", &[FLOAT8], VOID),
    waiting("pg_sleep_for", &[INTERVAL], VOID),
    waiting("pg_sleep_until", &[TIMESTAMPTZ], VOID),
];
