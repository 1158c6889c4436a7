//! The `weft` that benchmarks start beside themselves.

use std::{env::consts::EXE_EXTENSION, path::Path, sync::Once};

/// Builds it, unless a build of the whole workspace has done so.
pub(crate) fn build() {
    static BUILT: Once = Once::new();
    BUILT.call_once(|| {
        let program = Path::new(env!("CARGO_BIN_EXE_weft-bench")).with_file_name("weft");
        if !program.with_extension(EXE_EXTENSION).is_file() {
            let mut cargo = std::process::Command::new(env!("CARGO"));
            let built = cargo.args(["build", "-p", "cli"]).status().unwrap();
            assert!(built.success(), "cargo build -p cli failed");
        }
    });
}
