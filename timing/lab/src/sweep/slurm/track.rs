//! Submits the open runs of a sweep, watches the queue and the store, and submits again what was lost.

use super::batch::{Batch, Paths, script};
use super::client::{self, Queue};
use super::settings::Settings;
use crate::store::{Key, Store};
use crate::sweep::run::{Results, Sweep};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Tasks of an array if the settings do not say how many runs a job does.
const TASKS: usize = 1000;

/// Looks at the queue that may fail in a row before the tracking ends.
const PATIENCE: u32 = 60;

/// Looks at the queue after which a task counts as ended though Slurm does not say how: accounting may learn of it late.
const LOOKS: u32 = 5;

/// A sweep's place on a cluster.
pub struct Cluster<'a> {
    /// What jobs ask for.
    pub settings: &'a Settings,
    /// Folder of the sweep, which all nodes share. Scripts and logs are in `slurm` below it.
    pub folder: &'a Path,
    /// The store, in a folder that all nodes share.
    pub store: &'a Store,
    /// This program.
    pub program: PathBuf,
}

/// State of a sweep on a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Runs with a result.
    pub done: usize,
    /// Of so many.
    pub of: usize,
    /// Runs whose results are there and are failures, and runs that were given up.
    pub failed: usize,
    /// Tasks that run.
    pub running: usize,
    /// Tasks that wait.
    pub waiting: usize,
    /// Why they wait, as Slurm says it.
    pub reason: String,
    /// What happened since the last time, in words.
    pub news: Vec<String>,
}

/// The open runs and what was done for them.
struct Tracker<'a> {
    cluster: &'a Cluster<'a>,
    sweep: &'a Sweep<'a>,
    jobs: PathBuf,
    work: PathBuf,
    prefix: String,
    results: Results,
    /// Position of the run with each key.
    positions: BTreeMap<String, usize>,
    batches: Vec<Batch>,
    /// Number of the job of each batch.
    numbers: BTreeMap<String, u64>,
    /// How the earlier tasks of a run ended, by key and batch: a run that Slurm does not take again yet has not ended twice.
    ends: BTreeMap<String, BTreeMap<usize, String>>,
    /// Runs that no task of the queue had at the last looks either, and at how many.
    missing: BTreeMap<String, u32>,
    news: Vec<String>,
}

/// Works through a plan with arrays of jobs, until every run has a result or is given up. `tell` is called at every look at
/// the queue; `merge` with the results so far whenever there are new ones.
///
/// # Errors
/// A file cannot be written; Slurm refuses a job or does not answer for long. Jobs in the queue go on.
pub fn run(
    cluster: &Cluster<'_>,
    sweep: &Sweep<'_>,
    tell: &dyn Fn(&Status),
    merge: &mut dyn FnMut(&Results) -> Result<(), String>,
) -> Result<Results, String> {
    let mut tracker = Tracker::new(cluster, sweep)?;
    let most = client::most_tasks();
    let mut unanswered = 0;
    let mut first = true;
    loop {
        let names: Vec<String> = tracker.batches.iter().map(|batch| batch.name.clone()).collect();
        // The queue comes before the store: a task that left it has kept its results by then.
        let queue = match client::queue(&names) {
            Ok(queue) => queue,
            Err(why) if unanswered < PATIENCE && !first => {
                unanswered += 1;
                tracker.news.push(format!("Slurm does not answer, trying again: {why}"));
                tell(&tracker.status(&Queue::new()));
                std::thread::sleep(Duration::from_secs(cluster.settings.poll_seconds));
                continue;
            }
            Err(why) => {
                return Err(format!("{why}; jobs in the queue go on, and the same command tracks them"));
            }
        };
        unanswered = 0;
        if std::mem::take(&mut first) {
            tracker.forget_old(&queue);
        }
        let fresh = tracker.look();
        let open = tracker.open(&queue);
        if !open.is_empty() {
            tracker.submit(&open, most, !queue.is_empty())?;
        }
        tell(&tracker.status(&queue));
        tracker.news.clear();
        if tracker.is_done() {
            tracker.tidy();
            return Ok(tracker.results);
        }
        if fresh > 0 {
            merge(&tracker.results)?;
        }
        std::thread::sleep(Duration::from_secs(cluster.settings.poll_seconds));
    }
}

