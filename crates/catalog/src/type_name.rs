//! Types as the catalog writes them down: names that do not change, whatever types are added.

use serde::{Deserialize, Deserializer, Serializer, de::Error};
use types::{EnumId, Scalar, Type};

const ARRAY: &str = "[]";
const VECTOR: &str = "vector";
const ENUM: &str = "enum ";

/// All scalars but the enums.
const KNOWN: [Scalar; 28] = [
    Scalar::Bool,
    Scalar::Int2,
    Scalar::Int4,
    Scalar::Int8,
    Scalar::Float4,
    Scalar::Float8,
    Scalar::Numeric,
    Scalar::Text,
    Scalar::Varchar,
    Scalar::Bpchar,
    Scalar::Name,
    Scalar::Char,
    Scalar::Bytea,
    Scalar::Uuid,
    Scalar::Json,
    Scalar::Jsonb,
    Scalar::Date,
    Scalar::Time,
    Scalar::TimeTz,
    Scalar::Timestamp,
    Scalar::TimestampTz,
    Scalar::Interval,
    Scalar::Oid,
    Scalar::Regclass,
    Scalar::Regtype,
    Scalar::Regproc,
    Scalar::Regnamespace,
    Scalar::Regrole,
];

/// Returns the name of a scalar that is not an enum. Databases contain these names: they must not
/// change.
fn known(scalar: Scalar) -> Option<&'static str> {
    Some(match scalar {
        Scalar::Bool => "bool",
        Scalar::Int2 => "int2",
        Scalar::Int4 => "int4",
        Scalar::Int8 => "int8",
        Scalar::Float4 => "float4",
        Scalar::Float8 => "float8",
        Scalar::Numeric => "numeric",
        Scalar::Text => "text",
        Scalar::Varchar => "varchar",
        Scalar::Bpchar => "bpchar",
        Scalar::Name => "name",
        Scalar::Char => "char",
        Scalar::Bytea => "bytea",
        Scalar::Uuid => "uuid",
        Scalar::Json => "json",
        Scalar::Jsonb => "jsonb",
        Scalar::Date => "date",
        Scalar::Time => "time",
        Scalar::TimeTz => "timetz",
        Scalar::Timestamp => "timestamp",
        Scalar::TimestampTz => "timestamptz",
        Scalar::Interval => "interval",
        Scalar::Oid => "oid",
        Scalar::Regclass => "regclass",
        Scalar::Regtype => "regtype",
        Scalar::Regproc => "regproc",
        Scalar::Regnamespace => "regnamespace",
        Scalar::Regrole => "regrole",
        Scalar::Enum(_) => return None,
    })
}

fn name(scalar: Scalar) -> String {
    match (known(scalar), scalar) {
        (None, Scalar::Enum(id)) => format!("{ENUM}{}", id.0),
        (known, _) => known.unwrap_or_default().to_owned(),
    }
}

fn scalar(name: &str) -> Option<Scalar> {
    if let Some(number) = name.strip_prefix(ENUM) {
        return Some(Scalar::Enum(EnumId(number.parse().ok()?)));
    }
    let mut all = KNOWN.into_iter();
    all.find(|scalar| known(*scalar) == Some(name))
}

pub(super) fn serialize<S: Serializer>(ty: &Type, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&match *ty {
        Type::Scalar(of) => name(of),
        Type::Array(of) => name(of) + ARRAY,
        Type::Vector(of) => name(of) + VECTOR,
        Type::Record => "record".to_owned(),
        Type::Unknown => "unknown".to_owned(),
        Type::Void => "void".to_owned(),
    })
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Type, D::Error> {
    let name = String::deserialize(deserializer)?;
    let ty = match &*name {
        "record" => Some(Type::Record),
        "unknown" => Some(Type::Unknown),
        "void" => Some(Type::Void),
        name => match name.strip_suffix(ARRAY) {
            Some(of) => scalar(of).map(Type::Array),
            None => match name.strip_suffix(VECTOR) {
                Some(of) => scalar(of).map(Type::Vector),
                None => scalar(name).map(Type::Scalar),
            },
        },
    };
    ty.ok_or_else(|| D::Error::custom(format_args!("there is no type {name:?}")))
}

/// A type modifier as a number.
pub(super) mod modifier {
    use serde::{Deserialize, Deserializer, Serializer};
    use types::TypeModifier;

    pub(crate) fn serialize<S: Serializer>(
        modifier: &TypeModifier,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_i32(modifier.0)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<TypeModifier, D::Error> {
        i32::deserialize(deserializer).map(TypeModifier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Serialize, serde::Deserialize)]
    struct Holder(#[serde(with = "super")] Type);

    #[test]
    fn types_read_as_they_were_written() {
        let scalars = KNOWN.into_iter().chain([Scalar::Enum(EnumId(16390))]);
        let types = scalars.flat_map(|scalar| [Type::Scalar(scalar), Type::Array(scalar)]);
        for ty in types.chain([
            Type::Vector(Scalar::Int2),
            Type::Record,
            Type::Unknown,
            Type::Void,
        ]) {
            let text = serde_json::to_string(&Holder(ty)).unwrap();
            let Holder(read) = serde_json::from_str(&text).unwrap();
            assert_eq!(read, ty, "{text}");
        }
    }

    #[test]
    fn other_names_are_refused() {
        for name in ["int5", "[]", "enum x", "", "int4[][]"] {
            let text = serde_json::to_string(name).unwrap();
            assert!(serde_json::from_str::<Holder>(&text).is_err(), "{name}");
        }
    }
}
