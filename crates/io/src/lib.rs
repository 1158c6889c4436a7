//! The storage driver: files, and transfers that a coroutine can wait for.
//!
//! | purpose | items |
//! | --- | --- |
//! | names, files, locks; blocking | [`Directory`], [`File`] |
//! | one thread's submissions and completions | [`Channel`] |
//! | one thread's transfers as futures | [`Port`], [`Transfer`] |
//! | bound on the reads under way | [`Gate`], [`Pass`] |
//! | memory for direct transfers | [`Buffer`] |
//! | a directory of the operating system | [`RealDirectory`], [`Backend`] |
//! | a disk in memory that fails (feature `simulation`) | `SimulatedDisk`, `Faults`, `Planted` |
//! | real files on which a kill acts as a power cut does (feature `simulation`) | `LazyDirectory`, `Laziness` |
//!
//! Only for Linux.
//!
//! The crate knows nothing of databases.

mod blocking;
mod buffer;
mod channel;
#[cfg(feature = "simulation")]
mod dice;
mod directory;
mod flusher;
mod gate;
#[cfg(feature = "simulation")]
mod lazy;
mod port;
mod real;
#[cfg(feature = "simulation")]
mod simulated;
mod uring;

pub use buffer::{BLOCK_BYTES, Buffer, round_up};
pub use channel::{Action, Channel, Completion, Operation, Rouse};
pub use directory::{Directory, DirectoryLock, File, OpenMode};
pub use gate::{
    DEPTH_MAX, DEPTH_START, Depth, Entry, Full, Gate, GateRule, GateStats, Pass, Priority, TURNS,
    WhenFull,
};
#[cfg(feature = "simulation")]
pub use lazy::{Laziness, LazyDirectory};
pub use port::{Port, Transfer};
pub use real::{Backend, RealDirectory};
#[cfg(feature = "simulation")]
pub use simulated::{Counts, Faults, Planted, SimulatedDisk};
