//! Generated transactions on the threads of a Weft database, their histories, and the checker's
//! verdict on them.
//!
//! ```
//! use std::time::Duration;
//!
//! let settings = histories::Settings { running: Duration::from_millis(50), ..Default::default() };
//! let summary = histories::run(&settings, &mut histories::Watch::default())?;
//! assert!(summary.committed > 0);
//! assert!(summary.satisfies(settings.level()));
//! # Ok::<(), histories::Failed>(())
//! ```
//!
//! A run goes in *batches*: transactions run for a while, all of them end, everything is read once
//! more, and the batch's history is checked while nothing runs. Records are not used again in a
//! later batch, so each can be judged alone. With crashes, the disk loses its power in the middle
//! of a batch, the database is opened from the files that are left, and the batch goes on.
//!
//! | subject | where |
//! | --- | --- |
//! | settings of a run | [`Settings`] |
//! | batches, crashes | [`run()`], `run.rs` |
//! | clients: one transaction after another, each in one of several styles | `client.rs` |
//! | carrying operations out and writing them down | `operations.rs`, `record.rs` |
//! | results | [`Summary`] |

mod client;
mod dice;
mod operations;
mod record;
mod run;
mod settings;
mod summary;

pub use run::{Failed, Watch, run};
pub use settings::Settings;
pub use summary::{Observed, Summary};
