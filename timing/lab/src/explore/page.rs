//! An exploration as a table and as a page.

use super::front::{PLAIN, marks};
use super::{Explored, Score};
use crate::provenance::VERSION;
use report::{Axis, Callout, Cell, Column, Format, Points, Report, ScatterChart, Section, Table};

/// The points with their scores, the fastest first; those on the Pareto front are marked. The plain machine is one of them.
#[must_use]
pub fn table(explored: &[Explored]) -> Table {
    let columns = [
        Column::text("Point"),
        Column::ratio("IPC", 3)
            .help("Cycles of the plain machine over the point's, without launch latency, geometric mean"),
        Column::ratio("Register-file energy", 3).help(
            "Energy of the register file and of added structures over the plain machine's, geometric mean",
        ),
        Column::integer("Storage").unit("bits per SM").help("Bits that techniques add to an SM"),
        Column::text("Front").help("No other point is better in one of the three and as good in the others"),
    ];
    let mut table = Table::new("Points and the Pareto front", columns).id("points");
    for (label, score, on_front) in ranked(explored) {
        let mark = if on_front { "front" } else { "" };
        table.push([
            Cell::from(label),
            score.speed.into(),
            score.energy.into(),
            score.storage_bits.into(),
            Cell::from(mark),
        ]);
    }
    table
}

/// Labels and scores, the fastest first, and whether they are on the front.
fn ranked(explored: &[Explored]) -> Vec<(&str, Score, bool)> {
    let (marks, plain) = marks(explored);
    let found = explored
        .iter()
        .zip(marks)
        .filter_map(|(one, mark)| Some((one.point.label.as_str(), *one.score.as_ref().ok()?, mark?)));
    let mut rows: Vec<(&str, Score, bool)> =
        std::iter::once(("plain machine", PLAIN, plain)).chain(found).collect();
    rows.sort_by(|a, b| b.1.speed.total_cmp(&a.1.speed));
    rows
}

/// The page: the front as a chart and a table, and speed by recording; `about` are facts for its head.
#[must_use]
pub fn page(explored: &[Explored], traces: &[String], about: &[(&str, String)]) -> Report {
    let report =
        Report::new("Exploration").subtitle("Speed, register-file energy and storage of every point.");
    let report = report.fact("Warplab", VERSION);
    let report = about.iter().fold(report, |report, (name, value)| report.fact(*name, value));
    let rows = ranked(explored);
    let group = |on: bool, name: &str| {
        let points = rows.iter().filter(|row| row.2 == on).map(|row| (row.0, row.1.speed, row.1.energy));
        Points::new(name, points)
    };
    let axes = (
        Axis::new("IPC over the plain machine", Format::Ratio(2)),
        Axis::new("Register-file energy over the plain machine", Format::Ratio(2)),
    );
    let chart = ScatterChart::new("Speed and energy", axes.0, axes.1)
        .id("front")
        .caption(
            "The right and low points are the better ones. The dashed line joins those that none beats in speed and energy; a \
             point may be on the front for its storage.",
        )
        .points(group(true, "On the front"))
        .points(group(false, "Beaten by another point").neutral())
        .front("Front of speed and energy", front_of_two(&rows))
        .names();
    let mut section = Section::new("The Pareto front").chart(chart).table(table(explored));
    for one in explored {
        if let Err(why) = &one.score {
            section = section.callout(Callout::note(format!("{} is left out: {why}", one.point.label)));
        }
    }
    report.section(section).section(Section::new("Speed by recording").table(speeds(explored, traces))).footer(
        "Written by `timing explore`. Equal recordings, points and version give equal figures, byte for byte.",
    )
}

/// The points that no other one beats in speed and energy, by speed.
fn front_of_two(rows: &[(&str, Score, bool)]) -> Vec<(f64, f64)> {
    let beaten = |one: &Score| {
        rows.iter().any(|(_, other, _)| {
            other.speed >= one.speed
                && other.energy <= one.energy
                && (other.speed > one.speed || other.energy < one.energy)
        })
    };
    let front = rows.iter().filter(|(_, score, _)| !beaten(score));
    let mut front: Vec<(f64, f64)> = front.map(|(_, score, _)| (score.speed, score.energy)).collect();
    front.sort_by(|a, b| a.0.total_cmp(&b.0));
    front.dedup();
    front
}

fn speeds(explored: &[Explored], traces: &[String]) -> Table {
    let columns =
        std::iter::once(Column::text("Point")).chain(traces.iter().map(|trace| Column::ratio(trace, 3)));
    let mut table = Table::new("IPC over the plain machine, by recording", columns).id("speeds");
    for one in explored.iter().filter(|one| one.score.is_ok()) {
        let cells = one.speeds.iter().map(|speed| Cell::from(*speed));
        table.push(std::iter::once(Cell::from(one.point.label.as_str())).chain(cells));
    }
    table
}
