//! Runs the examples of pages in order, in one shell, as a reader would.
//!
//! The pages become one script, so that folders, variables and activated environments last from one block to the
//! next. Every step leaves its output and its exit code in a file of its own; afterwards they are compared with the page.

use crate::blocks::{self, Action, Block};
use crate::{checkout, compare};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};
use test_kit::Tool;

/// Commands that build what the build of this test has built already, or that run the test itself: the arguments of
/// cargo, and what is run in their place.
const BUILT: &[(&str, &str)] =
    &[("build --release", ":"), ("test --release --workspace", ":"), ("run --release --bin demo", "demo")];

/// A page: its name in messages, and its text.
pub type Page = (String, String);

/// How pages were run.
#[derive(Debug, Default)]
pub struct Report {
    /// Commands that were run, and files that were written.
    pub steps: usize,
    /// Commands whose output was compared with what the page shows.
    pub compared: usize,
    /// Blocks that were skipped, by page and line, with the tool that is missing.
    pub skipped: Vec<(String, Tool)>,
    /// What is wrong, with page and line.
    pub wrong: Vec<String>,
}

/// A step of the script.
struct Step<'a> {
    place: String,
    what: &'a str,
    shown: &'a [String],
}

/// Runs pages in a folder; what the script needs is kept in `notes`, another folder. Blocks that take minutes are run
/// if `long` is set. Of a block that is not run, changes of the folder are made nevertheless.
///
/// # Errors
/// A page cannot be understood, or the shell cannot be started. What is wrong with the examples is in the report.
pub fn run(
    pages: &[Page],
    folder: &Path,
    notes: &Path,
    missing: &[Tool],
    long: bool,
) -> Result<Report, String> {
    let mut report = Report::default();
    let mut script = Script { text: preamble(), steps: Vec::new(), notes };
    let mut found = Vec::new();
    for (name, text) in pages {
        found.push((name, blocks::blocks(text).map_err(|why| format!("{name}, {why}"))?));
    }
    for (name, block) in found.iter().flat_map(|(name, blocks)| blocks.iter().map(move |block| (name, block)))
    {
        let tool = block.needs.iter().find(|tool| missing.contains(tool));
        report.skipped.extend(tool.map(|&tool| (format!("{name}, line {}", block.line), tool)));
        compare_copy(name, block, &mut report);
        script.add(name, block, tool.is_none() && (long || !block.long))?;
    }
    let path = notes.join("page.sh");
    fs::write(&path, &script.text).map_err(|e| format!("{}: {e}", path.display()))?;
    start(&path, folder)?;
    for (i, step) in script.steps.iter().enumerate() {
        judge(i, step, notes, &mut report);
    }
    Ok(report)
}

/// Whether there is anything to run on a page; `long` as for [`run`].
///
/// # Errors
/// The page cannot be understood.
pub fn has_steps(page: &str, long: bool) -> Result<bool, String> {
    Ok(blocks::blocks(page)?.iter().any(|block| block.action.is_some() && (long || !block.long)))
}

/// Whether a page has cargo build something in its copy of the checkout; `long` as for [`run`].
///
/// # Errors
/// The page cannot be understood.
pub fn builds(page: &str, long: bool) -> Result<bool, String> {
    let built = |arguments: &str| BUILT.iter().any(|(built, _)| *built == arguments);
    let cargo = |command: &blocks::Command| {
        command.text.strip_prefix("cargo ").is_some_and(|arguments| !built(arguments))
    };
    let run = |block: &&Block| long || !block.long;
    Ok(blocks::blocks(page)?.iter().filter(run).any(|block| match &block.action {
        Some(Action::Run(commands)) => commands.iter().any(cargo),
        _ => false,
    }))
}

/// Compares a block with the file of the checkout that it is a copy of.
fn compare_copy(page: &str, block: &Block, report: &mut Report) {
    let Some(path) = &block.equals else { return };
    report.compared += 1;
    match fs::read_to_string(checkout::root().join(path)) {
        Ok(text) if text.trim_end().ends_with(block.text.trim_end()) => {}
        Ok(text) => {
            let pairs = text.lines().rev().zip(block.text.lines().rev()).find(|(file, block)| file != block);
            let (file, shown) = pairs.unwrap_or(("fewer lines", ""));
            report.wrong.push(format!(
                "{page}, line {}: not a copy of {path}\n  there: {file}\n  here:  {shown}",
                block.line
            ));
        }
        Err(e) => report.wrong.push(format!("{page}, line {}: {path}: {e}", block.line)),
    }
}

/// The script of the pages.
struct Script<'a> {
    text: String,
    steps: Vec<Step<'a>>,
    notes: &'a Path,
}