/// The scripts that would be submitted, and nothing else happens.
///
/// # Errors
/// A plan without an open run.
pub fn preview(cluster: &Cluster<'_>, sweep: &Sweep<'_>) -> Result<String, String> {
    let kept = sweep.kept();
    let open: Vec<usize> =
        sweep.plan.distinct().into_iter().filter(|at| !kept.has(&sweep.plan.runs[*at].key)).collect();
    if open.is_empty() {
        return Err("every run is finished; there is nothing to submit".into());
    }
    let most = client::most_tasks();
    let jobs = cluster.folder.join("slurm");
    let prefix = prefix(cluster);
    let mut text = String::new();
    for (number, tasks) in arrays(&open, cluster.settings, most).iter().enumerate() {
        let name = format!("{prefix}{}", number + 1);
        let runs: usize = tasks.iter().map(Vec::len).sum();
        text += &format!("# {name}: {runs} runs in {} jobs\n", tasks.len());
        let work = jobs.join("work.json");
        let paths = Paths { program: &cluster.program, work: &work, store: cluster.store.folder() };
        text += &script(cluster.settings, &name, tasks.len(), &jobs, paths)?;
        text += "\n";
    }
    Ok(text)
}

/// The beginning of the names of a sweep's jobs: other sweeps have others.
fn prefix(cluster: &Cluster<'_>) -> String {
    let key = Key::default().with(cluster.folder.as_os_str().as_encoded_bytes()).text();
    format!("sweep-{}-", &key[..8])
}

/// Runs by array and task.
fn arrays(open: &[usize], settings: &Settings, most: usize) -> Vec<Vec<Vec<usize>>> {
    let runs = settings.runs_per_job.unwrap_or_else(|| open.len().div_ceil(TASKS)).max(1);
    let tasks: Vec<Vec<usize>> = open.chunks(runs).map(<[usize]>::to_vec).collect();
    tasks.chunks(most).map(<[Vec<usize>]>::to_vec).collect()
}

