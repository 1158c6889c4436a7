//! Variances and standard deviations.
//!
//! Floats are accumulated by the method of Youngs and Cramer, which does not lose digits in the
//! difference of great sums; all other numbers exactly, in `numeric`.

use types::{Numeric, Result, Value};

use super::{Aggregate, Inner, State, mismatch};
use crate::{
    Context,
    argument::take,
    cast::to_numeric,
    float::{Double, overflow},
    function::{Body, FLOAT4, FLOAT8, Function, INT2, INT4, INT8, NUMERIC},
};

fn add_float(_: &Context<'_>, state: &mut State, arguments: &[Value<'_>]) -> Result<()> {
    let Inner::Floats {
        count,
        sum,
        squares,
    } = &mut state.0
    else {
        return Err(mismatch());
    };
    let operand = take::<Double>(arguments, 0)?.0;
    let before = *count;
    let finite = sum.is_finite() && operand.is_finite();
    *count += 1.0;
    *sum += operand;
    if before > 0.0 {
        let difference = operand * *count - *sum;
        *squares += difference * difference / (*count * before);
        if sum.is_infinite() || squares.is_infinite() {
            if finite {
                return Err(overflow());
            }
            *squares = f64::NAN;
        }
    } else if !operand.is_finite() {
        *squares = f64::NAN;
    }
    Ok(())
}

/// Brings two samples together, as PostgreSQL's `float8_combine` does.
fn combine_floats(_: &Context<'_>, state: &mut State, other: &State) -> Result<()> {
    let (
        Inner::Floats {
            count,
            sum,
            squares,
        },
        Inner::Floats {
            count: rows,
            sum: more,
            squares: more_squares,
        },
    ) = (&mut state.0, &other.0)
    else {
        return Err(mismatch());
    };
    if *rows == 0.0 {
        return Ok(());
    }
    if *count == 0.0 {
        (*count, *sum, *squares) = (*rows, *more, *more_squares);
        return Ok(());
    }
    let total = *sum + more;
    if total.is_infinite() && sum.is_finite() && more.is_finite() {
        return Err(overflow());
    }
    let difference = *sum / *count - more / rows;
    let both = *squares + more_squares + *count * rows * difference * difference / (*count + rows);
    if both.is_infinite() && squares.is_finite() && more_squares.is_finite() {
        return Err(overflow());
    }
    (*count, *sum, *squares) = (*count + rows, total, both);
    Ok(())
}

fn float_variance(state: &State, sample: bool) -> Result<Option<f64>> {
    match state.0 {
        Inner::Floats { count, squares, .. } => {
            let divisor = if sample { count - 1.0 } else { count };
            Ok((divisor > 0.0).then(|| squares / divisor))
        }
        _ => Err(mismatch()),
    }
}

fn float_result<'a>(state: &State, sample: bool, root: bool) -> Result<Value<'a>> {
    let variance = float_variance(state, sample)?;
    Ok(variance.map_or(Value::Null, |variance| {
        Value::Float8(if root { variance.sqrt() } else { variance })
    }))
}

fn start_floats() -> State {
    State(Inner::Floats {
        count: 0.0,
        sum: 0.0,
        squares: 0.0,
    })
}

fn add_exact(context: &Context<'_>, state: &mut State, arguments: &[Value<'_>]) -> Result<()> {
    let Inner::Squares(sums) = &mut state.0 else {
        return Err(mismatch());
    };
    let number = to_numeric(context, take(arguments, 0)?)?;
    sums.0.add(number, context.scratch)?;
    sums.1
        .add(number.multiply(number, context.scratch)?, context.scratch)
}

fn remove_exact(context: &Context<'_>, state: &mut State, arguments: &[Value<'_>]) -> Result<bool> {
    let Inner::Squares(sums) = &mut state.0 else {
        return Err(mismatch());
    };
    let number = to_numeric(context, take(arguments, 0)?)?;
    let square = number.multiply(number, context.scratch)?;
    Ok(sums.0.remove(number, context.scratch)? && sums.1.remove(square, context.scratch)?)
}

