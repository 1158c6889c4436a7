//! An environment for programs that ask nothing of a session.

use functions::Environment;

/// The environment of immutable functions, which ask for no time, name or setting.
#[derive(Debug, Clone, Copy)]
pub struct Sessionless;

impl Environment for Sessionless {
    fn transaction_time(&self) -> i64 {
        0
    }

    fn statement_time(&self) -> i64 {
        0
    }

    fn clock_time(&self) -> i64 {
        0
    }

    fn random(&self) -> u64 {
        0
    }

    fn seed(&self, _seed: f64) {}

    fn current_user(&self) -> &str {
        ""
    }

    fn database(&self) -> &str {
        ""
    }

    fn schema(&self) -> Option<&str> {
        None
    }

    fn version(&self) -> &str {
        ""
    }

    fn process_id(&self) -> i32 {
        0
    }
}
