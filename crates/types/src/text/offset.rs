//! Offsets of time zones: `+02`, `-05:30`, `+00:19:32`.

use crate::Sink;

/// Greatest distance of a zone from Greenwich, in seconds.
pub(crate) const OFFSET_MAX: i32 = 16 * 3600;

/// Reads the seconds east of Greenwich of `+02`, `-5`, `+0530`, `-05:30:15`.
///
/// Returns `None` if it is something else or too far.
pub fn parse_offset(text: &str) -> Option<i32> {
    let (negative, rest) = match text.as_bytes().first()? {
        b'+' => (false, &text[1..]),
        b'-' => (true, &text[1..]),
        _ => return None,
    };
    let mut parts = rest.split(':');
    let first = parts.next()?;
    let number = |text: &str, digits: usize| -> Option<i32> {
        ((1..=digits).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit()))
            .then(|| text.parse().ok())?
    };
    let (hours, minutes, seconds) = match (parts.next(), parts.next()) {
        (Some(minutes), seconds) => (
            number(first, 2)?,
            number(minutes, 2)?,
            seconds.map_or(Some(0), |seconds| number(seconds, 2))?,
        ),
        (None, _) if first.len() <= 2 => (number(first, 2)?, 0, 0),
        (None, _) => {
            let digits = number(first, 6)?;
            if first.len() <= 4 {
                (digits / 100, digits % 100, 0)
            } else {
                (digits / 10000, digits / 100 % 100, digits % 100)
            }
        }
    };
    if parts.next().is_some() || minutes >= 60 || seconds >= 60 {
        return None;
    }
    let total = hours * 3600 + minutes * 60 + seconds;
    (total < OFFSET_MAX).then_some(if negative { -total } else { total })
}

/// Appends an offset in seconds east of Greenwich; minutes and seconds only if it has some.
pub(crate) fn write_offset(seconds: i32, out: &mut impl Sink) {
    out.put_byte(if seconds < 0 { b'-' } else { b'+' });
    let total = seconds.unsigned_abs();
    super::write_two(total / 3600, out);
    if !total.is_multiple_of(3600) {
        out.put_byte(b':');
        super::write_two(total / 60 % 60, out);
        if !total.is_multiple_of(60) {
            out.put_byte(b':');
            super::write_two(total % 60, out);
        }
    }
}
