//! Loops over columns that do what a function of two operands does for each row.
//!
//! A kernel never fails: where the function would raise an error, or where the columns do not have the form that the
//! loop is for, it gives no result, and the function is called for each row instead.
//!
//! Places of NULLs are computed with what stands there, and their results have no meaning. One that is out of range
//! costs the loop, and no more: the function is not called for it.

use std::{cell::Cell, cmp::Ordering};

use batch::{Data, IntegerKind, Vector};
use functions::Comparison;
use patterns::LiteralPattern;
use types::{Scalar, Type, Value};

use super::{
    agrees,
    columnar::{Active, Values},
};

/// A loop that stands for a function of two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kernel {
    Add(IntegerKind),
    Subtract(IntegerKind),
    Multiply(IntegerKind),
    Compare(Comparison),
    /// `LIKE`, or `NOT LIKE`, for one pattern of plain text and `%`.
    Like {
        is_not: bool,
    },
}

/// Types between which a kernel computes; the values of each have one form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Integer,
    Numeric,
    Float,
    /// A date or a time of a type, which is compared alone.
    Time(Scalar),
    Text,
}

fn class_of(ty: Type) -> Option<Class> {
    let Type::Scalar(scalar) = ty else {
        return None;
    };
    Some(match scalar {
        Scalar::Int2 | Scalar::Int4 | Scalar::Int8 => Class::Integer,
        Scalar::Numeric => Class::Numeric,
        Scalar::Float8 => Class::Float,
        Scalar::Date | Scalar::Time | Scalar::Timestamp | Scalar::TimestampTz => {
            Class::Time(scalar)
        }
        Scalar::Text | Scalar::Varchar | Scalar::Name => Class::Text,
        _ => return None,
    })
}

impl Kernel {
    /// Returns the loop for a strict function of operands of these types; `None` if there is none.
    pub(super) fn of(function: &functions::Function, left: Type, right: Type) -> Option<Kernel> {
        let class = class_of(left).filter(|class| class_of(right) == Some(*class))?;
        if let Some(comparison) = function.comparison {
            return Some(Kernel::Compare(comparison));
        }
        if let ("~~" | "!~~", Class::Text) = (function.name, class) {
            let is_not = function.name == "!~~";
            return Some(Kernel::Like { is_not });
        }
        let computes = matches!(class, Class::Integer | Class::Numeric | Class::Float);
        let result = function.result.fixed().and_then(class_of);
        if !computes || result != Some(class) {
            return None;
        }
        // The type of the result counts for integers alone.
        let kind = match function.result.fixed() {
            Some(Type::Scalar(Scalar::Int2)) => IntegerKind::Int2,
            Some(Type::Scalar(Scalar::Int4)) => IntegerKind::Int4,
            _ => IntegerKind::Int8,
        };
        match function.name {
            "+" => Some(Kernel::Add(kind)),
            "-" => Some(Kernel::Subtract(kind)),
            "*" => Some(Kernel::Multiply(kind)),
            _ => None,
        }
    }

