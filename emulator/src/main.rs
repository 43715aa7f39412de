//! The `emu` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    emulator::cli::main()
}
