//! Arithmetic.

use types::Result;

use super::{Double, not_overflowed, overflow, underflow};
use crate::{
    function::{FLOAT4, FLOAT8, Function, entry},
    integer::division_by_zero,
};

fn add(left: Double, right: Double) -> Result<f64> {
    not_overflowed(left.0 + right.0, &[left.0, right.0])
}

fn subtract(left: Double, right: Double) -> Result<f64> {
    not_overflowed(left.0 - right.0, &[left.0, right.0])
}

fn multiply(left: Double, right: Double) -> Result<f64> {
    let product = not_overflowed(left.0 * right.0, &[left.0, right.0])?;
    if product == 0.0 && left.0 != 0.0 && right.0 != 0.0 {
        return Err(underflow());
    }
    Ok(product)
}

pub(crate) fn divide(left: Double, right: Double) -> Result<f64> {
    if right.0 == 0.0 && !left.0.is_nan() {
        return Err(division_by_zero());
    }
    let quotient = left.0 / right.0;
    if quotient.is_infinite() && !left.0.is_infinite() {
        return Err(overflow());
    }
    if quotient == 0.0 && left.0 != 0.0 && !right.0.is_infinite() {
        return Err(underflow());
    }
    Ok(quotient)
}

/// Adds in `real`: operations on it round once, in its own precision.
fn add_single(left: f32, right: f32) -> Result<f32> {
    check_single(left + right, !left.is_finite() || !right.is_finite(), true)
}

fn subtract_single(left: f32, right: f32) -> Result<f32> {
    check_single(left - right, !left.is_finite() || !right.is_finite(), true)
}

fn multiply_single(left: f32, right: f32) -> Result<f32> {
    let infinite = left.is_infinite() || right.is_infinite();
    check_single(left * right, infinite, left == 0.0 || right == 0.0)
}

fn divide_single(left: f32, right: f32) -> Result<f32> {
    if right == 0.0 && !left.is_nan() {
        return Err(division_by_zero());
    }
    let zero = left == 0.0 || right.is_infinite();
    check_single(left / right, left.is_infinite(), zero)
}

/// Returns the result, unless it is infinite or zero and may not be.
fn check_single(result: f32, infinite: bool, zero: bool) -> Result<f32> {
    if result.is_infinite() && !infinite {
        return Err(overflow());
    }
    if result == 0.0 && !zero {
        return Err(underflow());
    }
    Ok(result)
}

pub(crate) static OPERATORS: &[Function] = &[
    entry!("+"(FLOAT8, FLOAT8) -> FLOAT8, add),
    entry!("+"(FLOAT4, FLOAT4) -> FLOAT4, add_single),
    entry!("+"(FLOAT4, FLOAT8) -> FLOAT8, add),
    entry!("+"(FLOAT8, FLOAT4) -> FLOAT8, add),
    entry!("-"(FLOAT8, FLOAT8) -> FLOAT8, subtract),
    entry!("-"(FLOAT4, FLOAT4) -> FLOAT4, subtract_single),
    entry!("-"(FLOAT4, FLOAT8) -> FLOAT8, subtract),
    entry!("-"(FLOAT8, FLOAT4) -> FLOAT8, subtract),
    entry!("*"(FLOAT8, FLOAT8) -> FLOAT8, multiply),
    entry!("*"(FLOAT4, FLOAT4) -> FLOAT4, multiply_single),
    entry!("*"(FLOAT4, FLOAT8) -> FLOAT8, multiply),
    entry!("*"(FLOAT8, FLOAT4) -> FLOAT8, multiply),
    entry!("/"(FLOAT8, FLOAT8) -> FLOAT8, divide),
    entry!("/"(FLOAT4, FLOAT4) -> FLOAT4, divide_single),
    entry!("/"(FLOAT4, FLOAT8) -> FLOAT8, divide),
    entry!("/"(FLOAT8, FLOAT4) -> FLOAT8, divide),
    entry!("-"(FLOAT8) -> FLOAT8, |operand: f64| -operand),
    entry!("-"(FLOAT4) -> FLOAT4, |operand: f32| -operand),
    entry!("+"(FLOAT8) -> FLOAT8, |operand: f64| operand),
    entry!("+"(FLOAT4) -> FLOAT4, |operand: f32| operand),
    entry!("@"(FLOAT8) -> FLOAT8, f64::abs),
    entry!("@"(FLOAT4) -> FLOAT4, f32::abs),
    entry!("^"(FLOAT8, FLOAT8) -> FLOAT8, super::functions::power),
    entry!("|/"(FLOAT8) -> FLOAT8, super::functions::square_root),
    entry!("||/"(FLOAT8) -> FLOAT8, f64::cbrt),
];
