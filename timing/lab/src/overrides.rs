//! Overrides that change nothing: parameters of techniques that are not switched on, and values that the machine does not
//! use, are refused.

use crate::config::{GpuConfig, Organisation};
use crate::techniques::Catalogue;
use warplab_host::names::perhaps;

/// The key of an override.
fn key(set: &str) -> &str {
    set.split_once('=').map_or(set, |(key, _)| key).trim()
}

/// Refuses parameters of techniques that are not among those of the command; `catalogue` has those that there are.
///
/// # Errors
/// The override, and the technique that it needs.
pub fn refuse_parameters(set: &[String], techniques: &[String], catalogue: &Catalogue) -> Result<(), String> {
    for item in set {
        let of = key(item).strip_prefix("technique.").and_then(|rest| rest.split_once('.'));
        if let Some((technique, _)) = of
            && !techniques.iter().any(|named| named == technique)
        {
            let guess = match catalogue.info(technique) {
                Some(_) => String::new(),
                None => perhaps(technique, catalogue.infos().map(|info| info.name)),
            };
            return Err(format!(
                "--set {item}: `{technique}` is not switched on; add it to --tech, or leave the override out{guess}"
            ));
        }
    }
    Ok(())
}

/// Keys that some machines do not use.
struct Unused {
    /// Keys, or sections of keys.
    keys: &'static [&'static str],
    /// The keys among them that are used.
    except: &'static [&'static str],
    /// Whether a machine does not use them.
    by: fn(&GpuConfig) -> bool,
    /// What the machine lacks, and the key that says so.
    why: &'static str,
}

fn has_collectors(config: &GpuConfig) -> bool {
    config.sm.organisation == Organisation::Collectors
}

fn has_sub_cores(config: &GpuConfig) -> bool {
    config.sm.organisation == Organisation::ControlBits
}

const UNUSED: &[Unused] = &[
    Unused {
        keys: &["sub_core"],
        except: &[],
        by: has_collectors,
        why: "it has operand collectors (`sm.organisation`)",
    },
    Unused {
        keys: &["collectors"],
        except: &["collectors.dispatch_per_scheduler"],
        by: has_sub_cores,
        why: "it has no operand collectors (`sm.organisation`)",
    },
    Unused {
        keys: &["front_end.l0"],
        except: &[],
        by: has_collectors,
        why: "only sub-cores with control bits have L0 (`sm.organisation`)",
    },
    Unused {
        keys: &["front_end.fetch_warps_per_cycle"],
        except: &[],
        by: has_sub_cores,
        why: "each of its sub-cores fetches for one warp (`sm.organisation`)",
    },
    Unused {
        keys: &["front_end.l0"],
        except: &["front_end.l0.size_bytes"],
        by: |config| config.front_end.l0.size_bytes == 0,
        why: "it has no L0 (`front_end.l0.size_bytes`)",
    },
    Unused {
        keys: &["l15"],
        except: &["l15.size_bytes"],
        by: |config| config.l15.size_bytes == 0,
        why: "it has no L1.5 (`l15.size_bytes`)",
    },
    Unused {
        keys: &["l1"],
        except: &["l1.bypass_global", "l1.caches_local"],
        by: |config| config.l1.bypass_global && !config.l1.caches_local,
        why: "neither global nor local memory is in L1 (`l1.bypass_global`, `l1.caches_local`)",
    },
    Unused {
        keys: &["l1.size_bytes", "l1.ways"],
        except: &[],
        by: |config| config.l1.unified_bytes > 0,
        why: "its L1 has what shared memory leaves of an array (`l1.unified_bytes`)",
    },
    Unused {
        keys: &["register_file.read_latency_cycles", "register_file.bank_write_ports"],
        except: &[],
        by: has_sub_cores,
        why: "`sub_core` has the windows in which its instructions read and write (`sm.organisation`)",
    },
    Unused {
        keys: &["scheduler.dual_issue_distinct_units"],
        except: &[],
        by: |config| config.scheduler.issue_width == 1,
        why: "it issues one instruction per scheduler and cycle (`scheduler.issue_width`)",
    },
    Unused {
        keys: &["scheduler.two_level_active_warps"],
        except: &[],
        by: |config| config.scheduler.policy != "two_level",
        why: "its policy has no active set (`scheduler.policy`)",
    },
];

