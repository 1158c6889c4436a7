//! Values as expressions and operators pass them.

use crate::{Array, EnumId, Jsonb, Numeric, Record, Scalar, Type};

/// A span of time: PostgreSQL keeps three parts, because months and days differ in length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// Microseconds.
    pub microseconds: i64,
    /// Days.
    pub days: i32,
    /// Months.
    pub months: i32,
}

/// A value of any type, or NULL.
///
/// A value does not determine its [`Type`](crate::Type): `text`, `varchar` and `name` are all
/// [`Text`](Self::Text). The holder of a value knows the type that the binder gave it.
#[derive(Debug, Clone, Copy)]
pub enum Value<'a> {
    /// NULL, of any type.
    Null,
    /// `boolean`
    Bool(bool),
    /// `smallint`
    Int2(i16),
    /// `integer`
    Int4(i32),
    /// `bigint`
    Int8(i64),
    /// `real`
    Float4(f32),
    /// `double precision`
    Float8(f64),
    /// `numeric`
    Numeric(Numeric<'a>),
    /// `text`, `varchar`, `name`; `char(n)` with its blanks.
    Text(&'a str),
    /// `"char"`
    Char(u8),
    /// `bytea`
    Bytea(&'a [u8]),
    /// `uuid`
    Uuid(&'a [u8; 16]),
    /// `json`: the text as it was given.
    Json(&'a str),
    /// `jsonb`
    Jsonb(Jsonb<'a>),
    /// Days since 2000-01-01; `i32::MIN` and `i32::MAX` are the infinities.
    Date(i32),
    /// Microseconds since midnight, up to and including 24:00:00.
    Time(i64),
    /// Microseconds since midnight, and the zone in seconds west of Greenwich.
    TimeTz(i64, i32),
    /// Microseconds since 2000-01-01 00:00:00; `i64::MIN` and `i64::MAX` are the infinities.
    Timestamp(i64),
    /// Microseconds since 2000-01-01 00:00:00 UTC; `i64::MIN` and `i64::MAX` are the
    /// infinities.
    TimestampTz(i64),
    /// `interval`
    Interval(Interval),
    /// `oid` and its aliases: `regclass`, `regtype`, `regproc`, `regnamespace`, `regrole`
    Oid(u32),
    /// A label of an enum, by its position in the order of the labels' definition.
    Enum(EnumId, u32),
    /// An array.
    Array(Array<'a>),
    /// A row.
    Record(&'a Record<'a>),
}

impl Value<'_> {
    /// Returns whether the value is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Returns a type that has this kind of value; the most general among several.
    pub(crate) fn general_type(&self) -> Type {
        Type::Scalar(match self {
            Self::Null => return Type::Unknown,
            Self::Bool(_) => Scalar::Bool,
            Self::Int2(_) => Scalar::Int2,
            Self::Int4(_) => Scalar::Int4,
            Self::Int8(_) => Scalar::Int8,
            Self::Float4(_) => Scalar::Float4,
            Self::Float8(_) => Scalar::Float8,
            Self::Numeric(_) => Scalar::Numeric,
            Self::Text(_) => Scalar::Text,
            Self::Char(_) => Scalar::Char,
            Self::Bytea(_) => Scalar::Bytea,
            Self::Uuid(_) => Scalar::Uuid,
            Self::Json(_) => Scalar::Json,
            Self::Jsonb(_) => Scalar::Jsonb,
            Self::Date(_) => Scalar::Date,
            Self::Time(_) => Scalar::Time,
            Self::TimeTz(..) => Scalar::TimeTz,
            Self::Timestamp(_) => Scalar::Timestamp,
            Self::TimestampTz(_) => Scalar::TimestampTz,
            Self::Interval(_) => Scalar::Interval,
            Self::Oid(_) => Scalar::Oid,
            Self::Enum(id, _) => Scalar::Enum(*id),
            Self::Array(array) => return Type::Array(array.element()),
            Self::Record(_) => return Type::Record,
        })
    }
}

const _: () = assert!(size_of::<Value<'_>>() <= 24);
