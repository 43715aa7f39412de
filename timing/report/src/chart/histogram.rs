//! Histograms: how often values fall into bins, with optional marked positions (a median, a limit).

use super::common::{Meta, meta_builders, missing_note};
use super::frame;
use super::line::draw_x_axis;
use crate::axis::{Axis, Scale};
use crate::error::{Error, Result, expect_len};
use crate::format::Format;
use crate::palette::Paint;
use crate::svg::{Anchor, Rect, SMALL, Svg};
use crate::table::{Cell, Column, Table};
use crate::text;

/// Histogram over bins with increasing edges.
#[derive(Clone, Debug)]
pub struct Histogram {
    pub(crate) meta: Meta,
    x: Axis,
    y: Axis,
    edges: Vec<f64>,
    counts: Vec<f64>,
    marks: Vec<(f64, String)>,
    shares: bool,
    left_out: usize,
}

impl Histogram {
    /// A histogram of counted bins: `edges` has one entry more than `counts`.
    pub fn new(
        title: impl Into<String>,
        x: Axis,
        edges: impl IntoIterator<Item = f64>,
        counts: impl IntoIterator<Item = f64>,
    ) -> Self {
        Self {
            meta: Meta::new(title),
            x,
            y: Axis::new("Count", Format::Integer),
            edges: edges.into_iter().collect(),
            counts: counts.into_iter().collect(),
            marks: Vec::new(),
            shares: false,
            left_out: 0,
        }
    }

    /// Counts `values` into `bins` bins of equal width; values that are not finite are omitted and noted.
    pub fn of(title: impl Into<String>, x: Axis, values: impl IntoIterator<Item = f64>, bins: usize) -> Self {
        let all: Vec<f64> = values.into_iter().collect();
        let bounded: Vec<f64> =
            all.iter().filter(|v| v.is_finite()).map(|v| v.clamp(-1e150, 1e150)).collect();
        let (edges, counts) = count(&bounded, bins.clamp(1, 10_000));
        Self { left_out: all.len() - bounded.len(), ..Self::new(title, x, edges, counts) }
    }

    meta_builders!();

    /// Replaces the vertical axis; the default says "Count".
    #[must_use]
    pub fn y(mut self, y: Axis) -> Self {
        self.y = y;
        self
    }

    /// Shows each bin as its share of the whole.
    #[must_use]
    pub fn shares(mut self) -> Self {
        self.shares = true;
        self
    }

    /// Marks a position with a labelled line.
    #[must_use]
    pub fn mark(mut self, x: f64, label: impl Into<String>) -> Self {
        self.marks.push((x, label.into()));
        self
    }

    pub(crate) fn check(&self) -> Result<()> {
        let title = &self.meta.title;
        let expected = if self.counts.is_empty() { self.edges.len() } else { self.counts.len() + 1 };
        expect_len("histogram", title, || "the list of edges".into(), "edges", self.edges.len(), expected)?;
        let first = self.edges.first().is_some_and(|e| !e.is_finite()).then_some(0);
        // Written so that NaN fails too.
        let pairs = self.edges.windows(2);
        let broken = pairs.enumerate().find(|(_, w)| !(w[0] < w[1] && w[1].is_finite())).map(|(i, _)| i + 1);
        match first.or(broken) {
            Some(index) => Err(Error::Edges { title: title.clone(), index }),
            None => Ok(()),
        }
    }

    fn total(&self) -> f64 {
        self.counts.iter().filter(|c| c.is_finite() && **c > 0.0).map(|c| c.min(1e300)).sum()
    }

    fn share(&self, count: f64) -> f64 {
        let total = self.total();
        if total > 0.0 { count / total } else { f64::NAN }
    }

    pub(crate) fn data(&self) -> Table {
        let label =
            |fallback: &str| if self.y.label.is_empty() { fallback } else { &self.y.label }.to_owned();
        let mut table = Table::new(
            "",
            [
                Column::number("From", self.x.format).unit(&self.x.unit),
                Column::number("To", self.x.format).unit(&self.x.unit),
                Column::number(label("Count"), self.y.format).unit(&self.y.unit),
                Column::percent("Share", 2),
            ],
        );
        for (edge, &count) in self.edges.windows(2).zip(&self.counts) {
            table.push([edge[0], edge[1], count, self.share(count)].map(Cell::Number));
        }
        table
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        let missing = self.counts.iter().filter(|c| !c.is_finite()).count();
        missing_note(missing + self.left_out).into_iter().collect()
    }

    pub(crate) fn describe(&self) -> String {
        let marks: Vec<_> =
            self.marks.iter().map(|(x, label)| format!("{label} {}", self.x.show(*x))).collect();
        let marks = if marks.is_empty() { String::new() } else { format!(" Marked: {}.", marks.join(", ")) };
        let (first, last) = (self.edges.first(), self.edges.last());
        let range = first
            .zip(last)
            .map_or(String::new(), |(a, b)| format!(" from {} to {}", self.x.show(*a), self.x.show(*b)));
        format!("Histogram of {} in {} bins{range}.{marks}", self.x.title(), self.counts.len())
    }

