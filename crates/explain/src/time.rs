//! The distribution of an execution's time, as EXPLAIN shows it.

use std::{fmt, time::Duration};

use interleave::Wait;
use serde_json::{Map, Value, json};

use super::milliseconds;
use executor::execute::Spent;

/// Kinds of waits in the order in which they are shown, each with its name in lines and in JSON.
const WAITS: [(Wait, &str, &str); 7] = [
    (Wait::Memory, "memory", "Memory"),
    (Wait::Device, "device", "Device"),
    (Wait::Lock, "locks", "Locks"),
    (Wait::Log, "log", "Log"),
    (Wait::Client, "client", "Client"),
    (Wait::Turn, "other tasks", "Other Tasks"),
    (Wait::Event, "other events", "Other Events"),
];

/// Times that are shown.
pub(super) struct Times<'s>(pub(super) &'s Spent);

/// Writes the times for people: `computing 3.124 ms, locks 12.000 ms (1 wait)`. A kind that did not
/// occur is left out.
impl fmt::Display for Times<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "computing {:.3} ms", milliseconds(self.0.computing))?;
        for (wait, name, _) in WAITS {
            if let Some(waited) = self.0.waits.get(&wait) {
                let time = milliseconds(waited.time);
                let waits = if waited.count == 1 { "wait" } else { "waits" };
                write!(f, ", {name} {time:.3} ms ({} {waits})", waited.count)?;
            }
        }
        Ok(())
    }
}

impl Times<'_> {
    /// Returns the times as JSON, with all kinds.
    pub(super) fn json(&self) -> Value {
        let mut object = Map::new();
        let mut put = |name: &str, time: Duration| {
            object.insert(name.to_owned(), json!(milliseconds(time)));
        };
        put("Computing", self.0.computing);
        for (wait, _, name) in WAITS {
            put(
                name,
                self.0.waits.get(&wait).copied().unwrap_or_default().time,
            );
        }
        for (wait, _, name) in WAITS {
            let waited = self.0.waits.get(&wait).copied().unwrap_or_default();
            object.insert(format!("{name} Waits"), json!(waited.count));
        }
        Value::Object(object)
    }
}
