//! The charts of a study, from its figures.

use super::cells::{Sum, mean, shown_names};
use crate::define::{Figure, Marks, Share, Shown, Study};
use crate::rows::KernelCounts;
use report::{Axis, BarChart, Chart, Format, Line, LineChart, Series, StackedChart};

/// Every chart.
pub(super) fn charts(
    study: &Study,
    number: usize,
    rows: &[KernelCounts],
    sums: &[Sum<'_>],
    groups: &[(u8, Vec<Sum<'_>>)],
) -> Vec<Chart> {
    let figure = |figure: &Figure| {
        let shares: Vec<&Share> = figure.shares.iter().map(|&i| &study.shares[i]).collect();
        match figure.marks {
            Marks::Bars => bars(study, figure, &shares, sums).into(),
            Marks::Stack => stack(study, figure, &shares, &[(0, sums)]).into(),
            Marks::StackByDimensions => {
                let groups: Vec<_> = groups.iter().map(|(dims, sums)| (*dims, sums.as_slice())).collect();
                stack(study, figure, &shares, &groups).into()
            }
            Marks::Lines(x, values) => lines(study, figure, &shares, sums, (x, values)).into(),
        }
    };
    study.figures.iter().map(figure).chain(course(study, number, rows)).collect()
}

fn axis(shares: &[&Share]) -> Axis {
    let whole = shares.first().is_some_and(|share| share.is_whole());
    match shares.first().map(|share| share.shown) {
        Some(Shown::Number(unit)) if whole => Axis::new(unit, Format::Integer).min(0.0),
        Some(Shown::Number(unit)) => Axis::new(unit, Format::Float(2)).min(0.0),
        _ => Axis::new("Share", Format::Percent(1)).min(0.0),
    }
}

fn bars(study: &Study, figure: &Figure, shares: &[&Share], sums: &[Sum<'_>]) -> BarChart {
    let mut names: Vec<&str> = sums.iter().map(|(trace, _)| *trace).collect();
    if sums.len() > 1 {
        names.push("mean");
    }
    let chart = BarChart::new(figure.title, axis(shares))
        .id(figure.id)
        .caption(figure.caption)
        .categories("Trace", names);
    let chart = if sums.len() > 1 { chart.mean_last() } else { chart };
    shares.iter().fold(chart, |chart, share| {
        let values = sums.iter().map(|(_, sum)| share.value(sum));
        let mean = (sums.len() > 1).then(|| mean(study, share, sums));
        chart.series(Series::new(share.name, values.chain(mean)))
    })
}

fn stack(study: &Study, figure: &Figure, shares: &[&Share], groups: &[(u8, &[Sum<'_>])]) -> StackedChart {
    let mut stacks: Vec<(String, &str, Vec<f64>)> = Vec::new();
    for (dimensions, sums) in groups {
        let group = format!("{dimensions}D blocks");
        for (trace, sum) in *sums {
            stacks.push((group.clone(), trace, shares.iter().map(|share| share.value(sum)).collect()));
        }
        if sums.len() > 1 {
            stacks.push((group, "mean", shares.iter().map(|share| mean(study, share, sums)).collect()));
        }
    }
    let chart = StackedChart::new(figure.title, axis(shares)).id(figure.id).caption(figure.caption);
    let chart = match groups {
        [(0, _)] => chart.categories("Trace", stacks.iter().map(|(_, trace, _)| *trace)),
        _ => chart.grouped("Blocks", "Trace", stacks.iter().map(|(group, trace, _)| (group.clone(), *trace))),
    };
    shares.iter().enumerate().fold(chart, |chart, (i, share)| {
        chart.series(Series::new(share.name, stacks.iter().map(|(.., values)| values[i])))
    })
}

fn lines(
    study: &Study,
    figure: &Figure,
    shares: &[&Share],
    sums: &[Sum<'_>],
    (x, values): (&str, &[f64]),
) -> LineChart {
    let chart = LineChart::new(figure.title, Axis::new(x, Format::Integer), axis(shares))
        .id(figure.id)
        .caption(figure.caption)
        .from_zero();
    let points = |value: &dyn Fn(&Share) -> f64| -> Vec<(f64, f64)> {
        values.iter().zip(shares).map(|(x, share)| (*x, value(share))).collect()
    };
    // A chart has room for a small plot per trace; of more traces it shows the mean, as papers do.
    if sums.len() > MOST_TRACES {
        return chart.line(Line::new("mean", points(&|share| mean(study, share, sums))));
    }
    let with = |chart: LineChart, (trace, sum): &Sum<'_>| {
        chart.line(Line::new(*trace, points(&|share| share.value(sum))))
    };
    sums.iter().fold(chart, with)
}

/// Maximum number of kernels in a course.
const MOST_LINES: usize = 12;

/// Maximum number of traces with a line of their own.
const MOST_TRACES: usize = 24;

fn course(study: &Study, number: usize, rows: &[KernelCounts]) -> Option<Chart> {
    let course = study.course?;
    let mut lines = rows.iter().filter(|row| !row.course[number].is_empty()).take(MOST_LINES).peekable();
    lines.peek()?;
    let names = shown_names(rows);
    let x = Axis::new("Instructions executed by the warp", Format::Integer);
    let chart = LineChart::new(course.title, x, Axis::new(course.y, Format::Percent(0)).min(0.0))
        .id(course.id)
        .caption(course.caption);
    let with = |chart: LineChart, row: &KernelCounts| {
        let name = format!("{}: {}", row.trace, names.get(&row.kernel.name));
        chart.line(Line::new(name, row.course[number].iter().copied()))
    };
    Some(lines.fold(chart, with).into())
}
