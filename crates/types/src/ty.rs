//! Types as the catalog names them: PostgreSQL's, with its object identifiers.
//!
//! The fixed properties of each type (`pg_type`'s columns) are one table, [`facts`]. Enums, which
//! users add, are known to the catalog alone; their names come through [`Names`](crate::Names).

mod facts;
mod names;

use facts::{Facts, facts_of};

/// The number of an enum type in the catalog, which is its oid; its array type has the next one.
/// Only the catalog knows its labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EnumId(pub u32);

impl EnumId {
    /// The first oid of users. PostgreSQL's own oids are below it, so that no enum can have one.
    pub const FIRST: u32 = 16384;
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
    /// `name`, for catalogs
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
    /// `regproc`
    Regproc,
    /// `regnamespace`
    Regnamespace,
    /// `regrole`
    Regrole,
    /// An enum of the user's.
    Enum(EnumId),
}

/// A type of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Type {
    /// A type of single values.
    Scalar(Scalar),
    /// A type of arrays, of any number of dimensions.
    Array(Scalar),
    /// `int2vector` and `oidvector`: arrays of one dimension that count from 0 and have a text form
    /// of their own. Only catalogs have them; every operation treats them as arrays.
    Vector(Scalar),
    /// A row whose columns are known where it is used.
    Record,
    /// A literal or parameter whose type has yet to be found.
    Unknown,
    /// Nothing: the result of procedures.
    Void,
}

/// `pg_type.typcategory`: group of types that implicit conversions may choose among.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Category {
    /// `A`
    Array,
    /// `B`
    Boolean,
    /// `D`
    DateTime,
    /// `E`
    Enum,
    /// `N`
    Numeric,
    /// `P`
    Pseudo,
    /// `S`
    String,
    /// `T`
    Timespan,
    /// `U`
    User,
    /// `X`
    Unknown,
    /// `Z`
    Internal,
}

impl Category {
    /// Returns the letter in `pg_type`.
    pub fn letter(self) -> char {
        match self {
            Self::Array => 'A',
            Self::Boolean => 'B',
            Self::DateTime => 'D',
            Self::Enum => 'E',
            Self::Numeric => 'N',
            Self::Pseudo => 'P',
            Self::String => 'S',
            Self::Timespan => 'T',
            Self::User => 'U',
            Self::Unknown => 'X',
            Self::Internal => 'Z',
        }
    }
}

impl Scalar {
    /// Returns all scalars but the enums, in the order of their definition above.
    pub fn all() -> impl Iterator<Item = Self> {
        facts::BUILT_IN.iter().map(|facts| facts.scalar)
    }

    /// Returns the type's object identifier.
    pub fn oid(self) -> u32 {
        match self {
            Self::Enum(id) => id.0,
            _ => facts_of(self).oid,
        }
    }

    /// Returns the object identifier of arrays of the type.
    pub fn array_oid(self) -> u32 {
        match self {
            Self::Enum(id) => id.0.wrapping_add(1),
            _ => facts_of(self).array_oid,
        }
    }

    /// Returns the type with an object identifier, enums excepted.
    pub fn from_oid(oid: u32) -> Option<Self> {
        facts::BUILT_IN
            .iter()
            .find(|facts| facts.oid == oid)
            .map(|facts| facts.scalar)
    }

    /// Returns the type's position in the order of their definition above; all enums have the last one.
    pub(crate) const fn position(self) -> u8 {
        facts::index(self) as u8
    }

    /// Returns the type at a position of [`Scalar::position`], enums excepted.
    pub(crate) fn at_position(position: u8) -> Option<Self> {
        let facts = facts::BUILT_IN.get(usize::from(position))?;
        Some(facts.scalar)
    }

    /// Returns `pg_type.typlen`: bytes, or -1 for types of any length.
    pub fn length(self) -> i16 {
        facts_of(self).length
    }

