//! Types as the catalog names them: PostgreSQL's, with its object identifiers.

/// The number of an enum type in the catalog; its labels are the catalog's to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EnumId(pub u32);

/// What is attached to a type in a column: `varchar(10)`, `numeric(8, 2)`, `timestamp(3)`.
///
/// PostgreSQL's `atttypmod`: -1 for none; length + 4 of `varchar` and `char`;
/// `(precision << 16 | scale) + 4` of `numeric`; the digits of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TypeModifier(pub i32);

impl TypeModifier {
    /// Nothing is attached.
    pub const NONE: Self = Self(-1);
}

/// A type of single values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scalar {
    /// `boolean`
    Bool,
    /// `smallint`
    Int2,
    /// `integer`
    Int4,
    /// `bigint`
    Int8,
    /// `real`
    Float4,
    /// `double precision`
    Float8,
    /// `numeric`
    Numeric,
    /// `text`
    Text,
    /// `character varying`
    Varchar,
    /// `character`, padded with blanks
    Bpchar,
    /// `name`, as catalogs have
    Name,
    /// `"char"`, one byte
    Char,
    /// `bytea`
    Bytea,
    /// `uuid`
    Uuid,
    /// `json`
    Json,
    /// `jsonb`
    Jsonb,
    /// `date`
    Date,
    /// `time without time zone`
    Time,
    /// `time with time zone`
    TimeTz,
    /// `timestamp without time zone`
    Timestamp,
    /// `timestamp with time zone`
    TimestampTz,
    /// `interval`
    Interval,
    /// `oid`
    Oid,
    /// `regclass`, an `oid` that reads as a name
    Regclass,
    /// `regtype`
    Regtype,
    /// An enum of the user's.
    Enum(EnumId),
}

/// A type of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Type {
    /// Of single values.
    Scalar(Scalar),
    /// Of arrays, of any number of dimensions.
    Array(Scalar),
    /// A row whose columns are known where it is used.
    Record,
    /// A literal or parameter whose type has yet to be found.
    Unknown,
    /// Nothing: what procedures return.
    Void,
}
