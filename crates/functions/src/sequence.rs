//! Functions of sequences.
//!
//! `nextval` and `setval` have to wait for stored data, which functions cannot (`waiting.rs`).

use types::Result;

use crate::{
    Context,
    argument::Oid,
    function::{BOOL, Function, INT8, REGCLASS, entry},
    waiting::misplaced,
};

fn current_value(context: &Context<'_>, sequence: Oid) -> Result<i64> {
    context.environment.current_value(sequence.0)
}

fn last_value(context: &Context<'_>) -> Result<i64> {
    context.environment.last_value()
}

pub(crate) static FUNCTIONS: &[Function] = &[
    Function::scalar("nextval", &[REGCLASS], INT8, misplaced).volatile(),
    Function::scalar("setval", &[REGCLASS, INT8], INT8, misplaced).volatile(),
    Function::scalar("setval", &[REGCLASS, INT8, BOOL], INT8, misplaced).volatile(),
    entry!("currval"(REGCLASS) -> INT8, in context current_value).volatile(),
    entry!("lastval"() -> INT8, in context last_value).volatile(),
];
