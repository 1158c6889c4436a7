//! Configuration of a server.

use std::time::Duration;

/// Settings of a server.
#[derive(Debug, Clone)]
pub struct Config {
    /// Maximum connections at a time; a further one is refused with 53300. Range 1 to 2^20,
    /// default 1024.
    pub connections_max: usize,
    /// Maximum length of a client's message, in bytes. Range 64 KiB to 1 GiB - 1, which is the
    /// default. Memory is taken as a message arrives, not when it is announced.
    pub message_bytes_max: usize,
    /// Answers held for a client that does not receive them, in bytes, before its statement
    /// waits. Range 1 KiB to 1 GiB, default 64 KiB. A single row may be longer.
    pub output_bytes_max: usize,
    /// Longest time that a client may take to authenticate. Default: one minute.
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
    /// Returns a sentence that names the field out of range, its value and its range.
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
