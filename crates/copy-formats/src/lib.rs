//! The formats of COPY: rows as text, CSV or binary, as PostgreSQL 15 reads and writes them.
//!
//! The crate knows bytes, values and definitions of tables: a [`Decoder`] makes rows of a client's bytes, an
//! [`Encoder`] bytes of rows. It never knows a session, a plan or a record: sessions of crate `sql` execute COPY, and
//! `syntax` reads its text.
//!
//! | part | file |
//! | --- | --- |
//! | options, and which of them go together | `options.rs` |
//! | bytes of the client, row by row: [`Decoder`] | `decode.rs` |
//! | text and CSV: lines; the fields of a line | `lines.rs`; `fields.rs` |
//! | binary: tuples | `tuples.rs` |
//! | rows on their way to the client: [`Encoder`] | `encode.rs` |
//! | lines of rows, for messages | `place.rs` |
//! | room for bytes, within a statement's memory | `room.rs` |

#![warn(missing_docs)]

mod decode;
mod encode;
mod fields;
pub mod fuzz;
mod lines;
mod options;
mod place;
mod room;
mod tuples;

use std::sync::Arc;

use types::{SqlError, SqlState, Type, TypeModifier};

pub use self::{
    decode::Decoder,
    encode::Encoder,
    options::{Format, Options},
};

/// A column that is copied.
#[derive(Debug, Clone)]
pub struct Column {
    /// Name, in the header and in messages.
    pub name: Arc<str>,
    /// Type of its values.
    pub ty: Type,
    /// Modifier of the type, which values of a client are converted to.
    pub modifier: TypeModifier,
}

/// First bytes of binary data.
const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";

/// Returns the error for data that are not in the format of the COPY.
fn bad(message: impl Into<std::borrow::Cow<'static, str>>) -> SqlError {
    SqlError::new(SqlState::BAD_COPY_FILE_FORMAT, message)
}
