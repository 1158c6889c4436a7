//! Time zones: `jiff`'s rules, for all years that PostgreSQL has.

use std::borrow::Cow;

use jiff::{Timestamp, civil::DateTime, tz::AmbiguousOffset};

use super::{Civil, MICROSECONDS_PER_DAY, MICROSECONDS_PER_SECOND};
use crate::{Result, SqlError, SqlState};

/// Period after which dates, days of the week and rules of zones repeat.
const CYCLE_SECONDS: i64 = 146_097 * 86_400;
/// Seconds from 1970-01-01 to 2000-01-01.
const EPOCH_SECONDS: i64 = 946_684_800;
/// Limits for `jiff`, whose years are from -9999 to 9999, with a distance from its ends.
const SECONDS_MAX: i64 = 7900 * 31_556_952;
const SECONDS_MIN: i64 = -11900 * 31_556_952;

/// A time zone, as the setting `TimeZone` names it. `UTC` by default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeZone {
    name: Box<str>,
    rules: Rules,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Rules {
    /// A constant number of seconds east of Greenwich.
    Fixed(i32),
    Database(jiff::tz::TimeZone),
}

impl Default for TimeZone {
    fn default() -> Self {
        Self {
            name: "UTC".into(),
            rules: Rules::Fixed(0),
        }
    }
}

