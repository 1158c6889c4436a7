//! The formats of COPY: rows as text, CSV or binary, as PostgreSQL 15 reads and writes them.
//!
//! This module is about bytes and values. The execution of a COPY is in `session/copy.rs`, its
//! syntax in `syntax/copy.rs`.
//!
//! | part | file |
//! | --- | --- |
//! | options, and which of them go together | `options.rs` |
//! | bytes of the client, row by row: [`Decoder`] | `decode.rs` |
//! | text and CSV: lines; the fields of a line | `lines.rs`; `fields.rs` |
//! | binary: tuples | `tuples.rs` |
//! | rows on their way to the client: [`Encoder`] | `encode.rs` |
//! | lines of rows, for messages | `place.rs` |

mod decode;
mod encode;
mod fields;
mod lines;
mod options;
mod place;
mod tuples;

use std::sync::Arc;

use types::{Type, TypeModifier};

pub(crate) use self::{
    decode::Decoder,
    encode::Encoder,
    options::{Format, Options},
};

/// A column that is copied.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: Arc<str>,
    pub(crate) ty: Type,
    pub(crate) modifier: TypeModifier,
}

/// First bytes of binary data.
const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";
