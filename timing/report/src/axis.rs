//! Axes: quantity and format of a chart's numbers, and the mapping from them to pixels with round ticks.
//!
//! All numbers are brought into a range where arithmetic cannot overflow first, so that any input
//! yields finite coordinates.

use crate::format::Format;

/// Magnitudes beyond this are drawn at it; differences of such numbers stay finite.
const HUGE: f64 = 1e150;
/// Magnitudes below this are drawn as zero; half of any other is still a normal number.
const TINY: f64 = 1e-300;

/// Spacing of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spacing {
    Linear,
    Log2,
    Log10,
}

/// What an axis shows: its label, the format and unit of its numbers, optional fixed bounds.
#[derive(Clone, Debug)]
pub struct Axis {
    pub(crate) label: String,
    pub(crate) unit: String,
    pub(crate) format: Format,
    pub(crate) min: Option<f64>,
    pub(crate) max: Option<f64>,
    pub(crate) spacing: Spacing,
}

impl Axis {
    /// An axis with a label; `format` is how its values read in labels, tooltips and tables.
    pub fn new(label: impl Into<String>, format: Format) -> Self {
        Self {
            label: label.into(),
            unit: String::new(),
            format,
            min: None,
            max: None,
            spacing: Spacing::Linear,
        }
    }

    /// The unit of the values, shown with the label and recorded with the data.
    #[must_use]
    pub fn unit(mut self, unit: impl Into<String>) -> Self {
        self.unit = unit.into();
        self
    }

    /// Fixes the lower end; ignored where bars must start at their origin.
    #[must_use]
    pub fn min(mut self, min: f64) -> Self {
        self.min = Some(min).filter(|v| v.is_finite());
        self
    }

    /// Fixes the upper end; values beyond it are cut off and labelled.
    #[must_use]
    pub fn max(mut self, max: f64) -> Self {
        self.max = Some(max).filter(|v| v.is_finite());
        self
    }

    /// Spaces values by their binary logarithm (lines and points only); values that are not positive are left out.
    #[must_use]
    pub fn log2(mut self) -> Self {
        self.spacing = Spacing::Log2;
        self
    }

    /// Spaces values by their decimal logarithm (lines and points only); values that are not positive are left out.
    #[must_use]
    pub fn log10(mut self) -> Self {
        self.spacing = Spacing::Log10;
        self
    }

    /// Label with unit, as written beside the axis.
    pub(crate) fn title(&self) -> String {
        match (self.label.is_empty(), self.unit.is_empty() || self.format.has_prefix()) {
            (_, true) => self.label.clone(),
            (true, false) => self.unit.clone(),
            (false, false) => format!("{} ({})", self.label, self.unit),
        }
    }

    /// A value with its unit, for tooltips.
    pub(crate) fn show(&self, value: f64) -> String {
        if self.unit.is_empty() {
            self.format.label(value)
        } else {
            self.format.show_with_unit(value, &self.unit)
        }
    }

    /// A value in short form: with the unit only if a prefix belongs to it.
    pub(crate) fn brief(&self, value: f64) -> String {
        if self.format.has_prefix() { self.show(value) } else { self.format.label(value) }
    }

    /// Whether the axis can show this value at all.
    pub(crate) fn shows(&self, value: f64) -> bool {
        value.is_finite() && (self.spacing == Spacing::Linear || value > 0.0)
    }

