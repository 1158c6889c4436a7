//! SQL over the engine.

#![warn(missing_docs)]

mod advisory;
mod bind;
pub mod catalog;
mod collation;
mod copy;
mod data_type;
mod database;
mod execute;
mod explain;
mod expression;
pub mod fuzz;
mod index_keys;
mod memory;
mod name;
mod owned;
mod parse;
mod phase;
mod plan;
mod program;
mod relation;
mod rows;
mod session;
mod statistics;
mod system;

pub use self::{
    database::Database,
    session::{
        CopyForm, CopyTarget, Field, Interrupt, KeepPassword, Notice, Portal, Prepared, Progress,
        ResultRow, Session, Severity, Sink, Status, Tag,
    },
};
