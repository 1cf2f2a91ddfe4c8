#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| hostwatch::fuzz::web_file(text));
