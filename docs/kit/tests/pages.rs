//! README, the guides and the book are run as a reader would run them, and what they show is compared with what is
//! printed.
//!
//! The pages of a list are run one after the other in one shell, which begins at the top of a copy of the checkout.

use book_kit::{checkout, session};
use std::path::Path;
use std::process::Command;
use std::{env, fs};
use test_kit::{Tool, Watchdog, skipped};

/// Tools that the pages may need and that are not there.
fn missing() -> Vec<Tool> {
    let home = env::var_os("CUDA_HOME").map(|home| Path::new(&home).join("bin/nvcc").exists());
    let nvcc = home.unwrap_or_else(|| Command::new("nvcc").arg("--version").output().is_ok());
    let cache = env::var_os("XDG_CACHE_HOME").map(Into::into);
    let cache = cache.or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".cache")));
    let python =
        cache.is_some_and(|cache: std::path::PathBuf| cache.join("warplab/python/bin/python3").exists());
    [(Tool::Nvcc, nvcc), (Tool::Python, python)]
        .into_iter()
        .filter(|tool| !tool.1)
        .map(|tool| tool.0)
        .collect()
}

/// Runs pages in a copy of the checkout.
fn run(pages: &[&str], long: bool) {
    let _watchdog = Watchdog::over(pages.join(", "));
    let read = |page: &&str| {
        let text = fs::read_to_string(checkout::root().join(page)).unwrap_or_else(|e| panic!("{page}: {e}"));
        ((*page).to_owned(), text)
    };
    let pages: Vec<_> = pages.iter().map(read).collect();
    let scratch = tempfile::tempdir().unwrap();
    let (clone, notes) = (scratch.path().join("warplab"), scratch.path().join("notes"));
    fs::create_dir(&notes).unwrap();
    checkout::copy_to(&clone).unwrap();
    let report = session::run(&pages, &clone, &notes, &missing(), long).unwrap_or_else(|e| panic!("{e}"));
    for (place, tool) in report.skipped {
        skipped(tool, &format!("no {} for {place}", tool.name()));
    }
    assert!(report.wrong.is_empty(), "{}", report.wrong.join("\n\n"));
    assert!(report.compared > 0, "nothing was compared");
}

#[test]
fn readme_runs_in_order() {
    run(&["README.md"], false);
}