    /// The scale for these values; `anchors` are values that must be within (an origin, a baseline).
    pub(crate) fn scale(&self, values: impl Iterator<Item = f64>, anchors: &[f64], ticks: usize) -> Scale {
        let mut range: Option<(f64, f64)> = None;
        for value in values.chain(anchors.iter().copied()).filter(|&v| self.shows(v)) {
            let value = self.transform(value);
            range = Some(range.map_or((value, value), |(lo, hi)| (lo.min(value), hi.max(value))));
        }
        let (mut lo, mut hi) = range.unwrap_or((0.0, 1.0));
        let bound = |bound: Option<f64>| bound.filter(|&v| self.shows(v)).map(|v| self.transform(v));
        let (min, max) = (bound(self.min), bound(self.max));
        lo = min.unwrap_or(lo);
        hi = max.unwrap_or(hi);
        if hi - lo <= lo.abs().max(hi.abs()) * 1e-9 {
            // One value, or an upper bound below the data: open the range around it.
            let around = if lo == 0.0 { 1.0 } else { lo.abs() * 0.5 };
            if min.is_none() && max.is_none() && lo != 0.0 && !self.is_logarithmic() {
                (lo, hi) = (lo - around * 0.2, lo + around * 0.2);
            } else if max.is_some() && min.is_none() {
                lo = hi - around;
            } else {
                hi = lo + around;
            }
        }
        if self.is_logarithmic() {
            return self.logarithmic(lo, hi);
        }
        let step = nice_step((hi - lo) / ticks.max(1) as f64);
        // Whole numbers have none in between.
        let step = if self.format == Format::Integer { step.max(1.0) } else { step };
        if min.is_none() {
            lo = (lo / step + 1e-9).floor() * step;
        }
        if max.is_none() {
            hi = (hi / step - 1e-9).ceil() * step;
        }
        Scale { lo, hi, step, ticks: multiples(lo, hi, step), axis: self.clone() }
    }

    /// Ticks at whole powers, thinned out where there are many.
    fn logarithmic(&self, lo: f64, hi: f64) -> Scale {
        let stride = ((hi - lo) / 12.0).ceil().max(1.0);
        let mut ticks = multiples(lo, hi, stride);
        if ticks.len() < 2 {
            ticks = vec![lo, hi];
        }
        Scale { lo, hi, step: stride, ticks, axis: self.clone() }
    }

    pub(crate) fn is_logarithmic(&self) -> bool {
        self.spacing != Spacing::Linear
    }

    fn transform(&self, value: f64) -> f64 {
        match self.spacing {
            Spacing::Linear if value.abs() < TINY => 0.0,
            Spacing::Linear => value.clamp(-HUGE, HUGE),
            Spacing::Log2 => value.log2(),
            Spacing::Log10 => value.log10(),
        }
    }

    fn restore(&self, position: f64) -> f64 {
        match self.spacing {
            Spacing::Linear => position,
            Spacing::Log2 => position.exp2(),
            Spacing::Log10 => 10f64.powf(position),
        }
    }
}

/// The mapping of one axis, with its ticks.
pub(crate) struct Scale {
    /// Ends in transformed space.
    lo: f64,
    hi: f64,
    step: f64,
    ticks: Vec<f64>,
    axis: Axis,
}

impl Scale {
    /// Where the value lies between the ends, 0 to 1; values beyond stick to the end.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let share = (self.axis.transform(value) - self.lo) / (self.hi - self.lo);
        if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) }
    }

    /// The value at a part of the length, 0 to 1.
    pub(crate) fn value(&self, at: f64) -> f64 {
        self.axis.restore(self.lo + at * (self.hi - self.lo))
    }

    /// Whether the value lies beyond an end and is cut off there.
    pub(crate) fn cuts(&self, value: f64) -> bool {
        let value = self.axis.transform(value);
        let slack = (self.hi - self.lo) * 1e-9;
        value < self.lo - slack || value > self.hi + slack
    }

    /// Replaces the ticks by these values, as far as they lie within the ends.
    pub(crate) fn tick_at(&mut self, values: &[f64]) {
        let within = values.iter().copied().filter(|&v| self.axis.shows(v) && !self.cuts(v));
        self.ticks = within.map(|v| self.axis.transform(v)).collect();
        // Labels have the digits that these values need, not those of round steps.
        let whole = self.ticks.iter().all(|tick| tick.fract() == 0.0);
        let gaps = self.ticks.windows(2).map(|pair| (pair[1] - pair[0]).abs()).filter(|gap| *gap > 0.0);
        let least = gaps.fold(f64::INFINITY, f64::min);
        if self.axis.spacing == Spacing::Linear && least.is_finite() {
            self.step = if whole { least.max(1.0) } else { least };
        }
    }

    /// Position (0 to 1) and label of every tick.
    pub(crate) fn ticks(&self) -> Vec<(f64, String)> {
        let label = |&tick: &f64| {
            let value = self.axis.restore(tick);
            let text = if self.axis.spacing == Spacing::Linear {
                self.axis.format.tick(value, self.step, &self.axis.unit)
            } else {
                log_label(&self.axis, value)
            };
            ((tick - self.lo) / (self.hi - self.lo), text)
        };
        self.ticks.iter().map(label).collect()
    }
}

