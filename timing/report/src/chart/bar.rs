//! Grouped bars: benchmarks along the axis, one bar per series, the mean set apart at the end.
//!
//! Bars grow from zero, or, for ratios, from the baseline itself (`diverging`): both keep the length of a bar
//! proportional to its value.

use super::common::{Meta, Series, listing, meta_builders, missing_note};
use super::frame::{self, Columns, Key, Spread, Swatch};
use super::mean::Mean;
use crate::axis::{Axis, Scale};
use crate::error::{Result, expect_len};
use crate::format::MISSING;
use crate::svg::{Anchor, FONT, Rect, SMALL, Svg};
use crate::table::{Cell, Column, Table};
use crate::text;

/// Pixels that a level number under a bar takes.
const UNDER_BAR: f64 = 18.0;

/// Pixels by which a number is raised over the number beside it.
const RAISED: f64 = 12.0;
/// A reader's font may be wider than estimated.
const SLACK: f64 = 1.1;

/// Grouped bar chart of categories × series.
///
/// ```
/// use report::{Axis, BarChart, Chart, Format, Series};
/// let chart: Chart = BarChart::new("Speedup", Axis::new("Speedup over baseline", Format::Ratio(2)))
///     .categories("Kernel", ["scan", "bfs"])
///     .series(Series::new("bow", [1.04, 1.11]))
///     .baseline(1.0)
///     .geometric_mean()
///     .into();
/// assert!(chart.to_svg(800.0).contains("×1.11"));
/// ```
#[derive(Clone, Debug)]
pub struct BarChart {
    pub(crate) meta: Meta,
    axis: Axis,
    category_name: String,
    categories: Vec<String>,
    series: Vec<Series>,
    baseline: Option<f64>,
    origin: f64,
    mean: Option<Mean>,
    mean_last: bool,
}

impl BarChart {
    /// An empty chart; `axis` describes the values.
    pub fn new(title: impl Into<String>, axis: Axis) -> Self {
        Self {
            meta: Meta::new(title),
            axis,
            category_name: "Category".to_owned(),
            categories: Vec::new(),
            series: Vec::new(),
            baseline: None,
            origin: 0.0,
            mean: None,
            mean_last: false,
        }
    }

    meta_builders!();

    /// What the categories are ("Kernel"), and their names in order.
    #[must_use]
    pub fn categories<T: AsRef<str>>(
        mut self,
        name: impl Into<String>,
        categories: impl IntoIterator<Item = T>,
    ) -> Self {
        self.category_name = name.into();
        self.categories = categories.into_iter().map(|c| c.as_ref().to_owned()).collect();
        self
    }

