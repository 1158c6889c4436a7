//! Bytes as rows, structures over them and joins, against all rows.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| operators::fuzz::run(data));
