//! Stacked bars: the parts of a whole, vertical or horizontal, absolute or as shares of 100 %.
//!
//! Positive parts stack up from zero, negative ones down. Shares are taken of the positive parts; negative
//! parts have no share and are reported.

use super::common::{Meta, Series, listing, meta_builders, missing_note};
use super::frame::{self, Columns, Key, Spread, Swatch};
use crate::axis::{Axis, Scale};
use crate::error::{Result, expect_len};
use crate::format::Format;
use crate::palette::Paint;
use crate::svg::{Anchor, FONT, Rect, SMALL, Svg};
use crate::table::{Cell, Column, Table};
use crate::text;

/// Height of a lying bar and distance between two.
const BAR: f64 = 17.0;
/// Part of a bar from which on a segment is labelled.
const LEAST_LABELLED: f64 = 0.1;
const PITCH: f64 = 25.0;
/// Height of a group heading between lying bars.
const HEADING: f64 = 26.0;

/// Stacked bar chart: one bar per category, one segment per series.
#[derive(Clone, Debug)]
pub struct StackedChart {
    pub(crate) meta: Meta,
    axis: Axis,
    category_name: String,
    group_name: String,
    categories: Vec<Category>,
    series: Vec<Series>,
    shares: bool,
    lying: bool,
    ramp: bool,
}

#[derive(Clone, Debug)]
struct Category {
    group: Option<String>,
    name: String,
}

/// A segment laid out along the value axis.
struct Segment {
    series: usize,
    from: f64,
    to: f64,
    value: f64,
}

impl StackedChart {
    /// An empty chart; `axis` describes the values as they are given.
    pub fn new(title: impl Into<String>, axis: Axis) -> Self {
        Self {
            meta: Meta::new(title),
            axis,
            category_name: "Category".to_owned(),
            group_name: "Group".to_owned(),
            categories: Vec::new(),
            series: Vec::new(),
            shares: false,
            lying: false,
            ramp: false,
        }
    }

    meta_builders!();

    /// What the bars are ("Kernel"), and their names in order.
    #[must_use]
    pub fn categories<T: AsRef<str>>(
        mut self,
        name: impl Into<String>,
        categories: impl IntoIterator<Item = T>,
    ) -> Self {
        self.category_name = name.into();
        let category = |name: T| Category { group: None, name: name.as_ref().to_owned() };
        self.categories = categories.into_iter().map(category).collect();
        self
    }

    /// Bars in groups, as (group, bar) pairs: for each kernel one bar per configuration, say. Neighbours of
    /// the same group are drawn together.
    #[must_use]
    pub fn grouped<G: Into<String>, T: AsRef<str>>(
        mut self,
        group_name: impl Into<String>,
        name: impl Into<String>,
        categories: impl IntoIterator<Item = (G, T)>,
    ) -> Self {
        self.group_name = group_name.into();
        self.category_name = name.into();
        let category =
            |(group, name): (G, T)| Category { group: Some(group.into()), name: name.as_ref().to_owned() };
        self.categories = categories.into_iter().map(category).collect();
        self
    }

    /// Adds a series with one value per bar.
    #[must_use]
    pub fn series(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// Draws every bar as shares of its own sum.
    #[must_use]
    pub fn shares(mut self) -> Self {
        self.shares = true;
        self
    }

    /// Lays the bars down, one row each; right for long names and many bars.
    #[must_use]
    pub fn horizontal(mut self) -> Self {
        self.lying = true;
        self
    }

    /// Colours the series as steps from little to much, for classes that have an order.
    #[must_use]
    pub fn ordered(mut self) -> Self {
        self.ramp = true;
        self
    }

    pub(crate) fn check(&self) -> Result<()> {
        for series in &self.series {
            let part = || format!("series \"{}\"", series.name);
            let title = &self.meta.title;
            expect_len("stacked chart", title, part, "values", series.values.len(), self.categories.len())?;
        }
        Ok(())
    }

    fn is_grouped(&self) -> bool {
        self.categories.iter().any(|c| c.group.is_some())
    }

    pub(crate) fn data(&self) -> Table {
        let group = self.is_grouped().then(|| Column::text(&self.group_name));
        let number = |s: &Series| Column::number(&s.name, self.axis.format.of_column()).unit(&self.axis.unit);
        let columns = group.into_iter().chain([Column::text(&self.category_name)]);
        let mut table = Table::new("", columns.chain(self.series.iter().map(number)));
        for (i, category) in self.categories.iter().enumerate() {
            let group = self.is_grouped().then(|| Cell::from(category.group.clone()));
            let values = self.series.iter().map(|s| Cell::Number(value_at(s, i)));
            table.push(group.into_iter().chain([Cell::from(&category.name)]).chain(values));
        }
        table
    }

    fn values(&self) -> impl Iterator<Item = f64> + '_ {
        self.series.iter().flat_map(|s| (0..self.categories.len()).map(|i| value_at(s, i)))
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        let missing = missing_note(self.values().filter(|v| !v.is_finite()).count());
        let negative = self.values().filter(|&v| v.is_finite() && v < 0.0).count();
        let negative = (self.shares && negative > 0)
            .then(|| format!("{negative} negative value(s) have no share and are not drawn."));
        missing.into_iter().chain(negative).collect()
    }