    /// Adds a series with one value per category.
    #[must_use]
    pub fn series(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// Draws a reference line, 1.0 for ratios to a baseline.
    #[must_use]
    pub fn baseline(mut self, value: f64) -> Self {
        self.baseline = Some(value).filter(|v| v.is_finite());
        self
    }

    /// Lets the bars grow from `value` instead of zero, so that small changes show.
    #[must_use]
    pub fn diverging(mut self, value: f64) -> Self {
        if value.is_finite() {
            self.origin = value;
        }
        self
    }

    /// Adds a group with each series' geometric mean.
    #[must_use]
    pub fn geometric_mean(mut self) -> Self {
        self.mean = Some(Mean::Geometric);
        self
    }

    /// Adds a group with each series' arithmetic mean.
    #[must_use]
    pub fn arithmetic_mean(mut self) -> Self {
        self.mean = Some(Mean::Arithmetic);
        self
    }

    /// Marks the last category as the mean of the others.
    #[must_use]
    pub fn mean_last(mut self) -> Self {
        self.mean_last = true;
        self
    }

    pub(crate) fn check(&self) -> Result<()> {
        for series in &self.series {
            let part = || format!("series \"{}\"", series.name);
            expect_len(
                "bar chart",
                &self.meta.title,
                part,
                "values",
                series.values.len(),
                self.categories.len(),
            )?;
        }
        Ok(())
    }

    pub(crate) fn data(&self) -> Table {
        let columns = std::iter::once(Column::text(&self.category_name)).chain(
            self.series
                .iter()
                .map(|s| Column::number(&s.name, self.axis.format.of_column()).unit(&self.axis.unit)),
        );
        let mut table = Table::new("", columns);
        for (i, category) in self.categories.iter().enumerate() {
            let values = self.series.iter().map(|s| Cell::Number(value_at(s, i)));
            table.push(std::iter::once(Cell::from(category)).chain(values));
        }
        if let Some((label, means)) = self.means() {
            let means = means.into_iter().map(Cell::Number);
            table = table.summary(std::iter::once(Cell::from(label)).chain(means));
        }
        table
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        let values = self.series.iter().flat_map(|s| (0..self.categories.len()).map(|i| value_at(s, i)));
        missing_note(values.filter(|v| !v.is_finite()).count()).into_iter().collect()
    }

    pub(crate) fn describe(&self) -> String {
        let mut text = format!(
            "Bar chart of {} for {} categories and the series {}.",
            self.axis.title(),
            self.categories.len(),
            listing(self.series.iter().map(|s| s.name.as_str())),
        );
        if let Some((label, means)) = self.means() {
            let means: Vec<_> =
                self.series.iter().zip(&means).take(12).map(|(s, m)| self.pair(s, *m)).collect();
            text.push_str(&format!(" {label}: {}.", means.join(", ")));
        }
        text
    }

    fn pair(&self, series: &Series, value: f64) -> String {
        format!("{} {}", series.name, self.axis.show(value))
    }

    /// Label and value per series of the mean group, if there is one.
    fn means(&self) -> Option<(&'static str, Vec<f64>)> {
        let mean = self.mean?;
        let label = match mean {
            Mean::Geometric => "Geo. mean",
            Mean::Arithmetic => "Mean",
        };
        let of = |s: &Series| mean.of((0..self.categories.len()).map(|i| value_at(s, i)));
        Some((label, self.series.iter().map(of).collect()))
    }

    pub(crate) fn draw(&self, width: f64) -> Svg {
        let means = self.means();
        let values = self.series.iter().flat_map(|s| s.values.iter().copied());
        let values = values.chain(means.iter().flat_map(|(_, m)| m.iter().copied()));
        let anchors: Vec<_> = std::iter::once(self.origin).chain(self.baseline).collect();
        let mut axis = self.axis.clone();
        // A bar cut off at its foot would lie about its length.
        axis.min = axis.min.filter(|&min| min < self.origin);
        axis.max = axis.max.filter(|&max| max > self.origin);
        let values: Vec<f64> = values.collect();
        let mut scale = axis.scale(values.iter().copied(), &anchors, 5);

        let mut names: Vec<&str> = self.categories.iter().map(String::as_str).collect();
        names.extend(means.iter().map(|(label, _)| *label));
        let count = self.series.len().max(1) as f64;
        let slots = ((count * 5.0 + 4.0).max(14.0), (count * 56.0 + 40.0).max(110.0));
        let mean_at = self.categories.len();
        let last = if means.is_some() { count * 14.0 + 8.0 } else { 0.0 };
        let layout = |scale: &Scale| {
            Columns::new(&Spread {
                names: &names,
                gap_before: &|i| i == mean_at,
                width,
                left: frame::axis_width(scale),
                slots,
                last,
            })
        };
        let of_means = means.as_ref().map(|m| m.1.as_slice());
        let mut columns = layout(&scale);
        let labels = self.labels(&columns, of_means);
        if let Some(lower) = self.room_below(&scale, &values, &labels) {
            let anchors: Vec<f64> = anchors.into_iter().chain([lower]).collect();
            scale = axis.scale(values.into_iter(), &anchors, 5);
            columns = layout(&scale);
        }

        let mut svg = Svg::new((columns.plot.right() + frame::RIGHT).max(width.min(460.0)), 0.0);
        columns.plot.y = frame::header(&mut svg, &self.axis.title(), &self.keys()) + 8.0;
        if labels.styles.contains(&LabelStyle::Upright) {
            // Values written upright over the highest bars need room below the legend.
            columns.plot.y += 26.0;
        } else if labels.crowded {
            columns.plot.y += RAISED;
        }
        columns.plot.h = self.meta.height(260.0);
        svg.height = columns.plot.bottom() + columns.label_height;
        draw_ground(&mut svg, &columns, &scale, self.origin, means.is_some());
        let mut groups = Vec::new();
        for (i, name) in names.iter().enumerate() {
            let group = match &means {
                Some((_, means)) if i == mean_at => Group {
                    name,
                    values: means.clone(),
                    slot: columns.last_slot,
                    style: labels.styles[1],
                    mean: true,
                    at: i,
                },
                _ => Group {
                    name,
                    values: self.values_at(i),
                    slot: columns.slot,
                    style: labels.styles[0],
                    mean: self.mean_last && i + 1 == mean_at,
                    at: i,
                },
            };
            groups.push((columns.centres[i], group));
        }
        for (centre, group) in &groups {
            self.draw_group(&mut svg, columns.plot, &scale, *centre, group);
        }
        self.draw_baseline(&mut svg, columns.plot, &scale);
        // Numbers stand over all lines.
        for (centre, group) in &groups {
            self.draw_labels(&mut svg, columns.plot, &scale, *centre, group, &labels);
        }
        columns.draw_labels(&mut svg, &names, |i| i == mean_at);
        if !self.series.iter().any(|s| s.values.iter().any(|v| v.is_finite())) {
            frame::no_data(&mut svg, columns.plot);
        }
        svg
    }

    fn values_at(&self, index: usize) -> Vec<f64> {
        self.series.iter().map(|s| value_at(s, index)).collect()
    }

    fn keys(&self) -> Vec<Key<'_>> {
        if self.series.len() < 2 {
            return Vec::new();
        }
        let paints = self.series.iter().enumerate().map(|(i, s)| Swatch::Fill(s.paint(i)));
        self.series.iter().zip(paints).map(|(s, swatch)| Key { name: &s.name, swatch }).collect()
    }

