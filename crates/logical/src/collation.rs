//! Collations by name. Text has one order, that of its bytes, which the collations `"C"`, `"POSIX"`,
//! `"ucs_basic"` and the database's default stand for; every other name is refused.

use types::{Names, Result, SqlError, SqlState, Type};

use syntax::name::DottedName;

/// Collations whose order is that of the bytes.
const BYTEWISE: &[&str] = &["default", "C", "POSIX", "ucs_basic", "C.utf8", "C.UTF-8"];

/// Fails unless values of a type are in the order of a collation.
///
/// # Errors
/// 42704 if no collation has the name, 0A000 if a collation of PostgreSQL's has it whose order is
/// another, 42804 if the type has no collation.
pub fn check(collation: &DottedName, ty: Type, names: &dyn Names) -> Result<()> {
    let parts = collation.parts().iter();
    let parts: Vec<&str> = parts.map(|part| part.as_str()).collect();
    let (schema, name) = match *parts.as_slice() {
        [name] => (None, name),
        [schema, name] => (Some(schema), name),
        _ => return Err(unknown(&parts)),
    };
    if schema.is_some_and(|schema| schema != "pg_catalog") {
        return Err(unknown(&parts));
    }
    if !BYTEWISE.contains(&name) {
        if is_of_a_language(name) {
            return Err(SqlError::unsupported(format_args!("collation \"{name}\""))
                .hint("Text is ordered by its bytes. Leave COLLATE out, or use COLLATE \"C\"."));
        }
        return Err(unknown(&parts));
    }
    let collated = match ty {
        Type::Scalar(scalar) | Type::Array(scalar) => scalar.is_text(),
        Type::Unknown => true,
        _ => false,
    };
    if !collated {
        let message = format!("collations are not supported by type {}", ty.name(names));
        return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message));
    }
    Ok(())
}

fn unknown(parts: &[&str]) -> SqlError {
    let message = format!(
        "collation \"{}\" for encoding \"UTF8\" does not exist",
        parts.join(".")
    );
    SqlError::new(SqlState::UNDEFINED_OBJECT, message)
}

/// Whether a name is of the form of ICU's (`de-x-icu`) or the C library's (`de_DE.utf8`).
fn is_of_a_language(name: &str) -> bool {
    let icu = name == "unicode" || name.ends_with("-x-icu");
    let mut parts = name.splitn(2, '_');
    let (language, rest) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    let country = rest.get(..2).unwrap_or("");
    let behind = rest.get(2..).unwrap_or("");
    icu || (2..=3).contains(&language.len())
        && language.bytes().all(|byte| byte.is_ascii_lowercase())
        && country.len() == 2
        && country.bytes().all(|byte| byte.is_ascii_uppercase())
        && (behind.is_empty() || behind.starts_with(['.', '@']))
}
