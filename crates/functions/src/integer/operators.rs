//! Arithmetic and bits.

use types::Result;

use super::{Integer, Wide, division_by_zero, out_of_range};
use crate::function::{Function, INT2, INT4, INT8, entry};

fn add<R: Integer>(left: Wide, right: Wide) -> Result<R> {
    let sum = left.0.checked_add(right.0);
    sum.ok_or_else(|| out_of_range(R::NAME)).and_then(R::narrow)
}

fn subtract<R: Integer>(left: Wide, right: Wide) -> Result<R> {
    let difference = left.0.checked_sub(right.0);
    difference
        .ok_or_else(|| out_of_range(R::NAME))
        .and_then(R::narrow)
}

fn multiply<R: Integer>(left: Wide, right: Wide) -> Result<R> {
    let product = left.0.checked_mul(right.0);
    product
        .ok_or_else(|| out_of_range(R::NAME))
        .and_then(R::narrow)
}

/// Returns the quotient, truncated towards zero.
pub(super) fn divide<R: Integer>(left: Wide, right: Wide) -> Result<R> {
    if right.0 == 0 {
        return Err(division_by_zero());
    }
    let quotient = left.0.checked_div(right.0);
    quotient
        .ok_or_else(|| out_of_range(R::NAME))
        .and_then(R::narrow)
}

/// Returns the remainder, with the sign of the dividend.
pub(super) fn remainder<R: Integer>(left: Wide, right: Wide) -> Result<R> {
    if right.0 == 0 {
        return Err(division_by_zero());
    }
    // The least number has no negation, but its remainder by -1 is 0.
    R::narrow(left.0.wrapping_rem(right.0))
}

fn negate<R: Integer>(operand: Wide) -> Result<R> {
    subtract(Wide(0), operand)
}

pub(super) fn absolute<R: Integer>(operand: Wide) -> Result<R> {
    let absolute = operand.0.checked_abs();
    absolute
        .ok_or_else(|| out_of_range(R::NAME))
        .and_then(R::narrow)
}

/// Shifts by `by` modulo the width, as the machine's instructions do.
fn shift_left<R: Integer>(operand: Wide, by: i32) -> Result<R> {
    // Shifts of `smallint` are done in 32 bits.
    let shifted = match R::BITS {
        64 => operand.0.wrapping_shl(by as u32),
        _ => i64::from((operand.0 as i32).wrapping_shl(by as u32)),
    };
    R::narrow(wrap::<R>(shifted))
}

fn shift_right<R: Integer>(operand: Wide, by: i32) -> Result<R> {
    let shifted = match R::BITS {
        64 => operand.0.wrapping_shr(by as u32),
        _ => i64::from((operand.0 as i32).wrapping_shr(by as u32)),
    };
    R::narrow(wrap::<R>(shifted))
}

/// Returns the lowest bits, extended by their sign.
fn wrap<R: Integer>(wide: i64) -> i64 {
    let above = 64 - R::BITS;
    (wide << above) >> above
}

fn same<R: Integer>(operand: Wide) -> Result<R> {
    R::narrow(operand.0)
}

fn and<R: Integer>(left: Wide, right: Wide) -> Result<R> {
    R::narrow(left.0 & right.0)
}

fn or<R: Integer>(left: Wide, right: Wide) -> Result<R> {
    R::narrow(left.0 | right.0)
}

fn exclusive_or<R: Integer>(left: Wide, right: Wide) -> Result<R> {
    R::narrow(left.0 ^ right.0)
}

fn not<R: Integer>(operand: Wide) -> Result<R> {
    R::narrow(!operand.0)
}

