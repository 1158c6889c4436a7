//! The protocol without any input or output: bytes to requests, answers to bytes.
//!
//! | subject | place |
//! | --- | --- |
//! | bytes as messages | `input.rs`, `body.rs` |
//! | messages that each state accepts | `phase.rs` |
//! | before a client is connected | `packet.rs` |
//! | requests | `request.rs`, `format.rs` |
//! | answers | `output.rs`, `result.rs`, `report.rs` |
//!
//! Nothing in here waits, and nothing trusts the client: any bytes give a request, an error
//! for the client, or the end of the connection (`fuzz.rs`).

mod body;
mod format;
mod input;
mod output;
mod packet;
mod phase;
mod report;
mod request;
mod result;

pub use self::body::utf8;
pub(crate) use self::{
    body::Body,
    output::Output,
    packet::{Greeting, Packet},
    phase::{Conversation, Copied, Fault, Misunderstood, Phase},
    request::{Bind, Parse, Request, Target},
};
pub use self::{
    format::{Format, Formats},
    output::{Row, TransactionStatus},
    report::{Notice, Severity},
    request::{ParameterTypes, Parameters},
    result::{CommandTag, Field},
};
