//! Bytes as changes to a checkpoint part, or as the part: no panic, and no record is read that is
//! not there.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| engine::fuzz::checkpoint_reader(data));
