//! Means over benchmarks, as results are summarised with.

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