    pub(crate) fn describe(&self) -> String {
        format!(
            "Stacked bar chart of {}{} for {} bars, made of {}.",
            self.axis.title(),
            if self.shares { ", as shares of each bar's sum," } else { "" },
            self.categories.len(),
            listing(self.series.iter().map(|s| s.name.as_str())),
        )
    }

    /// The segments of bar `index` and the sum that shares are taken of.
    fn segments(&self, index: usize) -> (Vec<Segment>, f64) {
        // Bounding single values keeps the sum of any sensible number of them finite.
        let bounded = |s: &Series| value_at(s, index).clamp(-f64::MAX / 1e6, f64::MAX / 1e6);
        let total: f64 = self.series.iter().map(bounded).filter(|v| *v > 0.0).sum();
        let (mut up, mut down) = (0.0, 0.0);
        let mut segments = Vec::with_capacity(self.series.len());
        for (k, series) in self.series.iter().enumerate() {
            let value = bounded(series);
            let length = match (self.shares, value_at(series, index).is_finite()) {
                (_, false) => continue,
                (true, _) if value < 0.0 || total <= 0.0 => continue,
                (true, _) => value / total,
                (false, _) => value,
            };
            let end = if length < 0.0 { &mut down } else { &mut up };
            let from = *end;
            *end += length;
            segments.push(Segment { series: k, from, to: *end, value: value_at(series, index) });
        }
        (segments, total)
    }

    /// The value axis as drawn: the given one, or shares of 100 %.
    fn drawn_axis(&self) -> Axis {
        if !self.shares {
            let mut axis = self.axis.clone();
            axis.min = axis.min.filter(|&min| min < 0.0);
            axis.max = axis.max.filter(|&max| max > 0.0);
            return axis;
        }
        Axis::new(format!("Share of {}", lower_first(&self.axis.label)), Format::Percent(1)).min(0.0).max(1.0)
    }

    fn paint(&self, series: usize) -> Paint {
        let ramp = if self.ramp { Paint::ramp(series, self.series.len()) } else { Paint::Slot(series) };
        self.series[series].paint.unwrap_or(ramp)
    }

    fn tip(&self, index: usize, segment: &Segment, total: f64) -> String {
        let series = &self.series[segment.series].name;
        let share = segment.value / total;
        let value = self.axis.show(segment.value);
        let head = self.full_name(index);
        let is_share_itself = matches!(self.axis.format, Format::Percent(_));
        if is_share_itself && (total - 1.0).abs() < 1e-3 || !(0.0..=1.0).contains(&share) {
            format!("{head}\n{series}: {value}")
        } else {
            format!("{head}\n{series}: {value} ({})", Format::Percent(1).show(share))
        }
    }

    fn full_name(&self, index: usize) -> String {
        let category = &self.categories[index];
        match &category.group {
            Some(group) => format!("{group} · {}", category.name),
            None => category.name.clone(),
        }
    }

    /// Whether a new group begins with bar `index`.
    fn begins_group(&self, index: usize) -> bool {
        index == 0 || self.categories[index].group != self.categories[index - 1].group
    }

    pub(crate) fn draw(&self, width: f64) -> Svg {
        let bars: Vec<_> = (0..self.categories.len()).map(|i| self.segments(i)).collect();
        let ends = bars.iter().flat_map(|(segments, _)| segments.iter().flat_map(|s| [s.from, s.to]));
        let axis = self.drawn_axis();
        let scale = axis.scale(ends, &[0.0], 5);
        if self.lying {
            self.draw_lying(width, &axis, &scale, &bars)
        } else {
            self.draw_upright(width, &axis, &scale, &bars)
        }
    }

