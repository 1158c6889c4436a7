//! Arrays: `{1,NULL,3}`, `{{a,"b c"},{d,e}}`, `[0:1]={a,b}`.

use bumpalo::collections::{String as ArenaString, Vec as ArenaVec};

use super::is_blank;
use crate::{
    Array, Context, Result, Scalar, Scratch, Sink, SqlError, SqlState, Value,
    array::{DIMENSIONS_MAX, Dimension, too_many_dimensions},
};

pub(super) fn read<'a>(
    text: &'a str,
    element: Scalar,
    context: &Context<'_>,
    scratch: &'a Scratch,
) -> Result<Array<'a>> {
    let mut reader = Reader {
        text,
        rest: text,
        element,
        context,
        scratch,
        items: ArenaVec::new_in(scratch),
        lengths: [None; DIMENSIONS_MAX],
        depth_max: 0,
    };
    let bounds = reader.bounds()?;
    reader.skip_blanks();
    let contents = reader.rest;
    if !reader.take('{') {
        return Err(reader.malformed(if bounds.is_empty() {
            "Array value must start with \"{\" or dimension information."
        } else {
            "Array contents must start with \"{\"."
        }));
    }
    // From here on, messages are about the text after the bounds.
    reader.text = contents;
    reader.level(0)?;
    reader.skip_blanks();
    if !reader.rest.is_empty() {
        return Err(reader.malformed("Junk after closing right brace."));
    }
    reader.text = text;
    reader.finish(&bounds)
}

struct Reader<'t, 'c, 'a> {
    text: &'a str,
    rest: &'a str,
    element: Scalar,
    context: &'t Context<'c>,
    scratch: &'a Scratch,
    /// Texts of the elements, `None` for NULL. They are read when all of them are there, so
    /// that an error of the whole comes before an error of one.
    items: ArenaVec<'a, Option<&'a str>>,
    /// Per dimension, the number of items in each of its arrays; all must have as many.
    lengths: [Option<u32>; DIMENSIONS_MAX],
    /// The number of dimensions, once an element has shown the depth.
    depth_max: usize,
}

