//! Units of intervals and their names.

use super::Failure;

/// A unit of intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
    Decade,
    Century,
    Millennium,
}

impl Unit {
    /// Returns the fields that a number of the unit fills: a fraction of a second also fills
    /// smaller units.
    pub(super) fn fields(&self, has_fraction: bool) -> &[Self] {
        match self {
            Self::Second if has_fraction => &[Self::Second, Self::Millisecond, Self::Microsecond],
            _ => std::slice::from_ref(self),
        }
    }
}

/// Fields that were filled, each at most once.
#[derive(Debug, Default)]
pub(super) struct Units(Vec<Unit>);

impl Units {
    /// Notes that fields are filled.
    ///
    /// # Errors
    /// Fails if one of them was filled before.
    pub(super) fn see(&mut self, fields: &[Unit]) -> Result<(), Failure> {
        if fields.iter().any(|field| self.0.contains(field)) {
            return Err(Failure::Syntax);
        }
        self.0.extend_from_slice(fields);
        Ok(())
    }
}

const NAMES: &[(&str, Unit)] = &[
    ("us", Unit::Microsecond),
    ("usec", Unit::Microsecond),
    ("usecs", Unit::Microsecond),
    ("usecond", Unit::Microsecond),
    ("useconds", Unit::Microsecond),
    ("microsecon", Unit::Microsecond),
    ("ms", Unit::Millisecond),
    ("msec", Unit::Millisecond),
    ("msecs", Unit::Millisecond),
    ("mseconds", Unit::Millisecond),
    ("millisecon", Unit::Millisecond),
    ("s", Unit::Second),
    ("sec", Unit::Second),
    ("secs", Unit::Second),
    ("second", Unit::Second),
    ("seconds", Unit::Second),
    ("m", Unit::Minute),
    ("min", Unit::Minute),
    ("mins", Unit::Minute),
    ("minute", Unit::Minute),
    ("minutes", Unit::Minute),
    ("h", Unit::Hour),
    ("hr", Unit::Hour),
    ("hrs", Unit::Hour),
    ("hour", Unit::Hour),
    ("hours", Unit::Hour),
    ("d", Unit::Day),
    ("day", Unit::Day),
    ("days", Unit::Day),
    ("w", Unit::Week),
    ("week", Unit::Week),
    ("weeks", Unit::Week),
    ("mon", Unit::Month),
    ("mons", Unit::Month),
    ("month", Unit::Month),
    ("months", Unit::Month),
    ("y", Unit::Year),
    ("yr", Unit::Year),
    ("yrs", Unit::Year),
    ("year", Unit::Year),
    ("years", Unit::Year),
    ("dec", Unit::Decade),
    ("decs", Unit::Decade),
    ("decade", Unit::Decade),
    ("decades", Unit::Decade),
    ("c", Unit::Century),
    ("cent", Unit::Century),
    ("century", Unit::Century),
    ("centuries", Unit::Century),
    ("mil", Unit::Millennium),
    ("mils", Unit::Millennium),
    ("millennia", Unit::Millennium),
    ("millennium", Unit::Millennium),
];

/// Bytes of a word that PostgreSQL looks at.
const LENGTH_MAX: usize = 10;

/// Returns the unit of a name.
pub(super) fn unit(word: &str) -> Option<Unit> {
    let word = &word[..word.len().min(LENGTH_MAX)];
    NAMES
        .iter()
        .find(|(name, _)| word.eq_ignore_ascii_case(name))
        .map(|(_, unit)| *unit)
}
