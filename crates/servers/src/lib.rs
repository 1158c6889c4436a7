//! Servers that speak PostgreSQL's protocol, and DuckDB's program, as a benchmark sees them from outside.
//!
//! The crate knows connections and processes: it starts a server, reaches it, and reads its processor time. It never
//! knows a table or a statement about one, and never measures.
//!
//! | subject | where |
//! | --- | --- |
//! | place and connection of a server; starting one | [`Server`]; [`start_weft`], [`start_postgres`] |
//! | DuckDB's command-line program | [`DuckDb`] |
//! | processor time of a server | `cpu.rs` |
//! | answers, and what makes two of them equal | [`Answer`] |
//! | requirements on a workload and its clients | [`Workload`], [`Client`] |
//! | decimal numbers, and rows on their way into tables | [`Decimal`], [`Rows`] |

mod answer;
mod cpu;
mod decimal;
mod duckdb;
mod launch;
mod rows;
mod server;
mod workload;

pub use self::{
    answer::Answer,
    decimal::Decimal,
    duckdb::DuckDb,
    launch::{Launched, spawn_weft, start_postgres, start_weft},
    rows::Rows,
    server::Server,
    workload::{Client, Done, Workload, complete, failed, is_retryable, level},
};