    pub(crate) fn draw(&self, width: f64) -> Svg {
        let height = |count: f64| if self.shares { self.share(count) } else { count };
        let y_axis = if self.shares { Axis::new("Share", Format::Percent(1)) } else { self.y.clone() };
        let y_scale = y_axis.scale(self.counts.iter().map(|&c| height(c)), &[0.0], 5);
        let mut x_axis = self.x.clone();
        if let (Some(&lo), Some(&hi)) = (self.edges.first(), self.edges.last()) {
            x_axis.min = x_axis.min.or(Some(lo).filter(|v| v.is_finite()));
            x_axis.max = x_axis.max.or(Some(hi).filter(|v| v.is_finite()));
        }
        let x_scale = x_axis.scale(self.edges.iter().copied(), &[], (width / 90.0) as usize);

        let mut svg = Svg::new(width, 0.0);
        let left = frame::axis_width(&y_scale).max(24.0);
        let top = frame::header(&mut svg, &y_axis.title(), &[]);
        let marks = if self.marks.is_empty() { 2.0 } else { 14.0 };
        let mut plot =
            Rect { x: left, y: top + marks, w: (width - left - 20.0).max(120.0), h: self.meta.height(220.0) };
        let marks = self.place_marks(&x_axis, &x_scale, plot);
        let levels = marks.iter().map(|mark| mark.level + 1).max().unwrap_or(0);
        plot.y += levels as f64 * MARK_ROW;
        svg.height = plot.bottom() + if self.x.title().is_empty() { 26.0 } else { 46.0 };
        frame::value_axis(&mut svg, plot, &y_scale, None);
        let y_of = |count: f64| plot.bottom() - y_scale.at(count) * plot.h;
        let foot = y_of(0.0);
        for (edge, &count) in self.edges.windows(2).zip(&self.counts) {
            if !(height(count).is_finite() && x_axis.shows(edge[0]) && x_axis.shows(edge[1])) {
                continue;
            }
            let (a, b) = (plot.x + x_scale.at(edge[0]) * plot.w, plot.x + x_scale.at(edge[1]) * plot.w);
            let end = y_of(height(count));
            let gap = if b - a > 4.0 { 1.0 } else { 0.0 };
            let bar =
                Rect { x: a + gap / 2.0, y: end.min(foot), w: (b - a - gap).max(0.3), h: (end - foot).abs() };
            let class = Paint::Slot(0).fill();
            svg.bar(&class, bar, count >= 0.0, &self.tip(edge[0], edge[1], count));
        }
        draw_x_axis(&mut svg, plot, &x_scale, &self.x.title());
        marks.iter().for_each(|mark| mark.draw(&mut svg, plot));
        if !self.counts.iter().any(|c| height(*c).is_finite()) {
            frame::no_data(&mut svg, plot);
        }
        svg
    }

    /// The marks within the plot, each on the lowest row above it where its label is free.
    fn place_marks(&self, axis: &Axis, scale: &Scale, plot: Rect) -> Vec<Mark> {
        let mut placed: Vec<Mark> = Vec::new();
        for (x, label) in self.marks.iter().filter(|(x, _)| axis.shows(*x) && !scale.cuts(*x)) {
            let label = format!("{label} {}", self.x.brief(*x));
            let (x, room) = (plot.x + scale.at(*x) * plot.w, text::width(&label, SMALL) + 6.0);
            let right = x + room <= plot.right() + 16.0;
            let span = if right { (x, x + room) } else { (x - room, x) };
            // Lines of other marks cross the rows below their own labels, too.
            let free = |level: usize| {
                let clash = |m: &&Mark| {
                    m.level == level && m.span.0 < span.1 && span.0 < m.span.1
                        || m.level > level && span.0 < m.x && m.x < span.1
                };
                placed.iter().find(clash).is_none()
            };
            let level = (0..placed.len()).find(|&level| free(level)).unwrap_or(placed.len());
            placed.push(Mark { x, label, right, span, level });
        }
        placed
    }

    fn tip(&self, from: f64, to: f64, count: f64) -> String {
        let share = Format::Percent(1).show(self.share(count));
        let range = format!("{} to {}", self.x.format.show(from), self.x.show(to));
        format!("{range}\n{}: {} ({share})", self.y.label, self.y.show(count))
    }
}

/// Height of a row of mark labels.
const MARK_ROW: f64 = 14.0;

/// A marked position: a dashed line with its label above the plot, on the side that has room.
struct Mark {
    x: f64,
    label: String,
    right: bool,
    /// Horizontal extent of the label.
    span: (f64, f64),
    /// Row above the plot, counted upwards.
    level: usize,
}

impl Mark {
    fn draw(&self, svg: &mut Svg, plot: Rect) {
        let y = plot.y - self.level as f64 * MARK_ROW;
        svg.line("mark-line", self.x, y - 11.0, self.x, plot.bottom());
        let (x, anchor) =
            if self.right { (self.x + 5.0, Anchor::Start) } else { (self.x - 5.0, Anchor::End) };
        svg.text("label", x, y - 2.5, anchor, &self.label);
    }
}

/// Edges and counts of equally wide bins over finite, bounded values.
fn count(values: &[f64], bins: usize) -> (Vec<f64>, Vec<f64>) {
    let lo = values.iter().copied().fold(f64::INFINITY, f64::min);
    let hi = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if values.is_empty() {
        return (Vec::new(), Vec::new());
    }
    // All values alike, or too close together to divide: one bin around them.
    let margin = (hi.abs().max(lo.abs()) * 1e-9).max(1e-300);
    if hi - lo <= margin * bins as f64 {
        let around = (hi.abs() * 0.01).max(0.5);
        return (vec![lo - around, hi + around], vec![values.len() as f64]);
    }
    let width = (hi - lo) / bins as f64;
    let mut edges: Vec<_> = (0..bins).map(|i| lo + i as f64 * width).collect();
    edges.push(hi);
    let mut counts = vec![0.0; bins];
    for value in values {
        counts[(((value - lo) / width) as usize).min(bins - 1)] += 1.0;
    }
    (edges, counts)
}
