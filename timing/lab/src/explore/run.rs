//! An exploration as a sweep, and its scores.

use super::{Base, Point};
use crate::named::NamedMachine;
use crate::sweep::{self, Outcome, Plan, Requested, Results};
use crate::techniques::Catalogue;
use report::geometric_mean;

/// How a point does beside the plain machine: geometric means over the recordings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// Cycles of the plain machine over the point's.
    pub speed: f64,
    /// Energy of the register file and of the structures that techniques add, over the plain machine's.
    pub energy: f64,
    /// Bits that the techniques store in one SM.
    pub storage_bits: u64,
}

/// A point with its score, or with the reason for which it has none.
#[derive(Clone, Debug)]
pub struct Explored {
    /// The point.
    pub point: Point,
    /// Its score.
    pub score: Result<Score, String>,
    /// Speed by recording.
    pub speeds: Vec<f64>,
}

/// The sweep of every point, after the plain machines of their configurations, which are their baselines.
///
/// # Errors
/// A choice of launches that is no choice; the program or the folder cannot be read.
pub fn plan(
    base: Base<'_>,
    points: &[Point],
    requested: Requested<'_>,
    catalogue: &Catalogue,
) -> Result<Plan, String> {
    let point = |label: String, config: &str, tech: &[String], own: &[String], baseline: usize| {
        let machine = NamedMachine {
            name: label.clone(),
            config: config.to_owned(),
            tech: tech.to_vec(),
            set: [base.set_of(config), own].concat(),
        };
        sweep::Point { baseline, ..sweep::Point::new(label, machine, catalogue) }
    };
    let mut configs: Vec<&str> = Vec::new();
    for one in points {
        if !configs.contains(&one.config.as_str()) {
            configs.push(&one.config);
        }
    }
    let plain = |(at, config): (usize, &&str)| {
        let name = if configs.len() == 1 { "plain machine".into() } else { format!("plain {config}") };
        point(name, config, &[], &[], at)
    };
    let mut all: Vec<sweep::Point> = configs.iter().enumerate().map(plain).collect();
    for one in points {
        let baseline = configs.iter().position(|config| *config == one.config).unwrap_or_default();
        all.push(point(one.label.clone(), &one.config, &one.tech, &one.set, baseline));
    }
    Plan::of(all, requested, catalogue)
}

/// The scores of the points of an exploration's plan.
///
/// # Errors
/// A recording cannot be replayed on a plain machine.
pub fn explored(plan: &Plan, points: &[Point], results: &Results) -> Result<Vec<Explored>, String> {
    let own = |point: usize| -> Result<Vec<Measured>, String> {
        let of_point = plan.runs.iter().filter(|run| run.point == point);
        let measured = |run| results.of(plan, run).map(Measured::of);
        let named = |run: &sweep::PlannedRun, why: &str| format!("{}: {why}", plan.traces[run.trace].label);
        of_point.map(|run| measured(run).map_err(|why| named(run, why))).collect()
    };
    let first = plan.points.len() - points.len();
    let bases = (0..first).map(own).collect::<Result<Vec<_>, _>>()?;
    let scored = |(at, point): (usize, &Point)| {
        let base = &bases[plan.points[first + at].baseline];
        let own = own(first + at);
        let over = |own: &Vec<Measured>| -> Vec<f64> {
            base.iter().zip(own).map(|(plain, own)| plain.cycles / own.cycles).collect()
        };
        let speeds = own.as_ref().map(over).unwrap_or_default();
        let score = own.map(|own| Score {
            speed: geometric_mean(speeds.iter().copied()),
            energy: geometric_mean(base.iter().zip(&own).map(|(plain, own)| own.energy / plain.energy)),
            storage_bits: own.iter().map(|one| one.storage_bits).max().unwrap_or(0),
        });
        Explored { point: point.clone(), score, speeds }
    };
    Ok(points.iter().enumerate().map(scored).collect())
}

/// What counts of a replay.
struct Measured {
    cycles: f64,
    energy: f64,
    storage_bits: u64,
}

impl Measured {
    fn of(outcome: &Outcome) -> Measured {
        let number = |key: &str| outcome.total.get(key).copied().unwrap_or(f64::NAN);
        Measured {
            cycles: number("kernel_cycles"),
            energy: number(sweep::RF_ENERGY),
            storage_bits: outcome.storage_bits,
        }
    }
}
