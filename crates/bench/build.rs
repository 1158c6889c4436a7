//! Records the source version for the `commit` field of results, in release builds. Never fails:
//! a source tree without git, or git without a commit, gives no version.

#![allow(
    clippy::print_stdout,
    reason = "cargo reads a build script from its output"
)]

use std::process::Command;

fn main() {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=WEFT_COMMIT");
    // Results are measured by release builds. A version in other builds would have them compiled
    // again after each commit, with all crates that depend on this one.
    if std::env::var("PROFILE").is_ok_and(|profile| profile != "release") {
        return;
    }
    // The log of HEAD grows with each commit and checkout; watching HEAD alone
    // would miss commits on the same branch.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"])
        && std::path::Path::new(&log).exists()
    {
        println!("cargo::rerun-if-changed={log}");
    }
    // A builder that knows the version states it in the environment.
    if std::env::var_os("WEFT_COMMIT").is_none()
        && let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"])
    {
        println!("cargo::rustc-env=WEFT_COMMIT={commit}");
    }
}
