//! Hashes of values, for joins, grouping and DISTINCT.

use std::hash::{BuildHasher as _, Hash as _, Hasher};

use foldhash::fast::FixedState;

use super::{integer, interval_key, time_tz_key, without_blanks};
use crate::{Type, Value};

/// Returns the hash of a row's values; different `seed`s give unrelated hashes.
///
/// The hash is equal for values that [`compare`](super::compare) calls equal, integers of
/// different widths included, also `real` and `double precision`; not between integers, floats
/// and `numeric`, which a join converts before. `types` says which columns are `char(n)`.
#[inline]
pub fn hash_values(types: &[Type], values: &[Value<'_>], seed: u64) -> u64 {
    let mut state = FixedState::with_seed(seed).build_hasher();
    for (ty, value) in types.iter().zip(values) {
        // Most keys are integers.
        match integer(*value) {
            Some(value) => value.hash(&mut state),
            None => feed_hasher(*ty, *value, &mut state),
        }
    }
    state.finish()
}

/// Feeds a hasher with bytes that are the same for equal values of a type.
pub fn feed_hasher<H: Hasher>(ty: Type, value: Value<'_>, state: &mut H) {
    match value {
        Value::Null => state.write_u8(0),
        Value::Bool(value) => value.hash(state),
        Value::Int2(_) | Value::Int4(_) | Value::Int8(_) => {
            integer(value).unwrap_or(0).hash(state);
        }
        Value::Float4(value) => canonical(value.into()).hash(state),
        Value::Float8(value) => canonical(value).hash(state),
        Value::Numeric(value) => value.feed_hasher(state),
        Value::Text(value) if is_bpchar(ty) => without_blanks(value).hash(state),
        Value::Text(value) | Value::Json(value) => value.hash(state),
        Value::Char(value) => value.hash(state),
        Value::Bytea(value) => value.hash(state),
        Value::Uuid(value) => value.hash(state),
        Value::Jsonb(value) => value.feed_hasher(state),
        Value::Date(value) => value.hash(state),
        Value::Time(value) | Value::Timestamp(value) | Value::TimestampTz(value) => {
            value.hash(state);
        }
        Value::TimeTz(time, zone) => time_tz_key(time, zone).hash(state),
        Value::Interval(value) => interval_key(value).hash(state),
        Value::Oid(value) => value.hash(state),
        Value::Enum(_, position) => position.hash(state),
        Value::Array(array) => {
            array.len().hash(state);
            for element in array.iter() {
                feed_hasher(
                    array.element().into(),
                    element.unwrap_or(Value::Null),
                    state,
                );
            }
        }
        Value::Record(record) => {
            for (position, value) in record.values.iter().enumerate() {
                feed_hasher(record.ty(position), *value, state);
            }
        }
    }
}

fn is_bpchar(ty: Type) -> bool {
    ty == Type::Scalar(crate::Scalar::Bpchar)
}

/// Returns the bits of a float, the same for all NaNs and for both zeros.
fn canonical(float: f64) -> u64 {
    if float.is_nan() {
        f64::NAN.to_bits()
    } else {
        // -0.0 + 0.0 is 0.0.
        (float + 0.0).to_bits()
    }
}
