//! Bytes as values in all their forms, and as what a hostile sender sends.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| types::fuzz::run(data));
