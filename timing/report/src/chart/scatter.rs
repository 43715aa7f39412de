//! Points over two numeric axes: measured against expected. With a diagonal both axes have one scale, and a band around
//! it shows which points agree.

use super::common::{Meta, listing, meta_builders};
use super::frame::{self, Key, Swatch};
use super::line::draw_x_axis;
use crate::axis::{Axis, Scale};
use crate::error::Result;
use crate::palette::Paint;
use crate::svg::{Anchor, PathData, Rect, SMALL, Svg};
use crate::table::{Cell, Column, Table};
use crate::text;

/// At most this many points get a name beside them: all if there are no more, else those beyond the band.
const NAMED: usize = 12;
/// At most this many points react to the pointer.
const REACTIVE: usize = 2000;

/// A group of points with one colour and shape.
#[derive(Clone, Debug)]
pub struct Points {
    name: String,
    points: Vec<(String, f64, f64)>,
    paint: Option<Paint>,
}

impl Points {
    /// Named points (x, y).
    pub fn new<N: Into<String>>(
        name: impl Into<String>,
        points: impl IntoIterator<Item = (N, f64, f64)>,
    ) -> Self {
        let points = points.into_iter().map(|(name, x, y)| (name.into(), x, y)).collect();
        Self { name: name.into(), points, paint: None }
    }

    /// Draws the points in grey.
    #[must_use]
    pub fn neutral(mut self) -> Self {
        self.paint = Some(Paint::Neutral);
        self
    }

    fn paint(&self, index: usize) -> Paint {
        self.paint.unwrap_or(Paint::Slot(index))
    }
}

/// Scatter chart.
#[derive(Clone, Debug)]
pub struct ScatterChart {
    pub(crate) meta: Meta,
    x: Axis,
    y: Axis,
    groups: Vec<Points>,
    diagonal: bool,
    band: Option<f64>,
    named: bool,
    front: Option<(String, Vec<(f64, f64)>)>,
}

