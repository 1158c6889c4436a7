//! Reading values back from keys, so that an index can answer without the table.

use bumpalo::collections::Vec as ArenaVec;

use super::{BYTES_END, KeyColumn, NULL_FIRST, NULL_LAST, Nulls, VALUE, ZERO_ESCAPE};
use crate::{
    Result, Scalar, Scratch, SqlError, Type, Value,
    stored::{corrupted, text},
};

/// Returns whether a type's keys determine the value: not if equal values may differ, as `1.0`
/// and `1.00`, `0.0` and `-0.0`, a month and 30 days, or blanks at the end of `char(n)`.
pub fn is_readable(ty: Type) -> bool {
    match ty {
        Type::Scalar(scalar) => !matches!(
            scalar,
            Scalar::Numeric
                | Scalar::Float4
                | Scalar::Float8
                | Scalar::Bpchar
                | Scalar::Interval
                | Scalar::Json
                | Scalar::Jsonb
        ),
        _ => false,
    }
}

/// Reads the value of the column that `key` begins with; returns it and the rest of the key.
///
/// Copies values to `scratch` that are not in the key as they are, such as text of descending
/// columns.
///
/// # Errors
/// `XX001` if `key` is no key of the column, `0A000` if keys of the type are not
/// [readable](is_readable).
pub fn read<'a>(
    column: KeyColumn,
    key: &'a [u8],
    scratch: &'a Scratch,
) -> Result<(Value<'a>, &'a [u8])> {
    let mut key = key;
    if column.nulls != Nulls::Never {
        let null = match column.nulls {
            Nulls::First => NULL_FIRST,
            _ => NULL_LAST,
        };
        match key.split_off_first() {
            Some(&VALUE) => {}
            Some(first) if *first == null => return Ok((Value::Null, key)),
            _ => return Err(corrupted()),
        }
    }
    let (Type::Scalar(scalar), true) = (column.ty, is_readable(column.ty)) else {
        return Err(SqlError::unsupported("reading this type from an index"));
    };
    let mask = if column.descending { u8::MAX } else { 0 };
    let mut reader = Reader { key, mask, scratch };
    let value = reader.scalar(scalar)?;
    Ok((value, reader.key))
}

struct Reader<'a> {
    key: &'a [u8],
    /// Mask that restores the bytes.
    mask: u8,
    scratch: &'a Scratch,
}

impl<'a> Reader<'a> {
    fn scalar(&mut self, scalar: Scalar) -> Result<Value<'a>> {
        Ok(match scalar {
            Scalar::Bool => match self.fixed()? {
                [0] => Value::Bool(false),
                [1] => Value::Bool(true),
                _ => return Err(corrupted()),
            },
            Scalar::Char => Value::Char(self.fixed::<1>()?[0]),
            Scalar::Int2 => Value::Int2((u16::from_be_bytes(self.fixed()?) ^ 1 << 15) as i16),
            Scalar::Int4 => Value::Int4(self.int()?),
            Scalar::Date => Value::Date(self.int()?),
            Scalar::Int8 => Value::Int8(self.long()?),
            Scalar::Time => Value::Time(self.long()?),
            Scalar::Timestamp => Value::Timestamp(self.long()?),
            Scalar::TimestampTz => Value::TimestampTz(self.long()?),
            Scalar::TimeTz => {
                let (moment, zone) = (self.long()?, self.int()?);
                let west = i64::from(zone) * crate::datetime::MICROSECONDS_PER_SECOND;
                Value::TimeTz(moment.checked_sub(west).ok_or_else(corrupted)?, zone)
            }
            Scalar::Text | Scalar::Varchar | Scalar::Name => Value::Text(self.text()?),
            Scalar::Bytea => Value::Bytea(self.bytes()?),
            Scalar::Uuid => {
                if self.mask == 0 {
                    let uuid = self.key.split_first_chunk::<16>();
                    let (uuid, rest) = uuid.ok_or_else(corrupted)?;
                    self.key = rest;
                    Value::Uuid(uuid)
                } else {
                    Value::Uuid(self.scratch.alloc(self.fixed()?))
                }
            }
            Scalar::Oid
            | Scalar::Regclass
            | Scalar::Regtype
            | Scalar::Regproc
            | Scalar::Regnamespace
            | Scalar::Regrole => Value::Oid(u32::from_be_bytes(self.fixed()?)),
            Scalar::Enum(id) => Value::Enum(id, u32::from_be_bytes(self.fixed()?)),
            Scalar::Numeric
            | Scalar::Float4
            | Scalar::Float8
            | Scalar::Bpchar
            | Scalar::Interval
            | Scalar::Json
            | Scalar::Jsonb => return Err(corrupted()),
        })
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (bytes, rest) = self.key.split_first_chunk::<N>().ok_or_else(corrupted)?;
        self.key = rest;
        Ok(bytes.map(|byte| byte ^ self.mask))
    }

    fn int(&mut self) -> Result<i32> {
        Ok((u32::from_be_bytes(self.fixed()?) ^ 1 << 31) as i32)
    }

    fn long(&mut self) -> Result<i64> {
        Ok((u64::from_be_bytes(self.fixed()?) ^ 1 << 63) as i64)
    }

    fn text(&mut self) -> Result<&'a str> {
        let end = self.key.iter().position(|byte| *byte == self.mask);
        let end = end.ok_or_else(corrupted)?;
        let (bytes, rest) = self.key.split_at(end);
        self.key = &rest[1..];
        text(self.turned(bytes))
    }

    fn turned(&self, bytes: &'a [u8]) -> &'a [u8] {
        if self.mask == 0 {
            return bytes;
        }
        self.scratch
            .alloc_slice_fill_iter(bytes.iter().map(|byte| byte ^ self.mask))
    }

    fn bytes(&mut self) -> Result<&'a [u8]> {
        let mut out = ArenaVec::new_in(self.scratch);
        loop {
            let [byte] = self.fixed()?;
            if byte != 0 {
                out.push(byte);
                continue;
            }
            match self.fixed()? {
                [ZERO_ESCAPE] => out.push(0),
                [BYTES_END] => return Ok(out.into_bump_slice()),
                _ => return Err(corrupted()),
            }
        }
    }
}
