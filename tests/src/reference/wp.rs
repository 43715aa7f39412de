//! Reference of wp in double precision.
//!
//! Bound: every rate is continuous in its arguments except where cloud freezes at -40 degrees, which no input
//! approaches to 1e-3 while there is cloud; differences of temperature and freezing, and of vapour and saturation,
//! lose up to ten bits of 24, so that water contents are off by less than 1e-6 and temperatures, of up to 300 and
//! moved by up to 40, by less than 5e-3.

use super::Case;
use crate::{Expected, Outputs};

const HEAT: f64 = 1004.5;
const VAPOUR: f64 = 2.5e6;
const MELT: f64 = 3.5e5;
const FREEZING: f64 = 273.15_f32 as f64;
const STEP: f64 = 20.0;

/// Temperature, then vapour, cloud, rain, ice and snow.
type Air = [f64; 6];

pub(crate) fn expected(case: &Case) -> Outputs {
    let names = ["temperature", "vapour", "cloud", "rain", "ice", "snow"];
    let mut fields = names.map(|name| case.buffer::<f32>(name));
    let pressure = case.buffer::<f32>("pressure");
    for (at, &p) in pressure.iter().enumerate() {
        let air = std::array::from_fn(|i| f64::from(fields[i][at]));
        let after = advance(air, f64::from(p));
        fields.iter_mut().zip(after).for_each(|(field, value)| field[at] = value as f32);
    }
    let bound = |name: &str| if name == "temperature" { 5e-3 } else { 1e-6 };
    let outputs = names.iter().zip(&fields);
    outputs.map(|(name, field)| ((*name).into(), Expected::within(field, 0.0, bound(name)))).collect()
}

/// Vapour that saturates air.
fn saturation(t: f64, p: f64) -> f64 {
    let (slope, offset) = if t < FREEZING { (21.8746, 7.66) } else { (17.2694, 35.86) };
    let vapour = 610.78 * (slope * (t - FREEZING) / (t - offset)).exp();
    0.622 * vapour / (p - vapour).max(1.0)
}

fn advance([mut t, mut qv, mut qc, mut qr, mut qi, mut qs]: Air, p: f64) -> Air {
    let density = p / (287.0 * t);
    if t > FREEZING {
        let melted = (qi + qs).min((t - FREEZING) * HEAT / MELT);
        let from_ice = qi.min(melted);
        qi -= from_ice;
        qs -= melted - from_ice;
        qc += from_ice;
        qr += melted - from_ice;
        t -= melted * MELT / HEAT;
    } else {
        let supercool = FREEZING - t;
        let frozen = if supercool < 40.0 {
            qc.min(1e-3 * ((0.66 * supercool.min(10.0)).exp() - 1.0) * qc * STEP * density)
        } else {
            qc
        };
        qc -= frozen;
        qi += frozen;
        t += frozen * MELT / HEAT;
        let heaviest = 9.4e-10 * 1e3 * (0.1 * supercool).exp();
        if qi > heaviest {
            let aggregated = (qi - heaviest) * (1.0 - (-1e-3 * STEP).exp());
            qi -= aggregated;
            qs += aggregated;
        }
        let thin = (1.28 / density).sqrt();
        let riming = qc.min(0.5 * thin * (qs * density).max(0.0).powf(0.6) * qc * STEP * 0.02);
        qc -= riming;
        qs += riming;
        t += riming * MELT / HEAT;
    }
    let threshold = 5e-4 / density;
    if qc > threshold {
        let converted = qc.min(1e-3 * (qc - threshold) * STEP);
        qc -= converted;
        qr += converted;
    }
    if qr > 0.0 {
        let collected = qc.min(2.2 * qc * qr.powf(0.875) * STEP);
        qc -= collected;
        qr += collected;
    }
    let limit = saturation(t, p);
    let gain = 1.0 + VAPOUR * VAPOUR / (HEAT * 461.6) * limit / (t * t);
    let condensed = ((qv - limit) / gain).max(-qc);
    qv -= condensed;
    qc += condensed;
    t += condensed * VAPOUR / HEAT;
    let after = saturation(t, p);
    if qv < after && qr > 0.0 {
        let wet = density * qr;
        let ventilation = (1.6 + 124.9 * wet.powf(0.2046)) * wet.powf(0.525);
        let evaporated =
            qr.min((1.0 - qv / after) * ventilation * STEP / (5.4e5 + 2.55e6 / (p * after)) / density);
        qr -= evaporated;
        qv += evaporated;
        t -= evaporated * VAPOUR / HEAT;
    }
    [t, qv, qc, qr, qi, qs]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn water_is_conserved_and_saturated_air_condenses() {
        for t in [230.0, 260.0, 270.0, 275.0, 295.0] {
            let before = [t, 0.012, 0.001, 0.001, 0.0003, 0.0005];
            let after = advance(before, 7e4);
            let water = |air: &Air| air[1..].iter().sum::<f64>();
            assert!((water(&before) - water(&after)).abs() < 1e-15, "{t}");
            assert!(after[1..].iter().all(|&q| q >= 0.0), "{after:?}");
        }
        assert!((saturation(FREEZING, 1e5) - 0.622 * 610.78 / (1e5 - 610.78)).abs() < 1e-12);
    }
}
