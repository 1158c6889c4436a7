//! Options of a database that a benchmark keeps in a directory.

use std::path::Path;
use std::time::Duration;

use weft::{Options, StorageOptions};

/// Returns options of a database in `directory` that takes no checkpoints by itself: a checkpoint
/// would fall into one measurement and not into another.
pub fn without_checkpoints(directory: &Path) -> Options {
    Options {
        data_dir: Some(directory.to_owned()),
        storage: StorageOptions {
            checkpoint_log_bytes: 0,
            checkpoint_interval: Duration::ZERO,
            ..StorageOptions::default()
        },
        ..Options::default()
    }
}
