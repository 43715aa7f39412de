//! Means over benchmarks, as results are summarised with.

use serde::Deserialize;

/// A kind of mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mean {
    /// The arithmetic mean.
    #[default]
    Arithmetic,
    /// The geometric mean.
    Geometric,
}

impl Mean {
    /// The mean of the finite values; NaN if there is none, or if one of them has no geometric mean.
    pub fn of(self, values: impl IntoIterator<Item = f64>) -> f64 {
        match self {
            Mean::Arithmetic => arithmetic_mean(values),
            Mean::Geometric => geometric_mean(values),
        }
    }

    /// The mean of finite shares. In a geometric mean a share of less than 0.01 % counts as 0.01 %, so that a zero does
    /// not end it.
    ///
    /// ```
    /// assert_eq!(report::Mean::Arithmetic.of_shares([0.5, f64::NAN, 0.0]), 0.25);
    /// let geometric = report::Mean::Geometric.of_shares([0.5, f64::NAN, 0.0]);
    /// assert!((geometric - (0.5f64 * 1e-4).sqrt()).abs() < 1e-12);
    /// ```
    pub fn of_shares(self, shares: impl IntoIterator<Item = f64>) -> f64 {
        match self {
            Mean::Arithmetic => self.of(shares),
            Mean::Geometric => {
                self.of(shares.into_iter().map(|share| if share.is_nan() { share } else { share.max(1e-4) }))
            }
        }
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Mean::Arithmetic => "Arithmetic mean",
            Mean::Geometric => "Geometric mean",
        }
    }
}

/// Geometric mean of the finite values; NaN if there is none or one of them is not positive.
///
/// ```
/// assert!((report::geometric_mean([1.0, 4.0, f64::NAN]) - 2.0).abs() < 1e-12);
/// assert!(report::geometric_mean([1.0, 0.0]).is_nan());
/// ```
pub fn geometric_mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0u32);
    for value in values.into_iter().filter(|v| v.is_finite()) {
        if value <= 0.0 {
            return f64::NAN;
        }
        sum += value.ln();
        count += 1;
    }
    if count == 0 { f64::NAN } else { (sum / f64::from(count)).exp() }
}

/// Arithmetic mean of the finite values; NaN if there is none.
pub fn arithmetic_mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0u32);
    for value in values.into_iter().filter(|v| v.is_finite()) {
        sum += value;
        count += 1;
    }
    if count == 0 { f64::NAN } else { sum / f64::from(count) }
}
