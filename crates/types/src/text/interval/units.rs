//! Units of intervals and their names.

/// A unit.
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

/// PostgreSQL looks at no more of a word.
const LENGTH_MAX: usize = 10;

/// The unit of a name.
pub(super) fn unit(word: &str) -> Option<Unit> {
    let word = &word[..word.len().min(LENGTH_MAX)];
    NAMES
        .iter()
        .find(|(name, _)| word.eq_ignore_ascii_case(name))
        .map(|(_, unit)| *unit)
}
