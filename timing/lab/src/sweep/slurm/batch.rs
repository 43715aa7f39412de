//! A batch: an array of jobs, the runs of each of its tasks, and its script.

use super::settings::Settings;
use crate::sweep::plan::Plan;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use warplab_host::destination::Destination;
use warplab_host::input;
use warplab_host::shell::quoted;
use warplab_host::text::one_line;

/// Maximum size of a batch's file.
const MOST_BYTES: u64 = 1 << 30;

/// What a script runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paths<'a> {
    /// This program.
    pub(super) program: &'a Path,
    /// The plan as a file.
    pub(super) work: &'a Path,
    /// Folder of the store.
    pub(super) store: &'a Path,
}

/// An array and the keys of the runs of each of its tasks. It is written before it is submitted, so that whoever finds its
/// tasks in the queue knows what they do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Batch {
    /// Name of the array's jobs.
    pub name: String,
    /// Keys of the runs, by task.
    pub tasks: Vec<Vec<String>>,
}

/// The script of an array.
///
/// # Errors
/// A path has a line end or another control character.
pub(super) fn script(
    settings: &Settings,
    name: &str,
    tasks: usize,
    folder: &Path,
    paths: Paths<'_>,
) -> Result<String, String> {
    // A line end would end the comment that an option stands in, and the rest would be a command.
    for path in [folder, paths.program, paths.work, paths.store] {
        let text = path.display().to_string();
        if text.chars().any(char::is_control) {
            return Err(format!(
                "{}: a path in a script of sbatch cannot hold control characters",
                one_line(&text)
            ));
        }
    }
    let last = tasks.saturating_sub(1);
    let word = |path: &Path| quoted(&path.display().to_string());
    let log = folder.display().to_string().replace('%', "%%");
    let mut options = vec![
        format!("--job-name={name}"),
        format!("--array=0-{last}"),
        format!("--output={}", quoted(&format!("{log}/%x_%a.log"))),
        "--open-mode=append".to_owned(),
        format!("--cpus-per-task={}", settings.cpus),
    ];
    let named = [("partition", &settings.partition), ("time", &settings.time), ("mem", &settings.memory)];
    options
        .extend(named.into_iter().filter_map(|(name, value)| Some(format!("--{name}={}", value.as_ref()?))));
    options.extend(settings.options.iter().cloned());
    let mut text = "#!/bin/sh\n".to_owned();
    for option in options {
        let _ = writeln!(text, "#SBATCH {option}");
    }
    let _ = write!(
        text,
        "# The runs of a task are in a line of the list: task 0 has the first.\n\
         runs=$(sed -n \"$((SLURM_ARRAY_TASK_ID + 1))p\" {})\n\
         exec {} sweep --work {} --store {} --threads {} --index \"$runs\"\n",
        word(&folder.join(format!("{name}.runs"))),
        word(paths.program),
        word(paths.work),
        word(paths.store),
        settings.cpus
    );
    Ok(text)
}

impl Batch {
    /// Path of the script.
    pub(super) fn script_path(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.sh", self.name))
    }

    fn path(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.json", self.name))
    }

    /// Writes the batch, the list of the runs of each task and the script.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(super) fn write(
        &self,
        plan: &Plan,
        positions: &[Vec<usize>],
        settings: &Settings,
        folder: &Path,
        paths: Paths<'_>,
    ) -> Result<(), String> {
        debug_assert_eq!(plan.runs[positions[0][0]].key, self.tasks[0][0]);
        let line =
            |runs: &Vec<usize>| runs.iter().map(ToString::to_string).collect::<Vec<_>>().join(",") + "\n";
        let list: String = positions.iter().map(line).collect();
        put(&folder.join(format!("{}.runs", self.name)), &list)?;
        let own = script(settings, &self.name, self.tasks.len(), folder, paths)?;
        put(&self.script_path(folder), &own)?;
        put(&self.path(folder), &serde_json::to_string(self).map_err(|why| why.to_string())?)
    }

    /// Removes its files but its logs.
    pub(super) fn remove(&self, folder: &Path) {
        for extension in ["json", "runs", "sh"] {
            // A file that remains belongs to no task of the queue and does no harm.
            let _ = std::fs::remove_file(folder.join(format!("{}.{extension}", self.name)));
        }
    }

    /// The batches of a folder whose names begin with a word.
    pub(super) fn all(folder: &Path, prefix: &str) -> Vec<Batch> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let own = names.filter(|name| name.starts_with(prefix) && name.ends_with(".json"));
        let read = |name: String| input::read_text(&folder.join(name), MOST_BYTES).ok();
        let mut found: Vec<Batch> =
            own.filter_map(read).filter_map(|text| serde_json::from_str(&text).ok()).collect();
        found.sort_by(|a, b| a.name.cmp(&b.name));
        found
    }

    /// The last line that a task wrote.
    pub(super) fn last_words(&self, task: usize, folder: &Path) -> Option<String> {
        let log = folder.join(format!("{}_{task}.log", self.name));
        let text = input::read_text(&log, input::TEXT_BYTES).ok()?;
        text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
    }
}

fn put(path: &Path, text: &str) -> Result<(), String> {
    let write = Destination::within(path).write(|out| out.write_all(text.as_bytes()));
    write.map_err(|why| format!("cannot write {}: {why}", path.display()))
}
