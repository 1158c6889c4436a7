//! A value that outlives the row it came from.

use types::{Array, Field, Jsonb, Numeric, Record, Result, Type, Value};

/// An owned value. A value that borrows nothing is kept as it is; buffers are
/// reused.
#[derive(Debug, Default)]
pub(super) enum Kept {
    #[default]
    Null,
    Plain(Value<'static>),
    Borrowing(Kind, Vec<u8>),
    Record(Box<KeptRecord>),
}

/// An owned record.
#[derive(Debug)]
pub(super) struct KeptRecord {
    /// The names of the fields, one behind the other.
    names: String,
    /// End of each field's name in `names`, and the field's type.
    fields: Vec<(usize, Type)>,
    values: Vec<Kept>,
}

impl KeptRecord {
    fn of(record: &Record<'_>) -> Self {
        let mut names = String::new();
        let fields = record.fields.iter().map(|field| {
            names.push_str(field.name);
            (names.len(), field.ty)
        });
        let fields = fields.collect();
        Self {
            names,
            fields,
            values: record.values.iter().map(|value| Kept::of(*value)).collect(),
        }
    }

    /// Returns the record in `scratch`, each of its values made by `value`.
    fn get<'k, 's>(
        &'k self,
        names: &'s str,
        scratch: &'s types::Scratch,
        value: impl Fn(&'k Kept) -> Result<Value<'s>>,
    ) -> Result<Value<'s>> {
        let mut begin = 0;
        let fields = self.fields.iter().map(|(end, ty)| {
            let name = &names[begin..*end];
            begin = *end;
            Field { name, ty: *ty }
        });
        let mut described = bumpalo::collections::Vec::with_capacity_in(self.fields.len(), scratch);
        described.extend(fields);
        let mut values = bumpalo::collections::Vec::with_capacity_in(self.values.len(), scratch);
        for kept in &self.values {
            values.push(value(kept)?);
        }
        Ok(Value::Record(scratch.alloc(Record {
            fields: described.into_bump_slice(),
            values: values.into_bump_slice(),
        })))
    }

    fn heap_bytes(&self) -> usize {
        size_of::<Self>()
            + self.names.capacity()
            + self.fields.capacity() * size_of::<(usize, Type)>()
            + self.values.capacity() * size_of::<Kept>()
            + self.values.iter().map(Kept::heap_bytes).sum::<usize>()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Json,
    Bytea,
    Uuid,
    Numeric,
    Jsonb,
    Array,
}

impl Kept {
    pub(super) fn of(value: Value<'_>) -> Self {
        let mut kept = Self::Null;
        kept.set(value);
        kept
    }

    pub(super) fn set(&mut self, value: Value<'_>) {
        let (kind, bytes) = match value {
            Value::Null => {
                *self = Self::Null;
                return;
            }
            Value::Text(text) => (Kind::Text, text.as_bytes()),
            Value::Json(text) => (Kind::Json, text.as_bytes()),
            Value::Bytea(bytes) => (Kind::Bytea, bytes),
            Value::Uuid(uuid) => (Kind::Uuid, uuid.as_slice()),
            Value::Jsonb(document) => (Kind::Jsonb, document.as_stored()),
            Value::Array(array) => (Kind::Array, array.as_stored()),
            Value::Numeric(number) => match number.as_small() {
                Some((mantissa, scale)) => {
                    *self = Self::Plain(Value::Numeric(Numeric::small(mantissa, scale)));
                    return;
                }
                None => {
                    let buffer = self.buffer(Kind::Numeric);
                    number.write_stored(buffer);
                    return;
                }
            },
            Value::Record(record) => {
                *self = Self::Record(Box::new(KeptRecord::of(record)));
                return;
            }
            Value::Bool(value) => return self.plain(Value::Bool(value)),
            Value::Int2(value) => return self.plain(Value::Int2(value)),
            Value::Int4(value) => return self.plain(Value::Int4(value)),
            Value::Int8(value) => return self.plain(Value::Int8(value)),
            Value::Float4(value) => return self.plain(Value::Float4(value)),
            Value::Float8(value) => return self.plain(Value::Float8(value)),
            Value::Char(value) => return self.plain(Value::Char(value)),
            Value::Date(value) => return self.plain(Value::Date(value)),
            Value::Time(value) => return self.plain(Value::Time(value)),
            Value::TimeTz(time, zone) => return self.plain(Value::TimeTz(time, zone)),
            Value::Timestamp(value) => return self.plain(Value::Timestamp(value)),
            Value::TimestampTz(value) => return self.plain(Value::TimestampTz(value)),
            Value::Interval(value) => return self.plain(Value::Interval(value)),
            Value::Oid(value) => return self.plain(Value::Oid(value)),
            Value::Enum(id, label) => return self.plain(Value::Enum(id, label)),
        };
        self.buffer(kind).extend_from_slice(bytes);
    }

    fn plain(&mut self, value: Value<'static>) {
        *self = Self::Plain(value);
    }

    /// Returns the buffer, emptied.
    fn buffer(&mut self, kind: Kind) -> &mut Vec<u8> {
        if !matches!(self, Self::Borrowing(..)) {
            *self = Self::Borrowing(kind, Vec::new());
        }
        match self {
            Self::Borrowing(kept, buffer) => {
                *kept = kind;
                buffer.clear();
                buffer
            }
            _ => unreachable!("it was just made one that borrows"),
        }
    }

    /// Returns the value, as long as it is kept. Records are made in `scratch`.
    pub(super) fn get<'k>(&'k self, scratch: &'k types::Scratch) -> Result<Value<'k>> {
        Ok(match self {
            Self::Null => Value::Null,
            Self::Plain(value) => *value,
            Self::Record(record) => {
                record.get(&record.names, scratch, |value| value.get(scratch))?
            }
            Self::Borrowing(kind, bytes) => borrowed(*kind, bytes)?,
        })
    }

    /// Returns the value in the statement's memory.
    pub(super) fn copied<'a>(&self, scratch: &'a types::Scratch) -> Result<Value<'a>> {
        Ok(match self {
            Self::Null => Value::Null,
            Self::Plain(value) => *value,
            Self::Record(record) => {
                let names = scratch.alloc_str(&record.names);
                record.get(names, scratch, |value| value.copied(scratch))?
            }
            Self::Borrowing(kind, bytes) => borrowed(*kind, scratch.alloc_slice_copy(bytes))?,
        })
    }

    pub(super) fn heap_bytes(&self) -> usize {
        match self {
            Self::Borrowing(_, bytes) => bytes.capacity(),
            Self::Record(record) => record.heap_bytes(),
            _ => 0,
        }
    }
}

fn borrowed(kind: Kind, bytes: &[u8]) -> Result<Value<'_>> {
    let text = || {
        std::str::from_utf8(bytes).map_err(|_| {
            types::SqlError::new(types::SqlState::INTERNAL_ERROR, "kept text is not UTF-8")
        })
    };
    Ok(match kind {
        Kind::Text => Value::Text(text()?),
        Kind::Json => Value::Json(text()?),
        Kind::Bytea => Value::Bytea(bytes),
        Kind::Uuid => Value::Uuid(bytes.try_into().map_err(|_| super::mismatch())?),
        Kind::Numeric => Value::Numeric(Numeric::from_stored(bytes)?),
        Kind::Jsonb => Value::Jsonb(Jsonb::from_stored(bytes)?),
        Kind::Array => Value::Array(Array::from_stored(bytes)?),
    })
}
