//! Functions by name.

use types::Result;

use super::{Integer, Wide, operators, out_of_range};
use crate::{
    Context,
    function::{Function, INT2, INT4, INT8, TEXT, entry},
};

fn greatest_common_divisor<R: Integer>(left: Wide, right: Wide) -> Result<R> {
    R::narrow(i64::try_from(common_divisor(left.0, right.0)).map_err(|_| out_of_range(R::NAME))?)
}

fn common_divisor(left: i64, right: i64) -> u64 {
    let (mut left, mut right) = (left.unsigned_abs(), right.unsigned_abs());
    while right != 0 {
        (left, right) = (right, left % right);
    }
    left
}

fn least_common_multiple<R: Integer>(left: Wide, right: Wide) -> Result<R> {
    if left.0 == 0 || right.0 == 0 {
        return R::narrow(0);
    }
    let part = left.0.unsigned_abs() / common_divisor(left.0, right.0);
    let multiple = part
        .checked_mul(right.0.unsigned_abs())
        .and_then(|multiple| i64::try_from(multiple).ok());
    multiple
        .ok_or_else(|| out_of_range(R::NAME))
        .and_then(R::narrow)
}

fn hexadecimal<'a>(context: &Context<'a>, number: i32) -> &'a str {
    context.text(&format!("{number:x}"))
}

fn hexadecimal_wide<'a>(context: &Context<'a>, number: i64) -> &'a str {
    context.text(&format!("{number:x}"))
}

pub(crate) static FUNCTIONS: &[Function] = &[
    entry!("abs"(INT4) -> INT4, operators::absolute::<i32>),
    entry!("abs"(INT8) -> INT8, operators::absolute::<i64>),
    entry!("abs"(INT2) -> INT2, operators::absolute::<i16>),
    entry!("mod"(INT4, INT4) -> INT4, operators::remainder::<i32>),
    entry!("mod"(INT8, INT8) -> INT8, operators::remainder::<i64>),
    entry!("mod"(INT2, INT2) -> INT2, operators::remainder::<i16>),
    entry!("gcd"(INT4, INT4) -> INT4, greatest_common_divisor::<i32>),
    entry!("gcd"(INT8, INT8) -> INT8, greatest_common_divisor::<i64>),
    entry!("lcm"(INT4, INT4) -> INT4, least_common_multiple::<i32>),
    entry!("lcm"(INT8, INT8) -> INT8, least_common_multiple::<i64>),
    entry!("to_hex"(INT4) -> TEXT, in context hexadecimal),
    entry!("to_hex"(INT8) -> TEXT, in context hexadecimal_wide),
];
