//! Comparisons between dates and timestamps; those with a zone depend on the
//! session's.

use std::cmp::Ordering;

use types::{
    Result,
    datetime::{
        DATE_INFINITY, DATE_NEGATIVE_INFINITY, MICROSECONDS_PER_DAY, TIMESTAMP_INFINITY,
        TIMESTAMP_NEGATIVE_INFINITY,
    },
};

use super::{decide, six};
use crate::{
    Context,
    argument::{Date, Timestamp, TimestampTz},
    function::{BOOL, Comparison, DATE, Function, TIMESTAMP, TIMESTAMPTZ, entry},
};

/// Returns a date's midnight, which may be outside the range of timestamps.
fn midnight(date: Date) -> i128 {
    match date.0 {
        DATE_INFINITY => TIMESTAMP_INFINITY.into(),
        DATE_NEGATIVE_INFINITY => TIMESTAMP_NEGATIVE_INFINITY.into(),
        days => {
            // The midnight is between the infinities even if there is no such
            // timestamp.
            let midnight = i128::from(days) * i128::from(MICROSECONDS_PER_DAY);
            midnight.clamp(
                i128::from(TIMESTAMP_NEGATIVE_INFINITY) + 1,
                i128::from(TIMESTAMP_INFINITY) - 1,
            )
        }
    }
}

/// Converts a local time to a moment; a time out of range stays as far out.
fn moment(context: &Context<'_>, local: i128) -> i128 {
    let Ok(local) = i64::try_from(local) else {
        return local;
    };
    context
        .settings
        .time_zone
        .to_utc(local)
        .unwrap_or(local)
        .into()
}

fn date_timestamp(_: &Context<'_>, left: Date, right: Timestamp) -> Result<Ordering> {
    Ok(midnight(left).cmp(&right.0.into()))
}

fn date_timestamptz(context: &Context<'_>, left: Date, right: TimestampTz) -> Result<Ordering> {
    Ok(moment(context, midnight(left)).cmp(&right.0.into()))
}

fn timestamp_timestamptz(
    context: &Context<'_>,
    left: Timestamp,
    right: TimestampTz,
) -> Result<Ordering> {
    Ok(moment(context, left.0.into()).cmp(&right.0.into()))
}

fn reversed(order: Result<Ordering>) -> Result<Ordering> {
    order.map(Ordering::reverse)
}

pub(super) static OPERATORS: &[[Function; 6]] = &[
    six!(DATE, TIMESTAMP, date_timestamp),
    six!(TIMESTAMP, DATE, |context: &Context<'_>,
                           left: Timestamp,
                           right: Date| {
        reversed(date_timestamp(context, right, left))
    }),
    six!(DATE, TIMESTAMPTZ, date_timestamptz),
    six!(
        TIMESTAMPTZ,
        DATE,
        |context: &Context<'_>, left: TimestampTz, right: Date| {
            reversed(date_timestamptz(context, right, left))
        }
    ),
    six!(TIMESTAMP, TIMESTAMPTZ, timestamp_timestamptz),
    six!(
        TIMESTAMPTZ,
        TIMESTAMP,
        |context: &Context<'_>, left: TimestampTz, right: Timestamp| {
            reversed(timestamp_timestamptz(context, right, left))
        }
    ),
];
