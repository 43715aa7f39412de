//! Frame of upright charts: axis title and legend on top, grid and value axis, category labels that turn when
//! they get crowded.

use crate::axis::Scale;
use crate::palette::Paint;
use crate::svg::{Anchor, FONT, Rect, SMALL, Svg};
use crate::text;

/// Width that the names of rows get at most; a chart with longer ones grows, and the page lets it scroll.
pub(crate) const MOST_NAME: f64 = 420.0;
/// Room kept free at the right of every plot.
pub(crate) const RIGHT: f64 = 12.0;

/// How a legend shows its series.
#[derive(Clone, Copy)]
pub(crate) enum Swatch {
    Fill(Paint),
    /// Line with a marker of the given shape.
    Line(Paint, usize),
    /// The marker alone.
    Point(Paint, usize),
    /// A dashed line.
    Dashes(Paint),
}

/// One legend entry.
pub(crate) struct Key<'a> {
    pub(crate) name: &'a str,
    pub(crate) swatch: Swatch,
}

/// Width that a page of 560 pixels shows of a chart before it fades out. Wider charts scroll there, and their legends must not scroll away.
const ALWAYS_SEEN: f64 = 430.0;

/// Draws axis title (left) and legend (right of it if it fits, else below) and returns the height
/// they took.
pub(crate) fn header(svg: &mut Svg, title: &str, keys: &[Key<'_>]) -> f64 {
    const ROW: f64 = 20.0;
    let (width, seen) = (svg.width, svg.width.min(ALWAYS_SEEN));
    let shown = text::fit(title, FONT, width);
    svg.text_full("title", 0.0, 13.0, Anchor::Start, 0.0, &shown, Some(title));
    let title_width = if title.is_empty() { 0.0 } else { text::width(&shown, FONT) + 28.0 };
    let names: Vec<_> =
        keys.iter().map(|key| text::fit(key.name, FONT, seen - key_gap(key.swatch) - 18.0)).collect();
    let advance = |name: &str, swatch| key_gap(swatch) + text::width(name, FONT) + 18.0;
    let widths: Vec<_> = names.iter().zip(keys).map(|(n, k)| advance(n, k.swatch)).collect();
    // A little slack: the reader's font may be wider than estimated.
    let total: f64 = widths.iter().sum::<f64>() - 14.0;
    let beside = !keys.is_empty() && title_width + total <= seen;
    let mut y = if title.is_empty() || beside { 0.0 } else { ROW };
    let mut x = if beside && !title.is_empty() { seen - total } else { 0.0 };
    for (i, key) in keys.iter().enumerate() {
        if x > 0.0 && x + widths[i] - 18.0 > seen + 0.5 {
            (x, y) = (0.0, y + ROW);
        }
        svg.key(i, |svg| {
            draw_swatch(svg, key.swatch, x, y + 9.0);
            let start = x + key_gap(key.swatch);
            svg.text_full("legend", start, y + 13.0, Anchor::Start, 0.0, &names[i], Some(key.name));
        });
        x += widths[i];
    }
    let rows = if keys.is_empty() && title.is_empty() {
        0.0
    } else if keys.is_empty() {
        ROW
    } else {
        y + ROW
    };
    rows + 10.0
}

fn key_gap(swatch: Swatch) -> f64 {
    match swatch {
        Swatch::Fill(_) | Swatch::Point(..) => 17.0,
        Swatch::Line(..) | Swatch::Dashes(_) => 26.0,
    }
}

fn draw_swatch(svg: &mut Svg, swatch: Swatch, x: f64, y: f64) {
    match swatch {
        Swatch::Fill(paint) => {
            svg.rect(&paint.fill(), Rect { x, y: y - 5.5, w: 11.0, h: 11.0 }, 2.5, None);
        }
        Swatch::Line(paint, shape) => {
            svg.line(&format!("series {}", paint.stroke()), x, y, x + 20.0, y);
            svg.marker(&format!("point {}", paint.fill()), shape, x + 10.0, y, None);
        }
        Swatch::Point(paint, shape) => {
            svg.marker(&format!("point {}", paint.fill()), shape, x + 5.5, y, None);
        }
        Swatch::Dashes(paint) => {
            svg.line(&format!("series dashed {}", paint.stroke()), x, y, x + 20.0, y);
        }
    }
}

/// Width that the labels of an upright value axis need, gap included.
pub(crate) fn axis_width(scale: &Scale) -> f64 {
    let widest = scale.ticks().iter().map(|(_, label)| text::width(label, SMALL)).fold(0.0, f64::max);
    (widest + 10.0).min(140.0)
}

/// Grid lines and labels of an upright value axis; the line at `origin` is drawn stronger.
pub(crate) fn value_axis(svg: &mut Svg, plot: Rect, scale: &Scale, origin: Option<f64>) {
    for (at, label) in scale.ticks() {
        let y = plot.bottom() - at * plot.h;
        svg.line("grid", plot.x, y, plot.right(), y);
        svg.text("tick", plot.x - 8.0, y + 3.8, Anchor::End, &label);
    }
    if let Some(origin) = origin {
        let y = plot.bottom() - scale.at(origin) * plot.h;
        svg.line("axis", plot.x, y, plot.right(), y);
    }
}

/// The same for one of several plots in a row, of which the first has the labels.
pub(crate) fn value_axis_of_row(svg: &mut Svg, plot: Rect, scale: &Scale, first: bool) {
    if first {
        return value_axis(svg, plot, scale, None);
    }
    for (at, _) in scale.ticks() {
        let y = plot.bottom() - at * plot.h;
        svg.line("grid", plot.x, y, plot.right(), y);
    }
}

/// Inputs of the horizontal positions of categories.
pub(crate) struct Spread<'a> {
    pub(crate) names: &'a [&'a str],
    /// Whether a gap parts category `i` from the one before.
    pub(crate) gap_before: &'a dyn Fn(usize) -> bool,
    /// Available width, and the width of the axis labels at the left.
    pub(crate) width: f64,
    pub(crate) left: f64,
    /// Least and greatest width of a category; the result may be wider or narrower than `width`.
    pub(crate) slots: (f64, f64),
    /// Least width of the last category, so that its mean remains readable.
    pub(crate) last: f64,
}