    fn draw_baseline(&self, svg: &mut Svg, plot: Rect, scale: &Scale) {
        if let Some(baseline) = self.baseline.filter(|&b| b != self.origin && !scale.cuts(b)) {
            let y = plot.bottom() - scale.at(baseline) * plot.h;
            svg.line("baseline", plot.x, y, plot.right(), y);
        }
    }

    fn draw_group(&self, svg: &mut Svg, plot: Rect, scale: &Scale, centre: f64, group: &Group<'_>) {
        let pitch = self.bar_pitch(group.slot);
        let gap = if pitch >= 8.0 { 1.0 } else { 0.0 };
        let left = centre - pitch * group.values.len() as f64 / 2.0;
        let y_of = |value: f64| plot.bottom() - scale.at(value) * plot.h;
        let foot = y_of(self.origin);
        for (k, (&value, series)) in group.values.iter().zip(&self.series).enumerate() {
            let x = left + pitch * k as f64;
            let middle = x + (pitch - gap) / 2.0;
            svg.series_group("s", k);
            if value.is_finite() {
                let end = y_of(value);
                let above = value >= self.origin;
                let (w, h) = ((pitch - gap).max(0.8), (end - foot).abs().max(0.75));
                let bar = Rect { x, y: end.min(foot), w, h };
                let tip = format!("{}\n{}: {}", group.name, series.name, self.axis.show(value));
                svg.bar(&series.paint(k).fill(), bar, above, &tip);
                if scale.cuts(value) {
                    draw_cut(svg, bar, if above { bar.y } else { bar.bottom() }, above);
                }
            } else {
                let tip = format!("{}\n{}: missing", group.name, series.name);
                svg.text_full("missing", middle, foot - 4.0, Anchor::Middle, 0.0, MISSING, Some(&tip));
            }
            svg.end();
        }
    }

