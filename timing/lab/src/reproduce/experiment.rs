//! Experiments: data files that say what a paper measured, on which programs and machine, and what it reports.

use crate::config::load;
use crate::stats::{COUNTERS, LATENCIES, LatencyInfo, Stall};
use crate::studies;
use crate::techniques::Catalogue;
use report::Mean;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A paper's experiments.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// The paper.
    pub paper: Paper,
    /// Its programs, in the order of its figures.
    pub programs: Vec<Program>,
    /// Its figures.
    pub figures: Vec<Figure>,
}

/// A paper and its machine.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// The name of what it proposes.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Authors, place and year.
    pub citation: String,
    /// Configuration of replays.
    pub machine: String,
    /// Overrides of the configuration, as with `--set`.
    #[serde(default)]
    pub set: Vec<String>,
    /// What holds for all of its figures.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// A program of a paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Its name in the paper's figures.
    pub name: String,
    /// The workload that stands for it: the name of its launch manifest.
    pub workload: String,
    /// Groups that figures are divided into, such as `2D`.
    #[serde(default)]
    pub groups: Vec<String>,
    /// Registers per thread at most, as the paper's machine has them.
    #[serde(default)]
    pub maxregs: Option<u32>,
}

/// A figure, or a sentence with figures.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Its number in the paper, such as `2.4`.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// Whether it belongs to the paper's motivation, and needs none of its techniques.
    #[serde(default)]
    pub motivation: bool,
    /// Form of the chart.
    #[serde(default)]
    pub form: Form,
    /// Unit of its values.
    #[serde(default)]
    pub unit: Unit,
    /// Mean over programs.
    #[serde(default)]
    pub mean: Mean,
    /// Names of programs or groups; empty for all programs.
    #[serde(default)]
    pub programs: Vec<String>,
    /// What has a bar of its own.
    #[serde(default)]
    pub by: By,
    /// Configuration of the machine, if it is not the paper's.
    #[serde(default)]
    pub machine: Option<String>,
    /// Overrides of the configuration, for all series and their baseline.
    #[serde(default)]
    pub set: Vec<String>,
    /// What is measured.
    pub series: Vec<Series>,
    /// What the paper says of it.
    #[serde(default)]
    pub says: Vec<String>,
    /// Where and why ours differs.
    #[serde(default)]
    pub differs: Vec<String>,
}

/// Form of a chart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// A bar for every series of a program.
    #[default]
    Bars,
    /// A bar for each program, of all series.
    Stacked,
    /// A curve over the course of a warp, for the main kernel of each program.
    Curve,
}

/// Unit of values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Shares, written as fractions and shown as percentages.
    #[default]
    Percent,
    /// Quotients with a baseline of 1.
    Ratio,
    /// Plain numbers.
    Number,
}

/// What has a bar of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// Programs.
    #[default]
    Program,
    /// Kernels of programs, such as the layers of a network.
    Kernel,
}

/// One quantity of a figure: a share of a study, or a quotient of a replay's counters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// Its name in the figure.
    pub name: String,
    /// The study.
    #[serde(default)]
    pub study: Option<String>,
    /// Key of the study's share.
    #[serde(default)]
    pub share: Option<String>,
    /// The replay.
    #[serde(default)]
    pub replay: Option<Replayed>,
    /// Order of instructions, `emu record --schedule`.
    #[serde(default)]
    pub schedule: Option<String>,
    /// Registers per thread at most, `emu record --maxregs`.
    #[serde(default)]
    pub maxregs: Option<u32>,
    /// The paper's values: of programs, of groups, and the `mean`.
    #[serde(default)]
    pub paper: BTreeMap<String, f64>,
}

/// A value of a replay: the sum of some counters over the sum of others.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replayed {
    /// Techniques.
    #[serde(default)]
    pub tech: Vec<String>,
    /// Overrides of the configuration beside those of the paper and the figure.
    #[serde(default)]
    pub set: Vec<String>,
    /// Counters, as in the JSON of `timing replay`: `cycles`, `energy_pj.register_file`; those after a `-` are subtracted.
    pub of: Vec<String>,
    /// Counters that their sum is divided by; none for 1.
    #[serde(default)]
    pub per: Vec<String>,
    /// Relation to the same machine without techniques.
    #[serde(default)]
    pub relation: Relation,
}

/// Relation of a value to that of the same machine without techniques.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// The value itself.
    #[default]
    None,
    /// Divided by that of the machine without techniques.
    Over,
    /// That of the machine without techniques, divided by the value: cycles become speedups.
    Under,
}

/// The word that stands for all figures of a paper's motivation.
const MOTIVATION: &str = "motivation";

/// Key of a mean in a series' values of the paper.
pub(super) const MEAN: &str = "mean";

/// Whether the JSON of a replay can have a number under this dotted path.
fn is_counted(key: &str, catalogue: &Catalogue) -> bool {
    let key = key.strip_prefix('-').unwrap_or(key);
    let (head, rest) = key.split_once('.').unwrap_or((key, ""));
    match head {
        "ipc" => rest.is_empty(),
        "stalls" => Stall::ALL.iter().any(|cause| cause.name() == rest),
        "energy_pj" => !rest.is_empty(),
        "latency" => {
            let known =
                |row: &LatencyInfo| rest.strip_prefix(row.name).is_some_and(|rest| rest.starts_with('.'));
            LATENCIES.iter().any(known)
        }
        "technique" => catalogue.infos().any(|info| {
            let rest = rest.strip_prefix(info.name).and_then(|rest| rest.strip_prefix(".counters."));
            rest.is_none_or(|rest| info.counters.iter().any(|counter| counter.name == rest))
        }),
        _ => COUNTERS.iter().any(|row| row.name == key),
    }
}

