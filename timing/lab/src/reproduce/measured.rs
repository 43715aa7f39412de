//! A figure's values: ours beside the paper's, by program or kernel, and their means.

use super::experiment::{By, Experiment, Figure, Form, MEAN, Program, Relation, Replayed, Series};
use super::question::{questions, recording};
use super::work::Answers;
use super::workloads::Recording;
use crate::numbers::Numbers;

/// A figure as measured.
#[derive(Clone, Debug)]
pub struct Measured<'a> {
    /// The figure.
    pub figure: &'a Figure,
    /// Programs or kernels.
    pub lines: Vec<Line>,
    /// Means over all programs and over groups.
    pub means: Vec<Line>,
    /// Of a figure of curves: that of each program's main kernel.
    pub curves: Vec<(String, Vec<(f64, f64)>)>,
    /// Programs without values, and why.
    pub missing: Vec<(String, String)>,
}

/// The values of a program, of a kernel, or a mean; a value that does not exist is not a number.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Name of the program, program and kernel, or what the mean is over.
    pub label: String,
    /// Groups of the program.
    pub groups: Vec<String>,
    /// Ours, by series.
    pub ours: Vec<f64>,
    /// The paper's, by series.
    pub paper: Vec<f64>,
}

/// The values of a figure.
#[must_use]
pub fn measured<'a>(
    experiment: &Experiment,
    figure: &'a Figure,
    answers: &Answers,
    defaults: &Recording,
) -> Measured<'a> {
    let programs = experiment.programs_of(figure);
    let mut all =
        Measured { figure, lines: Vec::new(), means: Vec::new(), curves: Vec::new(), missing: Vec::new() };
    for program in &programs {
        if let Err(why) = all.add(experiment, program, answers, defaults) {
            all.missing.push((program.name.clone(), why));
        }
    }
    let means = |name: &str, of: &dyn Fn(&&Line) -> bool, label: String| Line {
        label,
        groups: Vec::new(),
        ours: (0..figure.series.len())
            .map(|i| figure.mean.of_shares(all.lines.iter().filter(of).map(|line| line.ours[i])))
            .collect(),
        paper: figure.series.iter().map(|series| reported(series, name)).collect(),
    };
    if figure.form != Form::Curve {
        let name = figure.mean.name().to_lowercase();
        let mut lines = vec![means(MEAN, &|_| true, name.clone())];
        let groups = Experiment::groups_of(&programs);
        if groups.len() > 1 {
            for group in groups {
                let within = |line: &&Line| line.groups.contains(&group);
                lines.push(means(&group, &within, format!("{name} of {group}")));
            }
        }
        all.means = lines;
    }
    all
}

impl Measured<'_> {
    fn add(
        &mut self,
        experiment: &Experiment,
        program: &Program,
        answers: &Answers,
        defaults: &Recording,
    ) -> Result<(), String> {
        let figure = self.figure;
        let mut lines: Vec<Line> = Vec::new();
        for (place, series) in figure.series.iter().enumerate() {
            let recording = recording(program, series, defaults);
            let asked = questions(experiment, figure, series);
            let found = asked.iter().map(|question| answers.of(&recording, question));
            let found = found.collect::<Result<Vec<_>, String>>()?;
            let [answer, rest @ ..] = &found[..] else { continue };
            if figure.form == Form::Curve {
                // The kernel whose warp has the longest way is the program's main one.
                let length = |points: &[(f64, f64)]| points.last().map_or(0.0, |last| last.0);
                let longest = answer.courses.iter().max_by(|(_, a), (_, b)| length(a).total_cmp(&length(b)));
                let (kernel, points) = longest.ok_or("the study drew no curve")?;
                self.curves.push((format!("{}: {kernel}", program.name), points.clone()));
                continue;
            }
            let baseline = rest.first();
            let mut values: Vec<(String, f64)> = Vec::new();
            match figure.by {
                By::Program => {
                    let plain = baseline.map(|answer| &answer.total);
                    values.push((program.name.clone(), value(series, &answer.total, plain)?));
                }
                By::Kernel => {
                    for (kernel, numbers) in &answer.kernels {
                        let same = |(name, _): &&(String, Numbers)| name == kernel;
                        let plain = baseline.and_then(|answer| answer.kernels.iter().find(same));
                        let label = format!("{}: {kernel}", program.name);
                        values.push((label, value(series, numbers, plain.map(|(_, numbers)| numbers))?));
                    }
                }
            }
            for (label, value) in values {
                let at = lines.iter().position(|line| line.label == label).unwrap_or_else(|| {
                    let none = vec![f64::NAN; figure.series.len()];
                    lines.push(Line {
                        label,
                        groups: program.groups.clone(),
                        ours: none.clone(),
                        paper: none,
                    });
                    lines.len() - 1
                });
                lines[at].ours[place] = value;
                if figure.by == By::Program {
                    lines[at].paper[place] = reported(series, &program.name);
                }
            }
        }
        self.lines.extend(lines);
        Ok(())
    }
}