    /// Returns `pg_type.typcategory`.
    pub fn category(self) -> Category {
        facts_of(self).category
    }

    /// Returns `pg_type.typispreferred`: whether the type is preferred within its category.
    pub fn is_preferred(self) -> bool {
        facts_of(self).preferred
    }

    /// Returns whether values of the type are text: `text`, `varchar`, `char(n)`, `name`.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Text | Self::Varchar | Self::Bpchar | Self::Name)
    }

    /// Returns whether the type has a default b-tree operator class, so that it can be sorted and
    /// indexed.
    pub fn is_ordered(self) -> bool {
        self != Self::Json
    }
}

impl Type {
    /// Returns the type's object identifier.
    pub fn oid(self) -> u32 {
        match self {
            Self::Scalar(scalar) => scalar.oid(),
            Self::Array(scalar) => scalar.array_oid(),
            Self::Vector(Scalar::Int2) => INT2_VECTOR,
            Self::Vector(_) => OID_VECTOR,
            Self::Record => 2249,
            Self::Unknown => 705,
            Self::Void => 2278,
        }
    }

    /// Returns the type with an object identifier; enums and their arrays excepted, which only the
    /// catalog knows.
    pub fn from_oid(oid: u32) -> Option<Self> {
        match oid {
            2249 => Some(Self::Record),
            705 => Some(Self::Unknown),
            2278 => Some(Self::Void),
            INT2_VECTOR => Some(Self::Vector(Scalar::Int2)),
            OID_VECTOR => Some(Self::Vector(Scalar::Oid)),
            _ => facts::BUILT_IN.iter().find_map(|facts| {
                if facts.oid == oid {
                    Some(Self::Scalar(facts.scalar))
                } else {
                    (facts.array_oid == oid).then_some(Self::Array(facts.scalar))
                }
            }),
        }
    }

    /// Returns `pg_type.typlen`: bytes, -1 for types of any length, -2 for texts that end with a
    /// zero.
    pub fn length(self) -> i16 {
        match self {
            Self::Scalar(scalar) => scalar.length(),
            Self::Array(_) | Self::Vector(_) | Self::Record => -1,
            Self::Unknown => -2,
            Self::Void => 4,
        }
    }

    /// Returns `pg_type.typcategory`.
    pub fn category(self) -> Category {
        match self {
            Self::Scalar(scalar) => scalar.category(),
            Self::Array(_) | Self::Vector(_) => Category::Array,
            Self::Record | Self::Void => Category::Pseudo,
            Self::Unknown => Category::Unknown,
        }
    }

    /// Returns `pg_type.typispreferred`: whether the type is preferred within its category.
    pub fn is_preferred(self) -> bool {
        matches!(self, Self::Scalar(scalar) if scalar.is_preferred())
    }

    /// Returns whether the type has a default b-tree operator class, so that it can be sorted and
    /// indexed.
    pub fn is_ordered(self) -> bool {
        match self {
            Self::Scalar(scalar) | Self::Array(scalar) => scalar.is_ordered(),
            Self::Record => true,
            Self::Vector(_) | Self::Unknown | Self::Void => false,
        }
    }

    /// Returns the scalar, if the type is one.
    pub fn scalar(self) -> Option<Scalar> {
        match self {
            Self::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    /// Returns the type of the elements, if the type is an array or a vector.
    pub fn element(self) -> Option<Scalar> {
        match self {
            Self::Array(scalar) | Self::Vector(scalar) => Some(scalar),
            _ => None,
        }
    }
}

/// Object identifiers of `int2vector` and `oidvector`.
const INT2_VECTOR: u32 = 22;
const OID_VECTOR: u32 = 30;

impl From<Scalar> for Type {
    fn from(scalar: Scalar) -> Self {
        Self::Scalar(scalar)
    }
}

const _: () = assert!(size_of::<Facts>() <= 64);

#[cfg(test)]
mod tests;
