//! Bytes as operations on an index, against a map.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| index::fuzz::run(data));
