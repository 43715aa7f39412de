//! Lines over a numeric axis: sweeps of a parameter, series over time, optionally with a band
//! (minimum to maximum) around a line.
//!
//! Drawing is bounded: long series are thinned to what pixels can show, extremes kept. The table
//! and CSV always hold every point.

use super::common::{Meta, listing, meta_builders};
use super::frame::{self, Key, Swatch};
use crate::axis::{Axis, Scale};
use crate::error::{Result, expect_len};
use crate::palette::Paint;
use crate::svg::{Anchor, FONT, PathData, Rect, SMALL, Svg};
use crate::table::{Cell, Column, Table};
use crate::text;

/// Up to this many points a line shows a marker on each.
const MARKED: usize = 40;
/// Up to this many lines share a plot; more get a small one each.
const MOST_TOGETHER: usize = 6;
/// Up to this many lines, a small plot shows the others in the background.
const MOST_BEHIND: usize = 16;
/// Least width of a small plot, the gap between two, and the height of its title.
const PANEL: f64 = 225.0;
const PANEL_GAP: f64 = 22.0;
const PANEL_TITLE: f64 = 18.0;
/// At most this many points per line react to the pointer.
const REACTIVE: usize = 160;

/// One line: points in the order they are connected.
#[derive(Clone, Debug)]
pub struct Line {
    name: String,
    points: Vec<(f64, f64)>,
    band: Option<Vec<(f64, f64)>>,
    paint: Option<Paint>,
}

impl Line {
    /// A line through (x, y) points; a point whose y is not finite interrupts it.
    pub fn new(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self { name: name.into(), points: points.into_iter().collect(), band: None, paint: None }
    }

    /// A band around the line: (low, high) for every point.
    #[must_use]
    pub fn band(mut self, band: impl IntoIterator<Item = (f64, f64)>) -> Self {
        self.band = Some(band.into_iter().collect());
        self
    }

    /// Draws the line in the categorical colour of another position.
    #[must_use]
    pub fn colour(mut self, position: usize) -> Self {
        self.paint = Some(Paint::Slot(position));
        self
    }

    /// Draws the line in grey.
    #[must_use]
    pub fn neutral(mut self) -> Self {
        self.paint = Some(Paint::Neutral);
        self
    }
}

/// Line chart over a numeric axis.
#[derive(Clone, Debug)]
pub struct LineChart {
    pub(crate) meta: Meta,
    x: Axis,
    y: Axis,
    lines: Vec<Line>,
    from_zero: bool,
    reference: Option<f64>,
    ticks_at_points: bool,
}