    /// The numbers of a group's bars. A number that would run into that of another bar stands above it, or is left out.
    fn draw_labels(
        &self,
        svg: &mut Svg,
        plot: Rect,
        scale: &Scale,
        centre: f64,
        group: &Group<'_>,
        labels: &Labels,
    ) {
        let pitch = self.bar_pitch(group.slot);
        let gap = if pitch >= 8.0 { 1.0 } else { 0.0 };
        let left = centre - pitch * group.values.len() as f64 / 2.0;
        let y_of = |value: f64| plot.bottom() - scale.at(value) * plot.h;
        let drawn = self.baseline.filter(|&b| b != self.origin && !scale.cuts(b));
        let mut taken: Vec<Rect> = Vec::new();
        for (k, (&value, series)) in group.values.iter().zip(&self.series).enumerate() {
            if !value.is_finite() {
                continue;
            }
            let above = value >= self.origin;
            let cut_unseen = scale.cuts(value) && group.style == LabelStyle::None;
            let style = match group.style {
                _ if cut_unseen => LabelStyle::Upright,
                style if group.mean || self.tells(series, group.at, style) => style,
                _ => LabelStyle::None,
            };
            if style == LabelStyle::None {
                continue;
            }
            // The line of the baseline must not strike a number through: it stands beyond the line.
            let mut edge = y_of(value);
            if let Some(line) = drawn.map(y_of) {
                let away = if above { edge - line } else { line - edge };
                let upright = || text::width(&self.number(value, labels), SMALL);
                let height = 5.0 + if style == LabelStyle::Level { SMALL } else { upright() };
                if (0.0..height).contains(&away) {
                    edge = line;
                }
            }
            let middle = left + pitch * k as f64 + (pitch - gap) / 2.0;
            let number = self.number(value, labels);
            if style == LabelStyle::Level && labels.crowded {
                let w = text::width(&number, SMALL) * SLACK;
                let place = |edge: f64| {
                    let y = if above { edge - 5.0 - SMALL } else { edge + FONT - SMALL };
                    Rect { x: middle - w / 2.0, y, w, h: SMALL }
                };
                let raised = edge + if above { -RAISED } else { RAISED };
                let free = |edge: &f64| {
                    let place = place(*edge);
                    place.bottom() < plot.bottom() && !taken.iter().any(|other| place.overlaps(other))
                };
                let Some(found) = [edge, raised].into_iter().find(free) else { continue };
                edge = found;
                taken.push(place(edge));
            }
            svg.series_group("s", k);
            draw_label(svg, style, middle, edge, above, &number);
            svg.end();
        }
    }

    /// A value that the axis has to hold as well, so that numbers under bars that point down do not run into the names of the
    /// categories; none if there is room.
    fn room_below(&self, scale: &Scale, values: &[f64], labels: &Labels) -> Option<f64> {
        let finite = || values.iter().copied().filter(|value| value.is_finite());
        let lowest = finite().fold(f64::INFINITY, f64::min);
        let width = |value: f64| text::width(&self.number(value, labels), SMALL);
        let pixels = match labels.styles.contains(&LabelStyle::Upright) {
            true => finite().map(width).fold(0.0, f64::max) + 8.0,
            false => UNDER_BAR,
        };
        let room = pixels / self.meta.height(260.0);
        let needs = lowest < self.origin
            && labels.styles.iter().any(|style| *style != LabelStyle::None)
            && self.axis.min.is_none_or(|min| min >= self.origin)
            && !scale.cuts(lowest)
            && scale.at(lowest) < room;
        needs.then(|| lowest - room * (scale.value(1.0) - scale.value(0.0)))
    }

    /// Width of a bar with its share of the gaps, in pixels.
    fn bar_pitch(&self, slot: f64) -> f64 {
        let count = self.series.len().max(1) as f64;
        (slot * if count > 1.0 { 0.82 } else { 0.64 } / count).min(44.0)
    }

