//! Bytes as changes to records of the catalog, or as the records: every readable record is written
//! as it was.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| engine::fuzz::catalog_reader(data));
