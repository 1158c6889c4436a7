//! Types and values that bytes become.

use super::{ENUM, LABELS};
use crate::{
    Array, Interval, Jsonb, JsonbBuilder, Numeric, Scalar, Scratch, Type, Value,
    array::Dimension,
    datetime::{DATE_MAX, DATE_MIN, MICROSECONDS_PER_DAY, TIMESTAMP_MAX, TIMESTAMP_MIN},
};

const COLUMNS_MAX: u8 = 6;

/// Bytes that make choices. When they are used up, every choice is zero.
pub(super) struct Choices<'d> {
    rest: &'d [u8],
}

impl<'d> Choices<'d> {
    pub(super) fn new(data: &'d [u8]) -> Self {
        Self { rest: data }
    }

    pub(super) fn byte(&mut self) -> u8 {
        self.rest.split_off_first().copied().unwrap_or(0)
    }

    /// Returns the bytes that have made no choice yet.
    pub(super) fn rest(self) -> &'d [u8] {
        self.rest
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.byte())
    }

    /// Draws an integer from `low` to `high`: often one of both, or small.
    fn within(&mut self, low: i64, high: i64) -> i64 {
        match self.byte() % 4 {
            0 => low,
            1 => high,
            2 => i64::from(self.byte() as i8).clamp(low, high),
            _ => {
                let width = (i128::from(high) - i128::from(low) + 1) as u128;
                let offset = u128::from(u64::from_le_bytes(self.bytes())) % width;
                (i128::from(low) + offset as i128) as i64
            }
        }
    }

    pub(super) fn types(&mut self) -> Vec<Type> {
        let count = 1 + self.byte() % COLUMNS_MAX;
        (0..count)
            .map(|_| {
                let byte = usize::from(self.byte());
                let scalars: Vec<_> = Scalar::all().chain([Scalar::Enum(ENUM)]).collect();
                let scalar = scalars[byte % scalars.len()];
                if byte / scalars.len() >= 8 {
                    Type::Array(scalar)
                } else {
                    Type::Scalar(scalar)
                }
            })
            .collect()
    }

    pub(super) fn value<'a>(&mut self, ty: Type, scratch: &'a Scratch) -> Value<'a> {
        if self.byte().is_multiple_of(8) {
            return Value::Null;
        }
        match ty {
            Type::Scalar(scalar) => self.scalar(scalar, scratch),
            Type::Array(element) => Value::Array(self.array(element, scratch)),
            _ => Value::Null,
        }
    }

    fn scalar<'a>(&mut self, scalar: Scalar, scratch: &'a Scratch) -> Value<'a> {
        match scalar {
            Scalar::Bool => Value::Bool(self.byte() & 1 == 1),
            Scalar::Int2 => Value::Int2(self.within(i16::MIN.into(), i16::MAX.into()) as i16),
            Scalar::Int4 => Value::Int4(self.within(i32::MIN.into(), i32::MAX.into()) as i32),
            Scalar::Int8 => Value::Int8(self.within(i64::MIN, i64::MAX)),
            Scalar::Float4 => Value::Float4(match self.byte() % 8 {
                0 => f32::NAN,
                1 => f32::INFINITY,
                2 => -0.0,
                3 => f32::from(self.byte()) - 99.5,
                _ => f32::from_le_bytes(self.bytes()),
            }),
            Scalar::Float8 => Value::Float8(match self.byte() % 8 {
                0 => f64::NAN,
                1 => f64::NEG_INFINITY,
                2 => -0.0,
                3 => f64::from(self.byte()) - 99.5,
                _ => f64::from_le_bytes(self.bytes()),
            }),
            Scalar::Numeric => Value::Numeric(self.numeric(scratch)),
            Scalar::Text | Scalar::Varchar | Scalar::Bpchar | Scalar::Name => {
                Value::Text(self.text(scratch))
            }
            Scalar::Char => Value::Char(self.byte()),
            Scalar::Bytea => {
                let length = self.byte() % 8;
                Value::Bytea(scratch.alloc_slice_fill_with(length.into(), |_| {
                    // Zeros and their neighbours matter most.
                    match self.byte() {
                        byte @ 0..16 => byte % 3,
                        byte => byte,
                    }
                }))
            }
            Scalar::Uuid => Value::Uuid(scratch.alloc(self.bytes())),
            Scalar::Json => {
                let mut out = Vec::new();
                let json = self.jsonb(scratch);
                json.write_text(&mut out).expect("it was built");
                let text = std::str::from_utf8(&out).expect("text is UTF-8");
                Value::Json(scratch.alloc_str(text))
            }
            Scalar::Jsonb => Value::Jsonb(self.jsonb(scratch)),
            Scalar::Date => Value::Date(match self.byte() % 8 {
                0 => i32::MIN,
                1 => i32::MAX,
                _ => self.within(DATE_MIN.into(), DATE_MAX.into()) as i32,
            }),
            Scalar::Time => Value::Time(self.within(0, MICROSECONDS_PER_DAY)),
            Scalar::TimeTz => Value::TimeTz(
                self.within(0, MICROSECONDS_PER_DAY),
                self.within(-57_599, 57_599) as i32,
            ),
            Scalar::Timestamp => Value::Timestamp(self.timestamp()),
            Scalar::TimestampTz => Value::TimestampTz(self.timestamp()),
            Scalar::Interval => Value::Interval(Interval {
                microseconds: self.within(i64::MIN, i64::MAX),
                days: self.within(i32::MIN.into(), i32::MAX.into()) as i32,
                months: self.within(i32::MIN.into(), i32::MAX.into()) as i32,
            }),
            Scalar::Oid
            | Scalar::Regclass
            | Scalar::Regtype
            | Scalar::Regproc
            | Scalar::Regnamespace
            | Scalar::Regrole => Value::Oid(self.within(0, u32::MAX.into()) as u32),
            Scalar::Enum(id) => Value::Enum(id, u32::from(self.byte()) % LABELS.len() as u32),
        }
    }

    fn timestamp(&mut self) -> i64 {
        match self.byte() % 8 {
            0 => i64::MIN,
            1 => i64::MAX,
            _ => self.within(TIMESTAMP_MIN, TIMESTAMP_MAX),
        }
    }

    fn numeric<'a>(&mut self, scratch: &'a Scratch) -> Numeric<'a> {
        match self.byte() % 8 {
            0 => Numeric::NAN,
            1 => Numeric::INFINITY,
            2 => Numeric::NEGATIVE_INFINITY,
            3 | 4 => {
                let scale = u16::from(self.byte() % 24);
                Numeric::small(self.within(i64::MIN, i64::MAX), scale)
            }
            _ => self.large_numeric(scratch),
        }
    }

    /// Draws many digits, of which a lot are zeros, and any scale.
    fn large_numeric<'a>(&mut self, scratch: &'a Scratch) -> Numeric<'a> {
        let mut text = String::new();
        if self.byte() & 1 == 1 {
            text.push('-');
        }
        for _ in 0..self.byte() % 8 {
            let digits = u32::from_le_bytes(self.bytes());
            text.push_str(&digits.to_string());
            text.extend(std::iter::repeat_n('0', (self.byte() % 12).into()));
        }
        let exponent = i32::from(self.byte()) - 128;
        Numeric::parse(&format!("{text}1e{exponent}"), scratch).expect("it is in range")
    }

    fn text<'a>(&mut self, scratch: &'a Scratch) -> &'a str {
        const CHARACTERS: [char; 16] = [
            'a', 'b', 'A', ' ', '"', '\\', '{', '}', ',', '\t', 'é', '日', '\u{1}', '(', '\'', 'N',
        ];
        let length = self.byte() % 12;
        let text: String = (0..length)
            .map(|_| CHARACTERS[usize::from(self.byte() % 16)])
            .collect();
        scratch.alloc_str(&text)
    }

    fn array<'a>(&mut self, element: Scalar, scratch: &'a Scratch) -> Array<'a> {
        let mut dimensions = Vec::new();
        for _ in 0..self.byte() % 4 {
            dimensions.push(Dimension {
                length: 1 + u32::from(self.byte() % 3),
                lower: i32::from(self.byte() as i8) % 3 + 1,
            });
        }
        let count = dimensions
            .iter()
            .map(|dimension| dimension.length)
            .product::<u32>();
        let count = if dimensions.is_empty() { 0 } else { count };
        let values: Vec<_> = (0..count)
            .map(|_| self.value(element.into(), scratch))
            .collect();
        Array::build(element, &dimensions, &values, scratch).expect("it is small")
    }

    fn jsonb<'a>(&mut self, scratch: &'a Scratch) -> Jsonb<'a> {
        let mut builder = JsonbBuilder::new(scratch);
        self.node(&mut builder, 0, scratch);
        builder.finish().expect("it is complete")
    }

    fn node(&mut self, builder: &mut JsonbBuilder<'_>, depth: u8, scratch: &Scratch) {
        match self.byte() % 8 {
            0 => builder.null(),
            1 => builder.boolean(self.byte() & 1 == 1),
            2 | 3 => {
                let number = self.numeric(scratch);
                if number.is_nan() || number.is_infinite() {
                    builder.null();
                } else {
                    builder.number(number);
                }
            }
            4 | 5 => builder.string(self.text(scratch)),
            _ if depth > 4 => builder.null(),
            6 => {
                builder.begin_array().expect("it is not deep");
                for _ in 0..self.byte() % 4 {
                    self.node(builder, depth + 1, scratch);
                }
                builder.end().expect("it is small");
            }
            _ => {
                builder.begin_object().expect("it is not deep");
                for _ in 0..self.byte() % 4 {
                    builder.key(self.text(scratch));
                    self.node(builder, depth + 1, scratch);
                }
                builder.end().expect("it is small");
            }
        }
    }
}
