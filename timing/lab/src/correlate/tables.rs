//! The tables of a correlation, as terminals and pages show them.

use super::correlation::{Compared, Correlation};
use super::metrics::{Kind, Metric};
use super::statistics::{BAND, BAND_POINTS, Statistics, agrees, error};
use report::{Cell, Column, Format, Table};

/// Heading of a metric; counters have none but their name.
pub(super) fn heading(metric: &Metric) -> String {
    if metric.title == metric.name { metric.name.replace('_', " ") } else { metric.title.to_owned() }
}

/// A metric's deviation as tables show it.
fn error_column(metric: &Metric, name: &str) -> Column {
    let column = match metric.kind {
        Kind::Count => {
            Column::number(name, Format::Change(1)).help("Difference from the reference, as a part of it")
        }
        Kind::Percentage => Column::float(name, 1).unit("points").help("Difference in percentage points"),
    };
    column.key(format!("{}_{}", metric.name, name.to_lowercase().replace(' ', "_")))
}

fn value_column(metric: &Metric, name: &str, key: &str) -> Column {
    let column = match metric.kind {
        Kind::Count if metric.name.ends_with("ipc") => Column::float(name, 3),
        Kind::Count => Column::integer(name),
        Kind::Percentage => Column::float(name, 1).unit("%"),
    };
    column.key(key).help(metric.about)
}

fn deviation(metric: &Metric, both: Option<(f64, f64)>) -> Cell {
    both.map(|(ours, reference)| error(metric.kind, ours, reference)).into()
}

/// Columns that name a kernel, and their cells.
struct Names {
    programs: bool,
}

impl Names {
    fn of(correlation: &Correlation) -> Names {
        let first = &correlation.kernels[0].pair.program;
        Names { programs: correlation.kernels.iter().any(|one| one.pair.program != *first) }
    }

    fn columns(&self) -> Vec<Column> {
        let program = self.programs.then(|| Column::text("Program"));
        [Column::text("Kernel")].into_iter().chain(program).collect()
    }

    fn cells(&self, one: &Compared, label: &str) -> Vec<Cell> {
        let program = self.programs.then(|| Cell::from(&one.pair.program));
        [Cell::from(label)].into_iter().chain(program).collect()
    }
}

impl Correlation {
    /// A row per kernel, or for the first `most` of `order`: cycles and instructions of both sides, with errors before and
    /// after if there is an earlier state.
    #[must_use]
    pub fn kernels_table(&self, order: &[usize]) -> Table {
        let names = Names::of(self);
        let main = self.main_metric();
        let beside =
            self.of("warp_instructions").map(|one| one.metric).filter(|metric| metric.name != main.name);
        let mut columns = names.columns();
        for metric in [Some(main), beside].into_iter().flatten() {
            columns.push(value_column(&metric, &heading(&metric), metric.name));
            columns.push(value_column(&metric, "Reference", &format!("{}_reference", metric.name)));
            if metric.name == main.name && self.before.is_some() {
                columns.push(error_column(&metric, "Error before"));
            }
            columns.push(error_column(&metric, "Error"));
        }
        let title = format!("{} by kernel", heading(&main));
        let mut table = Table::new(title, columns).id("kernels");
        let labels = self.labels();
        for index in order {
            let one = &self.kernels[*index];
            let mut cells = names.cells(one, &labels[*index]);
            for metric in [Some(main), beside].into_iter().flatten() {
                let (ours, reference) = (one.pair.ours.get(metric.name), one.pair.reference.get(metric.name));
                cells.extend([Cell::from(ours.copied()), reference.copied().into()]);
                if metric.name == main.name && self.before.is_some() {
                    let before = one.before.as_ref().and_then(|before| before.get(metric.name));
                    cells.push(deviation(&metric, before.copied().zip(reference.copied())));
                }
                cells.push(deviation(&metric, one.both(metric.name)));
            }
            table.push(cells);
        }
        table
    }

