//! An ordered index from byte strings to 64-bit values, for transactions that
//! switch at every probable cache miss.
#[cfg(feature = "baselines")]
pub mod baseline;
mod check;
mod climb;
mod descend;
mod get;
mod insert;
mod key;
mod layer;
mod node;
mod observe;
mod remove;
mod scan;
mod split;
mod sync;
mod tree;
mod unlink;

pub use check::Stats;
pub use insert::{InsertError, Inserted};
pub use key::KEY_BYTES_MAX;
pub use node::NodeId;
pub use observe::{NodeVersion, Observer};
pub use scan::{Batch, Direction, Scan};
pub use tree::Tree;
