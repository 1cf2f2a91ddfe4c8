//! The process: parses the command line and hands over to `app`.

fn main() {}
