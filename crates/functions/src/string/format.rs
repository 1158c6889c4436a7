//! `format`: arguments in the places of a text, as in `sprintf`.

use types::{Result, Sink, SqlError, SqlState, Value};

use super::{characters, write_identifier, write_literal};
use crate::{
    Context,
    argument::take,
    function::{Function, Parameter, TEXT},
    integer::out_of_range,
};

/// The rest of the text, and the next argument.
struct Reader<'t> {
    rest: &'t str,
    next: usize,
}

/// The specification between `%` and the letter.
#[derive(Default)]
struct Place {
    /// The argument, from 1.
    argument: Option<usize>,
    left: bool,
    width: i32,
    /// An argument that gives the width, of this number if it is given.
    width_from: Option<Option<usize>>,
}

fn invalid(message: impl Into<std::borrow::Cow<'static, str>>) -> SqlError {
    SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

fn unterminated() -> SqlError {
    invalid("unterminated format() type specifier").hint("For a single \"%\" use \"%%\".")
}

impl Reader<'_> {
    fn peek(&self) -> Result<char> {
        self.rest.chars().next().ok_or_else(unterminated)
    }

    fn skip(&mut self) {
        let length = self.rest.chars().next().map_or(0, char::len_utf8);
        self.rest = &self.rest[length..];
    }

    fn number(&mut self) -> Result<Option<i32>> {
        let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return Ok(None);
        }
        let number = self.rest[..digits].parse().map_err(|_| {
            SqlError::new(
                SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                "number is out of range",
            )
        })?;
        self.rest = &self.rest[digits..];
        self.peek()?;
        Ok(Some(number))
    }

    fn position(number: i32) -> Result<usize> {
        match usize::try_from(number) {
            Ok(number @ 1..) => Ok(number),
            _ => Err(invalid(
                "format specifies argument 0, but arguments are numbered from 1",
            )),
        }
    }

    fn place(&mut self) -> Result<Place> {
        let mut place = Place::default();
        if let Some(number) = self.number()? {
            if self.peek()? != '$' {
                place.width = number;
                return Ok(place);
            }
            place.argument = Some(Self::position(number)?);
            self.skip();
            self.peek()?;
        }
        while self.peek()? == '-' {
            place.left = true;
            self.skip();
        }
        self.peek()?;
        if self.peek()? == '*' {
            self.skip();
            self.peek()?;
            let number = self.number()?;
            if let Some(number) = number {
                if self.peek()? != '$' {
                    return Err(invalid("width argument position must be ended by \"$\""));
                }
                self.skip();
                self.peek()?;
                place.width_from = Some(Some(Self::position(number)?));
            } else {
                place.width_from = Some(None);
            }
        } else if let Some(width) = self.number()? {
            place.width = width;
        }
        Ok(place)
    }

    /// Returns the position of the argument to use, which counts the format
    /// itself as 0.
    fn argument(&mut self, chosen: Option<usize>, arguments: usize) -> Result<usize> {
        let position = chosen.unwrap_or(self.next);
        self.next = position + 1;
        if position >= arguments {
            return Err(invalid("too few arguments for format()"));
        }
        Ok(position)
    }
}

fn format<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let Some(text) = take::<Option<&str>>(arguments, 0)? else {
        return Ok(Value::Null);
    };
    let mut reader = Reader {
        rest: text,
        next: 1,
    };
    let mut out = bumpalo::collections::Vec::new_in(context.scratch);
    while let Some(percent) = reader.rest.find('%') {
        out.put(&reader.rest.as_bytes()[..percent]);
        reader.rest = &reader.rest[percent + 1..];
        if reader.peek()? == '%' {
            out.put_byte(b'%');
            reader.skip();
            continue;
        }
        let mut place = reader.place()?;
        let kind = reader.peek()?;
        if !matches!(kind, 's' | 'I' | 'L') {
            return Err(
                invalid(format!("unrecognized format() type specifier \"{kind}\""))
                    .hint("For a single \"%\" use \"%%\"."),
            );
        }
        if let Some(chosen) = place.width_from {
            let position = reader.argument(chosen, arguments.len())?;
            place.width = width(context, arguments[position], position)?;
            if place.width < 0 {
                place.left = true;
                place.width = place
                    .width
                    .checked_neg()
                    .ok_or_else(|| out_of_range("integer"))?;
            }
        }
        reader.skip();
        let position = reader.argument(place.argument, arguments.len())?;
        let piece = piece(context, arguments[position], position, kind)?;
        pad(context, &piece, &place, &mut out)?;
        context.make_room(out.len())?;
    }
    out.put(reader.rest.as_bytes());
    context.finish_text(out).map(Value::Text)
}

fn width(context: &Context<'_>, value: Value<'_>, position: usize) -> Result<i32> {
    match value {
        Value::Null => Ok(0),
        Value::Int4(width) => Ok(width),
        Value::Int2(width) => Ok(width.into()),
        value => {
            let text = context.text_of(value, context.argument_type(position))?;
            text.trim().parse().map_err(|_| {
                SqlError::new(
                    SqlState::INVALID_TEXT_REPRESENTATION,
                    format!("invalid input syntax for type integer: \"{text}\""),
                )
            })
        }
    }
}

fn piece<'a>(
    context: &Context<'a>,
    value: Value<'a>,
    position: usize,
    kind: char,
) -> Result<bumpalo::collections::Vec<'a, u8>> {
    let mut out = bumpalo::collections::Vec::new_in(context.scratch);
    if value.is_null() {
        match kind {
            'I' => {
                return Err(SqlError::new(
                    SqlState::NULL_VALUE_NOT_ALLOWED,
                    "null values cannot be formatted as an SQL identifier",
                ));
            }
            'L' => out.put(b"NULL"),
            _ => {}
        }
        return Ok(out);
    }
    let text = context.text_of(value, context.argument_type(position))?;
    match kind {
        'I' => write_identifier(text, &mut out),
        'L' => write_literal(text, &mut out),
        _ => out.put(text.as_bytes()),
    }
    Ok(out)
}

fn pad(
    context: &Context<'_>,
    piece: &[u8],
    place: &Place,
    out: &mut bumpalo::collections::Vec<'_, u8>,
) -> Result<()> {
    let width = usize::try_from(place.width).unwrap_or(0);
    let present = std::str::from_utf8(piece).map_or(piece.len(), characters);
    let blanks = width.saturating_sub(present);
    context.make_room(out.len().saturating_add(blanks))?;
    if place.left {
        out.put(piece);
    }
    out.extend(std::iter::repeat_n(b' ', blanks));
    if !place.left {
        out.put(piece);
    }
    Ok(())
}

pub(crate) static FUNCTIONS: &[Function] =
    &[
        Function::scalar("format", &[TEXT, Parameter::Any], TEXT, format)
            .variadic()
            .optional(1)
            .lenient()
            .stable()
            .typed(),
    ];