impl ScatterChart {
    /// An empty chart with its horizontal and vertical axis.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        let meta = Meta::new(title);
        Self { meta, x, y, groups: Vec::new(), diagonal: false, band: None, named: false, front: None }
    }

    meta_builders!();

    /// Adds points.
    #[must_use]
    pub fn points(mut self, points: Points) -> Self {
        self.groups.push(points);
        self
    }

    /// Gives both axes one scale and draws the line of equal values.
    #[must_use]
    pub fn diagonal(mut self) -> Self {
        self.diagonal = true;
        self
    }

    /// As [`ScatterChart::diagonal`], with a band of values that differ by up to this part of x. The
    /// points of the last group get names, if there are many only those beyond the band.
    #[must_use]
    pub fn band(mut self, part: f64) -> Self {
        self.diagonal = true;
        self.band = Some(part).filter(|part| part.is_finite() && (0.0..1.0).contains(part));
        self
    }

    /// Gives every point its name where there is room, those of the first group first.
    #[must_use]
    pub fn names(mut self) -> Self {
        self.named = true;
        self
    }

    /// Draws a dashed line through points, such as those of a Pareto front, in their order.
    #[must_use]
    pub fn front(mut self, name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        self.front = Some((name.into(), points.into_iter().collect()));
        self
    }

    pub(crate) fn check(&self) -> Result<()> {
        Ok(())
    }

    fn all(&self) -> impl Iterator<Item = &(String, f64, f64)> {
        self.groups.iter().flat_map(|group| &group.points)
    }

    fn shows(&self, (_, x, y): &(String, f64, f64)) -> bool {
        self.x.shows(*x) && self.y.shows(*y)
    }

    pub(crate) fn data(&self) -> Table {
        let number = |name: &str, fallback: &str, axis: &Axis| {
            let name = if name.is_empty() { fallback } else { name };
            Column::number(name, axis.format.of_column()).unit(&axis.unit)
        };
        let columns = [
            Column::text("Series"),
            Column::text("Point"),
            number(&self.x.label, "x", &self.x),
            number(&self.y.label, "y", &self.y),
        ];
        let mut table = Table::new("", columns);
        for group in &self.groups {
            for (name, x, y) in &group.points {
                table.push([Cell::from(&group.name), name.into(), Cell::Number(*x), Cell::Number(*y)]);
            }
        }
        table
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        let lost = self.all().filter(|point| !self.shows(point)).count();
        let note = || format!("{lost} point(s) are missing or lie outside what the axes can show.");
        (lost > 0).then(note).into_iter().collect()
    }

    pub(crate) fn describe(&self) -> String {
        format!(
            "Scatter chart of {} over {}: {}.",
            self.y.title(),
            self.x.title(),
            listing(self.groups.iter().map(|group| group.name.as_str()))
        )
    }

    pub(crate) fn draw(&self, width: f64) -> Svg {
        let (x_scale, y_scale) = self.scales();
        let mut svg = Svg::new(width, 0.0);
        let left = frame::axis_width(&y_scale).max(24.0);
        let top = frame::header(&mut svg, &self.y.title(), &self.keys()) + 2.0;
        let w = (width - left - 20.0).max(120.0);
        let plot = Rect { x: left, y: top, w, h: self.meta.height(w.min(420.0)) };
        svg.height = plot.bottom() + if self.x.title().is_empty() { 26.0 } else { 46.0 };
        frame::value_axis(&mut svg, plot, &y_scale, None);
        draw_x_axis(&mut svg, plot, &x_scale, &self.x.title());
        let view = View { plot, x: &x_scale, y: &y_scale, chart: self };
        if self.diagonal {
            view.diagonal(&mut svg);
        }
        view.front(&mut svg);
        for (k, group) in self.groups.iter().enumerate() {
            view.points(&mut svg, k, group);
        }
        if self.named {
            view.all_names(&mut svg);
        } else {
            view.names(&mut svg);
        }
        if !self.all().any(|point| self.shows(point)) {
            frame::no_data(&mut svg, plot);
        }
        svg
    }

    /// The scales of both axes; equal if there is a diagonal, with some room around the points.
    fn scales(&self) -> (Scale, Scale) {
        let shown = || self.all().filter(|point| self.shows(point));
        if !self.diagonal {
            let mut x = self.x.scale(shown().map(|point| point.1), &[], 6);
            if self.named {
                // Room for the name of a point at an end.
                let (low, high) = (x.value(0.0), x.value(1.0));
                let room = (high - low) * 0.06;
                x = self.x.scale(shown().map(|point| point.1).chain([low - room, high + room]), &[], 6);
            }
            return (x, self.y.scale(shown().map(|point| point.2), &[], 6));
        }
        let values = || shown().flat_map(|point| [point.1, point.2]);
        let (low, high) =
            values().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        let log = self.x.is_logarithmic() && self.y.is_logarithmic();
        let (low, high) = if log { (low / 1.5, high * 1.5) } else { (low, high) };
        let bounded = |axis: &Axis| {
            let mut axis = axis.clone();
            if log && low.is_normal() && high.is_finite() {
                axis.min = axis.min.or(Some(low));
                axis.max = axis.max.or(Some(high));
            }
            let mut scale = axis.scale(values(), &[], 6);
            if log {
                scale.tick_at(&round_values(low, high));
            }
            scale
        };
        (bounded(&self.x), bounded(&self.y))
    }

    fn keys(&self) -> Vec<Key<'_>> {
        let key = |(k, group)| -> Key<'_> {
            let group: &Points = group;
            Key { name: &group.name, swatch: Swatch::Point(group.paint(k), k) }
        };
        let several = self.groups.len() > 1;
        // A group without points has nothing to explain.
        let groups = self.groups.iter().enumerate().filter(|(_, group)| several && !group.points.is_empty());
        let front = self.front.iter().filter(|front| front.1.len() > 1);
        let front = front.map(|(name, _)| Key { name, swatch: Swatch::Dashes(Paint::Slot(0)) });
        groups.map(key).chain(front).collect()
    }
}

/// Round values between two: powers of ten, with 2 and 5 times these if there are few, at most a dozen.
fn round_values(low: f64, high: f64) -> Vec<f64> {
    let (first, last) = (low.log10().floor(), high.log10().ceil());
    if !(first.is_finite() && last.is_finite()) {
        return Vec::new();
    }
    let decades = last - first;
    let factors: &[f64] = if decades <= 4.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let stride = (decades / 12.0).ceil().max(1.0);
    let powers = (0..=(decades / stride) as i32).map(|step| 10f64.powf(first + f64::from(step) * stride));
    powers.flat_map(|power| factors.iter().map(move |factor| factor * power)).collect()
}

/// Where points fall.
struct View<'a> {
    plot: Rect,
    x: &'a Scale,
    y: &'a Scale,
    chart: &'a ScatterChart,
}