    /// How values are written over the bars.
    fn labels(&self, columns: &Columns, means: Option<&[f64]>) -> Labels {
        let of_bars: Vec<f64> = self.series.iter().flat_map(|s| s.values.iter().copied()).collect();
        let of_means = means.unwrap_or(&[]);
        let several = self.series.len() > 1;
        let pitches = [self.bar_pitch(columns.slot), self.bar_pitch(columns.last_slot)];
        let mut labels = Labels { styles: [LabelStyle::None; 2], without_sign: false, crowded: false };
        let widest = |labels: &Labels, values: &[f64]| {
            values.iter().map(|v| text::width(&self.number(*v, labels), SMALL)).fold(0.0, f64::max)
        };
        let is_crowded = |labels: &Labels| {
            several
                && (widest(labels, &of_bars) * SLACK > pitches[0]
                    || widest(labels, of_means) * SLACK > pitches[1])
        };
        labels.without_sign = is_crowded(&labels);
        labels.crowded = is_crowded(&labels);
        let style = |values: &[f64], slot: f64, pitch: f64, many: bool| {
            // Beside a bar of another series is another number, beside the only one is a gap.
            let room = if several { pitch + 8.0 } else { slot - 4.0 };
            if widest(&labels, values) <= room.max(pitch + 4.0) {
                LabelStyle::Level
            } else if pitch >= SMALL && !many {
                LabelStyle::Upright
            } else {
                LabelStyle::None
            }
        };
        let many = self.categories.len() * self.series.len() > 64;
        labels.styles = [
            style(&of_bars, columns.slot, pitches[0], many),
            style(of_means, columns.last_slot, pitches[1], false),
        ];
        labels
    }

    /// A value as it is written over its bar.
    fn number(&self, value: f64, labels: &Labels) -> String {
        let number = self.axis.brief(value);
        match number.strip_suffix("\u{202f}%") {
            Some(short) if labels.without_sign => short.to_owned(),
            _ => number,
        }
    }

    /// Whether a number over a bar says something: not where the bar has the height of the reference, and where numbers
    /// have to stand upright only for the least and the greatest value of the series.
    fn tells(&self, series: &Series, at: usize, style: LabelStyle) -> bool {
        let (number, reference) = (|value: f64| self.axis.brief(value), self.baseline.unwrap_or(self.origin));
        if number(value_at(series, at)) == number(reference) {
            return false;
        }
        if style != LabelStyle::Upright {
            return true;
        }
        let count = self.categories.len() - usize::from(self.mean_last);
        let known = || (0..count).map(|at| (at, value_at(series, at))).filter(|(_, value)| value.is_finite());
        let by = |a: &(usize, f64), b: &(usize, f64)| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0));
        let Some((least, most)) = known().min_by(|a, b| a.1.total_cmp(&b.1)).zip(known().max_by(by)) else {
            return false;
        };
        // Of values that are all the same, the axis tells enough.
        number(least.1) != number(most.1) && (at == least.0 || at == most.0)
    }
}

fn draw_label(svg: &mut Svg, style: LabelStyle, x: f64, edge: f64, above: bool, number: &str) {
    let away = if above { -5.0 } else { 5.0 };
    match style {
        LabelStyle::None => {}
        LabelStyle::Level => {
            let y = edge + if above { away } else { FONT };
            svg.text("label", x, y, Anchor::Middle, number);
        }
        LabelStyle::Upright => {
            let anchor = if above { Anchor::Start } else { Anchor::End };
            svg.text_full("label", x + 3.8, edge + away, anchor, -90.0, number, None);
        }
    }
}

/// The bars of one category.
struct Group<'a> {
    name: &'a str,
    values: Vec<f64>,
    slot: f64,
    style: LabelStyle,
    /// Whether it is the mean of the others.
    mean: bool,
    /// Position of the category.
    at: usize,
}

/// Grid and the band behind the mean.
fn draw_ground(svg: &mut Svg, columns: &Columns, scale: &Scale, origin: f64, mean: bool) {
    let (plot, slot) = (columns.plot, columns.last_slot);
    if let (true, Some(centre)) = (mean, columns.centres.last()) {
        let band = Rect { x: centre - slot / 2.0, y: plot.y - 6.0, w: slot, h: plot.h + 6.0 };
        svg.rect("band", band, 3.0, None);
    }
    frame::value_axis(svg, plot, scale, Some(origin));
}

/// A slanted notch near the end of a bar that reaches beyond the axis.
fn draw_cut(svg: &mut Svg, bar: Rect, edge: f64, above: bool) {
    let y = if above { edge + 11.0 } else { edge - 11.0 };
    svg.line("cut", bar.x - 2.0, y + 2.5, bar.right() + 2.0, y - 2.5);
}

