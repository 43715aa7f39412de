//! Clocks as overrides: `clock.core=1.132GHz` changes what runs on a clock, and what that means for other values.

use toml::{Table, Value};

/// The clocks that can be named.
const NAMES: [&str; 4] = ["core", "interconnect", "l2", "dram"];

/// The clock that an override names, and its frequency: `core` and `1.132GHz` of `clock.core=1.132GHz`.
pub(super) fn named(item: &str) -> Option<(&str, &str)> {
    let (path, value) = item.split_once('=')?;
    Some((path.trim().strip_prefix("clock.")?, value.trim().trim_matches('"')))
}

/// The values that follow from a clock's frequency. With the core's clock those of the interconnect and of L2 keep their
/// ratio to it, and the launch keeps its time, which is spent outside of the SMs: on a GV100 it takes 1.5 µs at 1 447 MHz and
/// 1.6 µs at 1 132 MHz. DRAM keeps its clock.
///
/// # Errors
/// An unknown clock, or no frequency.
pub(super) fn values(machine: &Table, clock: &str, frequency: &str) -> Result<Vec<(String, i64)>, String> {
    if !NAMES.contains(&clock) {
        return Err(format!("unknown clock `{clock}`: {} are known", NAMES.join(", ")));
    }
    let wanted = khz(frequency)?;
    let number = |section: &str, key: &str| machine.get(section)?.get(key).and_then(Value::as_integer);
    let key = |clock: &str| format!("{clock}_clock_khz");
    let mut values = vec![(format!("gpu.{}", key(clock)), wanted)];
    if clock == "core"
        && let Some(was) = number("gpu", &key("core")).filter(|was| *was > 0)
    {
        let scaled = |value: i64| (value as f64 * wanted as f64 / was as f64).round() as i64;
        for other in ["interconnect", "l2"] {
            values.extend(number("gpu", &key(other)).map(|khz| (format!("gpu.{}", key(other)), scaled(khz))));
        }
        let launch = number("launch", "latency_cycles");
        values.extend(launch.map(|cycles| ("launch.latency_cycles".to_owned(), scaled(cycles))));
    }
    Ok(values)
}

/// A frequency with its unit, in kHz.
fn khz(text: &str) -> Result<i64, String> {
    let lower = text.to_ascii_lowercase();
    let units = [("ghz", 1e6), ("mhz", 1e3), ("khz", 1.0)];
    let number = units.iter().find_map(|(unit, khz)| Some((lower.strip_suffix(unit)?, *khz)));
    let frequency = number.and_then(|(number, khz)| Some(number.trim().parse::<f64>().ok()? * khz));
    match frequency {
        Some(khz) if (1.0..=1e8).contains(&khz) => Ok(khz.round() as i64),
        Some(_) => Err(format!("{text} is no clock of a GPU: it must lie between 1 kHz and 100 GHz")),
        None => Err(format!("`{text}` is no frequency with its unit, such as 1.132GHz or 1132MHz")),
    }
}

#[cfg(test)]
mod tests {
    use crate::config::load;

    fn loaded(items: &[&str]) -> Result<crate::config::GpuConfig, String> {
        let items: Vec<String> = items.iter().map(|item| (*item).to_owned()).collect();
        load("qv100", &items).map(|loaded| loaded.config).map_err(|why| why.to_string())
    }

    #[test]
    fn the_core_takes_what_runs_with_it_along_and_leaves_dram() {
        let plain = loaded(&[]).expect("qv100");
        let slow = loaded(&["clock.core=1.132GHz"]).expect("a clock");
        assert_eq!(slow.gpu.core_clock_khz, 1_132_000);
        assert_eq!((slow.gpu.interconnect_clock_khz, slow.gpu.l2_clock_khz), (1_132_000, 1_132_000));
        assert_eq!(slow.gpu.dram_clock_khz, plain.gpu.dram_clock_khz);
        let time = |config: &crate::config::GpuConfig| {
            config.launch.latency_cycles as f64 / config.gpu.core_clock_khz as f64
        };
        assert!((time(&slow) / time(&plain) - 1.0).abs() < 1e-3);
        // A later value wins, and the ratio of clocks that differ is kept.
        let both = loaded(&["gpu.l2_clock_khz=723500", "clock.core=1132 MHz", "launch.latency_cycles=7"]);
        let both = both.expect("a clock and a value");
        assert_eq!((both.gpu.l2_clock_khz, both.launch.latency_cycles), (566_000, 7));
        let dram = loaded(&["clock.dram=425mhz"]).expect("a clock");
        assert_eq!((dram.gpu.dram_clock_khz, dram.gpu.core_clock_khz), (425_000, plain.gpu.core_clock_khz));
    }

    #[test]
    fn what_is_no_clock_is_refused_with_a_remedy() {
        for (item, words) in [
            ("clock.core=1.132", ["1.132", "1.132GHz"]),
            ("clock.sm=1GHz", ["`sm`", "core, interconnect, l2, dram"]),
            ("clock.core=0MHz", ["0MHz", "between"]),
            ("clock.core=fastGHz", ["fastGHz", "unit"]),
        ] {
            let why = loaded(&[item]).expect_err("refused");
            assert!(words.iter().all(|word| why.contains(word)), "{why}");
        }
    }
}
