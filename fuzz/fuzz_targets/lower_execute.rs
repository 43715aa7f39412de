//! Any bytes through the front end, lowering and execution.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    tests::fuzz::fuzz_lower_execute(bytes);
});