impl View<'_> {
    fn place(&self, x: f64, y: f64) -> (f64, f64) {
        (self.plot.x + self.x.at(x) * self.plot.w, self.plot.bottom() - self.y.at(y) * self.plot.h)
    }

    /// What the mark of a point covers.
    fn dot(&self, point: &(String, f64, f64)) -> Rect {
        let (x, y) = self.place(point.1, point.2);
        Rect { x: x - 4.0, y: y - 4.0, w: 8.0, h: 8.0 }
    }

    /// The value of the horizontal axis at a part of its width, 0 to 1.
    fn value(&self, at: f64) -> f64 {
        self.x.value(at)
    }

    /// The line of equal values and the band around it.
    fn diagonal(&self, svg: &mut Svg) {
        const STEPS: u32 = 64;
        let along = |factor: f64| {
            (0..=STEPS).map(move |step| {
                let x = self.value(f64::from(step) / f64::from(STEPS));
                self.place(x, x * factor)
            })
        };
        if let Some(part) = self.chart.band {
            let mut path = PathData::default();
            let above: Vec<_> = along(1.0 + part).collect();
            let below: Vec<_> = along(1.0 - part).collect();
            above.into_iter().chain(below.into_iter().rev()).for_each(|(x, y)| path.point(x, y));
            path.close();
            svg.path(&format!("area {}", Paint::Neutral.fill()), &path);
        }
        let mut line = PathData::default();
        along(1.0).for_each(|(x, y)| line.point(x, y));
        svg.path("baseline diagonal", &line);
    }

    /// The line through the points of the front.
    fn front(&self, svg: &mut Svg) {
        let Some((_, points)) = &self.chart.front else { return };
        let mut line = PathData::default();
        let shown = points.iter().filter(|(x, y)| self.chart.x.shows(*x) && self.chart.y.shows(*y));
        shown.for_each(|(x, y)| {
            let (x, y) = self.place(*x, *y);
            line.point(x, y);
        });
        if points.len() > 1 {
            svg.path(&format!("series dashed {}", Paint::Slot(0).stroke()), &line);
        }
    }

    /// Names of all points: at the right of a point, else at its left, above or below it, where nothing else is. A long name
    /// is cut only where it does not fit whole.
    fn all_names(&self, svg: &mut Svg) {
        let shown = || self.chart.all().filter(|point| self.chart.shows(point));
        let dots: Vec<Rect> = shown().map(|point| self.dot(point)).collect();
        let mut taken: Vec<Rect> = Vec::new();
        for (at, point) in shown().enumerate() {
            let (x, y) = self.place(point.1, point.2);
            let plot = self.plot;
            let free = |place: &Rect| {
                let inside = place.x >= plot.x && place.right() <= plot.right();
                let inside = inside && place.y >= plot.y - 4.0 && place.bottom() <= plot.bottom();
                let others = dots.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, dot)| dot);
                inside && taken.iter().chain(others).all(|other| !place.overlaps(other))
            };
            let place = |name: &str| {
                let (w, h) = (text::width(name, SMALL), 13.0);
                let places = [
                    (x + 8.0, y - 7.0),
                    (x - 8.0 - w, y - 7.0),
                    (x - w / 2.0, y - 20.0),
                    (x - w / 2.0, y + 7.0),
                ];
                places.map(|(x, y)| Rect { x, y, w, h }).into_iter().find(free)
            };
            let names = [point.0.clone(), text::fit(&point.0, SMALL, 200.0)];
            if let Some((name, place)) =
                names.into_iter().find_map(|name| place(&name).map(|place| (name, place)))
            {
                svg.text_full("label", place.x, place.y + 10.8, Anchor::Start, 0.0, &name, Some(&point.0));
                taken.push(place);
            }
        }
    }

    fn points(&self, svg: &mut Svg, k: usize, group: &Points) {
        svg.series_group("s", k);
        let class = format!("mark point {}", group.paint(k).fill());
        for (number, point) in group.points.iter().filter(|point| self.chart.shows(point)).enumerate() {
            let (x, y) = self.place(point.1, point.2);
            let tip = (number < REACTIVE).then(|| self.tip(group, point));
            svg.marker(&class, k, x, y, tip.as_deref());
        }
        svg.end();
    }

    fn tip(&self, group: &Points, (name, x, y): &(String, f64, f64)) -> String {
        let head = if self.chart.groups.len() > 1 { format!("{name}, {}", group.name) } else { name.clone() };
        let (x, y) = (labelled(&self.chart.x, *x), labelled(&self.chart.y, *y));
        format!("{head}\n{x}\n{y}")
    }

    /// Names of points of the last group, the farthest from the diagonal first, where there is room.
    fn names(&self, svg: &mut Svg) {
        let (Some(part), Some(group)) = (self.chart.band, self.chart.groups.last()) else { return };
        let far = |point: &(String, f64, f64)| (point.2 / point.1).ln().abs();
        let few = group.points.len() <= NAMED;
        let beyond = |point: &&(String, f64, f64)| {
            let near = ((1.0 - part)..=(1.0 + part)).contains(&(point.2 / point.1));
            self.chart.shows(point) && (few || !near)
        };
        let mut points: Vec<_> = group.points.iter().filter(beyond).collect();
        points.sort_by(|a, b| far(b).total_cmp(&far(a)));
        let dots: Vec<Rect> =
            self.chart.all().filter(|point| self.chart.shows(point)).map(|point| self.dot(point)).collect();
        let mut taken: Vec<Rect> = Vec::new();
        for point in points {
            let (x, y) = self.place(point.1, point.2);
            let name = text::fit(&point.0, SMALL, 160.0);
            let w = text::width(&name, SMALL);
            // Names stand away from the diagonal, where there is room, and rather beside than on other points.
            let fits = (x - 8.0 - w >= self.plot.x, x + 8.0 + w <= self.plot.right());
            let away = if point.2 > point.1 { !fits.0 } else { fits.1 };
            let place = |right: bool| {
                let from = if right { x + 8.0 } else { x - 8.0 - w };
                Rect { x: from, y: y - 8.0, w, h: 14.0 }
            };
            let covers = |right: bool| dots.iter().any(|dot| place(right).overlaps(dot));
            let back = if away { fits.0 } else { fits.1 };
            let right = if covers(away) && back && !covers(!away) { !away } else { away };
            let (place, from) = (place(right), place(right).x);
            if taken.len() < NAMED && taken.iter().all(|other| !place.overlaps(other)) {
                let (x, anchor) = if right { (from, Anchor::Start) } else { (x - 8.0, Anchor::End) };
                svg.text_full("label", x, y + 3.8, anchor, 0.0, &name, Some(&point.0));
                taken.push(place);
            }
        }
    }
}

