#![no_main]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| hostwatch::fuzz::wire(octets));
