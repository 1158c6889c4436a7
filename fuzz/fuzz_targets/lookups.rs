//! Bytes as rows, structures over them and keys to look up, against all rows.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| index::fuzz::lookups(data));
