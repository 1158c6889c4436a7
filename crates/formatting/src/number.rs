//! `to_char` of numbers.

use types::{Numeric, Result, Scratch, SqlError, Value};

use super::{roman::roman, time::ordinal, token::Case};

/// A piece of the pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    /// A digit; true if a zero is written where the number has none.
    Digit(bool),
    Group,
    Point,
    /// `MI`
    Minus,
    /// `PL`
    Plus,
    /// `SG`
    Sign,
    Plain(char),
}

/// Form of a sign that stands at the number itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Anchored {
    /// No other sign is given: a blank stands for a plus.
    Default,
    /// `S` in front, `S` behind.
    Before,
    Behind,
    /// `PR`
    Brackets,
    /// The sign is written by `MI`, `PL` or `SG` elsewhere.
    None,
}

/// A parsed pattern of numbers.
pub struct NumberPattern {
    pieces: Vec<Piece>,
    anchored: Anchored,
    fill: bool,
    ordinal: Option<Case>,
    roman: Option<Case>,
    shift: u32,
    scientific: bool,
}

fn parse(text: &str) -> Result<NumberPattern> {
    let mut pattern = NumberPattern {
        pieces: Vec::new(),
        anchored: Anchored::Default,
        fill: false,
        ordinal: None,
        roman: None,
        shift: 0,
        scientific: false,
    };
    let (mut rest, mut shifting) = (text, false);
    while let Some(first) = rest.chars().next() {
        let two = rest.get(..2).unwrap_or("").to_ascii_uppercase();
        let mut length = 2;
        match two.as_str() {
            "FM" => pattern.fill = true,
            "MI" => {
                pattern.pieces.push(Piece::Minus);
                pattern.anchored = Anchored::None;
            }
            "PL" => pattern.pieces.push(Piece::Plus),
            "SG" => {
                pattern.pieces.push(Piece::Sign);
                pattern.anchored = Anchored::None;
            }
            "PR" => pattern.anchored = Anchored::Brackets,
            "TH" => {
                pattern.ordinal = Some(if first == 'T' {
                    Case::Upper
                } else {
                    Case::Lower
                });
            }
            "RN" => {
                pattern.roman = Some(if first == 'R' {
                    Case::Upper
                } else {
                    Case::Lower
                })
            }
            "EE" if rest.starts_with("EEEE") || rest.starts_with("eeee") => {
                pattern.scientific = true;
                length = 4;
            }
            _ => {
                length = first.len_utf8();
                match first {
                    '9' | '0' => {
                        pattern.pieces.push(Piece::Digit(first == '0'));
                        pattern.shift += u32::from(shifting);
                    }
                    '.' | 'D' | 'd' => {
                        if pattern.pieces.contains(&Piece::Point) {
                            return Err(SqlError::new(
                                types::SqlState::SYNTAX_ERROR,
                                "multiple decimal points",
                            ));
                        }
                        pattern.pieces.push(Piece::Point);
                    }
                    ',' | 'G' | 'g' => pattern.pieces.push(Piece::Group),
                    'S' | 's' => {
                        let digits = pattern
                            .pieces
                            .iter()
                            .any(|piece| matches!(piece, Piece::Digit(_)));
                        pattern.anchored = if digits {
                            Anchored::Behind
                        } else {
                            Anchored::Before
                        };
                    }
                    // `B` has no effect, since a zero is shown nevertheless.
                    'B' | 'b' => {}
                    'V' | 'v' => shifting = true,
                    'L' | 'l' => pattern.pieces.push(Piece::Plain(' ')),
                    '"' => {
                        let quoted = &rest[1..];
                        length = 1 + unquoted(quoted, &mut pattern.pieces);
                    }
                    '\\' if two == "\\\"" => {
                        pattern.pieces.push(Piece::Plain('"'));
                        length = 2;
                    }
                    plain => pattern.pieces.push(Piece::Plain(plain)),
                }
            }
        }
        rest = &rest[length..];
    }
    Ok(pattern)
}

/// Adds quoted text, in which a backslash makes the next character plain, and returns its length in
/// bytes with the closing quote.
fn unquoted(text: &str, pieces: &mut Vec<Piece>) -> usize {
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => break,
            '\\' => pieces.extend(characters.next().map(Piece::Plain)),
            plain => pieces.push(Piece::Plain(plain)),
        }
    }
    text.len() - characters.as_str().len()
}

fn is_digit(piece: &Piece) -> bool {
    matches!(piece, Piece::Digit(_))
}

