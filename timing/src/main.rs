//! The `timing` command: replays traces on GPU models, with and without techniques, and runs limit studies.
//!
//! The implementation is in [`timing::cli`]; this file only turns the result into an exit code.

fn main() -> std::process::ExitCode {
    timing::cli::main(std::env::args_os())
}