impl<'a> Tracker<'a> {
    fn new(cluster: &'a Cluster<'a>, sweep: &'a Sweep<'a>) -> Result<Tracker<'a>, String> {
        let jobs = cluster.folder.join("slurm");
        std::fs::create_dir_all(&jobs).map_err(|why| format!("cannot create {}: {why}", jobs.display()))?;
        // Tasks in the queue read the plan of their time, so that numbers of runs keep their meaning.
        let plan = serde_json::to_vec(sweep.plan).map_err(|why| why.to_string())?;
        let work = jobs.join(format!("work-{}.json", &Key::default().with(&plan).text()[..16]));
        sweep.plan.write(&work)?;
        let runs = sweep.plan.distinct().into_iter();
        let prefix = prefix(cluster);
        Ok(Tracker {
            cluster,
            sweep,
            work,
            results: Results::default(),
            positions: runs.map(|at| (sweep.plan.runs[at].key.clone(), at)).collect(),
            batches: Batch::all(&jobs, &prefix),
            numbers: BTreeMap::new(),
            ends: BTreeMap::new(),
            missing: BTreeMap::new(),
            news: Vec::new(),
            jobs,
            prefix,
        })
    }

    /// Forgets batches of earlier times that are not in the queue any more.
    fn forget_old(&mut self, queue: &Queue) {
        let (adopted, old): (Vec<Batch>, Vec<Batch>) =
            std::mem::take(&mut self.batches).into_iter().partition(|batch| queue.contains_key(&batch.name));
        old.iter().for_each(|batch| batch.remove(&self.jobs));
        for batch in &adopted {
            let job = queue.get(&batch.name).and_then(|waiting| waiting.job);
            self.numbers.extend(job.map(|job| (batch.name.clone(), job)));
            self.news.push(format!("{} is in the queue already and is tracked on", batch.name));
        }
        self.batches = adopted;
    }

    /// Takes new results from the store; how many.
    fn look(&mut self) -> usize {
        let before = self.count();
        for key in self.positions.keys() {
            self.sweep.take(key, &mut self.results);
        }
        self.count() - before
    }

    /// Runs with a result, or given up.
    fn count(&self) -> usize {
        self.positions.keys().filter(|key| self.results.has(key)).count()
    }

    fn is_done(&self) -> bool {
        self.count() == self.positions.len()
    }

    /// Positions of the runs to submit now: those without a result that no task of the queue has. Gives up those that were
    /// lost too often or cancelled.
    fn open(&mut self, queue: &Queue) -> Vec<usize> {
        let active = |batch: &Batch, task: usize| {
            queue.get(&batch.name).is_some_and(|waiting| waiting.tasks.contains(&task))
        };
        let covered: BTreeSet<&String> = self
            .batches
            .iter()
            .flat_map(|batch| batch.tasks.iter().enumerate().filter(|(task, _)| active(batch, *task)))
            .flat_map(|(_, keys)| keys)
            .collect();
        let without: BTreeSet<String> = self
            .positions
            .keys()
            .filter(|key| !self.results.has(key) && !covered.contains(key))
            .cloned()
            .collect();
        let mut asked: BTreeMap<u64, client::Ends> = BTreeMap::new();
        let mut open = Vec::new();
        for key in &without {
            let Some((last, task)) = self.last_task(key) else {
                open.push(self.positions[key]);
                continue;
            };
            // A shared file system may show a result a little later than Slurm shows the end of its job.
            let Some(looks) = self.missing.get(key) else { continue };
            let batch = &self.batches[last];
            let number = self.numbers.get(&batch.name);
            let ends = number.map(|number| asked.entry(*number).or_insert_with(|| client::ends(*number)));
            let end = match ends.and_then(|ends| ends.of(task)) {
                None if *looks < LOOKS => continue,
                end => end.unwrap_or("ended").to_owned(),
            };
            let words = batch.last_words(task, &self.jobs);
            let earlier = self.ends.entry(key.clone()).or_default();
            let cancelled = end == "CANCELLED";
            earlier.insert(last, end);
            if cancelled || earlier.len() > self.cluster.settings.retries as usize {
                let said = words.map_or(String::new(), |words| format!(": {words}"));
                let ends = earlier.values().map(String::as_str).collect::<Vec<_>>().join(", ");
                let why = format!("its Slurm job gave no result ({ends}){said}");
                self.results.add(key, Err(why));
            } else {
                open.push(self.positions[key]);
            }
        }
        let looks = |key: String| {
            let looks = self.missing.get(&key).map_or(1, |looks| looks + 1);
            (key, looks)
        };
        self.missing = without.into_iter().map(looks).collect();
        open.sort_unstable();
        open
    }

    /// The batch and task that had a run last.
    fn last_task(&self, key: &String) -> Option<(usize, usize)> {
        let of = |(at, batch): (usize, &Batch)| {
            batch.tasks.iter().position(|keys| keys.contains(key)).map(|task| (at, task))
        };
        self.batches.iter().enumerate().rev().find_map(of)
    }

    /// Submits runs. If Slurm takes no more jobs now and some are in the queue, the rest waits for the next look.
    fn submit(&mut self, open: &[usize], most: usize, busy: bool) -> Result<(), String> {
        let settings = self.cluster.settings;
        let mut submitted = false;
        for positions in arrays(open, settings, most) {
            let number = 1 + self.batches.iter().filter_map(|batch| self.number(batch)).max().unwrap_or(0);
            let plan = self.sweep.plan;
            let keys = |runs: &Vec<usize>| runs.iter().map(|at| plan.runs[*at].key.clone()).collect();
            let batch = Batch {
                name: format!("{}{number}", self.prefix),
                tasks: positions.iter().map(keys).collect(),
            };
            let (work, program) = (&self.work, &self.cluster.program);
            let paths = Paths { program, work, store: self.cluster.store.folder() };
            batch.write(plan, &positions, settings, &self.jobs, paths)?;
            match client::submit(&batch.script_path(&self.jobs)) {
                Ok(job) => {
                    let runs: usize = batch.tasks.iter().map(Vec::len).sum();
                    let again =
                        positions.iter().flatten().filter(|at| self.ends.contains_key(&plan.runs[**at].key));
                    let again = match again.count() {
                        0 => String::new(),
                        count => format!(", {count} of them again"),
                    };
                    self.news.push(format!(
                        "submitted array {job}: {runs} runs in {} jobs{again}",
                        batch.tasks.len()
                    ));
                    self.numbers.insert(batch.name.clone(), job);
                    self.batches.push(batch);
                    submitted = true;
                }
                Err(why) => {
                    batch.remove(&self.jobs);
                    if busy || submitted {
                        self.news.push(format!("Slurm takes no more jobs now, the rest waits: {why}"));
                        return Ok(());
                    }
                    return Err(why);
                }
            }
        }
        Ok(())
    }

    fn number(&self, batch: &Batch) -> Option<u64> {
        batch.name.strip_prefix(&self.prefix)?.parse().ok()
    }

    fn status(&self, queue: &Queue) -> Status {
        let arrays = || self.batches.iter().filter_map(|batch| queue.get(&batch.name));
        let running = arrays().map(|waiting| waiting.running).sum();
        let failed = self.positions.iter().filter(|(key, at)| {
            self.results.has(key) && self.results.of(self.sweep.plan, &self.sweep.plan.runs[**at]).is_err()
        });
        Status {
            done: self.count(),
            of: self.positions.len(),
            failed: failed.count(),
            running,
            waiting: arrays().map(|waiting| waiting.tasks.len()).sum::<usize>() - running,
            reason: arrays()
                .map(|waiting| waiting.reason.clone())
                .find(|reason| !reason.is_empty())
                .unwrap_or_default(),
            news: self.news.clone(),
        }
    }

    /// Removes scripts and lists when every task has ended.
    fn tidy(&self) {
        self.batches.iter().for_each(|batch| batch.remove(&self.jobs));
        // A plan that remains does no harm.
        let _ = std::fs::remove_file(&self.work);
    }
}