/// What the paper reports of a program, a group or the mean.
fn reported(series: &Series, name: &str) -> f64 {
    series.paper.get(name).copied().unwrap_or(f64::NAN)
}

fn value(series: &Series, numbers: &Numbers, baseline: Option<&Numbers>) -> Result<f64, String> {
    if let Some(share) = &series.share {
        // A share of nothing is no number in the study either.
        return Ok(numbers.get(share).copied().unwrap_or(f64::NAN));
    }
    let Some(replayed) = &series.replay else { return Ok(f64::NAN) };
    let own = quotient(replayed, numbers)?;
    let plain = || quotient(replayed, baseline.ok_or("the machine without techniques has no such kernel")?);
    Ok(match replayed.relation {
        Relation::None => own,
        Relation::Over => own / plain()?,
        Relation::Under => plain()? / own,
    })
}

fn quotient(replayed: &Replayed, numbers: &Numbers) -> Result<f64, String> {
    let sum = |keys: &[String]| -> Result<f64, String> {
        // A machine without techniques has no energy of theirs.
        let absent = |key: &str| key.starts_with("energy_pj.").then_some(0.0);
        let one = |key: &String| {
            let (sign, key) = key.strip_prefix('-').map_or((1.0, key.as_str()), |key| (-1.0, key));
            let found = numbers.get(key).copied().or(absent(key));
            found.map(|number| sign * number).ok_or_else(|| format!("the replay counted no {key}"))
        };
        keys.iter().map(one).sum()
    };
    Ok(sum(&replayed.of)? / if replayed.per.is_empty() { 1.0 } else { sum(&replayed.per)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replayed(relation: Relation) -> Replayed {
        let keys = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Replayed { tech: Vec::new(), set: Vec::new(), of: keys(&["a", "b"]), per: keys(&["c"]), relation }
    }

    fn numbers(a: f64, b: f64, c: f64) -> Numbers {
        [("a", a), ("b", b), ("c", c)].map(|(key, value)| (key.to_owned(), value)).into()
    }

    #[test]
    fn values_are_sums_over_sums_and_relate_to_the_plain_machine() -> Result<(), String> {
        let (own, plain) = (numbers(1.0, 2.0, 6.0), numbers(1.0, 1.0, 1.0));
        for (relation, expected) in [(Relation::None, 0.5), (Relation::Over, 0.25), (Relation::Under, 4.0)] {
            let series = Series {
                name: "s".into(),
                study: None,
                share: None,
                replay: Some(replayed(relation)),
                schedule: None,
                maxregs: None,
                paper: [].into(),
            };
            assert_eq!(value(&series, &own, Some(&plain))?, expected, "{relation:?}");
        }
        let mut less = replayed(Relation::None);
        less.of[1] = "-b".into();
        assert_eq!(quotient(&less, &own)?, -1.0 / 6.0);
        let why = quotient(&replayed(Relation::None), &[("a".to_owned(), 1.0)].into());
        assert_eq!(why, Err("the replay counted no b".into()));
        Ok(())
    }
}