/// A value with the label of its axis.
fn labelled(axis: &Axis, value: f64) -> String {
    if axis.label.is_empty() { axis.show(value) } else { format!("{}: {}", axis.label, axis.show(value)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Format;

    fn chart(points: &[(&str, f64, f64)]) -> ScatterChart {
        let axis = |label: &str| Axis::new(label, Format::Integer).log10();
        ScatterChart::new("Cycles", axis("Hardware"), axis("Model"))
            .points(Points::new("now", points.iter().map(|(name, x, y)| (*name, *x, *y))))
            .band(0.3)
    }

    #[test]
    fn of_many_points_those_beyond_the_band_are_named() {
        let mut points = vec![("near", 1000.0, 1100.0), ("far", 2000.0, 9000.0), ("nowhere", 0.0, 5.0)];
        let few = chart(&points);
        assert_eq!((few.notes().len(), few.data().rows().len()), (1, 3));
        let named = |chart: &ScatterChart, name: &str| {
            chart.draw(900.0).inline("id", "t", "d").contains(&format!(">{name}</text>"))
        };
        assert!(named(&few, "far") && named(&few, "near") && !named(&few, "nowhere"));
        points.extend([("more", 10.0, 10.0); NAMED]);
        let many = chart(&points);
        assert!(named(&many, "far") && !named(&many, "near"));
    }

    #[test]
    fn points_have_names_and_a_front_that_the_legend_explains() {
        let axis = |label: &str| Axis::new(label, Format::Ratio(2));
        let points = [("a", 1.0, 1.0), ("b", 1.1, 0.9), ("c", 1.2, 0.8)];
        let chart = ScatterChart::new("Front", axis("Speed"), axis("Energy"))
            .points(Points::new("On the front", points))
            .points(Points::new("Beaten", [("d", 1.05, 1.0); 0]).neutral())
            .front("Front", points.map(|point| (point.1, point.2)))
            .names();
        let drawn = chart.draw(900.0).inline("id", "t", "d");
        for name in ["a", "b", "c", "On the front", "Front"] {
            assert!(drawn.contains(&format!(">{name}</text>")), "{name} is missing: {drawn}");
        }
        assert!(drawn.contains("series dashed") && !drawn.contains("Beaten</text>"), "{drawn}");
    }

    #[test]
    fn a_long_name_is_whole_where_there_is_room() {
        let long = "machine collectors.ports=3 register_file.banks=16";
        let axis = |label: &str| Axis::new(label, Format::Ratio(2));
        let chart = ScatterChart::new("Front", axis("Speed"), axis("Energy"))
            .points(Points::new("All", [("plain", 1.0, 1.0), (long, 1.08, 1.0)]))
            .names();
        assert!(chart.draw(1074.0).inline("id", "t", "d").contains(&format!(">{long}</text>")));
        // Points of one value are in the middle of an axis.
        let (_, energy) = chart.scales();
        let near = |value: f64, expected: f64| (value - expected).abs() < 1e-9;
        assert!(near(energy.value(0.0), 0.9) && near(energy.value(1.0), 1.1) && near(energy.at(1.0), 0.5));
    }

    #[test]
    fn ticks_are_few_and_round() {
        assert_eq!(
            round_values(30.0, 900.0),
            [10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0]
        );
        assert!(round_values(1e-300, 1e300).len() <= 13);
        assert!(round_values(f64::INFINITY, f64::NEG_INFINITY).is_empty());
    }
}
