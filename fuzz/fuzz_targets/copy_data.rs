//! Bytes as the data of a COPY, whole and in pieces, and back.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| drop(copy_formats::fuzz::run(data)));
