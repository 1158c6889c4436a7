//! The casts that are not through text: `pg_cast`.

use types::Scalar;

use super::{CastContext, Conversion, Method, convert};

use CastContext::{Assignment as A, Explicit as E, Implicit as I};
use Scalar::{
    Bool, Bpchar, Char, Date, Float4, Float8, Int2, Int4, Int8, Interval, Json, Jsonb, Name,
    Numeric, Oid, Regclass, Regnamespace, Regproc, Regrole, Regtype, Text, Time, TimeTz, Timestamp,
    TimestampTz, Varchar,
};

/// A cast with the least context that it needs.
type Entry = (Scalar, Scalar, CastContext, Method);

const fn by(convert: Conversion) -> Method {
    Method::Convert(convert)
}

#[rustfmt::skip]
static CASTS: &[Entry] = &[
    (Int2, Int4, I, by(convert::int4)), (Int2, Int8, I, by(convert::int8)),
    (Int2, Float4, I, by(convert::float4)), (Int2, Float8, I, by(convert::float8)),
    (Int2, Numeric, I, by(convert::numeric)), (Int2, Oid, I, by(convert::oid)),
    (Int2, Regclass, I, by(convert::oid)), (Int2, Regtype, I, by(convert::oid)),
    (Int4, Int2, A, by(convert::int2)), (Int4, Int8, I, by(convert::int8)),
    (Int4, Float4, I, by(convert::float4)), (Int4, Float8, I, by(convert::float8)),
    (Int4, Numeric, I, by(convert::numeric)), (Int4, Oid, I, by(convert::oid)),
    (Int4, Regclass, I, by(convert::oid)), (Int4, Regtype, I, by(convert::oid)),
    (Int4, Bool, E, by(convert::boolean)), (Int4, Char, E, by(convert::char)),
    (Int8, Int2, A, by(convert::int2)), (Int8, Int4, A, by(convert::int4)),
    (Int8, Float4, I, by(convert::float4)), (Int8, Float8, I, by(convert::float8)),
    (Int8, Numeric, I, by(convert::numeric)), (Int8, Oid, I, by(convert::oid)),
    (Int8, Regclass, I, by(convert::oid)), (Int8, Regtype, I, by(convert::oid)),
    (Float4, Int2, A, by(convert::int2)), (Float4, Int4, A, by(convert::int4)),
    (Float4, Int8, A, by(convert::int8)), (Float4, Float8, I, by(convert::float8)),
    (Float4, Numeric, A, by(convert::numeric)),
    (Float8, Int2, A, by(convert::int2)), (Float8, Int4, A, by(convert::int4)),
    (Float8, Int8, A, by(convert::int8)), (Float8, Float4, A, by(convert::float4)),
    (Float8, Numeric, A, by(convert::numeric)),
    (Numeric, Int2, A, by(convert::int2)), (Numeric, Int4, A, by(convert::int4)),
    (Numeric, Int8, A, by(convert::int8)), (Numeric, Float4, I, by(convert::float4)),
    (Numeric, Float8, I, by(convert::float8)),
    (Oid, Int4, A, by(convert::int4)), (Oid, Int8, A, by(convert::int8)),
    (Oid, Regclass, I, Method::Same), (Oid, Regtype, I, Method::Same),
    (Regclass, Oid, I, Method::Same), (Regtype, Oid, I, Method::Same),
    (Regclass, Int4, A, by(convert::int4)), (Regclass, Int8, A, by(convert::int8)),
    (Regtype, Int4, A, by(convert::int4)), (Regtype, Int8, A, by(convert::int8)),
    (Int2, Regproc, I, by(convert::oid)), (Int4, Regproc, I, by(convert::oid)),
    (Int8, Regproc, I, by(convert::oid)), (Int2, Regnamespace, I, by(convert::oid)),
    (Int4, Regnamespace, I, by(convert::oid)), (Int8, Regnamespace, I, by(convert::oid)),
    (Int2, Regrole, I, by(convert::oid)), (Int4, Regrole, I, by(convert::oid)),
    (Int8, Regrole, I, by(convert::oid)),
    (Oid, Regproc, I, Method::Same), (Oid, Regnamespace, I, Method::Same),
    (Oid, Regrole, I, Method::Same), (Regproc, Oid, I, Method::Same),
    (Regnamespace, Oid, I, Method::Same), (Regrole, Oid, I, Method::Same),
    (Regproc, Int4, A, by(convert::int4)), (Regproc, Int8, A, by(convert::int8)),
    (Regnamespace, Int4, A, by(convert::int4)), (Regnamespace, Int8, A, by(convert::int8)),
    (Regrole, Int4, A, by(convert::int4)), (Regrole, Int8, A, by(convert::int8)),
    (Bool, Int4, E, by(convert::int4)), (Bool, Text, A, by(convert::boolean_text)),
    (Bool, Varchar, A, by(convert::boolean_text)), (Bool, Bpchar, A, by(convert::boolean_text)),
    (Char, Text, I, by(convert::char_text)), (Char, Varchar, A, by(convert::char_text)),
    (Char, Bpchar, A, by(convert::char_text)), (Char, Int4, E, by(convert::int4)),
    (Text, Char, A, by(convert::char)), (Varchar, Char, A, by(convert::char)),
    (Bpchar, Char, A, by(convert::char)),
    (Text, Varchar, I, Method::Same), (Text, Bpchar, I, Method::Same),
    (Varchar, Text, I, Method::Same), (Varchar, Bpchar, I, Method::Same),
    (Bpchar, Text, I, by(convert::unpadded)), (Bpchar, Varchar, I, by(convert::unpadded)),
    (Text, Name, I, by(convert::name)), (Varchar, Name, I, by(convert::name)),
    (Bpchar, Name, I, by(convert::name_unpadded)), (Name, Text, I, Method::Same),
    (Name, Varchar, A, Method::Same), (Name, Bpchar, A, Method::Same),
    (Text, Regclass, I, Method::ThroughText), (Varchar, Regclass, I, Method::ThroughText),
    (Json, Jsonb, A, Method::ThroughText), (Jsonb, Json, A, Method::ThroughText),
    (Jsonb, Bool, E, by(convert::boolean)), (Jsonb, Int2, E, by(convert::int2)),
    (Jsonb, Int4, E, by(convert::int4)), (Jsonb, Int8, E, by(convert::int8)),
    (Jsonb, Float4, E, by(convert::float4)), (Jsonb, Float8, E, by(convert::float8)),
    (Jsonb, Numeric, E, by(convert::numeric)),
    (Date, Timestamp, I, by(convert::timestamp)), (Date, TimestampTz, I, by(convert::timestamptz)),
    (Timestamp, Date, A, by(convert::date)), (Timestamp, Time, A, by(convert::time)),
    (Timestamp, TimestampTz, I, by(convert::timestamptz)),
    (TimestampTz, Date, A, by(convert::date)), (TimestampTz, Time, A, by(convert::time)),
    (TimestampTz, TimeTz, A, by(convert::timetz)),
    (TimestampTz, Timestamp, A, by(convert::timestamp)),
    (Time, Interval, I, by(convert::interval)), (Time, TimeTz, I, by(convert::timetz)),
    (TimeTz, Time, A, by(convert::time)), (Interval, Time, A, by(convert::time)),
];

/// Returns the cast between two types with its least context, besides any cast
/// through text.
pub(super) fn find(from: Scalar, to: Scalar) -> Option<(CastContext, Method)> {
    CASTS
        .iter()
        .find(|entry| entry.0 == from && entry.1 == to)
        .map(|entry| (entry.2, entry.3))
}

/// Returns all casts, for `pg_cast`: from, to, and the least context.
pub fn casts() -> impl Iterator<Item = (Scalar, Scalar, CastContext)> {
    CASTS.iter().map(|entry| (entry.0, entry.1, entry.2))
}