/// Why a machine does not use a key, if so.
#[must_use]
pub fn unused(key: &str, config: &GpuConfig) -> Option<&'static str> {
    let is_in = |section: &&str| {
        key.strip_prefix(*section).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let names = |rule: &Unused| rule.keys.iter().any(is_in) && !rule.except.contains(&key);
    let rule = UNUSED.iter().find(|rule| names(rule) && (rule.by)(config))?;
    Some(rule.why)
}

/// Refuses values that a machine does not use.
///
/// # Errors
/// The override, and what the machine lacks.
pub fn refuse_unused(set: &[String], config: &GpuConfig) -> Result<(), String> {
    let refused = |item: &String| {
        let why = unused(key(item), config)?;
        Some(format!("--set {item}: this machine does not use it: {why}"))
    };
    set.iter().find_map(refused).map_or(Ok(()), Err)
}

/// Overrides of which only a part of the accesses feels something, a sentence for each.
#[must_use]
pub fn partly_used(set: &[String], config: &GpuConfig) -> Vec<String> {
    let said = |item: &String| {
        let key = key(item);
        let felt = config.l1.bypass_global && key.starts_with("l1.");
        (felt && !["l1.bypass_global", "l1.caches_local"].contains(&key)).then(|| {
            format!(
                "--set {item}: global memory bypasses L1 on this machine (`l1.bypass_global`); only local memory feels the \
                 change"
            )
        })
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
            refuse_parameters(&set, &techniques, &crate::built_in())
        };
        assert_eq!(of(&["bow"]), Ok(()));
        let why = of(&["corf"]).expect_err("refused");
        assert!(
            why.contains("--set technique.bow.window=4") && why.contains("`bow` is not switched on"),
            "{why}"
        );
    }

    #[test]
    fn what_a_machine_does_not_use_is_refused() {
        let of = |gpu: &str, set: &[&str]| {
            let set: Vec<String> = set.iter().map(|item| (*item).to_owned()).collect();
            let config = crate::config::load(gpu, &set).expect("a configuration").config;
            refuse_unused(&set, &config).and(Ok(partly_used(&set, &config)))
        };
        for (gpu, set, part) in [
            (
                "titanx-pascal",
                "sub_core.address_cycles=3",
                "this machine does not use it: it has operand collectors",
            ),
            ("titanx-pascal", "scheduler.two_level_active_warps=4", "no active set"),
            ("titanx-pascal", "front_end.l0.stream_lines=2", "only sub-cores"),
            ("gtx480", "l15.hit_latency_cycles=2", "`l15.size_bytes`"),
            ("rtx2060", "front_end.fetch_warps_per_cycle=2", "fetches for one warp"),
            ("rtx2060", "collectors.ports=2", "no operand collectors"),
            ("rtx2060", "register_file.read_latency_cycles=2", "windows"),
            ("gtx480", "scheduler.dual_issue_distinct_units=false", "`scheduler.issue_width`"),
            ("rtx2060", "l1.size_bytes=32768", "`l1.unified_bytes`"),
        ] {
            let why = of(gpu, &[set]).expect_err("refused");
            assert!(why.starts_with(&format!("--set {set}: ")) && why.contains(part), "{why}");
        }
        assert!(of("titanx-pascal", &["l1.hit_latency_cycles=30"]).expect("used")[0].contains("bypass"));
        for (gpu, set) in [
            ("titanx-pascal", "l2.latency_cycles=30"),
            ("titanx-pascal", "l1.bypass_global=false"),
            ("rtx2060", "collectors.dispatch_per_scheduler=2"),
            ("rtx2060", "sub_core.address_cycles=3"),
        ] {
            assert_eq!(of(gpu, &[set]), Ok(Vec::new()));
        }
        let both = ["scheduler.policy=two_level", "scheduler.two_level_active_warps=4"];
        assert_eq!(of("titanx-pascal", &both), Ok(Vec::new()));
    }
}
