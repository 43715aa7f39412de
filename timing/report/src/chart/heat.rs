//! Cells coloured by their value, in rows and columns: many points at a glance.

use super::common::{Meta, listing, meta_builders, missing_note};
use super::frame;
use crate::error::{Result, expect_len};
use crate::format::{Format, MISSING};
use crate::palette::{Paint, STEPS};
use crate::svg::{Anchor, FONT, Rect, SMALL, Svg};
use crate::table::{Cell, Column, Table};
use crate::text;

/// Height of a row.
const ROW: f64 = 24.0;
/// Widest name of a row.
/// Widest column.
const MOST_COLUMN: f64 = 120.0;
/// Narrowest column.
const LEAST_COLUMN: f64 = 12.0;

/// Heat chart: values in rows and columns, the larger the darker.
#[derive(Clone, Debug)]
pub struct HeatChart {
    pub(crate) meta: Meta,
    format: Format,
    across: String,
    columns: Vec<String>,
    rows: Vec<(String, Vec<f64>)>,
}

impl HeatChart {
    /// An empty chart of values in a format.
    pub fn new(title: impl Into<String>, format: Format) -> Self {
        Self { meta: Meta::new(title), format, across: String::new(), columns: Vec::new(), rows: Vec::new() }
    }

    meta_builders!();

    /// What the columns are, and their names.
    #[must_use]
    pub fn columns<N: Into<String>>(
        mut self,
        across: impl Into<String>,
        names: impl IntoIterator<Item = N>,
    ) -> Self {
        self.across = across.into();
        self.columns = names.into_iter().map(Into::into).collect();
        self
    }

    /// Adds a row with a value for every column; NaN stands for a missing value.
    #[must_use]
    pub fn row(mut self, name: impl Into<String>, values: impl IntoIterator<Item = f64>) -> Self {
        self.rows.push((name.into(), values.into_iter().collect()));
        self
    }

    pub(crate) fn check(&self) -> Result<()> {
        for (name, values) in &self.rows {
            let part = || format!("row \"{name}\"");
            expect_len("heat chart", &self.meta.title, part, "values", values.len(), self.columns.len())?;
        }
        Ok(())
    }

    pub(crate) fn data(&self) -> Table {
        let across = if self.across.is_empty() { "Column" } else { &self.across };
        let columns = [Column::text("Row"), Column::text(across), Column::number("Value", self.format)];
        let mut table = Table::new("", columns);
        for (name, values) in &self.rows {
            for (column, value) in self.columns.iter().zip(values) {
                table.push([Cell::from(name), Cell::from(column), Cell::Number(*value)]);
            }
        }
        table
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        let values = self.rows.iter().flat_map(|(_, values)| values);
        missing_note(values.filter(|value| !value.is_finite()).count()).into_iter().collect()
    }

    pub(crate) fn describe(&self) -> String {
        let over = if self.across.is_empty() { String::new() } else { format!(" over {}", self.across) };
        let (least, most) = self.bounds();
        let range = if least <= most {
            format!(", from {} to {}", self.format.show(least), self.format.show(most))
        } else {
            String::new()
        };
        format!(
            "Heat chart of {}{over}{range}; rows: {}.",
            self.meta.title,
            listing(self.rows.iter().map(|(name, _)| name.as_str())),
        )
    }

    /// The least and the greatest value; crossed if there is none.
    fn bounds(&self) -> (f64, f64) {
        let values = self.rows.iter().flat_map(|(_, values)| values).filter(|value| value.is_finite());
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(*value), high.max(*value))
        })
    }

    pub(crate) fn draw(&self, width: f64) -> Svg {
        let mut svg = Svg::new(width, 0.0);
        let top = frame::header(&mut svg, &self.across, &[]);
        let widest = self.rows.iter().map(|(name, _)| text::width(name, FONT)).fold(0.0, f64::max);
        let left = (widest.min(frame::MOST_NAME) + 10.0).max(24.0);
        let slot = ((width - left - frame::RIGHT) / self.columns.len().max(1) as f64)
            .clamp(LEAST_COLUMN, MOST_COLUMN);
        let heads = self.columns.iter().map(|name| text::width(name, SMALL)).fold(0.0, f64::max);
        // Names that do not fit above their column are written upwards.
        let upright = heads > slot - 6.0;
        let head = if upright { heads.min(140.0) + 10.0 } else { 20.0 };
        let bounds = self.bounds();
        for (at, name) in self.columns.iter().enumerate() {
            let x = left + (at as f64 + 0.5) * slot;
            if upright {
                let shown = text::fit(name, SMALL, 140.0);
                svg.text_full("tick", x + 4.0, top + head - 6.0, Anchor::Start, -90.0, &shown, Some(name));
            } else {
                svg.text("tick", x, top + 13.0, Anchor::Middle, name);
            }
        }
        for (at, (name, values)) in self.rows.iter().enumerate() {
            let y = top + head + at as f64 * ROW;
            let shown = text::fit(name, FONT, left - 10.0);
            svg.text_full("category", left - 8.0, y + 16.0, Anchor::End, 0.0, &shown, Some(name));
            for (column, value) in values.iter().enumerate() {
                let cell = Rect { x: left + column as f64 * slot, y, w: slot - 1.0, h: ROW - 1.0 };
                self.cell(&mut svg, cell, (name, column), *value, bounds);
            }
        }
        svg.height = top + head + self.rows.len().max(1) as f64 * ROW + 8.0;
        // Many columns make a wide chart, which the page lets scroll.
        svg.width = svg.width.max(left + self.columns.len() as f64 * slot + frame::RIGHT);
        if bounds.0 > bounds.1 {
            frame::no_data(&mut svg, Rect { x: left, y: top + head, w: width - left, h: ROW });
        }
        svg
    }

    fn cell(&self, svg: &mut Svg, at: Rect, (row, column): (&str, usize), value: f64, bounds: (f64, f64)) {
        let shown = if value.is_finite() { self.format.show(value) } else { MISSING.to_owned() };
        let name = self.columns.get(column).map_or("", String::as_str);
        let tip = format!("{row}, {name}\n{shown}");
        if !value.is_finite() {
            svg.rect("mark band", at, 2.0, Some(&tip));
            return;
        }
        let (least, most) = bounds;
        let share = if most > least { (value - least) / (most - least) } else { 0.5 };
        let paint = Paint::Step((share * (STEPS - 1) as f64).round() as usize);
        svg.rect(&format!("mark {}", paint.fill()), at, 2.0, Some(&tip));
        if text::width(&shown, SMALL) + 4.0 <= at.w {
            let class = format!("on {}", paint.text_upon());
            svg.text(&class, at.x + at.w / 2.0, at.y + 15.0, Anchor::Middle, &shown);
        }
    }
}
