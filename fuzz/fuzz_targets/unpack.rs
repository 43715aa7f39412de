//! Feeds any bytes to the readers of executables, fat binaries, cubins and archives.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    tests::fuzz::fuzz_unpack(bytes);
});
