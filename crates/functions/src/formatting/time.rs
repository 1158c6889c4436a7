//! `to_char` of dates, times and intervals.

use formatting::{write_interval, write_local, write_moment};
use types::{Result, Value};

use crate::{
    Context,
    argument::{Timestamp, TimestampTz, take},
    function::{Function, INTERVAL, TEXT, TIMESTAMP, TIMESTAMPTZ, entry},
};

fn timestamp<'a>(context: &Context<'a>, time: Timestamp, pattern: &str) -> Result<Option<&'a str>> {
    let text = write_local(time.0, pattern)?;
    Ok(text.map(|text| context.text(&text)))
}

fn timestamptz<'a>(
    context: &Context<'a>,
    time: TimestampTz,
    pattern: &str,
) -> Result<Option<&'a str>> {
    let text = write_moment(time.0, &context.settings.time_zone, pattern)?;
    Ok(text.map(|text| context.text(&text)))
}

fn interval<'a>(context: &Context<'a>, arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let text = write_interval(take(arguments, 0)?, take(arguments, 1)?)?;
    Ok(text.map_or(Value::Null, |text| Value::Text(context.text(&text))))
}

pub(super) static FUNCTIONS: &[Function] = &[
    entry!("to_char"(TIMESTAMP, TEXT) -> TEXT, in context timestamp).stable(),
    entry!("to_char"(TIMESTAMPTZ, TEXT) -> TEXT, in context timestamptz).stable(),
    Function::scalar("to_char", &[INTERVAL, TEXT], TEXT, interval).stable(),
];
