//! Bytes as operations of a few open transactions, against their history's rules.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sim::fuzz::engine_operations(data));
