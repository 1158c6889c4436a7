//! Arithmetic.

use types::{Numeric, Result};

use super::functions::power;
use crate::{
    Context,
    argument::take,
    function::{Function, NUMERIC, entry},
};

fn add<'a>(context: &Context<'a>, left: Numeric<'a>, right: Numeric<'a>) -> Result<Numeric<'a>> {
    left.add(right, context.scratch)
}

fn subtract<'a>(
    context: &Context<'a>,
    left: Numeric<'a>,
    right: Numeric<'a>,
) -> Result<Numeric<'a>> {
    left.subtract(right, context.scratch)
}

fn multiply<'a>(
    context: &Context<'a>,
    left: Numeric<'a>,
    right: Numeric<'a>,
) -> Result<Numeric<'a>> {
    left.multiply(right, context.scratch)
}

fn divide<'a>(context: &Context<'a>, left: Numeric<'a>, right: Numeric<'a>) -> Result<Numeric<'a>> {
    left.divide(right, context.scratch)
}

pub(super) fn remainder<'a>(
    context: &Context<'a>,
    left: Numeric<'a>,
    right: Numeric<'a>,
) -> Result<Numeric<'a>> {
    left.remainder(right, context.scratch)
}

fn negate<'a>(context: &Context<'a>, operand: Numeric<'a>) -> Numeric<'a> {
    operand.negate(context.scratch)
}

pub(super) fn absolute<'a>(context: &Context<'a>, operand: Numeric<'a>) -> Numeric<'a> {
    operand.absolute(context.scratch)
}

pub(crate) static OPERATORS: &[Function] = &[
    entry!("+"(NUMERIC, NUMERIC) -> NUMERIC, in context add),
    entry!("-"(NUMERIC, NUMERIC) -> NUMERIC, in context subtract),
    entry!("*"(NUMERIC, NUMERIC) -> NUMERIC, in context multiply),
    entry!("/"(NUMERIC, NUMERIC) -> NUMERIC, in context divide),
    entry!("%"(NUMERIC, NUMERIC) -> NUMERIC, in context remainder),
    entry!("^"(NUMERIC, NUMERIC) -> NUMERIC, in context power),
    entry!("-"(NUMERIC) -> NUMERIC, in context negate),
    Function::scalar("+", &[NUMERIC], NUMERIC, |_, arguments| take(arguments, 0)),
    entry!("@"(NUMERIC) -> NUMERIC, in context absolute),
];