    /// Returns the results at the active positions; `None` if the function has to be called for each of them.
    pub(super) fn run<'a>(
        self,
        left: Values<'_, 'a>,
        right: Values<'_, 'a>,
        active: &Active,
        len: usize,
    ) -> Option<Vector<'a>> {
        let nulls = nulls_of(left, right, len)?;
        let mut result = match (Operands::of(left, right)?, self) {
            (Operands::Integers(left, right), Self::Compare(comparison)) => Vector::of(
                Data::Bools(compare_integers(comparison, left, right, active, len)),
            ),
            (Operands::Texts(left, right), Self::Compare(comparison)) => {
                let order = |at| left.at(at).as_bytes().cmp(right.at(at).as_bytes());
                Vector::of(Data::Bools(filled(active, len, |at| {
                    agrees(comparison, order(at))
                })))
            }
            (Operands::Texts(left, Side::One(pattern)), Self::Like { is_not }) => {
                let pattern = LiteralPattern::of(pattern)?;
                Vector::of(Data::Bools(filled(active, len, |at| {
                    pattern.matches(left.at(at)) != is_not
                })))
            }
            (Operands::Floats(left, right), Self::Compare(comparison)) => {
                let order = |at| float_order(left.at(at), right.at(at));
                Vector::of(Data::Bools(filled(active, len, |at| {
                    agrees(comparison, order(at))
                })))
            }
            (Operands::Decimals(left, right), Self::Compare(comparison)) => {
                compare_decimals(comparison, left, right, active, len)?
            }
            (Operands::Integers(left, right), _) => {
                let (kind, values) = self.integers(left, right, active, len)?;
                Vector::of(Data::Integers(kind, values))
            }
            (Operands::Decimals(left, right), _) => {
                let (scale, values) = self.decimals(left, right, active, len)?;
                Vector::of(Data::Decimals(scale, values))
            }
            (Operands::Floats(left, right), _) => {
                Vector::of(Data::Floats(self.floats(left, right, active, len)?))
            }
            (Operands::Texts(..), _) => return None,
        };
        if let Some(nulls) = nulls {
            result.mark_nulls(nulls);
        }
        Some(result)
    }

    fn integers(
        self,
        left: Side<'_, i64>,
        right: Side<'_, i64>,
        active: &Active,
        len: usize,
    ) -> Option<(IntegerKind, Vec<i64>)> {
        let (kind, values) = match self {
            Self::Add(kind) => (
                kind,
                checked(active, len, left, right, i64::overflowing_add)?,
            ),
            Self::Subtract(kind) => (
                kind,
                checked(active, len, left, right, i64::overflowing_sub)?,
            ),
            Self::Multiply(kind) => (
                kind,
                checked(active, len, left, right, i64::overflowing_mul)?,
            ),
            Self::Compare(_) | Self::Like { .. } => return None,
        };
        let (least, greatest) = kind.range();
        let mut is_within = true;
        active.each_of(len, |at| {
            is_within &= (least..=greatest).contains(&values[at])
        });
        is_within.then_some((kind, values))
    }

    /// Sums have the greater scale of both sides, and products the sum of the scales.
    fn decimals(
        self,
        (left_scale, left): (u16, Side<'_, i64>),
        (right_scale, right): (u16, Side<'_, i64>),
        active: &Active,
        len: usize,
    ) -> Option<(u16, Vec<i64>)> {
        if let Self::Multiply(_) = self {
            let scale = left_scale + right_scale;
            let is_scale = scale <= types::NUMERIC_SCALE_MAX;
            let values = checked(active, len, left, right, i64::overflowing_mul)?;
            return is_scale.then_some((scale, values));
        }
        let scale = left_scale.max(right_scale);
        let (mut left_list, mut right_list) = (Vec::new(), Vec::new());
        let left = left.raised(scale - left_scale, active, len, &mut left_list)?;
        let right = right.raised(scale - right_scale, active, len, &mut right_list)?;
        let values = match self {
            Self::Add(_) => checked(active, len, left, right, i64::overflowing_add)?,
            Self::Subtract(_) => checked(active, len, left, right, i64::overflowing_sub)?,
            Self::Multiply(_) | Self::Compare(_) | Self::Like { .. } => return None,
        };
        Some((scale, values))
    }

    /// Results that overflow or underflow are errors, which the function raises.
    fn floats(
        self,
        left: Side<'_, f64>,
        right: Side<'_, f64>,
        active: &Active,
        len: usize,
    ) -> Option<Vec<f64>> {
        let values = match self {
            Self::Add(_) => filled(active, len, |at| left.at(at) + right.at(at)),
            Self::Subtract(_) => filled(active, len, |at| left.at(at) - right.at(at)),
            Self::Multiply(_) => filled(active, len, |at| left.at(at) * right.at(at)),
            Self::Compare(_) | Self::Like { .. } => return None,
        };
        let mut is_plain = true;
        let may_vanish = matches!(self, Self::Multiply(_));
        active.each_of(len, |at| {
            is_plain &= values[at].is_finite() && !(may_vanish && values[at] == 0.0)
        });
        is_plain.then_some(values)
    }
}

/// One operand of a loop.
#[derive(Clone, Copy)]
enum Side<'v, T> {
    Many(&'v [T]),
    One(T),
}

impl<T: Copy> Side<'_, T> {
    #[inline(always)]
    fn at(&self, at: usize) -> T {
        match self {
            Self::Many(values) => values[at],
            Self::One(value) => *value,
        }
    }
}