    fn keys(&self) -> Vec<Key<'_>> {
        let key = |(i, s)| -> Key<'_> {
            let series: &Series = s;
            Key { name: &series.name, swatch: Swatch::Fill(self.paint(i)) }
        };
        self.series.iter().enumerate().map(key).collect()
    }

    fn draw_upright(&self, width: f64, axis: &Axis, scale: &Scale, bars: &[(Vec<Segment>, f64)]) -> Svg {
        let names: Vec<&str> = self.categories.iter().map(|c| c.name.as_str()).collect();
        let mut columns = Columns::new(&Spread {
            names: &names,
            gap_before: &|i| self.begins_group(i),
            width,
            left: frame::axis_width(scale),
            slots: (15.0, 96.0),
            last: 0.0,
        });
        let mut svg = Svg::new((columns.plot.right() + frame::RIGHT).max(width.min(460.0)), 0.0);
        columns.plot.y = frame::header(&mut svg, &axis.title(), &self.keys()) + 8.0;
        columns.plot.h = self.meta.height(280.0);
        let plot = columns.plot;
        frame::value_axis(&mut svg, plot, scale, Some(0.0));
        let bar_width = (columns.slot * 0.74).min(56.0);
        // The large segments of all bars are labelled or none: numbers in some bars only would look like a choice.
        let labelled = self.widest_label(bars) + 6.0 <= bar_width;
        let y_of = |value: f64| plot.bottom() - scale.at(value) * plot.h;
        for (i, (segments, total)) in bars.iter().enumerate() {
            let x = columns.centres[i] - bar_width / 2.0;
            for segment in segments {
                let (a, b) = (y_of(segment.from), y_of(segment.to));
                let r = Rect { x, y: a.min(b), w: bar_width, h: (a - b).abs() };
                self.draw_segment(&mut svg, r, i, segment, *total, labelled);
            }
            self.draw_absent(&mut svg, segments, columns.centres[i], y_of(0.0) - 4.0);
        }
        columns.draw_labels(&mut svg, &names, |_| false);
        if bars.iter().all(|(segments, _)| segments.is_empty()) {
            frame::no_data(&mut svg, plot);
        }
        svg.height = plot.bottom() + columns.label_height;
        if self.is_grouped() {
            self.draw_group_labels(&mut svg, &columns);
            svg.height += 24.0;
        }
        svg
    }

    /// Group names under the bar labels, each under a line that spans its bars.
    fn draw_group_labels(&self, svg: &mut Svg, columns: &Columns) {
        let y = columns.plot.bottom() + columns.label_height;
        let starts: Vec<_> = (0..self.categories.len()).filter(|&i| self.begins_group(i)).collect();
        for (n, &start) in starts.iter().enumerate() {
            let end = starts.get(n + 1).copied().unwrap_or(self.categories.len()) - 1;
            let (a, b) =
                (columns.centres[start] - columns.slot * 0.4, columns.centres[end] + columns.slot * 0.4);
            svg.line("axis", a, y, b, y);
            let name = self.categories[start].group.as_deref().unwrap_or("");
            let room = b - a + columns.slot * 0.5;
            let shown = text::fit(name, FONT, room);
            svg.text_full(
                "category strong",
                (a + b) / 2.0,
                y + 16.0,
                Anchor::Middle,
                0.0,
                &shown,
                Some(name),
            );
        }
    }

    fn draw_lying(&self, width: f64, axis: &Axis, scale: &Scale, bars: &[(Vec<Segment>, f64)]) -> Svg {
        let mut svg = Svg::new(width, 0.0);
        let indent = if self.is_grouped() { 12.0 } else { 0.0 };
        let widest = self.categories.iter().map(|c| text::width(&c.name, FONT)).fold(0.0, f64::max);
        let names_width = widest.min(frame::MOST_NAME) + indent;
        let x = names_width + 12.0;
        let totals = if self.shares { 18.0 } else { 64.0 };
        let mut plot = Rect { x, y: 0.0, w: (width - x - totals).max(200.0), h: 0.0 };
        svg.width = plot.right() + totals;
        plot.y = frame::header(&mut svg, "", &self.keys());
        let headings =
            (0..self.categories.len()).filter(|&i| self.is_grouped() && self.begins_group(i)).count();
        plot.h = self.categories.len() as f64 * PITCH + headings as f64 * HEADING + 6.0;
        lying_axis(&mut svg, plot, scale, &axis.title());
        svg.height = plot.bottom() + 46.0;
        let x_of = |value: f64| plot.x + scale.at(value) * plot.w;
        let mut y = plot.y + 3.0;
        for (i, (segments, total)) in bars.iter().enumerate() {
            if self.is_grouped() && self.begins_group(i) {
                let name = self.categories[i].group.as_deref().unwrap_or("");
                let shown = text::fit(name, FONT, svg.width);
                svg.text_full("category strong", 0.0, y + 18.0, Anchor::Start, 0.0, &shown, Some(name));
                y += HEADING;
            }
            let name = &self.categories[i].name;
            let shown = text::fit(name, FONT, names_width - indent);
            let middle = y + PITCH / 2.0;
            svg.text_full("category", x - 10.0, middle + 4.0, Anchor::End, 0.0, &shown, Some(name));
            for segment in segments {
                let (a, b) = (x_of(segment.from), x_of(segment.to));
                let r = Rect { x: a.min(b), y: middle - BAR / 2.0, w: (a - b).abs(), h: BAR };
                self.draw_segment(&mut svg, r, i, segment, *total, true);
            }
            self.draw_absent(&mut svg, segments, x_of(0.0) + 8.0, middle + 4.0);
            if let (false, Some(end)) = (self.shares, segments.iter().map(|s| s.to).reduce(f64::max)) {
                let label = self.axis.brief(segments.iter().map(|s| s.value).sum());
                svg.text("label", x_of(end) + 6.0, middle + 4.0, Anchor::Start, &label);
            }
            y += PITCH;
        }
        svg.line("axis", x_of(0.0), plot.y, x_of(0.0), plot.bottom());
        if bars.is_empty() {
            svg.height += 40.0;
            frame::no_data(&mut svg, Rect { h: 20.0, ..plot });
        }
        svg
    }

    /// What is written on a segment: its percentage, or its value.
    fn label(&self, segment: &Segment, total: f64) -> String {
        if self.shares {
            format!("{:.0}", segment.value / total * 100.0)
        } else {
            self.axis.brief(segment.value)
        }
    }

    fn widest_label(&self, bars: &[(Vec<Segment>, f64)]) -> f64 {
        let labels = bars.iter().flat_map(|(segments, total)| segments.iter().map(|s| self.label(s, *total)));
        labels.map(|label| text::width(&label, SMALL)).fold(0.0, f64::max)
    }

    /// One segment, with its share or value written on it if it fits.
    fn draw_segment(
        &self,
        svg: &mut Svg,
        r: Rect,
        index: usize,
        segment: &Segment,
        total: f64,
        labelled: bool,
    ) {
        if segment.value == 0.0 {
            return;
        }
        let paint = self.paint(segment.series);
        svg.series_group("s", segment.series);
        let tip = self.tip(index, segment, total);
        svg.rect(&format!("mark part {}", paint.fill()), r, 0.0, Some(&tip));
        let label = self.label(segment, total);
        // Smaller parts are for the tooltip and the data.
        let matters = segment.value.abs() >= LEAST_LABELLED * total.abs();
        if labelled && matters && r.h >= 13.0 && text::width(&label, SMALL) + 6.0 <= r.w {
            let y = r.y + r.h / 2.0 + 3.9;
            svg.text(&format!("on {}", paint.text_upon()), r.x + r.w / 2.0, y, Anchor::Middle, &label);
        }
        svg.end();
    }

    /// A dash in place of a bar that has no segment at all.
    fn draw_absent(&self, svg: &mut Svg, segments: &[Segment], x: f64, y: f64) {
        if segments.is_empty() {
            svg.text("missing", x, y, Anchor::Middle, crate::format::MISSING);
        }
    }
}

/// Grid, labels and title of a lying value axis, below the plot.
fn lying_axis(svg: &mut Svg, plot: Rect, scale: &Scale, title: &str) {
    for (at, label) in scale.ticks() {
        let x = plot.x + at * plot.w;
        svg.line("grid", x, plot.y, x, plot.bottom());
        svg.text("tick", x, plot.bottom() + 16.0, Anchor::Middle, &label);
    }
    svg.text("title", plot.x + plot.w / 2.0, plot.bottom() + 37.0, Anchor::Middle, title);
}

/// "Cycles" → "cycles", but "SM cycles" stays.
fn lower_first(label: &str) -> String {
    let mut chars = label.chars();
    match (chars.next(), chars.next()) {
        (Some(first), second) if !second.is_some_and(char::is_uppercase) => {
            first.to_lowercase().chain(label.chars().skip(1)).collect()
        }
        _ => label.to_owned(),
    }
}

/// The value of a bar, NaN where the series is too short.
fn value_at(series: &Series, index: usize) -> f64 {
    series.values.get(index).copied().unwrap_or(f64::NAN)
}