/// Horizontal positions of categories, with gaps where groups part.
pub(crate) struct Columns {
    pub(crate) centres: Vec<f64>,
    pub(crate) slot: f64,
    /// Width of the last category.
    pub(crate) last_slot: f64,
    pub(crate) plot: Rect,
    labels: Vec<String>,
    angle: f64,
    /// Height of the label area below the plot.
    pub(crate) label_height: f64,
}

/// Gap between groups, in slots.
const GAP: f64 = 0.55;
/// Widest category label that stays level.
const LEVEL_LABEL: f64 = 260.0;

impl Columns {
    pub(crate) fn new(spread: &Spread<'_>) -> Self {
        let names = spread.names;
        let gaps = (1..names.len()).filter(|&i| (spread.gap_before)(i)).count();
        let units = (names.len() as f64 + GAP * gaps as f64).max(1.0);
        let widest = names.iter().map(|name| text::width(name, FONT)).fold(0.0, f64::max);
        let (least, most) = (spread.slots.0, spread.slots.1.max(widest.min(LEVEL_LABEL) + 8.0));
        let slot_within = |left: f64| {
            let room = spread.width - left - RIGHT;
            let equal = room / units;
            let slot =
                if equal < spread.last { (room - spread.last) / (units - 1.0).max(1.0) } else { equal };
            slot.clamp(least, most.max(least))
        };
        let (labels, angle, label_height) = category_labels(names, slot_within(spread.left));
        // Slanted labels hang over to the left of their column; the first ones need the room.
        let mut left = spread.left;
        if angle != 0.0 {
            let slot = slot_within(left);
            let hang = |(i, name): (usize, &String)| {
                text::width(name, FONT) * angle.to_radians().cos() - (i as f64 + 0.5) * slot
            };
            left = left.max(labels.iter().enumerate().map(hang).fold(0.0, f64::max) + 4.0);
        }
        let slot = slot_within(left);
        let last_slot = slot.max(spread.last);
        let mut x = left;
        let mut centres = Vec::with_capacity(names.len());
        for i in 0..names.len() {
            if i > 0 && (spread.gap_before)(i) {
                x += GAP * slot;
            }
            let width = if i + 1 == names.len() { last_slot } else { slot };
            centres.push(x + width / 2.0);
            x += width;
        }
        let plot = Rect { x: left, y: 0.0, w: (x - left).max(120.0), h: 0.0 };
        Self { centres, slot, last_slot, plot, labels, angle, label_height }
    }

