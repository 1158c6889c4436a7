//! Names of types: in SQL's spelling, in `pg_type`, and as PostgreSQL displays them.

use std::borrow::Cow;

use super::{Scalar, Type, facts};
use crate::{Names, TypeModifier};

/// Other names that SQL has for types.
const SPELLINGS: &[(&str, Scalar)] = &[
    ("int", Scalar::Int4),
    ("dec", Scalar::Numeric),
    ("decimal", Scalar::Numeric),
    ("float", Scalar::Float8),
    ("char", Scalar::Bpchar),
    ("char varying", Scalar::Varchar),
    ("national character", Scalar::Bpchar),
    ("national character varying", Scalar::Varchar),
    ("nchar", Scalar::Bpchar),
    ("nchar varying", Scalar::Varchar),
    ("serial2", Scalar::Int2),
    ("smallserial", Scalar::Int2),
    ("serial", Scalar::Int4),
    ("serial4", Scalar::Int4),
    ("bigserial", Scalar::Int8),
    ("serial8", Scalar::Int8),
];

impl Scalar {
    /// Returns `pg_type.typname`; the catalog knows the names of enums.
    pub fn internal_name(self) -> &'static str {
        facts::facts_of(self).internal
    }

    /// Returns the type with a name of `pg_type.typname`, where `char` is the type of one byte.
    pub fn from_internal_name(name: &str) -> Option<Self> {
        facts::BUILT_IN
            .iter()
            .find(|facts| facts.internal == name)
            .map(|facts| facts.scalar)
    }

    /// Returns the name as PostgreSQL displays it without a modifier.
    pub fn name<'n>(self, names: &'n dyn Names) -> Cow<'n, str> {
        match self {
            Self::Enum(id) => names
                .enum_name(id)
                .map_or_else(|| Cow::Owned(id.0.to_string()), Cow::Borrowed),
            _ => Cow::Borrowed(facts::facts_of(self).display),
        }
    }
}

impl Type {
    /// Returns the type of a name in SQL, in any case: `int4`, `double precision`, `text[]`,
    /// `_text`.
    ///
    /// `char` is `character`, as in SQL; `"char"` in quotes is the type of one byte. The serial
    /// types are the integers that they are made of. Modifiers are not understood; enums are
    /// found by the catalog.
    pub fn named(name: &str) -> Option<Self> {
        let name = name.trim().to_ascii_lowercase();
        if let Some(element) = name.strip_suffix("[]") {
            return match Self::named(element)? {
                Self::Scalar(scalar) | Self::Array(scalar) => Some(Self::Array(scalar)),
                _ => None,
            };
        }
        let name = name.strip_prefix("pg_catalog.").unwrap_or(&name);
        match name {
            "record" => return Some(Self::Record),
            "unknown" => return Some(Self::Unknown),
            "void" => return Some(Self::Void),
            "int2vector" => return Some(Self::Vector(Scalar::Int2)),
            "oidvector" => return Some(Self::Vector(Scalar::Oid)),
            _ => {}
        }
        if let Some((_, scalar)) = SPELLINGS.iter().find(|(spelling, _)| *spelling == name) {
            return Some(Self::Scalar(*scalar));
        }
        if let Some(element) = name.strip_prefix('_') {
            return Scalar::from_internal_name(element).map(Self::Array);
        }
        facts::BUILT_IN
            .iter()
            .find(|facts| facts.internal == name || facts.display == name)
            .map(|facts| Self::Scalar(facts.scalar))
    }

    /// Returns the name as PostgreSQL displays it in messages: `integer`, `text[]`.
    pub fn name<'n>(self, names: &'n dyn Names) -> Cow<'n, str> {
        match self {
            Self::Scalar(scalar) => scalar.name(names),
            Self::Array(scalar) => Cow::Owned(format!("{}[]", scalar.name(names))),
            Self::Vector(Scalar::Int2) => Cow::Borrowed("int2vector"),
            Self::Vector(_) => Cow::Borrowed("oidvector"),
            Self::Record => Cow::Borrowed("record"),
            Self::Unknown => Cow::Borrowed("unknown"),
            Self::Void => Cow::Borrowed("void"),
        }
    }

    /// Returns the name as `format_type(oid, typmod)` displays it: `character varying(10)`,
    /// `numeric(8,2)[]`, `timestamp(3) without time zone`.
    pub fn format(self, modifier: TypeModifier, names: &dyn Names) -> String {
        match self {
            Self::Scalar(scalar) => format_scalar(scalar, modifier, names),
            Self::Array(scalar) => format!("{}[]", format_scalar(scalar, modifier, names)),
            _ => self.name(names).into_owned(),
        }
    }
}

fn format_scalar(scalar: Scalar, modifier: TypeModifier, names: &dyn Names) -> String {
    let name = scalar.name(names);
    match (scalar, modifier.suffix(scalar)) {
        // Without a length it is not SQL's `character`, which has one.
        (Scalar::Bpchar, None) => scalar.internal_name().to_owned(),
        (_, None) => name.into_owned(),
        (_, Some(suffix)) => match name.split_once(' ') {
            Some((first, rest)) if scalar.category() == super::Category::DateTime => {
                format!("{first}{suffix} {rest}")
            }
            _ => format!("{name}{suffix}"),
        },
    }
}