impl<'a> Script<'a> {
    /// Adds the steps of a block; of one that is not run as a whole, only changes of the folder.
    fn add(&mut self, page: &str, block: &'a Block, whole: bool) -> Result<(), String> {
        let kept = self.notes.join(format!("block-{}", self.steps.len()));
        let keep = || fs::write(&kept, &block.text).map_err(|e| format!("{}: {e}", kept.display()));
        let place = format!("{page}, line {}", block.line);
        match &block.action {
            None => {}
            Some(Action::Write(_) | Action::Insert(..) | Action::Replace(..)) if !whole => {}
            Some(Action::Run(commands)) => {
                for command in commands.iter().filter(|command| whole || command.text.starts_with("cd ")) {
                    let place = format!("{page}, line {}", command.line);
                    self.step(place, &command.text, &command.shown, &command.text);
                }
            }
            Some(Action::Write(path)) => {
                keep()?;
                let command =
                    format!("mkdir -p \"$(dirname \"{path}\")\" && cp '{}' \"{path}\"", kept.display());
                self.step(place, "writing a file", &[], &command);
            }
            Some(Action::Insert(path, text)) => {
                keep()?;
                let command = format!("edit \"{path}\" '{text}' '{}' 1", kept.display());
                self.step(place, "inserting into a file", &[], &command);
            }
            Some(Action::Replace(path, text)) => {
                keep()?;
                let command = format!("edit \"{path}\" '{text}' '{}' 0", kept.display());
                self.step(place, "replacing a line", &[], &command);
            }
        }
        Ok(())
    }

    fn step(&mut self, place: String, what: &'a str, shown: &'a [String], command: &str) {
        let at = self.notes.join(self.steps.len().to_string());
        let at = at.display();
        let _ = writeln!(self.text, "{{ {command}\n}} >'{at}.out' 2>&1 </dev/null; echo $? >'{at}.rc'");
        self.steps.push(Step { place, what, shown });
    }
}

/// Functions of the script.
fn preamble() -> String {
    let mut text = String::from("cargo() {\n    case \"$*\" in\n");
    for (arguments, instead) in BUILT {
        let pattern = arguments.replace(' ', "\\ ");
        let _ = writeln!(text, "    {pattern}) {instead} ;;");
    }
    text += "    *) command cargo \"$@\" ;;\n    esac\n}\n";
    text += r#"edit() {
    awk -v text="$2" -v block="$3" -v keep="$4" '
        NR == FNR { if (index($0, text)) last = FNR; next }
        keep || FNR != last { print }
        FNR == last { while ((getline line < block) > 0) print line }
        END { exit !last }' "$1" "$1" >"$1.new" && mv "$1.new" "$1"
}
"#;
    text
}

/// Runs the script with the programs of this build, and CUDA's compilers where they are.
fn start(script: &Path, folder: &Path) -> Result<(), String> {
    let mut paths: Vec<PathBuf> = vec![checkout::programs()?];
    paths.extend(env::var_os("CUDA_HOME").map(|home| PathBuf::from(home).join("bin")));
    paths.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
    let path = env::join_paths(paths).map_err(|e| e.to_string())?;
    let mut shell = Command::new("bash")
        .arg(script)
        .current_dir(folder)
        .env("PATH", path)
        .env("WARPLAB", folder)
        .env("COLUMNS", "160")
        .stdin(Stdio::null())
        .spawn()
        .map_err(|e| format!("bash: {e}"))?;
    test_kit::end_of(&mut shell, "a page's script");
    Ok(())
}

/// Compares what a step has left with what the page shows. A command below which the page shows an error has to fail.
fn judge(number: usize, step: &Step<'_>, notes: &Path, report: &mut Report) {
    let read = |end: &str| fs::read_to_string(notes.join(format!("{number}.{end}")));
    let place = || format!("{}: {}", step.place, step.what);
    let (Ok(code), Ok(bytes)) = (read("rc"), fs::read(notes.join(format!("{number}.out")))) else {
        report.wrong.push(format!("{}\n  the shell did not come to this command", place()));
        return;
    };
    report.steps += 1;
    let printed = String::from_utf8_lossy(&bytes);
    let fails = step.shown.first().is_some_and(|line| line.starts_with("error"));
    if (code.trim() != "0") != fails {
        let last: Vec<&str> = printed.lines().rev().take(12).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        report.wrong.push(format!("{}\n  exit code {}\n{}", place(), code.trim(), last.join("\n")));
        return;
    }
    if step.shown.is_empty() {
        return;
    }
    report.compared += 1;
    if let Some(difference) = compare::difference(step.shown, &printed) {
        report.wrong.push(format!("{}\n{difference}", place()));
    }
}
