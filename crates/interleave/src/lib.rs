//! A coroutine runtime that hides cache misses.
//!
//! Write a lookup as an `async fn` generic over a [`Policy`], call `P::touch(..).await` before
//! memory that is probably not in the cache, and a [`Worker`] interleaves as many lookups as the
//! machine has misses to overlap. The same source runs sequentially under [`Sequential`] and with
//! mere prefetches under [`Prefetching`].
//!
//! | purpose | items |
//! | --- | --- |
//! | one body, three executions | [`Policy`], [`Sequential`], [`Prefetching`], [`Interleaved`] |
//! | many lookups in one structure, on this thread | [`Lookup`], [`Interleaver`] |
//! | many like bodies within one turn | [`together`], [`Grouped`] |
//! | directly resumable operations | [`Leaf`] |
//! | rare operations that wait long | [`Nested`] |
//! | kinds of wait | [`Wait`], [`noting`], [`Scheduling`] |
//! | long computations that hold up no other task | [`Turn`], [`yield_now`], [`LongSlice`] |
//! | observers of each resumption and wait | [`Observed`], [`noted_wait`] |
//! | one thread's scheduler | [`Worker`], [`WorkerConfig`] |
//! | events from outside, such as bytes to sockets | [`Outside`] |
//! | threads | [`Runtime`] |
//! | tasks from any thread or runtime | [`Handle::submit`], [`JoinHandle`] |
//! | closed loops without allocation | [`Source`] |
//!
//! A worker distinguishes three kinds of wait: *memory* (a [`Touch`]: the slot is resumed after the
//! others had a turn), *device* ([`Wait::Device`]) and *event* (any other `Pending`); for device
//! and event the slot is parked until its waker is called. The kind of an event can be noted, for
//! counters and observers. The crate knows nothing of databases.

mod class;
mod config;
mod demand;
mod gradual;
mod group;
mod group_choice;
mod inbox;
mod injection;
mod interleaver;
mod leaf;
mod lookup;
mod nested;
mod observed;
mod outside;
mod policy;
mod prefetch;
mod root;
mod runtime;
mod sleeper;
mod slice;
mod slot;
mod stage;
mod stats;
mod sync;
mod task;
mod timer;
mod touch;
mod tuner;
mod turn;
mod visits;
mod wait;
mod wake;
mod worker;

pub use class::become_batch;
pub use config::{IN_FLIGHT_MAX, InFlight, Scheduling, VISIT_DELAY_US_MAX, WorkerConfig};
pub use demand::is_in_demand;
pub use gradual::{Gradual, RELEASED_AT_ONCE, Release, released};
pub use group::{GroupTouch, Grouped, together};
pub use group_choice::GroupChoice;
#[cfg(feature = "simulation")]
pub use injection::{is_injected, passed, with_injector};
pub use interleaver::{Costs, Interleaver};
pub use leaf::Leaf;
pub use lookup::{Execution, Lookup, look_up_all};
pub use nested::Nested;
pub use observed::Observed;
pub use outside::Outside;
pub use policy::{Interleaved, Point, Policy, Prefetching, Sequential, run_inline};
pub use runtime::Runtime;
pub use slice::{Label, LongSlice, SLICE_US_MAX, forget_longest_slice, label, longest_slice};
pub use stats::WorkerStats;
pub use task::{FromFn, InPlace, JoinHandle, Lost, Place, Source};
pub use timer::{Clock, Sleep, sleep};
pub use touch::{Touch, YieldNow, yield_now};
pub use turn::{Turn, turn_is_over};
pub use wait::{Noting, Wait, note_wait, noted_wait, noting};
pub use worker::{Handle, Rouser, Worker, WorkerLocal};

/// The README's examples, compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
