//! A reproduction as a page and as text: the paper beside ours.

use super::experiment::{By, Experiment, Figure, Form, Unit};
use super::measured::{Line, Measured};
use crate::provenance::VERSION;
use report::{
    Axis, BarChart, Callout, Cell, Chart, Column, Format, Line as Curve, LineChart, Mean, Report, Section,
    Series, StackedChart, Table,
};

/// The page; `about` are facts for its head.
#[must_use]
pub fn page(experiment: &Experiment, figures: &[Measured<'_>], about: &[(&str, String)]) -> Report {
    let paper = &experiment.paper;
    let report = Report::new(format!("{}, reproduced", paper.name))
        .subtitle(format!("{} ({}).", paper.title, paper.citation))
        .fact("Warplab", VERSION);
    let report = about.iter().fold(report, |report, (name, value)| report.fact(*name, value));
    let mut overview = Section::new("Ours beside the paper's").text(
        "Means over the programs of each figure. Nothing is tuned to match; programs are our own, after the same algorithms.",
    );
    let means = summary(figures);
    if !means.rows().is_empty() {
        overview = overview.table(means);
    }
    for note in &paper.notes {
        overview = overview.callout(Callout::note(note));
    }
    figures.iter().fold(report.section(overview), |report, one| report.section(section(experiment, one))).footer(
        "Written by `timing reproduce`. Equal programs, experiment and version give equal figures, byte for byte.",
    )
}

/// The figures as text for a terminal: a table each, then the means beside the paper's.
#[must_use]
pub fn text(experiment: &Experiment, figures: &[Measured<'_>]) -> String {
    let mut text = String::new();
    for one in figures {
        text += &format!("{}\n", heading(experiment, one.figure));
        match one.figure.form {
            Form::Curve => {
                text += &format!("{}: {} curves, in the page\n", one.figure.title, one.curves.len());
            }
            Form::Bars | Form::Stacked => text += &table(one).to_text(),
        }
        for sentence in &one.figure.differs {
            text += &format!("note: {sentence}\n");
        }
        for (program, why) in &one.missing {
            text += &format!("missing: {program} ({why})\n");
        }
        text += "\n";
    }
    let means = summary(figures);
    if !means.rows().is_empty() {
        text += &means.to_text();
    }
    text
}

/// The means that the paper reports, beside ours.
fn summary(figures: &[Measured<'_>]) -> Table {
    let columns = [
        Column::text("Figure"),
        Column::text("Quantity"),
        Column::text("Over"),
        Column::integer("Bars").help("Programs or kernels that the mean is over"),
        Column::text("Ours"),
        Column::text("Paper"),
        Column::text("Difference").help("Percentage points of shares, percent of other values"),
    ];
    let mut table = Table::new("Means: ours and the paper's", columns).id("means");
    for one in figures {
        let figure = one.figure;
        for (place, line) in one.means.iter().enumerate() {
            let within = |of: &&Line| {
                place == 0 || of.groups.iter().any(|group| line.label.ends_with(&format!(" of {group}")))
            };
            for (i, series) in figure.series.iter().enumerate() {
                let (ours, paper) = (line.ours[i], line.paper[i]);
                if place > 0 && !paper.is_finite() {
                    continue;
                }
                let counted = one.lines.iter().filter(within).filter(|line| line.ours[i].is_finite()).count();
                table.push(report::cells![
                    &figure.id,
                    &series.name,
                    &line.label,
                    counted as u64,
                    shown(figure, ours),
                    shown(figure, paper),
                    difference(figure, ours, paper),
                ]);
            }
        }
    }
    table
}

fn format(figure: &Figure) -> Format {
    match figure.unit {
        Unit::Percent => Format::Percent(1),
        Unit::Ratio => Format::Ratio(3),
        Unit::Number => Format::Float(2),
    }
}

fn shown(figure: &Figure, value: f64) -> String {
    if value.is_finite() { format(figure).show(value) } else { report::MISSING.to_owned() }
}

fn difference(figure: &Figure, ours: f64, paper: f64) -> String {
    let sign = |difference: f64| if difference < 0.0 { "−" } else { "+" };
    match figure.unit {
        _ if !(ours - paper).is_finite() => report::MISSING.to_owned(),
        Unit::Percent => {
            let points = (ours - paper) * 100.0;
            format!("{}{:.1} points", sign(points), points.abs())
        }
        Unit::Ratio | Unit::Number => {
            let part = (ours / paper - 1.0) * 100.0;
            format!("{}{:.1} %", sign(part), part.abs())
        }
    }
}

fn heading(experiment: &Experiment, figure: &Figure) -> String {
    let number = figure.id.chars().all(|c| c.is_ascii_digit() || c == '.');
    if number {
        format!("{}, Figure {}", experiment.paper.name, figure.id)
    } else {
        format!("{}, {}", experiment.paper.name, figure.id)
    }
}

fn section(experiment: &Experiment, one: &Measured<'_>) -> Section {
    let figure = one.figure;
    let mut section = Section::new(heading(experiment, figure)).text(format!("{}.", figure.title));
    for sentence in &figure.says {
        section = section.text(format!("The paper: {sentence}"));
    }
    for pair in charts(one).chunks(2) {
        section = match pair {
            [one] => section.chart(one.clone()),
            pair => section.row(|row| pair.iter().fold(row, |row, chart| row.chart(chart.clone()))),
        };
    }
    if figure.form != Form::Curve {
        section = section.table(table(one));
    }
    for sentence in &figure.differs {
        section = section.callout(Callout::note(sentence));
    }
    for (program, why) in &one.missing {
        section = section.callout(Callout::warning(format!("{program} is missing: {why}")));
    }
    section
}

fn id(figure: &Figure) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    format!("figure-{}", figure.id.chars().map(plain).collect::<String>())
}

/// The values of a figure, with those of the paper where it has any for a program.
fn table(one: &Measured<'_>) -> Table {
    let figure = one.figure;
    let number = |name: String| match figure.unit {
        Unit::Percent => Column::percent(name, 1),
        Unit::Ratio => Column::ratio(name, 3),
        Unit::Number => Column::float(name, 2),
    };
    // Values of single programs have columns beside ours; where the paper has means only, a row is enough.
    let reported = |i: usize| one.lines.iter().any(|line| line.paper[i].is_finite());
    let mut columns = vec![Column::text(if figure.by == By::Kernel { "Kernel" } else { "Program" })];
    for (i, series) in figure.series.iter().enumerate() {
        columns.push(number(series.name.clone()));
        if reported(i) {
            columns.push(number(format!("{}, paper", series.name)).key(format!("{} paper", series.name)));
        }
    }
    let cells = |line: &Line| {
        let mut cells = vec![Cell::from(&line.label)];
        for i in 0..figure.series.len() {
            cells.push(line.ours[i].into());
            if reported(i) {
                cells.push(line.paper[i].into());
            }
        }
        cells
    };
    let papers = |line: &Line| {
        let mut cells = vec![Cell::from(format!("{}, paper", line.label))];
        for i in 0..figure.series.len() {
            cells.push(line.paper[i].into());
            if reported(i) {
                cells.push(Cell::Missing);
            }
        }
        cells
    };
    let mut table = Table::new(figure.title.clone(), columns).id(id(figure));
    one.lines.iter().for_each(|line| table.push(cells(line)));
    one.means.iter().fold(table, |table, line| {
        let has = line.paper.iter().any(|value| value.is_finite());
        let table = table.summary(cells(line));
        if has { table.summary(papers(line)) } else { table }
    })
}

/// The figure in the paper's form: one chart, or a chart of each program's curve.
fn charts(one: &Measured<'_>) -> Vec<Chart> {
    match one.figure.form {
        Form::Curve => {
            one.curves.iter().enumerate().map(|(i, curve)| curve_chart(one.figure, i, curve)).collect()
        }
        Form::Bars | Form::Stacked => bars(one).into_iter().collect(),
    }
}

fn curve_chart(figure: &Figure, number: usize, (name, points): &(String, Vec<(f64, f64)>)) -> Chart {
    let x = Axis::new("Instructions executed by the warp", Format::Integer);
    let y = Axis::new(&figure.series[0].name, Format::Percent(0)).min(0.0).max(1.0);
    let id = format!("{}-chart-{}", id(figure), number + 1);
    LineChart::new(name, x, y).id(id).line(Curve::new(&figure.series[0].name, points.iter().copied())).into()
}

/// Bars or stacks of the programs, then the mean, and the paper's mean where it has one.
fn bars(one: &Measured<'_>) -> Option<Chart> {
    let figure = one.figure;
    let id = format!("{}-chart", id(figure));
    if one.lines.is_empty() {
        return None;
    }
    let axis = match figure.unit {
        Unit::Percent => Axis::new("Share", Format::Percent(0)),
        Unit::Ratio => Axis::new("Relative to the machine without techniques", Format::Ratio(2)),
        Unit::Number => Axis::new("Value", Format::Float(1)),
    };
    let mut labels: Vec<&str> = one.lines.iter().map(|line| line.label.as_str()).collect();
    let mean = one.means.first()?;
    labels.push(if figure.mean == Mean::Geometric { "geometric mean" } else { "mean" });
    let reported = mean.paper.iter().any(|value| value.is_finite());
    if reported {
        labels.push("paper's mean");
    }
    let kind = if figure.by == By::Kernel { "Kernel" } else { "Program" };
    let values = |i: usize| {
        let programs = one.lines.iter().map(move |line| line.ours[i]);
        programs.chain([mean.ours[i]]).chain(reported.then_some(mean.paper[i]))
    };
    let series = figure.series.iter().enumerate().map(|(i, series)| Series::new(&series.name, values(i)));
    Some(match figure.form {
        Form::Stacked => {
            let chart = StackedChart::new(&figure.title, axis).id(id).categories(kind, labels);
            series.fold(chart, StackedChart::series).into()
        }
        Form::Bars | Form::Curve => {
            let chart = BarChart::new(&figure.title, axis).id(id).categories(kind, labels);
            let chart = if figure.unit == Unit::Ratio { chart.diverging(1.0) } else { chart };
            series.fold(chart, BarChart::series).into()
        }
    })
}