impl<'a> Reader<'_, '_, 'a> {
    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start_matches(is_blank);
    }

    fn take(&mut self, character: char) -> bool {
        match self.rest.strip_prefix(character) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Reads `[1:2][0:3]=`, or nothing.
    fn bounds(&mut self) -> Result<Vec<Dimension>> {
        let mut bounds = Vec::new();
        loop {
            self.skip_blanks();
            if !self.take('[') {
                break;
            }
            if bounds.len() == DIMENSIONS_MAX {
                return Err(too_many_dimensions(DIMENSIONS_MAX + 1));
            }
            let first =
                self.bound("\"[\" must introduce explicitly-specified array dimensions.")?;
            let (lower, upper) = if self.take(':') {
                (first, self.bound("Missing array dimension value.")?)
            } else {
                (1, first)
            };
            if !self.take(']') {
                return Err(self.malformed("Missing \"]\" after array dimensions."));
            }
            let length = i64::from(upper) - i64::from(lower) + 1;
            if length < 1 {
                return Err(SqlError::new(
                    SqlState::ARRAY_SUBSCRIPT_ERROR,
                    "upper bound cannot be less than lower bound",
                ));
            }
            bounds.push(Dimension {
                length: u32::try_from(length).map_err(|_| crate::array::too_large())?,
                lower,
            });
        }
        if !bounds.is_empty() && !self.take('=') {
            return Err(self.malformed("Missing \"=\" after array dimensions."));
        }
        Ok(bounds)
    }

    /// Reads a number; `missing` is the message if there is none.
    fn bound(&mut self, missing: &str) -> Result<i32> {
        let end = self
            .rest
            .find(|character: char| !(character.is_ascii_digit() || "+-".contains(character)))
            .unwrap_or(self.rest.len());
        let (number, rest) = self.rest.split_at(end);
        self.rest = rest;
        match number.parse::<i64>() {
            Ok(bound) => i32::try_from(bound).map_err(|_| {
                SqlError::new(
                    SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                    "array bound is out of integer range",
                )
            }),
            Err(_) => Err(self.malformed(missing)),
        }
    }

    /// Reads the content of a level between its braces; the opening brace was taken.
    fn level(&mut self, depth: usize) -> Result<()> {
        if depth == DIMENSIONS_MAX {
            return Err(too_many_dimensions(DIMENSIONS_MAX + 1));
        }
        let mut count = 0u32;
        self.skip_blanks();
        if self.take('}') {
            if depth > 0 {
                return Err(self.unexpected('}'));
            }
        } else {
            loop {
                self.skip_blanks();
                if self.take('{') {
                    if self.depth_max != 0 && depth + 1 >= self.depth_max {
                        return Err(self.unexpected('{'));
                    }
                    self.level(depth + 1)?;
                } else {
                    if self.depth_max == 0 {
                        self.depth_max = depth + 1;
                    }
                    if self.depth_max != depth + 1 {
                        return Err(self.malformed("Unexpected array element."));
                    }
                    let item = if self.take('"') {
                        Some(self.quoted()?)
                    } else {
                        self.plain()?
                    };
                    self.items.push(item);
                }
                count += 1;
                self.skip_blanks();
                if self.take('}') {
                    break;
                }
                if !self.take(',') {
                    return Err(match self.rest.chars().next() {
                        None => self.malformed("Unexpected end of input."),
                        Some('{') => self.unexpected('{'),
                        Some(_) => self.malformed("Unexpected array element."),
                    });
                }
            }
        }
        match self.lengths[depth] {
            None => self.lengths[depth] = Some(count),
            Some(length) if length == count => {}
            Some(_) => {
                return Err(self.malformed(
                    "Multidimensional arrays must have sub-arrays with matching dimensions.",
                ));
            }
        }
        Ok(())
    }

    fn quoted(&mut self) -> Result<&'a str> {
        // Most items have no escapes and are borrowed.
        match self.rest.find(['"', '\\']) {
            Some(end) if self.rest.as_bytes()[end] == b'"' => {
                let text = &self.rest[..end];
                self.rest = &self.rest[end + 1..];
                return Ok(text);
            }
            _ => {}
        }
        let mut out = ArenaString::new_in(self.scratch);
        let mut characters = self.rest.chars();
        loop {
            match characters.next() {
                Some('"') => break,
                Some('\\') => match characters.next() {
                    Some(escaped) => out.push(escaped),
                    None => return Err(self.malformed("Unexpected end of input.")),
                },
                Some(character) => out.push(character),
                None => return Err(self.malformed("Unexpected end of input.")),
            }
        }
        self.rest = characters.as_str();
        Ok(out.into_bump_str())
    }

    /// Reads up to the next comma or brace, without blanks at the end; returns `None` for NULL.
    fn plain(&mut self) -> Result<Option<&'a str>> {
        let mut out = ArenaString::new_in(self.scratch);
        // Blanks at the end count only if they were escaped.
        let mut kept = 0;
        let mut escaped_any = false;
        let mut characters = self.rest.chars();
        loop {
            let before = characters.as_str();
            match characters.next() {
                Some(',' | '}') => {
                    self.rest = before;
                    break;
                }
                Some('\\') => match characters.next() {
                    Some(escaped) => {
                        escaped_any = true;
                        out.push(escaped);
                        kept = out.len();
                    }
                    None => return Err(self.malformed("Unexpected end of input.")),
                },
                Some('{') => return Err(self.unexpected('{')),
                Some('"') => return Err(self.malformed("Unexpected array element.")),
                Some(character) => {
                    out.push(character);
                    if !is_blank(character) {
                        kept = out.len();
                    }
                }
                None => return Err(self.malformed("Unexpected end of input.")),
            }
        }
        out.truncate(kept);
        if out.is_empty() {
            let next = self.rest.chars().next().unwrap_or('}');
            return Err(self.unexpected(next));
        }
        if !escaped_any && out.eq_ignore_ascii_case("null") {
            return Ok(None);
        }
        Ok(Some(out.into_bump_str()))
    }

    fn finish(self, bounds: &[Dimension]) -> Result<Array<'a>> {
        if self.items.is_empty() {
            if !bounds.is_empty() {
                return Err(
                    self.malformed("Specified array dimensions do not match array contents.")
                );
            }
            return Array::of(self.element, &[], self.scratch);
        }
        let mut values = ArenaVec::with_capacity_in(self.items.len(), self.scratch);
        for item in &self.items {
            values.push(match item {
                None => Value::Null,
                Some(text) => super::read_scalar(text, self.element, self.context, self.scratch)?,
            });
        }
        let dimensions: Vec<_> = self.lengths[..self.depth_max]
            .iter()
            .map(|length| Dimension {
                length: length.unwrap_or(0),
                lower: 1,
            })
            .collect();
        if bounds.is_empty() {
            return Array::build(self.element, &dimensions, &values, self.scratch);
        }
        let fits = bounds.len() == dimensions.len()
            && bounds
                .iter()
                .zip(&dimensions)
                .all(|(bound, dimension)| bound.length == dimension.length);
        if !fits {
            return Err(self.malformed("Specified array dimensions do not match array contents."));
        }
        Array::build(self.element, bounds, &values, self.scratch)
    }

    #[cold]
    fn malformed(&self, detail: &str) -> SqlError {
        SqlError::new(
            SqlState::INVALID_TEXT_REPRESENTATION,
            format!("malformed array literal: \"{}\"", self.text),
        )
        .detail(detail)
    }

    #[cold]
    fn unexpected(&self, character: char) -> SqlError {
        self.malformed(&format!("Unexpected \"{character}\" character."))
    }
}