impl LineChart {
    /// An empty chart with its horizontal and vertical axis.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        let meta = Meta::new(title);
        Self { meta, x, y, lines: Vec::new(), from_zero: false, reference: None, ticks_at_points: false }
    }

    meta_builders!();

    /// Adds a line.
    #[must_use]
    pub fn line(mut self, line: Line) -> Self {
        self.lines.push(line);
        self
    }

    /// Makes the vertical axis begin at zero.
    #[must_use]
    pub fn from_zero(mut self) -> Self {
        self.from_zero = true;
        self
    }

    /// Draws a level reference line, 1.0 for ratios to a baseline.
    #[must_use]
    pub fn reference(mut self, y: f64) -> Self {
        self.reference = Some(y).filter(|v| v.is_finite());
        self
    }

    /// Labels the horizontal axis at the points if they are few, instead of at round numbers: a swept parameter has no values
    /// in between. On a logarithmic axis that is always so.
    #[must_use]
    pub fn ticks_at_points(mut self) -> Self {
        self.ticks_at_points = true;
        self
    }

    pub(crate) fn check(&self) -> Result<()> {
        for line in &self.lines {
            if let Some(band) = &line.band {
                let part = || format!("band of line \"{}\"", line.name);
                expect_len("line chart", &self.meta.title, part, "points", band.len(), line.points.len())?;
            }
        }
        Ok(())
    }

    pub(crate) fn data(&self) -> Table {
        let banded = self.lines.iter().any(|line| line.band.is_some());
        let number = |name: &str, fallback: &str, axis: &Axis| {
            let name = if name.is_empty() { fallback } else { name };
            Column::number(name, axis.format.of_column()).unit(&axis.unit)
        };
        let mut columns = vec![
            Column::text("Series"),
            number(&self.x.label, "x", &self.x),
            number(&self.y.label, "y", &self.y),
        ];
        if banded {
            columns.extend([number("Low", "", &self.y), number("High", "", &self.y)]);
        }
        let mut table = Table::new("", columns);
        for line in &self.lines {
            for (i, &(x, y)) in line.points.iter().enumerate() {
                let mut row = vec![Cell::from(&line.name), Cell::Number(x), Cell::Number(y)];
                if banded {
                    let (low, high) = line.band_at(i).unwrap_or((f64::NAN, f64::NAN));
                    row.extend([Cell::Number(low), Cell::Number(high)]);
                }
                table.push(row);
            }
        }
        table
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        let points = self.lines.iter().flat_map(|line| &line.points);
        let lost = points.filter(|&&(x, y)| !(self.x.shows(x) && self.y.shows(y))).count();
        (lost > 0)
            .then(|| format!("{lost} point(s) are missing or lie outside what the axes can show."))
            .into_iter()
            .collect()
    }

    pub(crate) fn describe(&self) -> String {
        format!(
            "Line chart of {} over {}; lines: {}.",
            self.y.title(),
            self.x.title(),
            listing(self.lines.iter().map(|line| line.name.as_str())),
        )
    }

    pub(crate) fn draw(&self, width: f64) -> Svg {
        let points = || self.lines.iter().flat_map(|line| line.points.iter());
        let xs = points().filter(|p| self.y.shows(p.1)).map(|p| p.0);
        let bands = self.lines.iter().flat_map(|l| l.band.iter().flatten().flat_map(|&(lo, hi)| [lo, hi]));
        let ys = points().filter(|p| self.x.shows(p.0)).map(|p| p.1).chain(bands);
        let zero = self.from_zero.then_some(0.0);
        let anchors: Vec<_> = zero.into_iter().chain(self.reference).collect();
        let y_scale = self.y.scale(ys, &anchors, 5);
        let x_axis = self.tight_x();
        let mut x_scale = x_axis.scale(xs, &[], (width / 90.0) as usize);
        if let Some(stops) = self.sweep_stops() {
            x_scale.tick_at(&stops);
        }

        if self.lines.len() > MOST_TOGETHER {
            return self.draw_panels(width, &x_axis, &y_scale);
        }
        let mut svg = Svg::new(width, 0.0);
        let left = frame::axis_width(&y_scale).max(24.0);
        let top = frame::header(&mut svg, &self.y.title(), &self.keys()) + 2.0;
        let plot = Rect { x: left, y: top, w: (width - left - 20.0).max(120.0), h: self.meta.height(260.0) };
        svg.height = plot.bottom() + if self.x.title().is_empty() { 26.0 } else { 46.0 };
        frame::value_axis(&mut svg, plot, &y_scale, None);
        draw_x_axis(&mut svg, plot, &x_scale, &self.x.title());
        if let Some(reference) = self.reference.filter(|&r| self.y.shows(r) && !y_scale.cuts(r)) {
            let y = plot.bottom() - y_scale.at(reference) * plot.h;
            svg.line("baseline", plot.x, y, plot.right(), y);
        }
        let view = View { plot, x: &x_scale, y: &y_scale, chart: self, alone: false };
        for (k, line) in self.lines.iter().enumerate() {
            view.band(&mut svg, k, line);
        }
        for (k, line) in self.lines.iter().enumerate() {
            view.line(&mut svg, k, line);
        }
        if !points().any(|p| self.x.shows(p.0) && self.y.shows(p.1)) {
            frame::no_data(&mut svg, plot);
        }
        svg
    }

    /// A small plot per line, all with the same axes; the other lines are behind each one in grey.
    fn draw_panels(&self, width: f64, x_axis: &Axis, y_scale: &Scale) -> Svg {
        let left = frame::axis_width(y_scale).max(24.0);
        let room = width - left - 20.0;
        let columns = (((room + PANEL_GAP) / (PANEL + PANEL_GAP)) as usize).clamp(1, 4);
        let w = (room - PANEL_GAP * (columns - 1) as f64) / columns as f64;
        let xs = self.lines.iter().flat_map(|line| &line.points).filter(|p| self.y.shows(p.1)).map(|p| p.0);
        let mut x_scale = x_axis.scale(xs, &[], (w / 70.0) as usize);
        if let Some(stops) = self.sweep_stops() {
            x_scale.tick_at(&stops);
        }
        let mut svg = Svg::new(width, 0.0);
        let top = frame::header(&mut svg, &self.y.title(), &[]) + 2.0;
        let h = self.meta.height(260.0).min(260.0) * 0.42;
        let pitch = PANEL_TITLE + h + 30.0;
        for (k, line) in self.lines.iter().enumerate() {
            let (row, column) = (k / columns, k % columns);
            let x = left + column as f64 * (w + PANEL_GAP);
            let plot = Rect { x, y: top + row as f64 * pitch + PANEL_TITLE, w, h };
            svg.text_full(
                "panel",
                x,
                plot.y - 5.0,
                Anchor::Start,
                0.0,
                &text::fit(&line.name, FONT, w),
                Some(&line.name),
            );
            frame::value_axis_of_row(&mut svg, plot, y_scale, column == 0);
            draw_x_axis(&mut svg, plot, &x_scale, "");
            if let Some(reference) = self.reference.filter(|&r| self.y.shows(r) && !y_scale.cuts(r)) {
                let y = plot.bottom() - y_scale.at(reference) * plot.h;
                svg.line("baseline", plot.x, y, plot.right(), y);
            }
            let view = View { plot, x: &x_scale, y: y_scale, chart: self, alone: true };
            if self.lines.len() <= MOST_BEHIND {
                let others = self.lines.iter().enumerate().filter(|(other, _)| *other != k);
                others.for_each(|(_, other)| svg.path("series behind", &view.path(other)));
            }
            view.band(&mut svg, k, line);
            view.line(&mut svg, k, line);
            if !line.points.iter().any(|p| self.x.shows(p.0) && self.y.shows(p.1)) {
                frame::no_data(&mut svg, plot);
            }
        }
        let rows = self.lines.len().div_ceil(columns) as f64;
        svg.height = top + rows * pitch;
        if !self.x.title().is_empty() {
            svg.text("title", left + room / 2.0, svg.height + 10.0, Anchor::Middle, &self.x.title());
            svg.height += 18.0;
        }
        svg
    }

    /// The few positions of a sweep, which then are the ticks of its axis.
    fn sweep_stops(&self) -> Option<Vec<f64>> {
        let shown = self.lines.iter().flat_map(|line| line.points.iter().map(|p| p.0));
        let mut stops: Vec<_> = shown.filter(|&x| self.x.shows(x)).collect();
        stops.sort_by(f64::total_cmp);
        stops.dedup();
        ((self.x.is_logarithmic() || self.ticks_at_points) && (2..=12).contains(&stops.len()))
            .then_some(stops)
    }

    /// The horizontal axis ends where the data end instead of at the next round number.
    fn tight_x(&self) -> Axis {
        let mut axis = self.x.clone();
        let shown =
            self.lines.iter().flat_map(|l| &l.points).filter(|p| self.y.shows(p.1) && self.x.shows(p.0));
        let (lo, hi) =
            shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), p| (lo.min(p.0), hi.max(p.0)));
        if lo < hi {
            axis.min = axis.min.or(Some(lo));
            axis.max = axis.max.or(Some(hi));
        }
        axis
    }

    fn keys(&self) -> Vec<Key<'_>> {
        if self.lines.len() < 2 || self.lines.len() > MOST_TOGETHER {
            return Vec::new();
        }
        let key = |(k, line)| -> Key<'_> {
            let line: &Line = line;
            Key { name: &line.name, swatch: Swatch::Line(line.paint(k), k) }
        };
        self.lines.iter().enumerate().map(key).collect()
    }
}

