//! Bytes as changes to the files of a data directory: checked, opened, salvaged.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| engine::fuzz::recovery(data));
