//! Angles in radians and degrees.
//!
//! In degrees the exact values come out exactly: the argument is brought into the first quadrant
//! first, and results are scaled by the same function's value for 30, 45 or 60 degrees.

use types::Result;

use super::{input_out_of_range, not_overflowed, overflow};
use crate::function::{FLOAT8, Function, entry};

/// Applies a function that is undefined at the infinities.
fn finite(operand: f64, function: impl Fn(f64) -> f64) -> Result<f64> {
    if operand.is_infinite() {
        return Err(input_out_of_range());
    }
    Ok(function(operand))
}

/// Applies a function that is defined between -1 and 1.
fn within_one(operand: f64, function: impl Fn(f64) -> f64) -> Result<f64> {
    if !(-1.0..=1.0).contains(&operand) && !operand.is_nan() {
        return Err(input_out_of_range());
    }
    Ok(function(operand))
}

fn cotangent(operand: f64) -> Result<f64> {
    finite(operand, |operand| 1.0 / operand.tan())
}

fn sine_of_first(degrees: f64) -> f64 {
    if degrees <= 30.0 {
        degrees.to_radians().sin() / 30f64.to_radians().sin() / 2.0
    } else {
        cosine_below_60(90.0 - degrees)
    }
}

fn cosine_of_first(degrees: f64) -> f64 {
    if degrees <= 60.0 {
        cosine_below_60(degrees)
    } else {
        sine_of_first(90.0 - degrees)
    }
}

fn cosine_below_60(degrees: f64) -> f64 {
    let one_minus = 1.0 - degrees.to_radians().cos();
    1.0 - one_minus / (1.0 - 60f64.to_radians().cos()) / 2.0
}

/// Returns the angle within the first quadrant, and the signs of its sine and cosine.
fn quadrant(degrees: f64) -> (f64, f64, f64) {
    let mut angle = degrees % 360.0;
    let (mut sine, mut cosine) = (1.0, 1.0);
    if angle < 0.0 {
        angle = -angle;
        sine = -sine;
    }
    if angle > 180.0 {
        angle = 360.0 - angle;
        sine = -sine;
    }
    if angle > 90.0 {
        angle = 180.0 - angle;
        cosine = -cosine;
    }
    (angle, sine, cosine)
}

fn sine_degrees(degrees: f64) -> Result<f64> {
    finite(degrees, |degrees| {
        let (angle, sine, _) = quadrant(degrees);
        sine * sine_of_first(angle)
    })
}

fn cosine_degrees(degrees: f64) -> Result<f64> {
    finite(degrees, |degrees| {
        let (angle, _, cosine) = quadrant(degrees);
        cosine * cosine_of_first(angle)
    })
}

fn tangent_degrees(degrees: f64) -> Result<f64> {
    finite(degrees, |degrees| {
        let (angle, sine, cosine) = quadrant(degrees);
        let unit = sine_of_first(45.0) / cosine_of_first(45.0);
        let tangent = sine * cosine * (sine_of_first(angle) / cosine_of_first(angle) / unit);
        // No negative zero.
        if tangent == 0.0 { 0.0 } else { tangent }
    })
}

fn cotangent_degrees(degrees: f64) -> Result<f64> {
    finite(degrees, |degrees| {
        let (angle, sine, cosine) = quadrant(degrees);
        let unit = cosine_of_first(45.0) / sine_of_first(45.0);
        let cotangent = sine * cosine * (cosine_of_first(angle) / sine_of_first(angle) / unit);
        if cotangent == 0.0 { 0.0 } else { cotangent }
    })
}

fn arcsine_of_first(sine: f64) -> f64 {
    if sine <= 0.5 {
        sine.asin() / 0.5f64.asin() * 30.0
    } else {
        90.0 - sine.acos() / 0.5f64.acos() * 60.0
    }
}

fn arccosine_of_first(cosine: f64) -> f64 {
    if cosine <= 0.5 {
        90.0 - cosine.asin() / 0.5f64.asin() * 30.0
    } else {
        cosine.acos() / 0.5f64.acos() * 60.0
    }
}

fn arcsine_degrees(sine: f64) -> Result<f64> {
    within_one(sine, |sine| {
        if sine >= 0.0 {
            arcsine_of_first(sine)
        } else {
            -arcsine_of_first(-sine)
        }
    })
}