/// The digits before and behind the point, and the sign of a number.
struct Digits {
    whole: String,
    fraction: String,
    negative: bool,
}

fn digits(text: &str) -> Digits {
    let negative = text.starts_with('-');
    let text = text.trim_start_matches('-');
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    Digits {
        whole: whole.trim_start_matches('0').to_owned(),
        fraction: fraction.to_owned(),
        negative,
    }
}

impl NumberPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// 42601 for a second decimal point.
    pub fn parse(text: &str) -> Result<Self> {
        parse(text)
    }

    /// Writes a number. A float is passed as `value` too, and keeps the digits that its type has.
    ///
    /// # Errors
    /// 0A000 for `EEEE`; an error of arithmetic with the number.
    pub fn write<'a>(
        &self,
        value: Value<'a>,
        number: Numeric<'a>,
        scratch: &'a Scratch,
    ) -> Result<String> {
        let pattern = self;
        if pattern.scientific {
            return Err(SqlError::unsupported("EEEE in to_char"));
        }
        if let Some(case) = pattern.roman {
            return Ok(in_roman(pattern, number, case));
        }
        let point = pattern
            .pieces
            .iter()
            .position(|piece| *piece == Piece::Point);
        let scale = point.map_or(0, |point| {
            pattern.pieces[point..]
                .iter()
                .filter(|piece| is_digit(piece))
                .count()
        });
        let is_named = number.is_nan() || number.is_infinite();
        let text = match value {
            Value::Float4(value) => {
                let value = (f64::from(value) * 10f64.powi(pattern.shift as i32)) as f32;
                float_text(value.into(), scale, f32::DIGITS as usize)
            }
            Value::Float8(value) => {
                let value = value * 10f64.powi(pattern.shift as i32);
                float_text(value, scale, f64::DIGITS as usize)
            }
            _ => {
                let shifted = match pattern.shift {
                    0 => number,
                    shift => {
                        let shift = Numeric::from_i128(shift.into(), 0, scratch)?;
                        let unit = Numeric::small(10, 0).power(shift, scratch)?;
                        number.multiply(unit, scratch)?
                    }
                };
                let mut text = Vec::new();
                shifted.round(scale as i32, scratch)?.write_text(&mut text);
                let mut text = String::from_utf8_lossy(&text).into_owned();
                if is_named {
                    text.push('.');
                    text.push_str(&"#".repeat(scale));
                }
                text
            }
        };
        let mut digits = digits(&text);
        let slots = pattern.pieces[..point.unwrap_or(pattern.pieces.len())]
            .iter()
            .filter(|piece| is_digit(piece))
            .count();
        // A name has a fraction only if it is too long, and is replaced by `#`.
        if is_named && digits.whole.len() <= slots {
            digits.fraction.clear();
        }
        Ok(written(pattern, &digits, point))
    }
}

/// Formats a float with at most `scale` digits behind the point, and at most `digits` digits in all,
/// the reliable ones of its type.
fn float_text(value: f64, scale: usize, digits: usize) -> String {
    if !value.is_finite() {
        let sign = if value == f64::NEG_INFINITY { "-" } else { "" };
        let name = if value.is_nan() { "NaN" } else { "Infinity" };
        // No fraction if the name alone has more characters than the type has digits.
        let fraction = match digits.checked_sub(name.len()) {
            Some(left) => "#".repeat(scale.min(left)),
            None => String::new(),
        };
        return format!("{sign}{name}.{fraction}");
    }
    let whole = format!("{:.0}", value.abs()).len();
    format!("{value:.*}", scale.min(digits.saturating_sub(whole)))
}

fn in_roman(pattern: &NumberPattern, number: Numeric<'_>, case: Case) -> String {
    let text = match number.to_i32() {
        Ok(number @ 1..=3999) => case.apply(&roman(number as u32)),
        _ => "#".repeat(15),
    };
    if pattern.fill {
        text
    } else {
        format!("{text:>15}")
    }
}

