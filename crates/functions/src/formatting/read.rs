//! `to_date`, `to_timestamp`, `to_number`: text by a pattern.

use formatting::{read_date, read_moment, read_number};
use types::{Numeric, Result};

use crate::{
    Context,
    argument::{Date, TimestampTz},
    datetime::date_of,
    function::{DATE, Function, NUMERIC, TEXT, TIMESTAMPTZ, entry},
};

fn to_date(text: &str, pattern: &str) -> Result<Date> {
    read_date(text, pattern).map(|midnight| Date(date_of(midnight)))
}

fn to_timestamp(context: &Context<'_>, text: &str, pattern: &str) -> Result<TimestampTz> {
    read_moment(text, pattern, &context.settings.time_zone).map(TimestampTz)
}

fn to_number<'a>(context: &Context<'a>, text: &str, pattern: &str) -> Result<Option<Numeric<'a>>> {
    read_number(text, pattern, context.scratch)
}

pub(super) static FUNCTIONS: &[Function] = &[
    entry!("to_date"(TEXT, TEXT) -> DATE, to_date).stable(),
    entry!("to_timestamp"(TEXT, TEXT) -> TIMESTAMPTZ, in context to_timestamp).stable(),
    entry!("to_number"(TEXT, TEXT) -> NUMERIC, in context to_number).stable(),
];
