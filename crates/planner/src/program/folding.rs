//! Expressions over constants alone, which are computed once, when a program is made: `1 + 10` as `numeric`, `date
//! '1994-01-01' + interval '1 year'`, the array of a short list.

use functions::{Context, Patterns, Volatility};
use types::{Scalar, Scratch, Settings, Type};

use super::{Evaluator, Layout, Outer, Sessionless, compile::compile_unfolded};
use batch::OwnedValue;
use logical::expression::{Expression, Kind};

/// Parts of an expression up to which it is computed ahead: each expression around it is looked at in the same way.
const PARTS_MAX: usize = 16;

/// Returns the value of an expression over constants alone, if that takes a moment and asks for nothing of a session;
/// `None` if it is one already, or raises an error, which belongs to the execution.
pub(crate) fn folded(expression: &Expression) -> Option<OwnedValue> {
    if matches!(expression.kind, Kind::Constant(_)) {
        return None;
    }
    let mut parts = 0;
    let is_other = expression.any(&mut |part| {
        parts += 1;
        parts > PARTS_MAX || !is_foldable(part)
    });
    if is_other {
        return None;
    }
    let program = compile_unfolded(expression, &Layout::default(), &Outer::default()).ok()?;
    let (scratch, settings, patterns) = (Scratch::new(), Settings::default(), Patterns::new());
    let context = Context {
        scratch: &scratch,
        settings: &settings,
        environment: &Sessionless,
        patterns: &patterns,
        argument_types: &[],
    };
    let value = program.run(&mut Evaluator::new(context, &[]), &[]).ok()?;
    Some(OwnedValue::new(value))
}

/// Returns whether a part of an expression is a constant, an array, or made by arithmetic over numbers and times that
/// ask for no time zone.
fn is_foldable(part: &Expression) -> bool {
    match &part.kind {
        Kind::Constant(_) | Kind::Array(_) => true,
        Kind::Convert { operand, .. } | Kind::Fit { operand, .. } => {
            is_plain(part.ty) && is_plain(operand.ty)
        }
        Kind::Call {
            function,
            arguments,
        } => {
            function.0.volatility == Volatility::Immutable
                && ["+", "-", "*", "/"].contains(&function.0.name)
                && is_plain(part.ty)
                && arguments.iter().all(|argument| is_plain(argument.ty))
        }
        _ => false,
    }
}

fn is_plain(ty: Type) -> bool {
    use Scalar::{Date, Float4, Float8, Int2, Int4, Int8, Interval, Numeric, Time, Timestamp};
    matches!(
        ty,
        Type::Scalar(
            Int2 | Int4 | Int8 | Numeric | Float4 | Float8 | Date | Time | Timestamp | Interval
        )
    )
}

#[cfg(test)]
mod tests;
