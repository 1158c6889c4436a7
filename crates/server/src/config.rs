//! How a server serves.

use std::time::Duration;

/// Settings of a server.
#[derive(Debug, Clone)]
pub struct Config {
    /// Connections at a time; one more is refused, with 53300. Range 1 to 2^20, default 1024.
    pub connections_max: usize,
    /// The longest message that a client may send, in bytes. Range 64 KiB to 1 GiB - 1, which is
    /// the default. Memory is taken as a message arrives, not when it is announced.
    pub message_bytes_max: usize,
    /// Answers that are held for a client that does not take them in, in bytes, before its
    /// statement waits. Range 1 KiB to 1 GiB, default 64 KiB. A single row may be longer.
    pub output_bytes_max: usize,
    /// How long a client may take to say who it is. Default: one minute.
    pub authentication_timeout: Duration,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            connections_max: 1024,
            message_bytes_max: 0x3fff_ffff,
            output_bytes_max: 64 << 10,
            authentication_timeout: Duration::from_secs(60),
        }
    }
}

impl Config {
    /// Checks the ranges.
    ///
    /// # Errors
    /// A sentence that names the field, its value and its range.
    pub fn validate(&self) -> Result<(), String> {
        let ranges = [
            ("connections_max", self.connections_max, 1, 1 << 20),
            (
                "message_bytes_max",
                self.message_bytes_max,
                64 << 10,
                0x3fff_ffff,
            ),
            ("output_bytes_max", self.output_bytes_max, 1 << 10, 1 << 30),
        ];
        for (name, value, least, most) in ranges {
            if !(least..=most).contains(&value) {
                return Err(format!(
                    "{name} is {value}; it must lie between {least} and {most}"
                ));
            }
        }
        Ok(())
    }
}
