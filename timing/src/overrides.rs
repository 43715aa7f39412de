//! Overrides that change nothing: parameters of techniques that are not switched on are refused, and values of the machine
//! that it does not use are named.

use crate::config::{GpuConfig, Organisation};
use crate::techniques::BUILT_IN;
use warplab_host::names::perhaps;

/// The key of an override.
fn key(set: &str) -> &str {
    set.split_once('=').map_or(set, |(key, _)| key).trim()
}

/// Refuses parameters of techniques that are not among those of the command.
///
/// # Errors
/// The override, and the technique that it needs.
pub fn refuse_parameters(set: &[String], techniques: &[String]) -> Result<(), String> {
    for item in set {
        let of = key(item).strip_prefix("technique.").and_then(|rest| rest.split_once('.'));
        if let Some((technique, _)) = of
            && !techniques.iter().any(|named| named == technique)
        {
            let known = BUILT_IN.iter().map(|row| row.info.name);
            let guess = match known.clone().any(|name| name == technique) {
                true => String::new(),
                false => perhaps(technique, known),
            };
            return Err(format!(
                "--set {item}: `{technique}` is not switched on; add it to --tech, or leave the override out{guess}"
            ));
        }
    }
    Ok(())
}

/// Values of the machine that the overrides name and that it does not use, a sentence for each.
#[must_use]
pub fn without_effect(set: &[String], config: &GpuConfig) -> Vec<String> {
    let said = |item: &String| {
        let key = key(item);
        let section = key.split('.').next().unwrap_or_default();
        let why = match section {
            "l1" if config.l1.bypass_global && !["l1.bypass_global", "l1.caches_local"].contains(&key) => {
                "global memory bypasses L1 on this machine (`l1.bypass_global`); only local memory feels the change"
            }
            "scheduler"
                if key == "scheduler.two_level_active_warps" && config.scheduler.policy != "two_level" =>
            {
                "the policy (`scheduler.policy`) has no active set; the change has no effect"
            }
            "sub_core" if config.sm.organisation == Organisation::Collectors => {
                "this machine has operand collectors (`sm.organisation`); the change has no effect"
            }
            "collectors"
                if config.sm.organisation == Organisation::ControlBits
                    && key != "collectors.dispatch_per_scheduler" =>
            {
                "this machine has no operand collectors (`sm.organisation`); the change has no effect"
            }
            _ => return None,
        };
        Some(format!("--set {item}: {why}"))
    };
    set.iter().filter_map(said).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_need_their_technique() {
        let set = ["sm.max_warps=32".to_owned(), "technique.bow.window=4".to_owned()];
        let of = |techniques: &[&str]| {
            let techniques: Vec<String> = techniques.iter().map(|name| (*name).to_owned()).collect();
            refuse_parameters(&set, &techniques)
        };
        assert_eq!(of(&["bow"]), Ok(()));
        let why = of(&["corf"]).expect_err("refused");
        assert!(
            why.contains("--set technique.bow.window=4") && why.contains("`bow` is not switched on"),
            "{why}"
        );
    }

    #[test]
    fn a_bypassed_cache_is_said() {
        let of = |set: &str| {
            let set = [set.to_owned()];
            let config = crate::config::load("titanx-pascal", &set).expect("a configuration").config;
            without_effect(&set, &config)
        };
        assert!(of("l1.hit_latency_cycles=30")[0].contains("bypass"));
        assert!(of("scheduler.two_level_active_warps=4")[0].contains("no active set"));
        assert!(of("sub_core.address_cycles=3")[0].contains("operand collectors"));
        assert!(of("l2.latency_cycles=30").is_empty() && of("l1.bypass_global=false").is_empty());
    }
}