impl<'v> Side<'v, i64> {
    /// Returns mantissas with `digits` digits more behind the point; `None` if one does not fit.
    fn raised(
        self,
        digits: u16,
        active: &Active,
        len: usize,
        list: &'v mut Vec<i64>,
    ) -> Option<Side<'v, i64>> {
        if digits == 0 {
            return Some(self);
        }
        let factor = 10i64.checked_pow(digits.into())?;
        match self {
            Self::One(value) => value.checked_mul(factor).map(Side::One),
            Self::Many(_) => {
                *list = checked(active, len, self, Side::One(factor), i64::overflowing_mul)?;
                Some(Side::Many(list))
            }
        }
    }
}

/// Both operands in the form that a loop is for.
enum Operands<'v, 'a> {
    Integers(Side<'v, i64>, Side<'v, i64>),
    Decimals((u16, Side<'v, i64>), (u16, Side<'v, i64>)),
    Floats(Side<'v, f64>, Side<'v, f64>),
    Texts(Side<'v, &'a str>, Side<'v, &'a str>),
}

/// One operand in the form that a loop is for.
enum Operand<'v, 'a> {
    Integers(Side<'v, i64>),
    Decimals(u16, Side<'v, i64>),
    Floats(Side<'v, f64>),
    Texts(Side<'v, &'a str>),
}

impl<'v, 'a> Operand<'v, 'a> {
    fn of(values: Values<'v, 'a>) -> Option<Self> {
        Some(match values {
            Values::Vector(vector) => match vector.data() {
                Data::Integers(_, values) => Self::Integers(Side::Many(values)),
                Data::Decimals(scale, values) => Self::Decimals(*scale, Side::Many(values)),
                Data::Floats(values) => Self::Floats(Side::Many(values)),
                Data::Texts(values) => Self::Texts(Side::Many(values)),
                Data::Nulls | Data::Bools(_) | Data::Values(_) => return None,
            },
            Values::Constant(value) => match value {
                Value::Float8(value) => Self::Floats(Side::One(value)),
                Value::Text(value) => Self::Texts(Side::One(value)),
                Value::Numeric(number) => {
                    let (mantissa, scale) = number.as_small()?;
                    Self::Decimals(scale, Side::One(mantissa))
                }
                value => Self::Integers(Side::One(IntegerKind::of(value)?.1)),
            },
        })
    }
}

impl<'v, 'a> Operands<'v, 'a> {
    fn of(left: Values<'v, 'a>, right: Values<'v, 'a>) -> Option<Self> {
        Some(match (Operand::of(left)?, Operand::of(right)?) {
            (Operand::Integers(left), Operand::Integers(right)) => Self::Integers(left, right),
            (Operand::Decimals(scale, left), Operand::Decimals(of_right, right)) => {
                Self::Decimals((scale, left), (of_right, right))
            }
            (Operand::Floats(left), Operand::Floats(right)) => Self::Floats(left, right),
            (Operand::Texts(left), Operand::Texts(right)) => Self::Texts(left, right),
            _ => return None,
        })
    }
}

/// Returns the marks of the positions where an operand is NULL, which `Some(None)` says of none; `None` if a constant
/// is NULL, or has not been computed.
fn nulls_of(left: Values<'_, '_>, right: Values<'_, '_>, len: usize) -> Option<Option<Vec<bool>>> {
    let mut nulls: Option<Vec<bool>> = None;
    for side in [left, right] {
        match side {
            Values::Constant(value) if value.is_null() => return None,
            Values::Constant(_) => {}
            Values::Vector(vector) => {
                let Some(marks) = vector.null_marks() else {
                    continue;
                };
                match &mut nulls {
                    None => nulls = Some(marks.to_vec()),
                    Some(nulls) => nulls
                        .iter_mut()
                        .zip(marks)
                        .for_each(|(null, mark)| *null |= mark),
                }
            }
        }
    }
    debug_assert!(nulls.as_ref().is_none_or(|nulls| nulls.len() == len));
    Some(nulls)
}

/// Returns a list of `len` results, those at the active positions computed.
#[inline(always)]
fn filled<T: Copy + Default>(active: &Active, len: usize, result: impl Fn(usize) -> T) -> Vec<T> {
    match active {
        Active::All => (0..len).map(result).collect(),
        Active::These(positions) => {
            let mut values = vec![T::default(); len];
            for at in positions {
                values[*at as usize] = result(*at as usize);
            }
            values
        }
    }
}

/// Returns a list of `len` results; `None` if one at an active position is too large.
#[inline(always)]
fn checked(
    active: &Active,
    len: usize,
    left: Side<'_, i64>,
    right: Side<'_, i64>,
    compute: impl Fn(i64, i64) -> (i64, bool) + Copy,
) -> Option<Vec<i64>> {
    let is_too_large = Cell::new(false);
    let values = mapped(active, len, left, right, |one, two| {
        let (value, is_over) = compute(one, two);
        is_too_large.set(is_too_large.get() | is_over);
        value
    });
    (!is_too_large.get()).then_some(values)
}

/// Returns a list of `len` results of two integers; the sides are told apart outside the loop.
#[inline(always)]
fn mapped<T: Copy + Default>(
    active: &Active,
    len: usize,
    left: Side<'_, i64>,
    right: Side<'_, i64>,
    result: impl Fn(i64, i64) -> T,
) -> Vec<T> {
    match (left, right) {
        (Side::Many(left), Side::Many(right)) => {
            let (left, right) = (&left[..len], &right[..len]);
            filled(active, len, |at| result(left[at], right[at]))
        }
        (Side::Many(left), Side::One(right)) => {
            let left = &left[..len];
            filled(active, len, |at| result(left[at], right))
        }
        (Side::One(left), Side::Many(right)) => {
            let right = &right[..len];
            filled(active, len, |at| result(left, right[at]))
        }
        (Side::One(left), Side::One(right)) => filled(active, len, |_| result(left, right)),
    }
}

/// Compares integers, each kind of comparison in a loop of its own.
fn compare_integers(
    comparison: Comparison,
    left: Side<'_, i64>,
    right: Side<'_, i64>,
    active: &Active,
    len: usize,
) -> Vec<bool> {
    match comparison {
        Comparison::Equal => mapped(active, len, left, right, |one, two| one == two),
        Comparison::NotEqual => mapped(active, len, left, right, |one, two| one != two),
        Comparison::Less => mapped(active, len, left, right, |one, two| one < two),
        Comparison::LessOrEqual => mapped(active, len, left, right, |one, two| one <= two),
        Comparison::Greater => mapped(active, len, left, right, |one, two| one > two),
        Comparison::GreaterOrEqual => mapped(active, len, left, right, |one, two| one >= two),
    }
}

/// Compares numbers of two scales. Mantissas of 64 bits with up to 19 digits more fit in 128 bits.
fn compare_decimals<'a>(
    comparison: Comparison,
    (left_scale, left): (u16, Side<'_, i64>),
    (right_scale, right): (u16, Side<'_, i64>),
    active: &Active,
    len: usize,
) -> Option<Vector<'a>> {
    let factor = |digits: u16| match digits <= 19 {
        true => Some(10i128.pow(digits.into())),
        false => None,
    };
    let scale = left_scale.max(right_scale);
    let (more, less) = (factor(scale - left_scale)?, factor(scale - right_scale)?);
    let values = if more == less {
        compare_integers(comparison, left, right, active, len)
    } else {
        let order = |at| (i128::from(left.at(at)) * more).cmp(&(i128::from(right.at(at)) * less));
        filled(active, len, |at| agrees(comparison, order(at)))
    };
    Some(Vector::of(Data::Bools(values)))
}

/// NaN is equal to itself, and greater than all other numbers.
#[inline(always)]
fn float_order(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right)
        .unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
}