impl TimeZone {
    /// Returns the zone of a name in the database, in any case, or of POSIX's form (`EST5EDT`,
    /// `<+03>-3`); `+05:30` is POSIX's too, and counts westwards.
    ///
    /// # Errors
    /// `22023` if there is none.
    pub fn named(name: &str) -> Result<Self> {
        Self::find(name).ok_or_else(|| {
            SqlError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("invalid value for parameter \"TimeZone\": \"{name}\""),
            )
        })
    }

    /// Returns the zone of a name as [`named`](Self::named) does, for a name within other text.
    pub(crate) fn find(name: &str) -> Option<Self> {
        if ["utc", "gmt", "etc/utc", "zulu"].contains(&name.to_ascii_lowercase().as_str()) {
            let name = if name.len() == 3 {
                name.to_ascii_uppercase().into()
            } else {
                name.into()
            };
            return Some(Self {
                name,
                rules: Rules::Fixed(0),
            });
        }
        // POSIX's form needs no sign.
        let signed = match name.as_bytes() {
            [b'0'..=b'9', ..] if name.contains(':') => Cow::Owned(format!("+{name}")),
            _ => Cow::Borrowed(name),
        };
        if let Some(seconds) = crate::text::parse_offset(&signed) {
            return Some(Self {
                name: name.into(),
                rules: Rules::Fixed(-seconds),
            });
        }
        let rules = jiff::tz::TimeZone::get(name)
            .or_else(|_| jiff::tz::TimeZone::posix(name))
            .ok()?;
        Some(Self {
            name: rules.iana_name().unwrap_or(name).into(),
            rules: Rules::Database(rules),
        })
    }

    /// Returns a zone that is always `seconds` seconds east of Greenwich: the result of `SET TIME
    /// ZONE 2` or of an interval.
    pub fn fixed(seconds: i32) -> Self {
        let mut name = String::new();
        let mut offset = Vec::new();
        crate::text::write_offset(seconds, &mut offset);
        name.push('<');
        name.push_str(&String::from_utf8_lossy(&offset));
        name.push('>');
        offset.clear();
        match seconds {
            0 => offset.extend_from_slice(b"-00"),
            _ => crate::text::write_offset(-seconds, &mut offset),
        }
        name.push_str(&String::from_utf8_lossy(&offset));
        Self {
            name: name.into(),
            rules: Rules::Fixed(seconds),
        }
    }

    /// Returns the name, as `SHOW TimeZone` displays it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the seconds east of Greenwich at a moment, in microseconds since 2000-01-01 UTC.
    pub fn offset_at(&self, microseconds: i64) -> i32 {
        match &self.rules {
            Rules::Fixed(seconds) => *seconds,
            Rules::Database(rules) => {
                let seconds = within(microseconds.div_euclid(MICROSECONDS_PER_SECOND));
                match Timestamp::from_second(seconds + EPOCH_SECONDS) {
                    Ok(timestamp) => rules.to_offset(timestamp).seconds(),
                    Err(_) => 0,
                }
            }
        }
    }

    /// Returns the zone's abbreviation at a moment, in microseconds since 2000-01-01 UTC: `CEST`.
    pub fn abbreviation_at(&self, microseconds: i64) -> Cow<'_, str> {
        let Rules::Database(rules) = &self.rules else {
            // `<+02>-02` is called `+02`.
            let bracketed = self.name.strip_prefix('<');
            let name = bracketed.and_then(|rest| rest.split('>').next());
            return Cow::Borrowed(name.unwrap_or(&self.name));
        };
        let seconds = within(microseconds.div_euclid(MICROSECONDS_PER_SECOND));
        match Timestamp::from_second(seconds + EPOCH_SECONDS) {
            Ok(timestamp) => Cow::Owned(rules.to_offset_info(timestamp).abbreviation().to_owned()),
            Err(_) => Cow::Borrowed(&self.name),
        }
    }

    /// Returns the seconds east of Greenwich at a local time, in microseconds since 2000-01-01.
    /// For a local time that a change of the clock leaves out, returns the offset before it; for
    /// one that it gives twice, the offset after it.
    pub fn offset_at_local(&self, microseconds: i64) -> i32 {
        let rules = match &self.rules {
            Rules::Fixed(seconds) => return *seconds,
            Rules::Database(rules) => rules,
        };
        let seconds = within(microseconds.div_euclid(MICROSECONDS_PER_SECOND));
        let Some(local) = civil(seconds) else {
            return 0;
        };
        match rules.to_ambiguous_timestamp(local).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset.seconds(),
            AmbiguousOffset::Gap { before, .. } => before.seconds(),
            AmbiguousOffset::Fold { after, .. } => after.seconds(),
        }
    }

    /// Converts a moment to local time: `timestamptz AT TIME ZONE`. Infinities stay.
    ///
    /// Both are in microseconds since 2000-01-01; returns `None` if the result is out of range.
    pub fn to_local(&self, microseconds: i64) -> Option<i64> {
        if !super::is_finite_timestamp(microseconds) {
            return Some(microseconds);
        }
        let offset = i64::from(self.offset_at(microseconds));
        checked(microseconds.checked_add(offset * MICROSECONDS_PER_SECOND)?)
    }

    /// Converts a local time to a moment: `timestamp AT TIME ZONE`. Infinities stay.
    ///
    /// Both are in microseconds since 2000-01-01; returns `None` if the result is out of range.
    pub fn to_utc(&self, microseconds: i64) -> Option<i64> {
        if !super::is_finite_timestamp(microseconds) {
            return Some(microseconds);
        }
        let offset = i64::from(self.offset_at_local(microseconds));
        checked(microseconds.checked_sub(offset * MICROSECONDS_PER_SECOND)?)
    }
}

fn checked(microseconds: i64) -> Option<i64> {
    (super::TIMESTAMP_MIN..=super::TIMESTAMP_MAX)
        .contains(&microseconds)
        .then_some(microseconds)
}

/// Maps seconds to equivalent ones by a zone's rules, in years that `jiff` has.
fn within(seconds: i64) -> i64 {
    if seconds > SECONDS_MAX {
        SECONDS_MAX - CYCLE_SECONDS + (seconds - SECONDS_MAX) % CYCLE_SECONDS
    } else {
        // Before zones had rules, all moments are alike.
        seconds.max(SECONDS_MIN)
    }
}

fn civil(seconds: i64) -> Option<DateTime> {
    let per_day = MICROSECONDS_PER_DAY / MICROSECONDS_PER_SECOND;
    let date = Civil::from_days(seconds.div_euclid(per_day));
    let second = seconds.rem_euclid(per_day);
    DateTime::new(
        i16::try_from(date.year).ok()?,
        date.month as i8,
        date.day as i8,
        (second / 3600) as i8,
        (second / 60 % 60) as i8,
        (second % 60) as i8,
        0,
    )
    .ok()
}
