//! `book run PAGE…` runs the examples of pages in a copy of the checkout; `--long` also those that take minutes, and `--keep` keeps
//! the copy and the outputs, for pages that are written. Without arguments it is the preprocessor that `book.toml` names.

use book_kit::{chapters, checkout, session};
use std::io::Read;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        // mdBook asks whether this is for a renderer.
        ["supports", ..] => Ok(true),
        [] => preprocess().map(|()| true),
        ["run", ref rest @ ..] => {
            let has = |flag| rest.contains(&flag);
            let pages: Vec<&str> = rest.iter().copied().filter(|word| !word.starts_with("--")).collect();
            run(&pages, has("--long"), has("--keep"))
        }
        _ => Err("usage: book run [--long] [--keep] PAGE.md…".to_owned()),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

/// The book of mdBook in, the prepared book out.
fn preprocess() -> Result<(), String> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(|e| e.to_string())?;
    println!("{}", chapters::prepare(&text)?);
    Ok(())
}

/// Runs pages one after the other in a copy of the checkout, and prints what is wrong.
fn run(pages: &[&str], long: bool, keep: bool) -> Result<bool, String> {
    let read = |page: &&str| {
        let text = std::fs::read_to_string(page).map_err(|e| format!("{page}: {e}"))?;
        Ok(((*page).to_owned(), text))
    };
    let pages = pages.iter().map(read).collect::<Result<Vec<_>, String>>()?;
    let scratch = std::env::temp_dir().join(format!("warplab-book-{}", std::process::id()));
    let (clone, notes) = (scratch.join("warplab"), scratch.join("notes"));
    std::fs::create_dir_all(&notes).map_err(|e| format!("{}: {e}", notes.display()))?;
    checkout::copy_to(&clone)?;
    for (_, text) in &pages {
        if session::builds(text, long)? {
            checkout::share_build(&clone)?;
        }
    }
    let report = session::run(&pages, &clone, &notes, &[], long)?;
    for wrong in &report.wrong {
        println!("{wrong}\n");
    }
    println!("{} steps, {} compared, {} wrong", report.steps, report.compared, report.wrong.len());
    if report.wrong.is_empty() && !keep {
        std::fs::remove_dir_all(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
    } else {
        println!("outputs are in {}", notes.display());
    }
    Ok(report.wrong.is_empty())
}