pub(super) fn write(array: Array<'_>, context: &Context<'_>, out: &mut impl Sink) -> Result<()> {
    if array.is_empty() {
        out.put(b"{}");
        return Ok(());
    }
    let dimensions: Vec<_> = array.dimensions().collect();
    if dimensions.iter().any(|dimension| dimension.lower != 1) {
        for dimension in &dimensions {
            let upper = i64::from(dimension.lower) + i64::from(dimension.length) - 1;
            out.put_byte(b'[');
            out.put(itoa::Buffer::new().format(dimension.lower).as_bytes());
            out.put_byte(b':');
            out.put(itoa::Buffer::new().format(upper).as_bytes());
            out.put_byte(b']');
        }
        out.put_byte(b'=');
    }
    let scratch = Scratch::new();
    let mut item = ArenaVec::new_in(&scratch);
    for (index, value) in array.iter().enumerate() {
        if index > 0 {
            write_braces(index, &dimensions, b'}', out);
            out.put_byte(b',');
        }
        write_braces(index, &dimensions, b'{', out);
        match value? {
            Value::Null => out.put(b"NULL"),
            value => {
                item.clear();
                super::write(value, array.element().into(), context, &mut item)?;
                write_item(&item, out);
            }
        }
    }
    for _ in &dimensions {
        out.put_byte(b'}');
    }
    Ok(())
}

/// Writes as many braces as there are levels that begin, or have just ended, at the element.
fn write_braces(index: usize, dimensions: &[Dimension], brace: u8, out: &mut impl Sink) {
    let mut size = 1;
    for dimension in dimensions.iter().rev() {
        size *= dimension.length as usize;
        if !index.is_multiple_of(size) {
            break;
        }
        out.put_byte(brace);
    }
}

fn write_item(text: &[u8], out: &mut impl Sink) {
    let special = |byte: &u8| {
        matches!(
            byte,
            b'"' | b'\\' | b'{' | b'}' | b',' | b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c
        )
    };
    let plain =
        !text.is_empty() && !text.iter().any(special) && !text.eq_ignore_ascii_case(b"null");
    if plain {
        return out.put(text);
    }
    out.put_byte(b'"');
    for byte in text {
        if matches!(byte, b'"' | b'\\') {
            out.put_byte(b'\\');
        }
        out.put_byte(*byte);
    }
    out.put_byte(b'"');
}
