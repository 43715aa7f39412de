//! Section: techniques together beside each alone, and what the gains of each would make if they were independent.

use super::measure::{Lab, Workload, names};
use report::{Axis, BarChart, Callout, Cell, Column, Format, Section, Series, Table, geometric_mean};

/// A quantity relative to the baseline.
struct Quantity {
    title: &'static str,
    axis: &'static str,
    id: &'static str,
    /// Whether more is better.
    more_is_better: bool,
    of: fn(&Lab, &Workload, usize) -> f64,
}

const QUANTITIES: [Quantity; 3] = [
    Quantity {
        title: "IPC",
        axis: "IPC over baseline",
        id: "ipc",
        more_is_better: true,
        of: |_, workload, variant| workload.speedup(variant),
    },
    Quantity {
        title: "Register-file accesses",
        axis: "Bank accesses over baseline",
        id: "accesses",
        more_is_better: false,
        of: |_, workload, variant| workload.rf_accesses(variant),
    },
    Quantity {
        title: "Register-file energy",
        axis: "Energy over baseline",
        id: "energy",
        more_is_better: false,
        of: |lab, workload, variant| workload.rf_energy(lab, variant),
    },
];

/// The variants of a combination: each technique alone, and all together.
struct Together<'a> {
    label: &'a str,
    alone: &'a [usize],
    together: usize,
}

/// A quantity of a combination, on one workload or on average.
struct Measured {
    alone: Vec<f64>,
    product: f64,
    together: f64,
}

impl Together<'_> {
    fn on(&self, lab: &Lab, workload: &Workload, quantity: &Quantity) -> Measured {
        let value = |variant: usize| (quantity.of)(lab, workload, variant);
        let alone: Vec<f64> = self.alone.iter().map(|variant| value(*variant)).collect();
        Measured { product: alone.iter().product(), alone, together: value(self.together) }
    }

    /// Geometric means over the workloads.
    fn mean(&self, lab: &Lab, workloads: &[Workload], quantity: &Quantity) -> Measured {
        let of: Vec<Measured> = workloads.iter().map(|workload| self.on(lab, workload, quantity)).collect();
        let mean = |value: &dyn Fn(&Measured) -> f64| geometric_mean(of.iter().map(value));
        Measured {
            alone: (0..self.alone.len()).map(|at| mean(&|one| one.alone[at])).collect(),
            product: mean(&|one| one.product),
            together: mean(&|one| one.together),
        }
    }

    /// A row of a table, from the second column on.
    fn cells(&self, lab: &Lab, quantity: &Quantity, measured: &Measured) -> Vec<Cell> {
        let part = |(variant, value): (&usize, &f64)| {
            format!("{} {}", lab.variants[*variant].label, Format::Ratio(3).show(*value))
        };
        let parts: Vec<String> = self.alone.iter().zip(&measured.alone).map(part).collect();
        let difference = measured.together / measured.product - 1.0;
        let cells = report::cells![
            self.label,
            quantity.title,
            parts.join(", "),
            measured.product,
            measured.together,
            difference
        ];
        cells.into_iter().collect()
    }

    fn chart(&self, lab: &Lab, workloads: &[Workload], quantity: &Quantity) -> BarChart {
        let measured: Vec<Measured> =
            workloads.iter().map(|workload| self.on(lab, workload, quantity)).collect();
        let mut series: Vec<(&str, Vec<f64>)> = Vec::new();
        for (at, variant) in self.alone.iter().enumerate() {
            series.push((&lab.variants[*variant].label, measured.iter().map(|one| one.alone[at]).collect()));
        }
        series.push(("product", measured.iter().map(|one| one.product).collect()));
        series.push(("together", measured.iter().map(|one| one.together).collect()));
        // Small effects need one more digit to differ from none.
        let small = series.iter().flat_map(|(_, values)| values).all(|value| (value - 1.0).abs() < 0.1);
        let axis = Axis::new(quantity.axis, Format::Ratio(if small { 3 } else { 2 }));
        let chart = BarChart::new(format!("{}: {}", quantity.title, self.label), axis)
            .id(format!("together-{}-{}", anchor(self.label), quantity.id))
            .categories("Trace", names(workloads))
            .geometric_mean();
        let chart = if quantity.more_is_better { chart.diverging(1.0) } else { chart.baseline(1.0) };
        let series = series.into_iter().enumerate();
        series.fold(chart, |chart, (at, (name, values))| chart.series(Series::new(name, values).colour(at)))
    }
}

/// The section; there is at least one combination, and one workload.
pub(super) fn section(lab: &Lab, workloads: &[Workload]) -> Section {
    let mut section = Section::new("Techniques together").id("combinations").text(
        "Each technique alone, all of a combination together, and the product of what each does alone. If two techniques did \
         not touch each other, they would together reach the product; the difference is what they take from each other or \
         give to each other.",
    );
    let possible: Vec<Together<'_>> = lab
        .combinations
        .iter()
        .filter_map(|one| {
            let together = *one.together.as_ref().ok()?;
            Some(Together { label: &one.label, alone: &one.alone, together })
        })
        .collect();
    for refused in &lab.combinations {
        if let Err(why) = &refused.together {
            let label = &refused.label;
            section = section.callout(Callout::note(format!("{label} is left out: {why}.")));
        }
    }
    if possible.is_empty() {
        return section;
    }
    section = section.table(means(lab, workloads, &possible));
    for combination in &possible {
        let [ipc, accesses, energy] = QUANTITIES.map(|quantity| combination.chart(lab, workloads, &quantity));
        section = section.heading(combination.label).chart(ipc).row(|row| row.chart(accesses).chart(energy));
    }
    section.details("Techniques together, by trace", |d| d.table(by_trace(lab, workloads, &possible)))
}

/// A label as a part of an identifier.
fn anchor(label: &str) -> String {
    label.replace("++", "-plus").replace('+', "-and-")
}

fn columns() -> [Column; 6] {
    [
        Column::text("Combination"),
        Column::text("Over baseline"),
        Column::text("Each alone"),
        Column::ratio("Product", 3).help("Of the techniques alone, as if they were independent"),
        Column::ratio("Together", 3),
        Column::percent("Difference", 1).help("Together over the product, less one"),
    ]
}

fn means(lab: &Lab, workloads: &[Workload], possible: &[Together<'_>]) -> Table {
    let mut table = Table::new("Techniques together, geometric means", columns())
        .id("together")
        .caption("For IPC a positive difference is a gain, for accesses and energy a loss.");
    for combination in possible {
        for quantity in &QUANTITIES {
            let mean = combination.mean(lab, workloads, quantity);
            table.push(combination.cells(lab, quantity, &mean));
        }
    }
    table
}

fn by_trace(lab: &Lab, workloads: &[Workload], possible: &[Together<'_>]) -> Table {
    let columns = std::iter::once(Column::text("Trace")).chain(columns());
    let mut table = Table::new("Techniques together, trace by trace", columns).id("together-by-trace");
    for workload in workloads {
        for combination in possible {
            for quantity in &QUANTITIES {
                let measured = combination.on(lab, workload, quantity);
                let cells = combination.cells(lab, quantity, &measured);
                table.push(std::iter::once(Cell::from(&workload.label)).chain(cells));
            }
        }
    }
    table
}