impl Line {
    fn paint(&self, index: usize) -> Paint {
        self.paint.unwrap_or(Paint::Slot(index))
    }

    fn band_at(&self, index: usize) -> Option<(f64, f64)> {
        self.band.as_ref().and_then(|band| band.get(index)).copied()
    }
}

/// Labels and title below the plot, and ticks on its lower edge.
pub(super) fn draw_x_axis(svg: &mut Svg, plot: Rect, scale: &Scale, title: &str) {
    svg.line("axis", plot.x, plot.bottom(), plot.right(), plot.bottom());
    let mut free = f64::NEG_INFINITY;
    for (at, label) in scale.ticks() {
        let x = plot.x + at * plot.w;
        svg.line("axis", x, plot.bottom(), x, plot.bottom() + 4.0);
        let half = text::width(&label, SMALL) / 2.0;
        if x - half >= free {
            svg.text("tick", x, plot.bottom() + 18.0, Anchor::Middle, &label);
            free = x + half + 8.0;
        }
    }
    if !title.is_empty() {
        svg.text("title", plot.x + plot.w / 2.0, plot.bottom() + 39.0, Anchor::Middle, title);
    }
}

/// Where points fall.
struct View<'a> {
    plot: Rect,
    x: &'a Scale,
    y: &'a Scale,
    chart: &'a LineChart,
    /// Whether the line has the plot for itself, so that its colour tells nothing.
    alone: bool,
}

