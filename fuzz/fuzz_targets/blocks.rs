//! Bytes as columns of a block, against lists of values, and as changes to its words.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    segment::fuzz::run(data);
});