    /// Writes the category labels under the plot.
    pub(crate) fn draw_labels(&self, svg: &mut Svg, names: &[&str], strong: impl Fn(usize) -> bool) {
        let y = self.plot.bottom();
        for (i, (label, name)) in self.labels.iter().zip(names).enumerate() {
            let class = if strong(i) { "category strong" } else { "category" };
            let x = self.centres[i];
            if self.angle == 0.0 {
                svg.text_full(class, x, y + 18.0, Anchor::Middle, 0.0, label, Some(name));
            } else {
                let (dx, dy) = if self.angle == 90.0 { (4.0, 8.0) } else { (4.0, 14.0) };
                svg.text_full(class, x + dx, y + dy, Anchor::End, -self.angle, label, Some(name));
            }
        }
    }
}

/// Labels, the angle they are turned by, and the height they need.
fn category_labels(names: &[&str], slot: f64) -> (Vec<String>, f64, f64) {
    let widest = names.iter().map(|name| text::width(name, FONT)).fold(0.0, f64::max);
    let (angle, limit): (f64, f64) = if widest <= slot - 4.0 {
        (0.0, slot)
    } else if slot > LEVEL_LABEL {
        (0.0, slot - 4.0)
    } else if slot >= 17.0 {
        (40.0, 220.0)
    } else {
        (90.0, 200.0)
    };
    let labels: Vec<_> = names.iter().map(|name| text::fit(name, FONT, limit)).collect();
    let longest = labels.iter().map(|label| text::width(label, FONT)).fold(0.0, f64::max);
    let height = if angle == 0.0 { 26.0 } else { longest * angle.to_radians().sin() + 24.0 };
    (labels, angle, height)
}

/// Says in the middle of the plot that there is nothing to show.
pub(crate) fn no_data(svg: &mut Svg, plot: Rect) {
    svg.text("missing", plot.x + plot.w / 2.0, plot.y + plot.h / 2.0, Anchor::Middle, "No data");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legends_stand_where_a_narrow_page_shows_them() {
        for names in [
            &["bow", "corf"][..],
            &[
                "bow sm.max_warps=32",
                "bow sm.max_warps=64",
                "corf",
                "Ceiling: three ports, no bank conflicts",
            ],
        ] {
            let mut svg = Svg::new(1060.0, 0.0);
            let keys: Vec<Key<'_>> = names
                .iter()
                .enumerate()
                .map(|(at, name)| Key { name, swatch: Swatch::Fill(Paint::Slot(at)) })
                .collect();
            header(&mut svg, "Cycles of the baseline over these", &keys);
            let drawn = svg.inline("id", "t", "d");
            let mut seen = 0;
            for part in drawn.split("<text class=\"legend\" x=\"").skip(1) {
                let x: f64 = part.split('"').next().and_then(|x| x.parse().ok()).expect("x");
                let name =
                    part.split("</text>").next().and_then(|rest| rest.rsplit('>').next()).expect("a name");
                assert!(names.contains(&name), "{name} is cut");
                assert!(x + text::width(name, FONT) <= ALWAYS_SEEN + 1.0, "{name} at {x}");
                seen += 1;
            }
            assert_eq!(seen, names.len());
        }
    }
}