/// A power as a tick label, without needless digits.
fn log_label(axis: &Axis, value: f64) -> String {
    match axis.format {
        Format::Integer | Format::Float(_) if value >= 1e5 => Format::Si.tick(value, value, ""),
        Format::Integer | Format::Float(_) if value >= 1.0 && (value - value.round()).abs() < 1e-9 => {
            Format::Integer.show(value)
        }
        Format::Integer => Format::Float(3).tick(value, value, ""),
        other => other.tick(value, value, &axis.unit),
    }
}

/// The smallest of 1, 2, 2.5, 5 times a power of ten that is at least `raw`.
fn nice_step(raw: f64) -> f64 {
    let power = 10f64.powf(raw.log10().floor());
    if !(power.is_normal() && raw.is_normal()) {
        // Ranges too small to divide further (subnormal): any positive step will do.
        return raw.max(f64::MIN_POSITIVE);
    }
    let factor = [1.0, 2.0, 2.5, 5.0].into_iter().find(|f| f * power >= raw * (1.0 - 1e-9)).unwrap_or(10.0);
    factor * power
}

/// Multiples of `step` within `lo..=hi`, at most a few dozen whatever the arguments.
fn multiples(lo: f64, hi: f64, step: f64) -> Vec<f64> {
    let first = (lo / step - 1e-9).ceil();
    (0..40)
        .map(|i| (first + f64::from(i)) * step)
        .take_while(|&t| t <= hi + step * 1e-6)
        .map(|t| t + 0.0)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis, values: &[f64], anchors: &[f64]) -> Vec<String> {
        axis.scale(values.iter().copied(), anchors, 5).ticks().into_iter().map(|t| t.1).collect()
    }

    #[test]
    fn ticks_are_round_and_cover_the_values() {
        let ratio = Axis::new("", Format::Ratio(2));
        assert_eq!(
            labels(&ratio, &[0.9, 1.21], &[0.0]),
            ["×0", "×0.25", "×0.50", "×0.75", "×1.00", "×1.25"].map(|s| if s == "×0" {
                "×0.00".to_owned()
            } else {
                s.to_owned()
            })
        );
        let float = Axis::new("", Format::Float(2));
        assert_eq!(labels(&float, &[], &[]), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(&float, &[3.0], &[0.0]), ["0", "1", "2", "3"]);
        let counted = Axis::new("", Format::Integer);
        assert_eq!(labels(&counted, &[2.0, 4.0], &[]), ["2", "3", "4"]);
        let mut stops = counted.scale([2.0, 4.0].into_iter(), &[], 9);
        stops.tick_at(&[2.0, 3.0, 4.0]);
        assert_eq!(stops.ticks().into_iter().map(|tick| tick.1).collect::<Vec<_>>(), ["2", "3", "4"]);
        let sweep = Axis::new("", Format::Integer).log2();
        assert_eq!(labels(&sweep, &[1.0, 16.0, 0.0, -3.0], &[]), ["1", "2", "4", "8", "16"]);
    }

    #[test]
    fn extreme_ranges_stay_finite() {
        let values =
            [f64::MAX, f64::MIN, f64::MIN_POSITIVE, 5e-324, 0.0, f64::NAN, f64::INFINITY, 1e16, 1e16 + 2.0];
        for a in values {
            for b in values {
                for axis in [Axis::new("", Format::Si), Axis::new("", Format::Si).log10().min(a).max(b)] {
                    let scale = axis.scale([a, b].into_iter(), &[], 5);
                    assert!(scale.ticks().iter().all(|t| t.0.is_finite()), "{a} {b}");
                    assert!(scale.ticks().len() <= 40);
                    for v in values.into_iter().filter(|&v| axis.shows(v)) {
                        assert!((0.0..=1.0).contains(&scale.at(v)), "{a} {b} {v}");
                    }
                }
            }
        }
    }
}
