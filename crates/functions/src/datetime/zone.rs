//! `AT TIME ZONE`, which is the function `timezone` with its arguments exchanged.

use types::{
    Interval, Result, SqlError, SqlState, TimeZone,
    datetime::{MICROSECONDS_PER_SECOND, timestamp_out_of_range},
};

use super::time_of;
use crate::{
    Context,
    argument::{TimeTz, Timestamp, TimestampTz},
    function::{Function, INTERVAL, TEXT, TIMESTAMP, TIMESTAMPTZ, TIMETZ, entry},
};

/// Returns the zone of a name.
pub(crate) fn named(name: &str) -> Result<TimeZone> {
    TimeZone::named(name).map_err(|_| {
        SqlError::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("time zone \"{name}\" not recognized"),
        )
    })
}

/// Returns the zone that is an interval east of Greenwich.
fn fixed(interval: Interval) -> Result<TimeZone> {
    if interval.months != 0 || interval.days != 0 {
        return Err(SqlError::new(
            SqlState::INVALID_PARAMETER_VALUE,
            "interval time zone must not include months or days",
        ));
    }
    i32::try_from(interval.microseconds / MICROSECONDS_PER_SECOND)
        .map(TimeZone::fixed)
        .map_err(|_| timestamp_out_of_range())
}

fn to_local(zone: &TimeZone, time: TimestampTz) -> Result<Timestamp> {
    zone.to_local(time.0)
        .map(Timestamp)
        .ok_or_else(timestamp_out_of_range)
}

fn to_moment(zone: &TimeZone, time: Timestamp) -> Result<TimestampTz> {
    zone.to_utc(time.0)
        .map(TimestampTz)
        .ok_or_else(timestamp_out_of_range)
}

/// Returns the same time of the day elsewhere, by the zone's offset now.
fn moved(zone: &TimeZone, time: TimeTz, now: i64) -> TimeTz {
    let west = -zone.offset_at(now);
    let shift = i64::from(time.1 - west) * MICROSECONDS_PER_SECOND;
    TimeTz(time_of(time.0 + shift), west)
}

pub(super) static FUNCTIONS: &[Function] = &[
    entry!("timezone"(TEXT, TIMESTAMPTZ) -> TIMESTAMP, |zone: &str, time| {
        to_local(&named(zone)?, time)
    }),
    entry!("timezone"(TEXT, TIMESTAMP) -> TIMESTAMPTZ, |zone: &str, time| {
        to_moment(&named(zone)?, time)
    }),
    entry!("timezone"(TEXT, TIMETZ) -> TIMETZ, in context
    |context: &Context<'_>, zone: &str, time| -> Result<TimeTz> {
        Ok(moved(&named(zone)?, time, context.environment.transaction_time()))
    })
    .stable(),
    entry!("timezone"(INTERVAL, TIMESTAMPTZ) -> TIMESTAMP, |zone, time| {
        to_local(&fixed(zone)?, time)
    }),
    entry!("timezone"(INTERVAL, TIMESTAMP) -> TIMESTAMPTZ, |zone, time| {
        to_moment(&fixed(zone)?, time)
    }),
    entry!("timezone"(INTERVAL, TIMETZ) -> TIMETZ, |zone, time| -> Result<TimeTz> {
        Ok(moved(&fixed(zone)?, time, 0))
    }),
];
