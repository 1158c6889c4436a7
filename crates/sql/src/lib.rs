//! SQL over the engine: sessions and their statements.
//!
//! A [`Session`] takes texts, has them parsed, bound, planned and run by the crates below, and has
//! the state that outlives a statement: settings, transactions, prepared statements, cursors, DDL
//! and COPY.
//!
//! The crate knows everything below it. It never knows a socket or a protocol.

#![warn(missing_docs)]

mod database;
pub mod fuzz;
mod memory;
mod session;

pub use self::{
    database::Database,
    session::{
        CommandTag, CopyForm, CopyTarget, Field, Interrupt, KeepPassword, Notice, Portal,
        PreparedStatement, Progress, ResultRow, Session, Severity, Sink, Status,
    },
};
