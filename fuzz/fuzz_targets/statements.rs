//! Text of hostile clients, sent to a session with tables.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sql::fuzz::statements(data));