fn written(pattern: &NumberPattern, digits: &Digits, point: Option<usize>) -> String {
    let pieces = &pattern.pieces;
    let end = point.unwrap_or(pieces.len());
    let slots = pieces[..end].iter().filter(|piece| is_digit(piece)).count();
    // Without a place before the point nothing fits.
    let overflow = slots == 0 || digits.whole.len() > slots;
    let zero = digits.whole.is_empty() && digits.fraction.bytes().all(|byte| byte == b'0');
    // From this slot on there are digits: the number's, or zeros that are asked for; without
    // digits behind the point a zero is shown in the last.
    let first_zero = pieces[..end]
        .iter()
        .filter(|piece| is_digit(piece))
        .position(|piece| *piece == Piece::Digit(true))
        .unwrap_or(slots);
    let mut first = if overflow {
        0
    } else {
        (slots - digits.whole.len()).min(first_zero)
    };
    let bare = pattern.fill && zero && !pieces[end..].contains(&Piece::Digit(true));
    if first == slots && slots > 0 && (point.is_none() || bare) {
        first = slots - 1;
    }
    let sign = match (pattern.anchored, digits.negative) {
        (Anchored::Default, true) | (Anchored::Before, true) => "-",
        (Anchored::Before, false) => "+",
        (Anchored::Brackets, true) => "<",
        (Anchored::Default | Anchored::Brackets, false) if !pattern.fill => " ",
        _ => "",
    };
    let mut out = String::new();
    let (mut slot, mut signed) = (0, false);
    for piece in &pieces[..end] {
        match piece {
            Piece::Digit(_) => {
                if slot >= first && !signed {
                    out.push_str(sign);
                    signed = true;
                }
                if slot < first {
                    blank(pattern, &mut out);
                } else if overflow {
                    out.push('#');
                } else {
                    let leading = slots - digits.whole.len();
                    let digit = slot
                        .checked_sub(leading)
                        .and_then(|at| digits.whole.as_bytes().get(at));
                    out.push(digit.map_or('0', |digit| char::from(*digit)));
                }
                slot += 1;
            }
            Piece::Group if slot > first || (slot == first && signed) => out.push(','),
            Piece::Group => blank(pattern, &mut out),
            other => plain(pattern, *other, digits.negative, &mut out),
        }
    }
    // A pattern without places has no number, and no sign of it.
    if !signed && (slots > 0 || point.is_some()) {
        out.push_str(sign);
    }
    // A number that has no fraction has no point either, and ends there.
    if let Some(point) = point
        && (overflow || !digits.fraction.is_empty())
    {
        fraction(pattern, &pieces[point..], digits, overflow, &mut out);
    }
    if let Some(case) = pattern.ordinal
        && point.is_none()
        && !digits.negative
        && !overflow
    {
        out.push_str(&case.apply(ordinal(&digits.whole)));
    }
    match (pattern.anchored, digits.negative) {
        (Anchored::Behind, negative) => out.push(if negative { '-' } else { '+' }),
        (Anchored::Brackets, true) => out.push('>'),
        (Anchored::Brackets, false) if !pattern.fill => out.push(' '),
        _ => {}
    }
    out
}

fn blank(pattern: &NumberPattern, out: &mut String) {
    if !pattern.fill {
        out.push(' ');
    }
}

fn plain(pattern: &NumberPattern, piece: Piece, negative: bool, out: &mut String) {
    match piece {
        Piece::Minus if negative => out.push('-'),
        Piece::Plus if !negative => out.push('+'),
        Piece::Minus | Piece::Plus => blank(pattern, out),
        Piece::Sign => out.push(if negative { '-' } else { '+' }),
        Piece::Plain(character) => out.push(character),
        Piece::Digit(_) | Piece::Group | Piece::Point => {}
    }
}

/// Writes the point and the fraction. With `FM`, zeros at the end are dropped unless `0` asks for
/// them.
fn fraction(
    pattern: &NumberPattern,
    pieces: &[Piece],
    digits: &Digits,
    overflow: bool,
    out: &mut String,
) {
    let slots: Vec<&Piece> = pieces.iter().filter(|piece| is_digit(piece)).collect();
    let wanted = slots
        .iter()
        .rposition(|piece| **piece == Piece::Digit(true))
        .map_or(0, |last| last + 1);
    let shown = if pattern.fill && !overflow {
        digits.fraction.trim_end_matches('0').len().max(wanted)
    } else {
        slots.len()
    };
    let mut slot = 0;
    for piece in pieces {
        match piece {
            Piece::Point => out.push('.'),
            Piece::Digit(_) => {
                if slot < shown {
                    match digits.fraction.as_bytes().get(slot) {
                        Some(_) if overflow => out.push('#'),
                        Some(digit) => out.push(char::from(*digit)),
                        // Nothing is written behind the last digit that a float has.
                        None => return,
                    }
                }
                slot += 1;
            }
            Piece::Group => out.push(','),
            other => plain(pattern, *other, digits.negative, out),
        }
    }
}
