//! Error and correlation of one metric over the pairs that have it.

use super::metrics::{Kind, Metric};

/// Deviation up to which a count agrees with the reference, as a part of it.
pub const BAND: f64 = 0.3;
/// Deviation up to which a percentage agrees, in percentage points.
pub const BAND_POINTS: f64 = 10.0;

/// Agreement of ours with the reference in one metric. Values without a sense are NaN.
#[derive(Clone, Debug)]
pub struct Statistics {
    /// The metric.
    pub metric: Metric,
    /// Pairs that have it on both sides.
    pub kernels: usize,
    /// Pairs of these in which one side is 0, which have no quotient; not in the means.
    pub zeros: usize,
    /// Mean absolute error: as a part of the reference, or in percentage points.
    pub mean_error: f64,
    /// Geometric mean of ours over the reference, or the mean difference in percentage points.
    pub bias: f64,
    /// Pearson's correlation, of logarithms for counts; NaN for fewer than three pairs.
    pub pearson: f64,
    /// Spearman's rank correlation; NaN for fewer than three pairs.
    pub spearman: f64,
    /// Pairs within [`BAND`] or [`BAND_POINTS`].
    pub within: usize,
}

impl Statistics {
    /// The agreement over pairs of ours and the reference.
    #[must_use]
    pub fn of(metric: Metric, pairs: &[(f64, f64)]) -> Statistics {
        let usable: Vec<(f64, f64)> = match metric.kind {
            Kind::Count => pairs.iter().copied().filter(|(a, b)| *a > 0.0 && *b > 0.0).collect(),
            Kind::Percentage => pairs.to_vec(),
        };
        let logarithm = |value: f64| if metric.kind == Kind::Count { value.ln() } else { value };
        let placed: Vec<(f64, f64)> = usable.iter().map(|(a, b)| (logarithm(*a), logarithm(*b))).collect();
        let bias = mean(placed.iter().map(|(a, b)| a - b));
        Statistics {
            metric,
            kernels: pairs.len(),
            zeros: pairs.len() - usable.len() - both_zero(metric, pairs),
            mean_error: mean(usable.iter().map(|(a, b)| error(metric.kind, *a, *b).abs())),
            bias: if metric.kind == Kind::Count { bias.exp() } else { bias },
            pearson: pearson(&placed),
            spearman: pearson(&ranks(&placed)),
            within: pairs.iter().filter(|(a, b)| agrees(metric.kind, *a, *b)).count(),
        }
    }
}

/// Pairs of counts that are 0 on both sides: they agree.
fn both_zero(metric: Metric, pairs: &[(f64, f64)]) -> usize {
    let zero = |(a, b): &&(f64, f64)| metric.kind == Kind::Count && *a == 0.0 && *b == 0.0;
    pairs.iter().filter(zero).count()
}

/// Deviation of ours from the reference: a part of it, or percentage points. Infinite if only the reference is 0.
#[must_use]
pub fn error(kind: Kind, ours: f64, reference: f64) -> f64 {
    match kind {
        Kind::Percentage => ours - reference,
        Kind::Count if ours == reference => 0.0,
        Kind::Count => (ours - reference) / reference.abs(),
    }
}

/// How far ours is from the reference, equally for twice as much and half as much.
#[must_use]
pub fn distance(kind: Kind, ours: f64, reference: f64) -> f64 {
    match kind {
        Kind::Percentage => (ours - reference).abs(),
        Kind::Count if ours == reference => 0.0,
        Kind::Count => (ours.abs() / reference.abs()).ln().abs(),
    }
}

/// Whether ours counts as equal to the reference.
#[must_use]
pub fn agrees(kind: Kind, ours: f64, reference: f64) -> bool {
    let band = if kind == Kind::Count { BAND } else { BAND_POINTS };
    error(kind, ours, reference).abs() <= band * (1.0 + 1e-12)
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0usize), |(sum, count), value| (sum + value, count + 1));
    if count == 0 { f64::NAN } else { sum / count as f64 }
}