/// How the values of a chart are written over its bars.
struct Labels {
    /// Whether and which way: of the categories, and of the mean.
    styles: [LabelStyle; 2],
    /// Whether shares are written without the percent sign, which the axis has as well.
    without_sign: bool,
    /// Whether numbers are wider than bars.
    crowded: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LabelStyle {
    None,
    Level,
    Upright,
}

/// The value of a category, NaN where the series is too short.
fn value_at(series: &Series, index: usize) -> f64 {
    series.values.get(index).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Format;

    /// Texts of a class in an SVG: x, y and the text.
    fn texts(svg: &str, class: &str) -> Vec<(f64, f64, String)> {
        let start = format!("<text class=\"{class}\"");
        let parse = |part: &str| {
            let (head, rest) = part.split_once('>')?;
            let number =
                |name: &str| head.split(&format!(" {name}=\"")).nth(1)?.split('"').next()?.parse().ok();
            let text = rest.split("</text>").next()?.rsplit('>').next()?;
            Some((number("x")?, number("y")?, text.to_owned()))
        };
        svg.split(&start).skip(1).filter_map(parse).collect()
    }

    fn drawn(values: &[f64], diverging: bool) -> String {
        let names = ["a", "b", "c", "d"];
        let axis = Axis::new("Speedup", Format::Ratio(2));
        let chart = BarChart::new("Speedup", axis)
            .categories("Kernel", &names[..values.len()])
            .series(Series::new("bow", values.iter().copied()))
            .baseline(1.0);
        let chart = if diverging { chart.diverging(1.0) } else { chart };
        chart.draw(900.0).inline("id", "t", "d")
    }

    #[test]
    fn bars_that_differ_have_labels_that_differ() {
        let svg = drawn(&[1.0034, 1.0039, 0.99996, 1.0612], true);
        let labels: Vec<String> = texts(&svg, "label").into_iter().map(|label| label.2).collect();
        assert_eq!(labels, ["×1.0034", "×1.0039", "×0.99996", "×1.0612"]);
    }

    #[test]
    fn numbers_of_bars_side_by_side_do_not_overlap() {
        let names: Vec<String> = (0..9).map(|k| format!("kernel {k}")).collect();
        for (format, value) in
            [(Format::Percent(1), 0.267), (Format::Si, 21_600.0), (Format::Float(2), 20.25)]
        {
            let chart = BarChart::new("Equal bars", Axis::new("Share", format)).categories("Kernel", &names);
            let series = |name: &str| Series::new(name, names.iter().map(|_| value));
            let chart = chart.series(series("grid")).series(series("block")).series(series("warp"));
            let svg = chart.arithmetic_mean().draw(1074.0).inline("id", "t", "d");
            let labels = texts(&svg, "label");
            assert_eq!(labels.len(), 30, "{format:?}");
            let place = |(x, y, text): &(f64, f64, String)| {
                let w = text::width(text, SMALL);
                Rect { x: x - w / 2.0, y: y - SMALL, w, h: SMALL }
            };
            for (k, label) in labels.iter().enumerate() {
                let over = labels[..k].iter().find(|other| place(label).overlaps(&place(other)));
                assert!(over.is_none(), "{label:?} stands on {over:?}");
                assert!(!label.2.contains('%'), "{label:?}");
            }
        }
    }

    #[test]
    fn numbers_stand_clear_of_the_baseline_and_of_the_names() {
        let svg = drawn(&[0.96, 0.985, 0.999, 0.7], false);
        let line = svg.split("<line class=\"baseline\"").nth(1).expect("a baseline");
        let y: f64 =
            line.split(" y1=\"").nth(1).and_then(|rest| rest.split('"').next()?.parse().ok()).expect("y");
        for (_, bottom, text) in texts(&svg, "label") {
            assert!(bottom <= y - 1.0 || bottom - SMALL >= y + 1.0, "{text} at {bottom} is struck by {y}");
        }
        let svg = drawn(&[0.901, 0.95, 1.02, 1.05], true);
        let names = texts(&svg, "category").into_iter().map(|name| name.1).fold(f64::INFINITY, f64::min);
        for (_, bottom, text) in texts(&svg, "label") {
            assert!(bottom < names - FONT, "{text} at {bottom} runs into the names at {names}");
        }
    }
}
