//! Bytes as changes to a cold file, or as the file: no panic, and no record is read that is not
//! there.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| engine::fuzz::cold_reader(data));