fn arccosine_degrees(cosine: f64) -> Result<f64> {
    within_one(cosine, |cosine| {
        if cosine >= 0.0 {
            arccosine_of_first(cosine)
        } else {
            90.0 + arcsine_of_first(-cosine)
        }
    })
}

fn arctangent_degrees(tangent: f64) -> f64 {
    tangent.atan() / 1f64.atan() * 45.0
}

fn arctangent2_degrees(y: f64, x: f64) -> f64 {
    y.atan2(x) / 1f64.atan() * 45.0
}

fn degrees(radians: f64) -> Result<f64> {
    not_overflowed(radians / (std::f64::consts::PI / 180.0), &[radians])
}

fn hyperbolic_arccosine(operand: f64) -> Result<f64> {
    if operand < 1.0 {
        return Err(input_out_of_range());
    }
    // Squares of greater numbers would overflow.
    if operand > 1e150 {
        return Ok(operand.ln() + std::f64::consts::LN_2);
    }
    Ok(operand.acosh())
}

fn hyperbolic_arcsine(operand: f64) -> f64 {
    if operand.abs() > 1e150 {
        return (operand.abs().ln() + std::f64::consts::LN_2).copysign(operand);
    }
    operand.asinh()
}

fn hyperbolic_arctangent(operand: f64) -> Result<f64> {
    within_one(operand, |operand| {
        if operand.abs() == 1.0 {
            f64::INFINITY.copysign(operand)
        } else {
            operand.atanh()
        }
    })
}

fn hyperbolic_cosine(operand: f64) -> Result<f64> {
    let result = operand.cosh();
    if result == 0.0 {
        return Err(overflow());
    }
    Ok(result)
}

pub(crate) static FUNCTIONS: &[Function] = &[
    entry!("sin"(FLOAT8) -> FLOAT8, |operand: f64| finite(operand, f64::sin)),
    entry!("cos"(FLOAT8) -> FLOAT8, |operand: f64| finite(operand, f64::cos)),
    entry!("tan"(FLOAT8) -> FLOAT8, |operand: f64| finite(operand, f64::tan)),
    entry!("cot"(FLOAT8) -> FLOAT8, cotangent),
    entry!("asin"(FLOAT8) -> FLOAT8, |operand: f64| within_one(operand, f64::asin)),
    entry!("acos"(FLOAT8) -> FLOAT8, |operand: f64| within_one(operand, f64::acos)),
    entry!("atan"(FLOAT8) -> FLOAT8, f64::atan),
    entry!("atan2"(FLOAT8, FLOAT8) -> FLOAT8, f64::atan2),
    entry!("sind"(FLOAT8) -> FLOAT8, sine_degrees),
    entry!("cosd"(FLOAT8) -> FLOAT8, cosine_degrees),
    entry!("tand"(FLOAT8) -> FLOAT8, tangent_degrees),
    entry!("cotd"(FLOAT8) -> FLOAT8, cotangent_degrees),
    entry!("asind"(FLOAT8) -> FLOAT8, arcsine_degrees),
    entry!("acosd"(FLOAT8) -> FLOAT8, arccosine_degrees),
    entry!("atand"(FLOAT8) -> FLOAT8, arctangent_degrees),
    entry!("atan2d"(FLOAT8, FLOAT8) -> FLOAT8, arctangent2_degrees),
    entry!("sinh"(FLOAT8) -> FLOAT8, f64::sinh),
    entry!("cosh"(FLOAT8) -> FLOAT8, hyperbolic_cosine),
    entry!("tanh"(FLOAT8) -> FLOAT8, f64::tanh),
    entry!("asinh"(FLOAT8) -> FLOAT8, hyperbolic_arcsine),
    entry!("acosh"(FLOAT8) -> FLOAT8, hyperbolic_arccosine),
    entry!("atanh"(FLOAT8) -> FLOAT8, hyperbolic_arctangent),
    entry!("degrees"(FLOAT8) -> FLOAT8, degrees),
    entry!("radians"(FLOAT8) -> FLOAT8, |degrees: f64| degrees * (std::f64::consts::PI / 180.0)),
];
