//! Any bytes through what unpacks executables, fat binaries, cubins and archives.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    tests::fuzz::fuzz_unpack(bytes);
});
