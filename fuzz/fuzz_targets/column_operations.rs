//! Bytes as operations on a column of strings, floats or decimals, against a vector.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| column::fuzz::run(data));
