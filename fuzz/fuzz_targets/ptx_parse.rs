//! Any bytes through the PTX front end.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    tests::fuzz::fuzz_parse(bytes);
});
