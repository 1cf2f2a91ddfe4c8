//! The process. All of its code is in the library, where tests can use it.

use std::process::ExitCode;

fn main() -> ExitCode {
    hostwatch::main()
}
