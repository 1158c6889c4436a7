//! The executor: operators that run plans over the engine.
//!
//! The crate knows plans, programs, the catalog and the engine. It never parses, binds or plans a
//! client's statement, and knows no session.

pub mod execute;
