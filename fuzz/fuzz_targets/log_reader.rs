//! Bytes as changes to a log file, or as the file: no panic, and no record is read that is not
//! there.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| engine::fuzz::log_reader(data));
