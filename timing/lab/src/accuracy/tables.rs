//! The tables of a reference, as terminals and pages show them.

use super::figures::{Group, Grouping};
use super::reference::Reference;
use crate::correlate::statistics::{BAND, error};
use report::{Cell, Column, Format, Table};

impl Reference {
    /// Mean absolute error, geometric mean of the quotient and share of rows within the band, by group and for all rows.
    pub(super) fn groups_table(&self, by: Grouping) -> Table {
        let word = by.word();
        let mut columns = vec![Column::text(word[..1].to_uppercase() + &word[1..]), Column::integer("Rows")];
        for column in &self.columns {
            let name = &column.name;
            columns.push(Column::percent(format!("{name}: error"), 1).help("Mean absolute error"));
            columns.push(
                Column::ratio(format!("{name}: ratio"), 2)
                    .help("Geometric mean of cycles over the reference's"),
            );
            let near = format!("{name}: within {:.0} %", 100.0 * BAND);
            columns.push(Column::percent(near, 0).help("Share of rows within the band"));
        }
        let mut table = Table::new(format!("By {word}"), columns).id(format!("{}-{word}", self.id));
        for group in self.groups(by) {
            table.push(cells(&group));
        }
        table.summary(cells(&self.overall()))
    }

    /// Every row with the cycles of all columns.
    pub(super) fn rows_table(&self) -> Table {
        let cycles = if self.is_of_steps() { Format::Float(2) } else { Format::Integer };
        let number = |name: &str| Column::number(name, cycles);
        let mut columns = vec![Column::text("Program"), Column::text("Kernel"), number("Reference")];
        for column in &self.columns {
            columns.push(number(&column.name));
            columns.push(Column::number(format!("{}: error", column.name), Format::Change(1)));
        }
        let mut table = Table::new("Every row", columns).id(format!("{}-rows", self.id));
        for row in &self.rows {
            let mut cells: Vec<Cell> =
                vec![row.program.as_str().into(), row.name.as_str().into(), row.reference.into()];
            for cycles in &row.cycles {
                let kind = super::figures::cycles().kind;
                cells.extend([Cell::from(*cycles), error(kind, *cycles, row.reference).into()]);
            }
            table.push(cells);
        }
        table
    }

    /// The choices of values, each with its error on programs that had no part in it; none if the reference has no such figure.
    pub(super) fn fits_table(&self) -> Option<Table> {
        if self.fits.is_empty() {
            return None;
        }
        let columns = [
            Column::text("Chosen values"),
            Column::text("Judged by"),
            Column::percent("Error", 1).help("With the values chosen with all programs"),
            Column::percent("One program left out", 1)
                .help("Each program judged with the values chosen with the others"),
            Column::text("Measured"),
        ];
        let mut table = Table::new("Fit and judgement", columns).id(format!("{}-fits", self.id));
        for fit in &self.fits {
            table.push([
                Cell::from(&fit.values),
                (&fit.judged_by).into(),
                fit.error.into(),
                fit.left_out.into(),
                (&fit.source).into(),
            ]);
        }
        Some(table)
    }
}

fn cells(group: &Group) -> Vec<Cell> {
    let mut cells = vec![Cell::from(&group.name), group.rows.into()];
    for figures in &group.figures {
        let share = figures.within as f64 / figures.kernels as f64;
        cells.extend([Cell::from(figures.mean_error), figures.bias.into(), share.into()]);
    }
    cells
}

/// One line per column of every reference, with whether its rows were used for fitting.
pub(super) fn overview(references: &[Reference]) -> Table {
    let columns = [
        Column::text("Reference"),
        Column::text("Id"),
        Column::integer("Rows"),
        Column::text("Used for fitting"),
        Column::text("Column"),
        Column::percent("Error", 1),
        Column::ratio("Ratio", 2),
        Column::percent(format!("Within {:.0} %", 100.0 * BAND), 0),
        Column::percent("One program left out", 1),
    ];
    let mut table = Table::new("All references", columns).id("references");
    for reference in references {
        let overall = reference.overall();
        for (position, (column, figures)) in reference.columns.iter().zip(&overall.figures).enumerate() {
            let left_out = reference.fits.first().filter(|_| position == 0).map(|fit| fit.left_out);
            let fitted = if column.revision.is_some() { reference.fitted.word() } else { "" };
            table.push([
                Cell::from(&reference.title),
                (&reference.id).into(),
                overall.rows.into(),
                fitted.into(),
                (&column.name).into(),
                figures.mean_error.into(),
                figures.bias.into(),
                (figures.within as f64 / figures.kernels as f64).into(),
                left_out.into(),
            ]);
        }
    }
    table
}
