//! Bytes as keys of all types: order, round trip, one encoding each.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sim::fuzz::key_encoding(data));
