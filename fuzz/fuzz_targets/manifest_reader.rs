//! Bytes as changes to a manifest, or as the manifest: a readable manifest is written as it was.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| engine::fuzz::manifest_reader(data));