fn combine_exact(context: &Context<'_>, state: &mut State, other: &State) -> Result<()> {
    let (Inner::Squares(sums), Inner::Squares(more)) = (&mut state.0, &other.0) else {
        return Err(mismatch());
    };
    sums.0.combine(&more.0, context.scratch)?;
    sums.1.combine(&more.1, context.scratch)
}

fn exact_result<'a>(
    context: &Context<'a>,
    state: &State,
    sample: bool,
    root: bool,
) -> Result<Value<'a>> {
    let Inner::Squares(sums) = &state.0 else {
        return Err(mismatch());
    };
    let scratch = context.scratch;
    let rows = sums.0.count;
    if rows < if sample { 2 } else { 1 } {
        return Ok(Value::Null);
    }
    if !sums.0.is_finite() {
        return Ok(Value::Numeric(Numeric::NAN));
    }
    let count = Numeric::small(rows, 0);
    let sum = sums.0.total(scratch)?;
    let scaled = sums.1.total(scratch)?.multiply(count, scratch)?;
    let numerator = scaled.subtract(sum.multiply(sum, scratch)?, scratch)?;
    if numerator.signum() <= 0 {
        return Ok(Value::Numeric(Numeric::small(0, 0)));
    }
    let other = Numeric::small(if sample { rows - 1 } else { rows }, 0);
    let variance = numerator.divide(count.multiply(other, scratch)?, scratch)?;
    Ok(Value::Numeric(if root {
        let scale = variance.scale().unwrap_or(0);
        variance.sqrt_to_scale(scale, scratch)?
    } else {
        variance
    }))
}

fn start_exact() -> State {
    State(Inner::Squares(Box::default()))
}

macro_rules! moment {
    ($float:ident, $exact:ident, $sample:literal, $root:literal) => {
        static $float: Aggregate = Aggregate::new(start_floats, add_float, |_, state, _| {
            float_result(state, $sample, $root)
        })
        .combining(combine_floats);
        static $exact: Aggregate = Aggregate::new(start_exact, add_exact, |context, state, _| {
            exact_result(context, state, $sample, $root)
        })
        .removing(remove_exact)
        .combining(combine_exact);
    };
}

moment!(FLOAT_VARIANCE, EXACT_VARIANCE, true, false);
moment!(
    FLOAT_VARIANCE_POPULATION,
    EXACT_VARIANCE_POPULATION,
    false,
    false
);
moment!(FLOAT_DEVIATION, EXACT_DEVIATION, true, true);
moment!(
    FLOAT_DEVIATION_POPULATION,
    EXACT_DEVIATION_POPULATION,
    false,
    true
);

macro_rules! over_types {
    ($($name:literal $float:ident $exact:ident)*) => {
        &[$(
            Function::new($name, &[FLOAT8], FLOAT8, Body::Aggregate(&$float)),
            Function::new($name, &[FLOAT4], FLOAT8, Body::Aggregate(&$float)),
            Function::new($name, &[NUMERIC], NUMERIC, Body::Aggregate(&$exact)),
            Function::new($name, &[INT8], NUMERIC, Body::Aggregate(&$exact)),
            Function::new($name, &[INT4], NUMERIC, Body::Aggregate(&$exact)),
            Function::new($name, &[INT2], NUMERIC, Body::Aggregate(&$exact)),
        )*]
    };
}

pub(super) static FUNCTIONS: &[Function] = over_types! {
    "var_samp" FLOAT_VARIANCE EXACT_VARIANCE
    "variance" FLOAT_VARIANCE EXACT_VARIANCE
    "var_pop" FLOAT_VARIANCE_POPULATION EXACT_VARIANCE_POPULATION
    "stddev_samp" FLOAT_DEVIATION EXACT_DEVIATION
    "stddev" FLOAT_DEVIATION EXACT_DEVIATION
    "stddev_pop" FLOAT_DEVIATION_POPULATION EXACT_DEVIATION_POPULATION
};
