//! Bytes as a client of the server, or as choices of messages that are then changed.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| server::fuzz::connection(data));
