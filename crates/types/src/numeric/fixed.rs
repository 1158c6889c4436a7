//! Square roots, logarithms and exponentials of integers that stand for fixed-point numbers.
//!
//! A fixed-point number is an integer, `digits` decimal digits of which are after the point.
//! Results are within some units of the last digit; callers ask for more digits than they need.

use num_bigint::{BigInt, Sign};

use super::integer::big_power;

/// Returns the square root, rounded down, of a number that is not negative.
pub(super) fn square_root(number: &BigInt, digits: u32) -> BigInt {
    (number * big_power(digits)).sqrt()
}

/// Number of square roots that bring the argument of a logarithm near 1, where the series is
/// short.
const ROOTS: u32 = 8;
/// Digits that the roots cost: the error is doubled with each, and again at the end.
const ROOTS_DIGITS: u32 = 4;

/// Returns the natural logarithm of a positive number that is not far from 1: say 0.1 to 10.
pub(super) fn logarithm(number: &BigInt, digits: u32) -> BigInt {
    let inner = digits + ROOTS_DIGITS;
    let one = big_power(inner);
    let mut root = number * big_power(ROOTS_DIGITS);
    for _ in 0..ROOTS {
        root = square_root(&root, inner);
    }
    // ln z = 2 (t + t³/3 + t⁵/5 + …) with t = (z - 1) / (z + 1)
    let ratio = (&root - &one) * &one / (&root + &one);
    let square = &ratio * &ratio / &one;
    let mut power = ratio;
    let mut sum = BigInt::ZERO;
    let mut odd = 1u32;
    while power.sign() != Sign::NoSign {
        sum += &power / odd;
        power = power * &square / &one;
        odd += 2;
    }
    (sum << (ROOTS + 1)) / big_power(ROOTS_DIGITS)
}

/// Halvings beyond those that bring an exponent below 1, so that its series is short.
const HALVINGS: u64 = 8;

/// Returns the exponential of a number that is not negative. The error is relative: some units
/// of the last of `digits` significant digits, however many digits are before the point.
pub(super) fn exponential(number: &BigInt, digits: u32) -> BigInt {
    let one = big_power(digits);
    let whole_bits = (number / &one).bits();
    let halvings = whole_bits + HALVINGS;
    // Each doubling back doubles the error.
    let guard = (halvings as f64 * std::f64::consts::LOG10_2) as u32 + 2;
    let inner_one = big_power(digits + guard);
    let small = (number * big_power(guard)) >> halvings;
    let mut term = inner_one.clone();
    let mut sum = inner_one.clone();
    let mut count = 1u32;
    loop {
        term = term * &small / &inner_one / count;
        if term.sign() == Sign::NoSign {
            break;
        }
        sum += &term;
        count += 1;
    }
    for _ in 0..halvings {
        sum = &sum * &sum / &inner_one;
    }
    sum / big_power(guard)
}
