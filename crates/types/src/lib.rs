//! PostgreSQL's types: values, and their forms.
//!
//! A [`Value`] is small and `Copy`; it borrows data that does not fit into it, from a stored row,
//! from a message of the client, or from the arena of the statement ([`Scratch`]). Nothing here
//! knows tables, expressions or the engine.
//!
//! | form | module |
//! | --- | --- |
//! | text, for clients | [`text`] |
//! | binary, for drivers | [`binary`] |
//! | columns of a stored row | [`row`] |
//! | values that carry their type, for rows that are put by | [`tagged`] |
//! | keys, whose bytes have the order of the values | [`key`] |
//! | order, equality and hashes of values | [`compare`] |

pub mod array;
pub mod binary;
pub mod compare;
mod context;
mod copy;
pub mod datetime;
mod encoding;
mod error;
pub mod fuzz;
mod json;
mod jsonb;
pub mod key;
mod memory;
mod modifier;
mod names;
mod numeric;
mod record;
pub mod row;
mod scratch;
mod sink;
mod stored;
pub mod tagged;
pub mod text;
mod ty;
mod value;

pub use array::Array;
pub use context::{Context, DateOrder, Settings};
#[cfg(debug_assertions)]
pub use copy::copied_bytes;
pub use datetime::TimeZone;
pub use encoding::Encoding;
pub use error::{Result, SqlError, SqlState};
pub use jsonb::{
    DEPTH_MAX as JSON_DEPTH_MAX, Jsonb, JsonbArray, JsonbBuilder, JsonbObject, JsonbView,
    display::write_string as write_json_string,
};
pub use memory::{
    Allowance, Charge, Memory, MemorySource, PIECE_BYTES_MAX, PIECE_BYTES_MIN, Size, granted,
};
pub use modifier::{Coercion, IntervalFields, TypeModifier};
pub use names::{Names, NoNames};
pub use numeric::{Numeric, SCALE_MAX as NUMERIC_SCALE_MAX};
pub use record::{Field, Record};
pub use scratch::Scratch;
pub use sink::Sink;
pub use ty::{Category, EnumId, Scalar, Type};
pub use value::{Interval, Value};
