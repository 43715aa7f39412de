//! Slurm's commands, and what they print.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Number of the task of the job that stands for all tasks of an array that were cancelled before they began.
const NO_TASK: &str = "4294967294";

/// Largest array if Slurm does not say: its default.
const ARRAY: usize = 1001;

/// The tasks of Slurm's queue, by the name of their array.
pub(super) type Queue = BTreeMap<String, Waiting>;

/// Tasks of an array that have not ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Waiting {
    /// All of them.
    pub tasks: BTreeSet<usize>,
    /// Number of the array's job.
    pub job: Option<u64>,
    /// Those that run.
    pub running: usize,
    /// Why the others wait, as Slurm says it.
    pub reason: String,
}

/// Runs a command of Slurm and returns what it printed.
fn ask(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(arguments).output();
    let output =
        output.map_err(|why| format!("cannot run {program}: {why}; are Slurm's commands installed?"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    Err(format!("{program}: {said}"))
}

/// Submits a script; the number of its job.
pub(super) fn submit(script: &Path) -> Result<u64, String> {
    let printed = ask("sbatch", &["--parsable", &script.display().to_string()])?;
    let number = printed.trim().split(';').next().and_then(|word| word.parse().ok());
    number.ok_or_else(|| format!("sbatch printed no job number: {}", printed.trim()))
}

/// The tasks in the queue, of arrays with these names.
pub(super) fn queue(names: &[String]) -> Result<Queue, String> {
    if names.is_empty() {
        return Ok(Queue::new());
    }
    let names = format!("--name={}", names.join(","));
    Ok(waiting(&ask("squeue", &["--noheader", "--array", "--format=%j|%K|%T|%F|%r", &names])?))
}

fn waiting(printed: &str) -> Queue {
    let mut queue = Queue::new();
    for line in printed.lines() {
        let mut words = line.splitn(5, '|').map(str::trim);
        let (Some(name), Some(task), Some(state)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        let Ok(task) = task.parse() else { continue };
        let array = queue.entry(name.to_owned()).or_default();
        array.tasks.insert(task);
        array.job = words.next().and_then(|job| job.parse().ok());
        match state {
            "PENDING" => array.reason = words.next().unwrap_or_default().to_owned(),
            _ => array.running += 1,
        }
    }
    queue
}

/// The largest number of tasks of an array.
pub(super) fn most_tasks() -> usize {
    let printed = ask("scontrol", &["show", "config"]).unwrap_or_default();
    let value = printed.lines().find_map(|line| line.trim().strip_prefix("MaxArraySize")?.split('=').nth(1));
    value.and_then(|value| value.trim().parse::<usize>().ok()).unwrap_or(ARRAY).saturating_sub(1).max(1)
}

/// How the tasks of an array ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ends {
    tasks: BTreeMap<usize, String>,
    /// State of the tasks that never began, which Slurm shows as one job.
    others: Option<String>,
}

impl Ends {
    /// The state in which a task ended, if Slurm remembers it.
    pub(super) fn of(&self, task: usize) -> Option<&str> {
        self.tasks.get(&task).or(self.others.as_ref()).map(String::as_str)
    }
}

/// How the tasks of a job ended, as the controller says for as long as it remembers, and accounting, which learns of it later.
pub(super) fn ends(job: u64) -> Ends {
    let number = job.to_string();
    let asked = ["--noheader", "--parsable2", "--allocations", "--format=JobID,State", "--jobs", &number];
    let accounted = ask("sacct", &asked).map(|printed| accounted(&printed)).unwrap_or_default();
    let shown = ask("scontrol", &["--oneliner", "show", "job", &number]);
    let mut ends = shown.map(|printed| shown_ends(&printed)).unwrap_or_default();
    ends.tasks.extend(accounted.tasks);
    ends.others = accounted.others.or(ends.others);
    ends
}

/// Whether a state is the last one of a task.
fn is_end(state: &str) -> bool {
    !matches!(
        state,
        "PENDING"
            | "RUNNING"
            | "SUSPENDED"
            | "CONFIGURING"
            | "COMPLETING"
            | "REQUEUED"
            | "RESIZING"
            | "STOPPED"
            | "SIGNALING"
            | "STAGE_OUT"
    )
}

/// States by task from lines such as `17_4|FAILED` and `17_[5-9]|CANCELLED by 0`. A line without a task has those that never
/// began: accounting shows an array so that was cancelled before it knew the tasks.
fn accounted(printed: &str) -> Ends {
    let mut ends = Ends::default();
    for line in printed.lines() {
        let Some((job, state)) = line.split_once('|') else { continue };
        let state = state.split(' ').next().unwrap_or_default();
        if !is_end(state) {
            continue;
        }
        match job.split_once('_') {
            Some((_, tasks)) => {
                let tasks = tasks_of(tasks.trim_matches(['[', ']']));
                ends.tasks.extend(tasks.map(|task| (task, state.to_owned())));
            }
            None => ends.others = Some(state.to_owned()),
        }
    }
    ends
}

/// States by task from lines such as `JobId=18 ArrayJobId=17 ArrayTaskId=4 … JobState=FAILED …`.
fn shown_ends(printed: &str) -> Ends {
    let mut ends = Ends::default();
    for line in printed.lines() {
        let of = |key: &str| line.split(' ').find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
        match (of("ArrayTaskId"), of("JobState").filter(|state| is_end(state))) {
            (Some(NO_TASK), Some(state)) => ends.others = Some(state.to_owned()),
            (Some(tasks), Some(state)) => {
                ends.tasks.extend(tasks_of(tasks).map(|task| (task, state.to_owned())));
            }
            _ => {}
        }
    }
    ends
}

/// The tasks of a list such as `1,5-9%4`.
fn tasks_of(list: &str) -> impl Iterator<Item = usize> + '_ {
    let list = list.split('%').next().unwrap_or_default();
    list.split(',').filter_map(warplab_host::numbers::range).flat_map(|(first, last)| {
        let last = last.min(first + 10_000_000);
        first as usize..=last as usize
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_is_read_by_array() {
        let queue = waiting(
            "a-1|0|RUNNING|5|None\na-1|1|PENDING|5|Resources\nb|N/A|RUNNING|6|None\na-2|7|COMPLETING|7|None\n",
        );
        assert_eq!(queue.len(), 2);
        let expected = Waiting { tasks: [0, 1].into(), job: Some(5), running: 1, reason: "Resources".into() };
        assert_eq!(queue["a-1"], expected);
        assert_eq!(queue["a-2"].running, 1);
    }

    #[test]
    fn ends_are_read_from_both_sources() {
        let ends = accounted(
            "17_0|COMPLETED\n17_1|CANCELLED by 0\n17_[2-4]|PREEMPTED\n17|PENDING\n17_7|RUNNING\n17_[8-9]|PENDING\n",
        );
        assert_eq!(ends.tasks.len(), 5);
        assert_eq!((ends.of(1), ends.of(4), ends.of(5)), (Some("CANCELLED"), Some("PREEMPTED"), None));
        let ends = accounted("17_0|COMPLETED\n17|CANCELLED by 0\n");
        assert_eq!((ends.of(0), ends.of(1)), (Some("COMPLETED"), Some("CANCELLED")));
        let ends = shown_ends(
            "JobId=18 ArrayJobId=17 ArrayTaskId=4 JobName=x JobState=NODE_FAIL Reason=y\n\
             JobId=17 ArrayJobId=17 ArrayTaskId=5-6,9%2 JobName=x JobState=TIMEOUT Reason=y\n\
             JobId=17 ArrayJobId=17 ArrayTaskId=4294967294 JobName=x JobState=CANCELLED Reason=y\n",
        );
        assert_eq!(ends.tasks.keys().copied().collect::<Vec<_>>(), [4, 5, 6, 9]);
        assert_eq!(
            (ends.of(4), ends.of(9), ends.of(7)),
            (Some("NODE_FAIL"), Some("TIMEOUT"), Some("CANCELLED"))
        );
    }
}