    /// A row per kernel with the quotient or difference of every other metric; none if there is no other.
    #[must_use]
    pub fn others_table(&self, order: &[usize]) -> Option<Table> {
        let main = self.main_metric();
        let shown = |metric: &Metric| metric.name != main.name && metric.name != "warp_instructions";
        let metrics: Vec<Metric> = self.statistics.iter().map(|one| one.metric).filter(shown).collect();
        if metrics.is_empty() {
            return None;
        }
        let names = Names::of(self);
        let of_metric = |metric: &Metric| match metric.kind {
            Kind::Count => Column::ratio(heading(metric), 2).key(metric.name).help(metric.about),
            Kind::Percentage => {
                Column::float(heading(metric), 1).unit("points").key(metric.name).help(metric.about)
            }
        };
        let columns = names.columns().into_iter().chain(metrics.iter().map(of_metric));
        let differences = metrics.iter().any(|metric| metric.kind == Kind::Percentage);
        let title = if differences {
            "Other metrics: ours over the reference, percentages as differences"
        } else {
            "Other metrics: ours over the reference"
        };
        let mut table = Table::new(title, columns).id("others");
        let labels = self.labels();
        for index in order {
            let one = &self.kernels[*index];
            let mut cells = names.cells(one, &labels[*index]);
            cells.extend(metrics.iter().map(|metric| relation(metric, one)));
            table.push(cells);
        }
        Some(table)
    }

    /// Agreement by metric: counts, and percentages. A table without rows is left out.
    #[must_use]
    pub fn statistics_tables(&self) -> Vec<Table> {
        let kinds = [Kind::Count, Kind::Percentage].map(|kind| self.statistics_table(kind));
        kinds.into_iter().filter(|table| !table.rows().is_empty()).collect()
    }

    fn statistics_table(&self, kind: Kind) -> Table {
        let counts = kind == Kind::Count;
        let error = |name: &str| {
            if counts { Column::percent(name, 1) } else { Column::float(name, 1).unit("points") }
        };
        let bias =
            |name: &str| if counts { Column::ratio(name, 3) } else { Column::float(name, 1).unit("points") };
        let bias_name = if counts { "Geometric mean ratio" } else { "Mean difference" };
        let within = if counts {
            format!("Within ±{:.0} %", BAND * 100.0)
        } else {
            format!("Within ±{BAND_POINTS:.0} points")
        };
        let mut columns = vec![Column::text("Metric"), Column::integer("Kernels")];
        if self.before.is_some() {
            columns.push(error("Mean absolute error before").key("mean_error_before"));
        }
        columns.push(error("Mean absolute error").key("mean_error"));
        if self.before.is_some() {
            columns.push(bias(&format!("{bias_name} before")).key("bias_before"));
        }
        columns.extend([
            bias(bias_name).key("bias"),
            Column::float("Pearson", 3).key("pearson").help(if counts {
                "Correlation of logarithms"
            } else {
                "Correlation"
            }),
            Column::float("Rank correlation", 3).key("spearman").help("Spearman's"),
            Column::integer(within).key("within"),
        ]);
        let (title, id) = if counts {
            ("Agreement by metric", "agreement")
        } else {
            ("Agreement of percentages", "percentages")
        };
        let mut table = Table::new(title, columns).id(id);
        for (position, one) in self.statistics.iter().enumerate().filter(|(_, one)| one.metric.kind == kind) {
            let before = self.before.as_ref().map(|before| &before[position]);
            let mut cells = vec![Cell::from(heading(&one.metric)), one.kernels.into()];
            cells.extend(before.map(|before| Cell::from(before.mean_error)));
            cells.push(one.mean_error.into());
            cells.extend(before.map(|before| Cell::from(before.bias)));
            cells.extend([one.bias.into(), one.pearson.into(), one.spearman.into(), one.within.into()]);
            table.push(cells);
        }
        table
    }