impl View<'_> {
    fn place(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        (self.chart.x.shows(x) && self.chart.y.shows(y)).then(|| {
            (self.plot.x + self.x.at(x) * self.plot.w, self.plot.bottom() - self.y.at(y) * self.plot.h)
        })
    }

    fn paint(&self, k: usize, line: &Line) -> Paint {
        line.paint(if self.alone { 0 } else { k })
    }

    fn path(&self, line: &Line) -> PathData {
        let placed: Vec<_> = line.points.iter().map(|&(x, y)| self.place(x, y)).collect();
        path_of(&placed, self.plot.w)
    }

    fn band(&self, svg: &mut Svg, k: usize, line: &Line) {
        let Some(band) = &line.band else { return };
        let edges = line.points.iter().zip(band).filter_map(|(&(x, _), &(low, high))| {
            let (px, low) = self.place(x, low)?;
            Some((px, low, self.place(x, high)?.1))
        });
        let edges: Vec<_> = edges.collect();
        // Alternate points carry no more than pixels can show.
        let stride = edges.len() / (2 * self.plot.w as usize).max(1) + 1;
        let kept: Vec<_> = edges.chunks(stride).map(widest_edge).collect();
        let mut path = PathData::default();
        for &(x, _, high) in &kept {
            path.point(x, high);
        }
        for &(x, low, _) in kept.iter().rev() {
            path.point(x, low);
        }
        if kept.len() > 1 {
            path.close();
            svg.series_group("s", k);
            svg.path(&format!("area {}", self.paint(k, line).fill()), &path);
            svg.end();
        }
    }

    fn line(&self, svg: &mut Svg, k: usize, line: &Line) {
        let placed: Vec<_> = line.points.iter().map(|&(x, y)| self.place(x, y)).collect();
        svg.series_group("s", k);
        // A line that covers an earlier one is dashed, so that both are seen.
        let covers = !self.alone && self.chart.lines[..k].iter().any(|other| other.points == line.points);
        let class = if covers { "series dashed" } else { "series" };
        svg.path(&format!("{class} {}", self.paint(k, line).stroke()), &path_of(&placed, self.plot.w));
        let shown = placed.iter().flatten().count();
        let stride = shown.div_ceil(REACTIVE).max(1);
        for (i, (x, y)) in placed.iter().enumerate().filter_map(|(i, p)| p.map(|p| (i, p))) {
            let gap = |j: Option<usize>| j.and_then(|j| placed.get(j)).is_none_or(Option::is_none);
            let alone = gap(i.checked_sub(1)) && gap(Some(i + 1));
            let visible = shown <= MARKED || alone;
            if visible || i % stride == 0 || i + 1 == placed.len() {
                let class = if visible { "mark point" } else { "mark point ghost" };
                let shape = if self.alone { 0 } else { k };
                let class = format!("{class} {}", self.paint(k, line).fill());
                svg.marker(&class, shape, x, y, Some(&self.tip(line, i)));
            }
        }
        svg.end();
    }

    fn tip(&self, line: &Line, index: usize) -> String {
        let (x, y) = line.points[index];
        let head = match self.chart.x.label.as_str() {
            "" => self.chart.x.show(x),
            label => format!("{label}: {}", self.chart.x.show(x)),
        };
        let range = line.band_at(index).map_or(String::new(), |(low, high)| {
            format!(" ({} to {})", self.chart.y.format.show(low), self.chart.y.format.show(high))
        });
        format!("{head}\n{}: {}{range}", line.name, self.chart.y.show(y))
    }
}

fn path_of(placed: &[Option<(f64, f64)>], width: f64) -> PathData {
    let mut path = PathData::default();
    for point in thin(placed, width) {
        match point {
            Some((x, y)) => path.point(x, y),
            None => path.lift(),
        }
    }
    path
}

/// The band over several points: the first x, the lowest and the highest edge.
fn widest_edge(points: &[(f64, f64, f64)]) -> (f64, f64, f64) {
    let fold = |(x, low, high): (f64, f64, f64), p: &(f64, f64, f64)| (x, low.max(p.1), high.min(p.2));
    points.iter().fold((points[0].0, f64::NEG_INFINITY, f64::INFINITY), fold)
}

/// Keeps first, lowest, highest and last point of every stretch when there are far more points
/// than pixels; gaps survive.
fn thin(points: &[Option<(f64, f64)>], width: f64) -> Vec<Option<(f64, f64)>> {
    let budget = width.max(1.0) as usize;
    if points.len() <= 4 * budget {
        return points.to_vec();
    }
    let mut kept = Vec::with_capacity(4 * budget);
    for chunk in points.chunks(points.len().div_ceil(budget)) {
        let known = || chunk.iter().enumerate().filter_map(|(i, p)| p.map(|p| (i, p.1)));
        let least = known().min_by(|a, b| a.1.total_cmp(&b.1)).map(|p| p.0);
        let most = known().max_by(|a, b| a.1.total_cmp(&b.1)).map(|p| p.0);
        let gap = chunk.iter().position(Option::is_none);
        let mut picks: Vec<_> =
            [Some(0), least, most, gap, Some(chunk.len() - 1)].into_iter().flatten().collect();
        picks.sort_unstable();
        picks.dedup();
        kept.extend(picks.into_iter().map(|i| chunk[i]));
    }
    kept
}
