//! Entries of `pg_type` for the types of PostgreSQL that Weft has.

use super::{Category, EnumId, Scalar};

/// Properties of one type.
pub(super) struct Facts {
    pub(super) scalar: Scalar,
    pub(super) oid: u32,
    pub(super) array_oid: u32,
    /// `pg_type.typname`
    pub(super) internal: &'static str,
    /// Name displayed by `format_type`.
    pub(super) display: &'static str,
    pub(super) length: i16,
    pub(super) category: Category,
    pub(super) preferred: bool,
}

/// Returns the properties of a type; for an enum, those common to all.
pub(super) fn facts_of(scalar: Scalar) -> &'static Facts {
    match scalar {
        Scalar::Enum(_) => &ENUM,
        _ => &BUILT_IN[index(scalar)],
    }
}

/// Returns the position of a type in [`BUILT_IN`]; that behind the last for an enum.
pub(super) const fn index(scalar: Scalar) -> usize {
    match scalar {
        Scalar::Bool => 0,
        Scalar::Int2 => 1,
        Scalar::Int4 => 2,
        Scalar::Int8 => 3,
        Scalar::Float4 => 4,
        Scalar::Float8 => 5,
        Scalar::Numeric => 6,
        Scalar::Text => 7,
        Scalar::Varchar => 8,
        Scalar::Bpchar => 9,
        Scalar::Name => 10,
        Scalar::Char => 11,
        Scalar::Bytea => 12,
        Scalar::Uuid => 13,
        Scalar::Json => 14,
        Scalar::Jsonb => 15,
        Scalar::Date => 16,
        Scalar::Time => 17,
        Scalar::TimeTz => 18,
        Scalar::Timestamp => 19,
        Scalar::TimestampTz => 20,
        Scalar::Interval => 21,
        Scalar::Oid => 22,
        Scalar::Regclass => 23,
        Scalar::Regtype => 24,
        Scalar::Regproc => 25,
        Scalar::Regnamespace => 26,
        Scalar::Regrole => 27,
        Scalar::Enum(_) => 28,
    }
}

// The table is in the order of `index`.
const _: () = {
    let mut position = 0;
    while position < BUILT_IN.len() {
        assert!(index(BUILT_IN[position].scalar) == position);
        position += 1;
    }
};

const fn facts(
    scalar: Scalar,
    (oid, array_oid): (u32, u32),
    (internal, display): (&'static str, &'static str),
    length: i16,
    category: Category,
    preferred: bool,
) -> Facts {
    Facts {
        scalar,
        oid,
        array_oid,
        internal,
        display,
        length,
        category,
        preferred,
    }
}

static ENUM: Facts = facts(
    Scalar::Enum(EnumId(0)),
    (0, 0),
    ("enum", "enum"),
    4,
    Category::Enum,
    false,
);

use Category::{Boolean, DateTime, Internal, Numeric, String, Timespan, User};
use Scalar as S;

#[rustfmt::skip]
pub(super) static BUILT_IN: [Facts; 28] = [
    facts(S::Bool, (16, 1000), ("bool", "boolean"), 1, Boolean, true),
    facts(S::Int2, (21, 1005), ("int2", "smallint"), 2, Numeric, false),
    facts(S::Int4, (23, 1007), ("int4", "integer"), 4, Numeric, false),
    facts(S::Int8, (20, 1016), ("int8", "bigint"), 8, Numeric, false),
    facts(S::Float4, (700, 1021), ("float4", "real"), 4, Numeric, false),
    facts(S::Float8, (701, 1022), ("float8", "double precision"), 8, Numeric, true),
    facts(S::Numeric, (1700, 1231), ("numeric", "numeric"), -1, Numeric, false),
    facts(S::Text, (25, 1009), ("text", "text"), -1, String, true),
    facts(S::Varchar, (1043, 1015), ("varchar", "character varying"), -1, String, false),
    facts(S::Bpchar, (1042, 1014), ("bpchar", "character"), -1, String, false),
    facts(S::Name, (19, 1003), ("name", "name"), 64, String, false),
    facts(S::Char, (18, 1002), ("char", "\"char\""), 1, Internal, false),
    facts(S::Bytea, (17, 1001), ("bytea", "bytea"), -1, User, false),
    facts(S::Uuid, (2950, 2951), ("uuid", "uuid"), 16, User, false),
    facts(S::Json, (114, 199), ("json", "json"), -1, User, false),
    facts(S::Jsonb, (3802, 3807), ("jsonb", "jsonb"), -1, User, false),
    facts(S::Date, (1082, 1182), ("date", "date"), 4, DateTime, false),
    facts(S::Time, (1083, 1183), ("time", "time without time zone"), 8, DateTime, false),
    facts(S::TimeTz, (1266, 1270), ("timetz", "time with time zone"), 12, DateTime, false),
    facts(S::Timestamp, (1114, 1115), ("timestamp", "timestamp without time zone"), 8, DateTime, false),
    facts(S::TimestampTz, (1184, 1185), ("timestamptz", "timestamp with time zone"), 8, DateTime, true),
    facts(S::Interval, (1186, 1187), ("interval", "interval"), 16, Timespan, true),
    facts(S::Oid, (26, 1028), ("oid", "oid"), 4, Numeric, true),
    facts(S::Regclass, (2205, 2210), ("regclass", "regclass"), 4, Numeric, false),
    facts(S::Regtype, (2206, 2211), ("regtype", "regtype"), 4, Numeric, false),
    facts(S::Regproc, (24, 1008), ("regproc", "regproc"), 4, Numeric, false),
    facts(S::Regnamespace, (4089, 4090), ("regnamespace", "regnamespace"), 4, Numeric, false),
    facts(S::Regrole, (4096, 4097), ("regrole", "regrole"), 4, Numeric, false),
];
