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

/// Commands and comparisons of pages that were run, and what was shown and not printed.
#[derive(Default)]
struct Counted {
    steps: usize,
    compared: usize,
    wrong: Vec<String>,
}

impl Counted {
    /// Whether nothing is wrong, and more than so many commands and comparisons were run. Called behind the last page: who
    /// changes a model wants all errors.
    fn all_right(&self, steps: usize, compared: usize) {
        assert!(self.wrong.is_empty(), "{}", self.wrong.join("\n\n"));
        let enough = self.steps > steps && self.compared > compared;
        assert!(enough, "only {} commands and {} comparisons", self.steps, self.compared);
    }
}

/// Runs pages in a copy of the checkout, and counts commands and comparisons.
fn run(pages: &[String], long: bool, counted: &mut Counted) {
    let _watchdog = Watchdog::over(pages.join(", "));
    let read = |page: &String| {
        let text = fs::read_to_string(checkout::root().join(page)).unwrap_or_else(|e| panic!("{page}: {e}"));
        (page.clone(), text)
    };
    let pages: Vec<_> = pages.iter().map(read).collect();
    let has_steps = |(name, text): &(String, String)| {
        session::has_steps(text, long).unwrap_or_else(|e| panic!("{name}: {e}"))
    };
    if !pages.iter().any(has_steps) {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let (clone, notes) = (scratch.path().join("warplab"), scratch.path().join("notes"));
    fs::create_dir(&notes).unwrap();
    checkout::copy_to(&clone).unwrap();
    if pages.iter().any(|(name, text)| session::builds(text, long).unwrap_or_else(|e| panic!("{name}: {e}")))
    {
        checkout::share_build(&clone).unwrap();
    }
    let report = session::run(&pages, &clone, &notes, &missing(), long).unwrap_or_else(|e| panic!("{e}"));
    for (place, tool) in report.skipped {
        skipped(tool, &format!("no {} for {place}", tool.name()));
    }
    counted.wrong.extend(report.wrong);
    counted.steps += report.steps;
    counted.compared += report.compared;
}

#[test]
fn readme_runs_in_order() {
    let mut counted = Counted::default();
    run(&["README.md".to_owned()], false, &mut counted);
    counted.all_right(20, 10);
}

/// One after the other: their recordings and reports would take each other's time. The guides to techniques, studies and
/// policies, whose readers build crates, are among what takes minutes.
#[test]
fn the_book_and_the_guides_run_in_order() {
    let mut counted = Counted::default();
    for pages in checkout::book().unwrap() {
        run(&pages, false, &mut counted);
    }
    counted.all_right(40, 20);
}

/// All of it, with what takes minutes: `cargo test --release -p book-kit -- --ignored`.
#[test]
#[ignore = "takes minutes"]
fn everything_runs_in_order() {
    let mut counted = Counted::default();
    run(&["README.md".to_owned()], true, &mut counted);
    for pages in checkout::book().unwrap() {
        run(&pages, true, &mut counted);
    }
    counted.all_right(60, 30);
}

#[test]
fn citation_and_notes_are_of_this_version() {
    let read = |path: &str| {
        fs::read_to_string(checkout::root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
    };
    let version = env!("CARGO_PKG_VERSION");
    assert!(read("CITATION.cff").contains(&format!("\nversion: {version}\n")));
    let notes = read(&format!("docs/src/releases/{version}.md"));
    assert!(notes.starts_with(&format!("# {version}\n")));
    assert!(read("docs/src/SUMMARY.md").contains(&format!("releases/{version}.md")));
}