    /// In words how errors moved since the earlier state; none without one.
    #[must_use]
    pub fn change(&self) -> Option<String> {
        let metric = self.main_metric();
        let position = self.statistics.iter().position(|one| one.metric.name == metric.name)?;
        let (before, after) = (self.before.as_ref()?.get(position)?, &self.statistics[position]);
        let (mut closer, mut farther, mut crossed) = (0, 0, 0);
        for one in &self.kernels {
            let reference = one.pair.reference.get(metric.name);
            let (Some(was), Some(now), Some(reference)) = (
                one.before.as_ref().and_then(|before| before.get(metric.name)),
                one.pair.ours.get(metric.name),
                reference,
            ) else {
                continue;
            };
            let (was, now) = (error(metric.kind, *was, *reference), error(metric.kind, *now, *reference));
            closer += usize::from(now.abs() < was.abs());
            farther += usize::from(now.abs() > was.abs());
            crossed += usize::from(now * was < 0.0);
        }
        let figure = |of: fn(&Statistics) -> f64, one: &Statistics| match metric.kind {
            Kind::Count => Format::Percent(1).show(of(one)),
            Kind::Percentage => Format::Float(1).show(of(one)),
        };
        let bias = |one: &Statistics| match metric.kind {
            Kind::Count => Format::Ratio(3).show(one.bias),
            Kind::Percentage => Format::Float(1).show(one.bias),
        };
        Some(format!(
            "{}: mean absolute error {} before, {} now; bias {} before, {} now. {closer} kernels are closer to the \
             reference, {farther} farther; {crossed} changed from too many to too few or the reverse.",
            heading(&metric),
            figure(|one| one.mean_error, before),
            figure(|one| one.mean_error, after),
            bias(before),
            bias(after),
        ))
    }

    /// In words what the time of a kernel goes to, and which other metrics are off by more than the band.
    #[must_use]
    pub fn explanation(&self, index: usize) -> String {
        let one = &self.kernels[index];
        let total: u64 = one.pair.slots.iter().map(|(_, slots)| slots).sum();
        let share = |(label, slots): &(&str, u64)| {
            format!("{label} {}", Format::Percent(0).show(*slots as f64 / total as f64))
        };
        let slots: Vec<String> = one.pair.slots.iter().take(4).map(share).collect();
        let main = self.main_metric();
        let is_off = |metric: &Metric| {
            let both = one.both(metric.name).filter(|_| metric.name != main.name);
            both.is_some_and(|(ours, reference)| !agrees(metric.kind, ours, reference))
        };
        let off = self.statistics.iter().map(|one| one.metric).filter(is_off).map(|metric| {
            let shown = match (metric.kind, relation(&metric, one).number()) {
                (_, None) => "where the reference has none".to_owned(),
                (Kind::Count, Some(ratio)) => Format::Ratio(2).show(ratio),
                (Kind::Percentage, Some(points)) => format!("{points:+.1} points"),
            };
            format!("{} {shown}", heading(&metric))
        });
        let off: Vec<String> = off.collect();
        let slots = if slots.is_empty() { String::new() } else { format!("slots: {}", slots.join(", ")) };
        let off = if off.is_empty() { String::new() } else { format!("also off: {}", off.join(", ")) };
        [slots, off].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
    }

    /// The kernels farthest from the reference, each with its deviation and an explanation.
    #[must_use]
    pub fn worst_lines(&self, most: usize) -> Vec<(String, String, String)> {
        let main = self.main_metric();
        let labels = self.labels();
        let line = |index: usize| {
            let one = &self.kernels[index];
            let program =
                if one.pair.program.is_empty() { String::new() } else { format!(" ({})", one.pair.program) };
            let shown = match (main.kind, relation(&main, one).number()) {
                (_, None) => "no quotient".to_owned(),
                (Kind::Count, Some(ratio)) => Format::Ratio(2).show(ratio),
                (Kind::Percentage, Some(points)) => format!("{points:+.1} points"),
            };
            (format!("{}{program}", labels[index]), shown, self.explanation(index))
        };
        self.worst().into_iter().take(most).map(line).collect()
    }
}

/// Ours over the reference, or the difference of percentages.
fn relation(metric: &Metric, one: &Compared) -> Cell {
    let quotient = |(ours, reference): (f64, f64)| match metric.kind {
        Kind::Count if ours == reference => 1.0,
        Kind::Count => ours / reference,
        Kind::Percentage => ours - reference,
    };
    one.both(metric.name).map(quotient).into()
}
