//! Compares what ptxas and the front end accept, over mutants of valid modules.

use super::invalid::{Change, Mutant, mutant};
use crate::oracle::native::Assembler;
use emulator::ptx;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// ptxas with a folder for its inputs.
#[derive(Debug)]
pub struct Judge {
    ptxas: PathBuf,
    folder: tempfile::TempDir,
}

/// What was compared of one kind of change.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Mutants.
    pub mutants: u64,
    /// Those that ptxas refuses.
    pub refused: u64,
    /// ptxas refuses and the front end accepts.
    pub missed: u64,
    /// ptxas accepts and the front end refuses.
    pub wrong: u64,
}

impl Tally {
    /// The sum of two.
    fn and(self, other: Tally) -> Tally {
        Tally {
            mutants: self.mutants + other.mutants,
            refused: self.refused + other.refused,
            missed: self.missed + other.missed,
            wrong: self.wrong + other.wrong,
        }
    }

    /// The share of mutants on which the two agree, from 0 to 1.
    #[must_use]
    pub fn agreement(&self) -> f64 {
        1.0 - (self.missed + self.wrong) as f64 / self.mutants.max(1) as f64
    }
}

/// The sum over all kinds of change.
#[must_use]
pub fn total(tallies: &BTreeMap<Change, Tally>) -> Tally {
    tallies.values().fold(Tally::default(), |sum, tally| sum.and(*tally))
}

/// A table of the kinds in Markdown.
#[must_use]
pub fn table(tallies: &BTreeMap<Change, Tally>) -> String {
    let head = "| change | mutants | ptxas refuses | only ptxas refuses | only Warplab refuses |\n|---|---|---|---|---|\n";
    let row = |name: &str, tally: &Tally| {
        let Tally { mutants, refused, missed, wrong } = tally;
        format!("| {name} | {mutants} | {refused} | {missed} | {wrong} |\n")
    };
    let rows: String = tallies.iter().map(|(change, tally)| row(change.words(), tally)).collect();
    head.to_owned() + &rows + &row("all", &total(tallies))
}

/// Mutants on which the two differ, with ptxas's words or ours.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The seed of the mutant.
    pub seed: u64,
    /// The mutant.
    pub mutant: Mutant,
    /// First error of whoever refuses it.
    pub error: String,
    /// The front end is the one that refuses.
    pub ours: bool,
}

impl Judge {
    /// Uses the ptxas of `CUDA_HOME` or of the toolkit that `tools/scripts/cuda-toolkit.sh` installs; none if there is
    /// neither.
    ///
    /// # Errors
    /// When there is no folder for temporary files.
    pub fn installed() -> io::Result<Option<Judge>> {
        Assembler::installed("sm_75").map(|assembler| Judge::new(&assembler.ptxas)).transpose()
    }

    /// Uses a ptxas.
    ///
    /// # Errors
    /// When there is no folder for temporary files.
    pub fn new(ptxas: &Path) -> io::Result<Judge> {
        Ok(Judge { ptxas: ptxas.to_owned(), folder: tempfile::tempdir()? })
    }

    /// The first error of ptxas about a text; `None` if it accepts it. It reads a text for the target that the text
    /// names, and generates no code.
    ///
    /// # Errors
    /// When ptxas cannot be run.
    pub fn error(&self, text: &str) -> io::Result<Option<String>> {
        let path = self.folder.path().join("m.ptx");
        std::fs::write(&path, text)?;
        let mut command = Command::new(&self.ptxas);
        command
            .arg(format!("-arch={}", architecture(text)))
            .arg(&path)
            .arg("-o")
            .arg(self.folder.path().join("m"));
        let output = command.output()?;
        if output.status.success() {
            return Ok(None);
        }
        let words =
            String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        let first = words.lines().find(|line| line.contains("error") || line.contains("fatal"));
        let first = first.or(words.lines().next()).unwrap_or("no word");
        Ok(Some(first.split_once("m.ptx, ").map_or(first, |(_, rest)| rest).to_owned()))
    }
}

/// The virtual architecture that ptxas reads a text for: the one of its target, from sm_75 on.
fn architecture(text: &str) -> String {
    let mut words = text.split_whitespace().skip_while(|word| *word != ".target").skip(1);
    let target = words.next().unwrap_or("").trim_end_matches([',', ';']);
    let number = target.trim_start_matches("sm_").trim_start_matches("compute_");
    match number.parse::<u32>() {
        Ok(sm) if sm < 75 => "compute_75".to_owned(),
        _ if number.starts_with(|c: char| c.is_ascii_digit()) => format!("compute_{number}"),
        _ => "compute_75".to_owned(),
    }
}

/// The first error of the front end about a text.
#[must_use]
pub fn our_error(text: &str) -> Option<String> {
    let errors = ptx::parse(text, "m.ptx").err()?;
    let first = errors.iter().next().map(|error| error.plain(errors.source()));
    Some(first.unwrap_or_default())
}

/// The texts of a list that ptxas accepts.
///
/// # Errors
/// When ptxas cannot be run.
pub fn valid(judge: &Judge, texts: &[String]) -> io::Result<Vec<String>> {
    let mut valid = Vec::new();
    for text in texts {
        if judge.error(text)?.is_none() {
            valid.push(text.clone());
        }
    }
    Ok(valid)
}

/// Compares the mutants of seeds; `texts` are modules that ptxas accepts.
///
/// # Errors
/// When ptxas cannot be run.
pub fn compare(
    judge: &Judge,
    texts: &[String],
    seeds: impl Iterator<Item = u64>,
) -> io::Result<(BTreeMap<Change, Tally>, Vec<Difference>)> {
    let mut tallies: BTreeMap<Change, Tally> = BTreeMap::new();
    let mut differences = Vec::new();
    for seed in seeds {
        let Some(mutant) = mutant(texts, seed) else { continue };
        let (theirs, ours) = (judge.error(&mutant.text)?, our_error(&mutant.text));
        let tally = tallies.entry(mutant.change).or_default();
        tally.mutants += 1;
        tally.refused += u64::from(theirs.is_some());
        let (error, is_ours) = match (theirs, ours) {
            (Some(error), None) => (error, false),
            (None, Some(error)) => (error, true),
            _ => continue,
        };
        if is_ours {
            tally.wrong += 1;
        } else {
            tally.missed += 1;
        }
        differences.push(Difference { seed, mutant, error, ours: is_ours });
    }
    Ok((tallies, differences))
}
