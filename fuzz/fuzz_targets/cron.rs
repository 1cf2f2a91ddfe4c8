#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| hostwatch::fuzz::cron(text));
