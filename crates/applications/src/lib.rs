//! Benchmarks of whole transactions over several tables.
//!
//! The crate knows the public interface of `weft`, and TPC-C also as statements for a server. It measures with the
//! harness of `bench`, and never starts a server or compares servers.
//!
//! An [`application`] has transactions of several kinds and conditions that its tables always meet. There are three:
//! [`smallbank`], [`tatp`] and [`tpcc`]. [`crash`] kills a process at work and checks its database.

pub mod application;
pub mod crash;
mod row;
pub mod smallbank;
pub mod tatp;
pub mod tpcc;
