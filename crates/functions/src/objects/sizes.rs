//! Sizes of objects.

use types::{Numeric, SqlError, SqlState};

use super::{ObjectClass, SizeOf};
use crate::{
    Context, Function,
    argument::Oid,
    function::{INT8, NAME, NUMERIC, OID, REGCLASS, TEXT, entry},
};

/// Below this many of a unit it is used, but for the largest.
const NEXT_UNIT: f64 = 10.0 * 1024.0;
const UNITS: [&str; 6] = ["bytes", "kB", "MB", "GB", "TB", "PB"];

fn pretty<'a>(context: &Context<'a>, size: i64) -> &'a str {
    context.text(&shown(size as f64))
}

fn pretty_numeric<'a>(context: &Context<'a>, size: Numeric<'a>) -> &'a str {
    context.text(&shown(size.to_f64()))
}

/// Formats a size with halves rounded away from zero, and the unit that leaves no more
/// than five digits.
fn shown(size: f64) -> String {
    let mut left = size;
    for (at, unit) in UNITS.iter().enumerate() {
        let rounded = if at == 0 { left } else { left.round() };
        if rounded.abs() < NEXT_UNIT || at + 1 == UNITS.len() {
            return format!("{rounded:.0} {unit}");
        }
        left /= 1024.0;
    }
    String::new()
}

/// Returns the bytes of a size as people write it: `1.5 GB`.
fn bytes(context: &Context<'_>, size: &str) -> types::Result<i64> {
    let written = size.trim_matches(is_space);
    let unit_at = number_end(written);
    let invalid = || invalid_size(size);
    let (number, unit) = written.split_at(unit_at.ok_or_else(invalid)?);
    let number = Numeric::parse(number, context.scratch)?;
    let unit = unit.trim_start_matches(is_space);
    if unit.is_empty() {
        return number.to_i64();
    }
    let known = UNITS
        .iter()
        .position(|known| known.eq_ignore_ascii_case(unit));
    let Some(power) = known else {
        let error = invalid().detail(format!("Invalid size unit: \"{unit}\"."));
        return Err(
            error.hint("Valid units are \"bytes\", \"kB\", \"MB\", \"GB\", \"TB\", and \"PB\".")
        );
    };
    let factor = Numeric::from_i128(1 << (10 * power), 0, context.scratch)?;
    number.multiply(factor, context.scratch)?.to_i64()
}

/// Returns whether a character is space in the C locale.
fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t'..='\r')
}

/// Returns the end of the number that a text begins with: a sign, digits with a point, an exponent.
fn number_end(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        let digits = bytes.iter().skip(from);
        from + digits.take_while(|byte| byte.is_ascii_digit()).count()
    };
    let is_sign = |at: usize| matches!(bytes.get(at), Some(b'+' | b'-'));
    let begin = usize::from(is_sign(0));
    let whole = digits(begin);
    let (end, has_digits) = match bytes.get(whole) {
        Some(b'.') => {
            let end = digits(whole + 1);
            (end, whole > begin || end > whole + 1)
        }
        _ => (whole, whole > begin),
    };
    if !has_digits {
        return None;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let exponent = end + 1 + usize::from(is_sign(end + 1));
        if digits(exponent) > exponent {
            return Some(digits(exponent));
        }
    }
    Some(end)
}

fn invalid_size(size: &str) -> SqlError {
    let message = format!("invalid size: \"{size}\"");
    SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// Defines `pg_..._size(regclass)`.
macro_rules! size {
    ($name:literal, $of:ident) => {
        entry!($name(REGCLASS) -> INT8, in context |context: &Context<'_>, Oid(oid): Oid| {
            context.environment.objects().size(SizeOf::$of, oid)
        })
        .volatile()
    };
}

fn fork(context: &Context<'_>, Oid(oid): Oid, _fork: &str) -> Option<i64> {
    context.environment.objects().size(SizeOf::Relation, oid)
}

fn database(context: &Context<'_>, Oid(oid): Oid) -> Option<i64> {
    let objects = context.environment.objects();
    let exists = objects.exists(ObjectClass::Database, oid);
    exists.then(|| objects.database_size())
}

fn database_named(context: &Context<'_>, name: &str) -> types::Result<i64> {
    let objects = context.environment.objects();
    match objects.named(ObjectClass::Database, name) {
        Some(_) => Ok(objects.database_size()),
        None => Err(SqlError::new(
            SqlState::INVALID_CATALOG_NAME,
            format!("database \"{name}\" does not exist"),
        )),
    }
}

fn filenode(Oid(oid): Oid) -> Oid {
    Oid(oid)
}

pub(super) static FUNCTIONS: &[Function] = &[
    entry!("pg_size_pretty"(INT8) -> TEXT, in context pretty),
    entry!("pg_size_pretty"(NUMERIC) -> TEXT, in context pretty_numeric),
    entry!("pg_size_bytes"(TEXT) -> INT8, in context bytes),
    size!("pg_relation_size", Relation),
    size!("pg_table_size", Relation),
    size!("pg_indexes_size", Indexes),
    size!("pg_total_relation_size", Total),
    entry!("pg_relation_size"(REGCLASS, TEXT) -> INT8, in context fork).volatile(),
    entry!("pg_database_size"(OID) -> INT8, in context database).volatile(),
    entry!("pg_database_size"(NAME) -> INT8, in context database_named).volatile(),
    entry!("pg_relation_filenode"(REGCLASS) -> OID, filenode).stable(),
];