/// Pearson's correlation; NaN for fewer than three pairs, or if one side does not vary.
fn pearson(pairs: &[(f64, f64)]) -> f64 {
    if pairs.len() < 3 {
        return f64::NAN;
    }
    let (a, b) = (mean(pairs.iter().map(|pair| pair.0)), mean(pairs.iter().map(|pair| pair.1)));
    let sum = |f: fn(f64, f64) -> f64| pairs.iter().map(|(x, y)| f(x - a, y - b)).sum::<f64>();
    let spread = (sum(|x, _| x * x) * sum(|_, y| y * y)).sqrt();
    if spread > 0.0 { (sum(|x, y| x * y) / spread).clamp(-1.0, 1.0) } else { f64::NAN }
}

/// The ranks of both sides; equal values share the mean of their ranks.
fn ranks(pairs: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let of = |values: Vec<f64>| {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
        let mut ranks = vec![0.0; values.len()];
        for run in order.chunk_by(|a, b| values[*a] == values[*b]) {
            let first = order.iter().position(|index| *index == run[0]).unwrap_or(0);
            for index in run {
                ranks[*index] = first as f64 + (run.len() - 1) as f64 / 2.0;
            }
        }
        ranks
    };
    let (a, b) =
        (of(pairs.iter().map(|pair| pair.0).collect()), of(pairs.iter().map(|pair| pair.1).collect()));
    a.into_iter().zip(b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::correlate::metrics::metric;

    fn of(name: &str, pairs: &[(f64, f64)]) -> Statistics {
        Statistics::of(metric(name).expect("a metric"), pairs)
    }

    #[test]
    fn counts_by_quotients() {
        let found = of("cycles", &[(100.0, 100.0), (50.0, 100.0), (400.0, 200.0)]);
        assert_eq!((found.kernels, found.within, found.zeros), (3, 1, 0));
        assert!((found.mean_error - 0.5).abs() < 1e-12, "0 %, 50 %, 100 %");
        assert!((found.bias - 1.0).abs() < 1e-12, "errors that cancel in the geometric mean");
        // The edge belongs to the band.
        assert_eq!(of("cycles", &[(130.0, 100.0), (70.0, 100.0), (131.0, 100.0)]).within, 2);
    }

    #[test]
    fn correlations_of_known_data() {
        let line: Vec<(f64, f64)> = (1..6).map(|x| (f64::from(x) * 10.0, f64::from(x))).collect();
        let found = of("cycles", &line);
        assert!((found.pearson - 1.0).abs() < 1e-12 && (found.spearman - 1.0).abs() < 1e-12);
        let falling: Vec<(f64, f64)> = (1..6).map(|x| (1.0 / f64::from(x), f64::from(x))).collect();
        let found = of("cycles", &falling);
        assert!((found.pearson + 1.0).abs() < 1e-12 && (found.spearman + 1.0).abs() < 1e-12);
        // Ranks 0, 1.5, 1.5, 3 against 0, 1, 2, 3: 4.5 / sqrt(4.5 * 5).
        let ties = of("cycles", &[(1.0, 1.0), (2.0, 2.0), (2.0, 3.0), (4.0, 4.0)]);
        assert!((ties.spearman - 4.5 / 22.5_f64.sqrt()).abs() < 1e-12, "{}", ties.spearman);
        assert!(of("cycles", &line[..2]).pearson.is_nan());
        assert!(of("cycles", &[(1.0, 5.0), (2.0, 5.0), (3.0, 5.0)]).pearson.is_nan());
    }

    #[test]
    fn zeros_have_no_quotient() {
        let found = of("dram_write_sectors", &[(0.0, 0.0), (0.0, 5.0), (5.0, 0.0), (5.0, 5.0)]);
        assert_eq!((found.kernels, found.zeros, found.within), (4, 2, 2));
        assert!(found.mean_error == 0.0 && (found.bias - 1.0).abs() < 1e-12);
        assert!(error(Kind::Count, 5.0, 0.0).is_infinite() && distance(Kind::Count, 0.0, 5.0).is_infinite());
        assert!(of("cycles", &[]).mean_error.is_nan());
    }

    #[test]
    fn percentages_by_points() {
        let found = of("l2_hit_rate", &[(50.0, 40.0), (0.0, 11.0)]);
        assert_eq!((found.within, found.kernels), (1, 2));
        assert!((found.mean_error - 10.5).abs() < 1e-12 && (found.bias + 0.5).abs() < 1e-12);
    }
}