impl Experiment {
    /// Reads an experiment; `origin` names the file in errors.
    ///
    /// # Errors
    /// The text is no TOML, a key is unknown or missing, or a name does not exist.
    pub fn parse(text: &str, origin: &str, catalogue: &Catalogue) -> Result<Experiment, String> {
        let experiment: Experiment =
            toml::from_str(text).map_err(|why| format!("{origin}: {}", why.to_string().trim_end()))?;
        experiment.check(catalogue).map_err(|why| format!("{origin}: {why}"))?;
        Ok(experiment)
    }

    /// The figures with these numbers, or all if there are none; `motivation` stands for those of the motivation.
    ///
    /// # Errors
    /// A number that the paper has not.
    pub fn figures(&self, ids: &[String]) -> Result<Vec<&Figure>, String> {
        let named =
            |figure: &Figure, id: &String| figure.id == *id || (figure.motivation && id == MOTIVATION);
        if let Some(id) = ids.iter().find(|id| !self.figures.iter().any(|figure| named(figure, id))) {
            let known: Vec<&str> = self.figures.iter().map(|figure| figure.id.as_str()).collect();
            let known = warplab_host::names::among(id, "there are", &known);
            return Err(format!("{} has no figure {id} here{known}, and {MOTIVATION}", self.paper.name));
        }
        let chosen = |figure: &&Figure| ids.is_empty() || ids.iter().any(|id| named(figure, id));
        Ok(self.figures.iter().filter(chosen).collect())
    }

    /// The programs of a figure.
    #[must_use]
    pub fn programs_of(&self, figure: &Figure) -> Vec<&Program> {
        let named = |program: &Program| {
            let named = |name: &String| program.name == *name || program.groups.contains(name);
            figure.programs.is_empty() || figure.programs.iter().any(named)
        };
        self.programs.iter().filter(|program| named(program)).collect()
    }

    /// Groups of programs, in order of appearance.
    #[must_use]
    pub fn groups_of(programs: &[&Program]) -> Vec<String> {
        let mut groups: Vec<String> = Vec::new();
        for group in programs.iter().flat_map(|program| &program.groups) {
            if !groups.contains(group) {
                groups.push(group.clone());
            }
        }
        groups
    }

    fn check(&self, catalogue: &Catalogue) -> Result<(), String> {
        load(&self.paper.machine, &self.paper.set).map_err(|why| format!("paper.machine: {why}"))?;
        for (place, program) in self.programs.iter().enumerate() {
            if self.programs[..place].iter().any(|earlier| earlier.name == program.name) {
                return Err(format!("the program {} is listed twice", program.name));
            }
        }
        for (place, figure) in self.figures.iter().enumerate() {
            if self.figures[..place].iter().any(|earlier| earlier.id == figure.id) {
                return Err(format!("there are two figures {}", figure.id));
            }
            self.check_figure(figure, catalogue).map_err(|why| format!("figure {}: {why}", figure.id))?;
        }
        Ok(())
    }

    fn check_figure(&self, figure: &Figure, catalogue: &Catalogue) -> Result<(), String> {
        let groups = Experiment::groups_of(&self.programs.iter().collect::<Vec<_>>());
        let known =
            |name: &String| self.programs.iter().any(|one| one.name == *name) || groups.contains(name);
        if let Some(name) = figure.programs.iter().find(|name| !known(name)) {
            return Err(format!("there is no program or group {name}"));
        }
        if figure.series.is_empty() {
            return Err("it has no series".into());
        }
        for series in &figure.series {
            let fail = |why: String| Err(format!("series {}: {why}", series.name));
            if let Some(name) = series.paper.keys().find(|name| *name != MEAN && !known(name)) {
                return fail(format!("`paper` names {name}, which is no program and no group"));
            }
            match (&series.study, &series.replay) {
                (Some(study), None) => {
                    let study = studies::find(study).map_err(|why| why.to_string())?;
                    match &series.share {
                        None if figure.form == Form::Curve && study.course.is_some() => {}
                        None => return fail("`share` is missing".into()),
                        Some(key) if study.shares.iter().any(|share| share.key == key) => {}
                        Some(key) => return fail(format!("the study {} has no share {key}", study.name)),
                    }
                }
                (None, Some(replay)) => {
                    let set = self.overrides(figure, &replay.set);
                    let loaded = load(self.machine(figure), &set).map_err(|why| why.to_string())?;
                    catalogue.select(&replay.tech, &loaded.config).map_err(|why| why.to_string())?;
                    let by_kernel = figure.by == By::Kernel;
                    let keys = replay.of.iter().chain(&replay.per);
                    let average = |key: &&String| key.starts_with("latency.") || *key == "ipc";
                    if let Some(key) = keys.clone().find(|key| by_kernel && average(key)) {
                        return fail(format!("{key} is no sum, and cannot be given by kernel"));
                    }
                    if let Some(key) = keys.clone().find(|key| !is_counted(key, catalogue)) {
                        return fail(format!("a replay counts no {key}; `timing list --counters` shows all"));
                    }
                    if replay.of.is_empty() {
                        return fail("`replay.of` names no counter".into());
                    }
                }
                _ => return fail("it needs either `study` or `replay`".into()),
            }
        }
        Ok(())
    }

    /// The configuration that a figure replays on.
    #[must_use]
    pub fn machine<'a>(&'a self, figure: &'a Figure) -> &'a str {
        figure.machine.as_deref().unwrap_or(&self.paper.machine)
    }

    /// Overrides of the machine for a figure, and further ones.
    #[must_use]
    pub fn overrides(&self, figure: &Figure, further: &[String]) -> Vec<String> {
        self.paper.set.iter().chain(&figure.set).chain(further).cloned().collect()
    }
}
