//! The current time.

use types::{Result, datetime::MICROSECONDS_PER_SECOND};

use super::{date_of, time_of, to_local};
use crate::{
    Context,
    argument::{Date, Time, TimeTz, Timestamp, TimestampTz},
    function::{DATE, Function, TIME, TIMESTAMP, TIMESTAMPTZ, TIMETZ, entry},
};

fn transaction(context: &Context<'_>) -> TimestampTz {
    TimestampTz(context.environment.transaction_time())
}

fn local(context: &Context<'_>) -> Result<i64> {
    to_local(context, context.environment.transaction_time())
}

fn time_with_zone(context: &Context<'_>) -> Result<TimeTz> {
    let local = local(context)?;
    let east = (local - context.environment.transaction_time()) / MICROSECONDS_PER_SECOND;
    Ok(TimeTz(time_of(local), -east as i32))
}

pub(super) static FUNCTIONS: &[Function] = &[
    entry!("now"() -> TIMESTAMPTZ, in context transaction).stable(),
    entry!("transaction_timestamp"() -> TIMESTAMPTZ, in context transaction).stable(),
    entry!("statement_timestamp"() -> TIMESTAMPTZ, in context |context: &Context<'_>| {
        TimestampTz(context.environment.statement_time())
    })
    .stable(),
    entry!("clock_timestamp"() -> TIMESTAMPTZ, in context |context: &Context<'_>| {
        TimestampTz(context.environment.clock_time())
    })
    .volatile(),
    // Functions that SQL writes without parentheses.
    entry!("current_timestamp"() -> TIMESTAMPTZ, in context transaction).stable(),
    entry!("current_date"() -> DATE, in context |context: &Context<'_>| -> Result<Date> {
        Ok(Date(date_of(local(context)?)))
    })
    .stable(),
    entry!("current_time"() -> TIMETZ, in context time_with_zone).stable(),
    entry!("localtime"() -> TIME, in context |context: &Context<'_>| -> Result<Time> {
        Ok(Time(time_of(local(context)?)))
    })
    .stable(),
    entry!("localtimestamp"() -> TIMESTAMP, in context |context: &Context<'_>| -> Result<Timestamp> {
        local(context).map(Timestamp)
    })
    .stable(),
];
