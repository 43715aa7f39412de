//! A `timing` with a scheduler, a replacement policy and a study more: `timing-ideas replay app.wtrace --set
//! scheduler.policy=youngest`.

use ideas_example::{REPLACEMENT, SCHEDULERS, STUDIES};
use std::process::ExitCode;
use timing::Ideas;

fn main() -> ExitCode {
    let ideas = Ideas::new().with_schedulers(SCHEDULERS).with_replacement(REPLACEMENT).with_studies(STUDIES);
    timing::cli::main_with(ideas, std::env::args_os())
}