pub(crate) static OPERATORS: &[Function] = &[
    entry!("+"(INT4, INT4) -> INT4, add::<i32>),
    entry!("+"(INT8, INT8) -> INT8, add::<i64>),
    entry!("+"(INT2, INT2) -> INT2, add::<i16>),
    entry!("+"(INT2, INT4) -> INT4, add::<i32>),
    entry!("+"(INT4, INT2) -> INT4, add::<i32>),
    entry!("+"(INT2, INT8) -> INT8, add::<i64>),
    entry!("+"(INT8, INT2) -> INT8, add::<i64>),
    entry!("+"(INT4, INT8) -> INT8, add::<i64>),
    entry!("+"(INT8, INT4) -> INT8, add::<i64>),
    entry!("-"(INT4, INT4) -> INT4, subtract::<i32>),
    entry!("-"(INT8, INT8) -> INT8, subtract::<i64>),
    entry!("-"(INT2, INT2) -> INT2, subtract::<i16>),
    entry!("-"(INT2, INT4) -> INT4, subtract::<i32>),
    entry!("-"(INT4, INT2) -> INT4, subtract::<i32>),
    entry!("-"(INT2, INT8) -> INT8, subtract::<i64>),
    entry!("-"(INT8, INT2) -> INT8, subtract::<i64>),
    entry!("-"(INT4, INT8) -> INT8, subtract::<i64>),
    entry!("-"(INT8, INT4) -> INT8, subtract::<i64>),
    entry!("*"(INT4, INT4) -> INT4, multiply::<i32>),
    entry!("*"(INT8, INT8) -> INT8, multiply::<i64>),
    entry!("*"(INT2, INT2) -> INT2, multiply::<i16>),
    entry!("*"(INT2, INT4) -> INT4, multiply::<i32>),
    entry!("*"(INT4, INT2) -> INT4, multiply::<i32>),
    entry!("*"(INT2, INT8) -> INT8, multiply::<i64>),
    entry!("*"(INT8, INT2) -> INT8, multiply::<i64>),
    entry!("*"(INT4, INT8) -> INT8, multiply::<i64>),
    entry!("*"(INT8, INT4) -> INT8, multiply::<i64>),
    entry!("/"(INT4, INT4) -> INT4, divide::<i32>),
    entry!("/"(INT8, INT8) -> INT8, divide::<i64>),
    entry!("/"(INT2, INT2) -> INT2, divide::<i16>),
    entry!("/"(INT2, INT4) -> INT4, divide::<i32>),
    entry!("/"(INT4, INT2) -> INT4, divide::<i32>),
    entry!("/"(INT2, INT8) -> INT8, divide::<i64>),
    entry!("/"(INT8, INT2) -> INT8, divide::<i64>),
    entry!("/"(INT4, INT8) -> INT8, divide::<i64>),
    entry!("/"(INT8, INT4) -> INT8, divide::<i64>),
    entry!("%"(INT4, INT4) -> INT4, remainder::<i32>),
    entry!("%"(INT8, INT8) -> INT8, remainder::<i64>),
    entry!("%"(INT2, INT2) -> INT2, remainder::<i16>),
    entry!("-"(INT4) -> INT4, negate::<i32>),
    entry!("-"(INT8) -> INT8, negate::<i64>),
    entry!("-"(INT2) -> INT2, negate::<i16>),
    entry!("+"(INT4) -> INT4, same::<i32>),
    entry!("+"(INT8) -> INT8, same::<i64>),
    entry!("+"(INT2) -> INT2, same::<i16>),
    entry!("@"(INT4) -> INT4, absolute::<i32>),
    entry!("@"(INT8) -> INT8, absolute::<i64>),
    entry!("@"(INT2) -> INT2, absolute::<i16>),
    entry!("&"(INT4, INT4) -> INT4, and::<i32>),
    entry!("&"(INT8, INT8) -> INT8, and::<i64>),
    entry!("&"(INT2, INT2) -> INT2, and::<i16>),
    entry!("|"(INT4, INT4) -> INT4, or::<i32>),
    entry!("|"(INT8, INT8) -> INT8, or::<i64>),
    entry!("|"(INT2, INT2) -> INT2, or::<i16>),
    entry!("#"(INT4, INT4) -> INT4, exclusive_or::<i32>),
    entry!("#"(INT8, INT8) -> INT8, exclusive_or::<i64>),
    entry!("#"(INT2, INT2) -> INT2, exclusive_or::<i16>),
    entry!("~"(INT4) -> INT4, not::<i32>),
    entry!("~"(INT8) -> INT8, not::<i64>),
    entry!("~"(INT2) -> INT2, not::<i16>),
    entry!("<<"(INT4, INT4) -> INT4, shift_left::<i32>),
    entry!("<<"(INT8, INT4) -> INT8, shift_left::<i64>),
    entry!("<<"(INT2, INT4) -> INT2, shift_left::<i16>),
    entry!(">>"(INT4, INT4) -> INT4, shift_right::<i32>),
    entry!(">>"(INT8, INT4) -> INT8, shift_right::<i64>),
    entry!(">>"(INT2, INT4) -> INT2, shift_right::<i16>),
];
