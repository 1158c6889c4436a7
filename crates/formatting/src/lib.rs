//! Dates, times and numbers as texts by a pattern, and back: the work of `to_char`, `to_date`, `to_timestamp` and
//! `to_number`, by Oracle's patterns.
//!
//! The crate knows patterns and the texts that they stand for; zones are given to it. The crate never knows functions
//! of SQL, sessions or the time now.

mod found;
mod number;
mod read;
mod roman;
mod time;
mod token;

pub use self::{
    number::NumberPattern,
    read::{read_date, read_moment, read_number},
    time::{write_interval, write_local, write_moment},
};
