//! Numbers as people write them on a command line or in a workload file.

use crate::{Error, Result};

/// Reads a count or a size: digits with optional underscores, a fraction, and
/// a suffix: `k`, `M`, `G` are powers of 1000, `Ki`, `Mi`, `Gi` powers of 1024,
/// either may end in `B`. `50M`, `1_000_000`, `1.5k`, `512MiB`.
///
/// # Errors
/// [`Error::Input`] when `text` is no such number or does not fit 64 bits.
pub fn parse_count(text: &str) -> Result<u64> {
    let refuse = || {
        Error::input(format!(
            "`{text}` is not a whole number; write it like 1000, 1_000, 10k, 50M or 512MiB"
        ))
    };
    // The parser below takes "-" for nothing at all in some positions.
    if !text.starts_with(|first: char| first.is_ascii_digit()) {
        return Err(refuse());
    }
    parse_size::parse_size(text).map_err(|_| refuse())
}

/// Reads a count as [`parse_count`] does, and refuses one below `min` or above `max`.
///
/// # Errors
/// [`Error::Input`] that names the bounds.
pub fn parse_count_within(text: &str, min: u64, max: u64) -> Result<u64> {
    let count = parse_count(text)?;
    if (min..=max).contains(&count) {
        Ok(count)
    } else {
        Err(Error::input(format!(
            "{text} is out of range; give a number from {min} to {max}"
        )))
    }
}

/// Longest time to measure, in seconds: a day.
const SECONDS_MAX: f64 = 86_400.0;

/// Refuses a duration in seconds that cannot be measured: not above 0, or longer than a
/// day. `what` names it.
///
/// # Errors
/// [`Error::Input`] that names the bounds.
pub fn check_seconds(what: &str, seconds: f64) -> Result<()> {
    if seconds > 0.0 && seconds <= SECONDS_MAX {
        Ok(())
    } else {
        Err(Error::input(format!(
            "{what} is out of range; give a number above 0 and up to {SECONDS_MAX}"
        )))
    }
}

/// Returns `number` if it is from 1 to `max`.
///
/// # Errors
/// [`Error::Input`] that names `flag` and the bounds.
pub fn within(flag: &str, number: u64, max: u64) -> Result<u64> {
    if (1..=max).contains(&number) {
        Ok(number)
    } else {
        Err(Error::input(format!(
            "{flag} {number} is out of range; give a number from 1 to {max}"
        )))
    }
}

/// Reads a duration in seconds: above 0, up to a day.
///
/// # Errors
/// [`Error::Input`] when `text` is no such number.
pub fn parse_seconds(text: &str) -> Result<f64> {
    let seconds = text.parse().unwrap_or(f64::NAN);
    check_seconds(text, seconds).map(|()| seconds)
}

/// Reads a percentage: 0 to 100.
///
/// # Errors
/// [`Error::Input`] when `text` is no such number.
pub fn parse_percent(text: &str) -> Result<f64> {
    let percent = text.parse().ok();
    let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
    percent.ok_or_else(|| Error::input(format!("`{text}` is not a percentage; give 0 to 100")))
}

/// Returns a number of things, as people write it: `1 worker`, `2,000 records`.
pub fn plural(count: u64, what: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{} {what}{ending}", with_commas(count))
}

/// Writes a number with thousands separated by commas, for people.
pub fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Writes a count with the suffix that [`parse_count`] reads, if it is a multiple of it.
pub fn short_count(count: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")];
    let unit = UNITS
        .into_iter()
        .find(|(unit, _)| count >= *unit && count.is_multiple_of(*unit));
    unit.map_or_else(
        || with_commas(count),
        |(unit, name)| format!("{}{name}", count / unit),
    )
}

/// Writes a size in bytes in the largest binary unit that divides it.
pub fn bytes_text(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    for (unit, name) in UNITS {
        if bytes >= unit && bytes.is_multiple_of(unit) {
            return format!("{} {name}", bytes / unit);
        }
    }
    format!("{} bytes", with_commas(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_and_underscores_are_understood() {
        for (text, value) in [
            ("0", 0),
            ("1000", 1000),
            ("1_000_000", 1_000_000),
            ("10k", 10_000),
            ("50M", 50_000_000),
            ("2G", 2_000_000_000),
            ("1.5k", 1500),
            ("512MiB", 512 << 20),
            ("1Ki", 1024),
        ] {
            assert_eq!(parse_count(text).unwrap(), value, "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_an_example() {
        for text in ["", "many", "-1", "1x", "k", "1e99", "50 MM", "99999999999G"] {
            let error = parse_count(text).unwrap_err().to_string();
            assert!(
                error.contains(&format!("`{text}`")) && error.contains("50M"),
                "{error}"
            );
        }
    }

    #[test]
    fn bounds_are_named() {
        let error = parse_count_within("0", 1, 64).unwrap_err().to_string();
        assert!(error.contains("from 1 to 64"), "{error}");
    }

    #[test]
    fn percentages_end_at_a_hundred() {
        assert_eq!(parse_percent("0").unwrap(), 0.0);
        assert_eq!(parse_percent("12.5").unwrap(), 12.5);
        assert_eq!(parse_percent("100").unwrap(), 100.0);
        for text in ["", "-1", "100.1", "NaN", "half"] {
            let error = parse_percent(text).unwrap_err().to_string();
            assert!(error.contains(&format!("`{text}`")), "{error}");
        }
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(with_commas(0), "0");
        assert_eq!(with_commas(999), "999");
        assert_eq!(with_commas(50_000_000), "50,000,000");
        assert_eq!(bytes_text(512 << 20), "512 MiB");
        assert_eq!(bytes_text(1000), "1,000 bytes");
    }

    #[test]
    fn counts_are_shortened_where_nothing_is_lost() {
        for (count, text) in [
            (0, "0"),
            (100, "100"),
            (10_000, "10k"),
            (20_000_000, "20M"),
            (1_500, "1,500"),
            (3_000_000_000, "3G"),
        ] {
            assert_eq!(short_count(count), text);
        }
    }
}
