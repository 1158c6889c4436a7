//! Bytes as values in all their forms, and as input from a hostile sender.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| types::fuzz::run(data));
