//! Aggregates of two variables: covariance, correlation, regression. The first argument is `y`.

use types::{Result, Value};

use super::{Aggregate, Inner, State, mismatch};
use crate::{
    Context,
    argument::take,
    float::overflow,
    function::{Body, FLOAT8, Function, INT8},
};

/// Sums of x and y, and of squared and mixed differences from the means.
#[derive(Debug, Default)]
pub(super) struct Sums {
    count: f64,
    x: f64,
    xx: f64,
    y: f64,
    yy: f64,
    xy: f64,
}

fn add(_: &Context<'_>, state: &mut State, arguments: &[Value<'_>]) -> Result<()> {
    let Inner::Pairs(sums) = &mut state.0 else {
        return Err(mismatch());
    };
    let (y, x): (f64, f64) = (take(arguments, 0)?, take(arguments, 1)?);
    let before = sums.count;
    let finite = sums.x.is_finite() && sums.y.is_finite() && x.is_finite() && y.is_finite();
    sums.count += 1.0;
    sums.x += x;
    sums.y += y;
    if before > 0.0 {
        let difference_x = x * sums.count - sums.x;
        let difference_y = y * sums.count - sums.y;
        let scale = 1.0 / (sums.count * before);
        sums.xx += difference_x * difference_x * scale;
        sums.yy += difference_y * difference_y * scale;
        sums.xy += difference_x * difference_y * scale;
        let all = [sums.x, sums.xx, sums.y, sums.yy, sums.xy];
        if all.iter().any(|sum| sum.is_infinite()) {
            if finite {
                return Err(overflow());
            }
            for sum in [&mut sums.xx, &mut sums.yy, &mut sums.xy] {
                if sum.is_infinite() {
                    *sum = f64::NAN;
                }
            }
        }
    } else {
        if !x.is_finite() {
            (sums.xx, sums.xy) = (f64::NAN, f64::NAN);
        }
        if !y.is_finite() {
            (sums.yy, sums.xy) = (f64::NAN, f64::NAN);
        }
    }
    Ok(())
}

fn result<'a>(state: &State, rows: f64, of: impl Fn(&Sums) -> Option<f64>) -> Result<Value<'a>> {
    match &state.0 {
        Inner::Pairs(sums) if sums.count < rows => Ok(Value::Null),
        Inner::Pairs(sums) => Ok(of(sums).map_or(Value::Null, Value::Float8)),
        _ => Err(mismatch()),
    }
}

fn count<'a>(_: &Context<'a>, state: &State, _: &[Value<'a>]) -> Result<Value<'a>> {
    match &state.0 {
        Inner::Pairs(sums) => Ok(Value::Int8(sums.count as i64)),
        _ => Err(mismatch()),
    }
}

fn determination(sums: &Sums) -> Option<f64> {
    if sums.xx == 0.0 {
        return None;
    }
    if sums.yy == 0.0 {
        return Some(1.0);
    }
    Some((sums.xy * sums.xy) / (sums.xx * sums.yy))
}

fn correlation(sums: &Sums) -> Option<f64> {
    (sums.xx != 0.0 && sums.yy != 0.0).then(|| sums.xy / (sums.xx * sums.yy).sqrt())
}

fn slope(sums: &Sums) -> Option<f64> {
    (sums.xx != 0.0).then(|| sums.xy / sums.xx)
}

fn intercept(sums: &Sums) -> Option<f64> {
    (sums.xx != 0.0).then(|| (sums.y - sums.x * sums.xy / sums.xx) / sums.count)
}

static COUNT: Aggregate = Aggregate::new(|| State(Inner::Pairs(Box::default())), add, count);

macro_rules! over_pairs {
    ($($name:literal $rows:literal $of:expr;)*) => {
        &[
            Function::new("regr_count", &[FLOAT8, FLOAT8], INT8, Body::Aggregate(&COUNT)),
            $(Function::new($name, &[FLOAT8, FLOAT8], FLOAT8, Body::Aggregate(&const {
                Aggregate::new(
                    || State(Inner::Pairs(Box::default())),
                    add,
                    |_, state, _| result(state, $rows, $of),
                )
            })),)*
        ]
    };
}

pub(super) static FUNCTIONS: &[Function] = over_pairs! {
    "covar_pop" 1.0 |sums| Some(sums.xy / sums.count);
    "covar_samp" 2.0 |sums| Some(sums.xy / (sums.count - 1.0));
    "corr" 1.0 correlation;
    "regr_avgx" 1.0 |sums| Some(sums.x / sums.count);
    "regr_avgy" 1.0 |sums| Some(sums.y / sums.count);
    "regr_sxx" 1.0 |sums| Some(sums.xx);
    "regr_syy" 1.0 |sums| Some(sums.yy);
    "regr_sxy" 1.0 |sums| Some(sums.xy);
    "regr_r2" 1.0 determination;
    "regr_slope" 1.0 slope;
    "regr_intercept" 1.0 intercept;
};
