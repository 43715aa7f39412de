//! Which crates of the workspace a crate may stand on: the trace is the only contract between the emulator and the timing
//! model, and neither the model nor the laboratory on it knows a technique.

use std::collections::BTreeSet;
use structure::{manifest, members, workspace};

/// The crates that a crate may name under `[dependencies]`, by its folder. Crates for tests alone are not listed.
const MAY_USE: &[(&str, &[&str])] = &[
    ("host", &[]),
    ("host/revision", &[]),
    ("trace-format", &["warplab-host"]),
    ("trace-format/accelsim", &["trace-format", "warplab-host"]),
    ("emulator/sass", &[]),
    ("timing/configs", &[]),
    ("emulator", &["sass", "trace-format", "warplab-gpus", "warplab-host"]),
    ("emulator/cuda", &["emulator", "trace-format", "warplab-gpus", "warplab-host"]),
    ("timing/technique", &["trace-format", "warplab-gpus", "warplab-host"]),
    ("timing/analysis", &["trace-format", "warplab-technique"]),
    ("timing/techniques/mta", &["trace-format", "warplab-technique"]),
    ("timing/techniques/owf", &["trace-format", "warplab-technique"]),
    ("timing/techniques/uv", &["trace-format", "warplab-analysis", "warplab-technique"]),
    (
        "timing/techniques",
        &[
            "trace-format",
            "warplab-analysis",
            "warplab-gpus",
            "warplab-mta",
            "warplab-owf",
            "warplab-technique",
            "warplab-uv",
        ],
    ),
    (
        "timing/technique-kit",
        &["test-kit", "trace-format", "warplab-analysis", "warplab-model", "warplab-technique"],
    ),
    (
        "timing/model",
        &["trace-format", "warplab-analysis", "warplab-gpus", "warplab-host", "warplab-technique"],
    ),
    ("timing/report", &["warplab-host"]),
    (
        "timing/studies",
        &["report", "trace-format", "warplab-analysis", "warplab-host", "warplab-model", "warplab-technique"],
    ),
    (
        "timing/lab",
        &[
            "report",
            "trace-format",
            "warplab-accelsim",
            "warplab-host",
            "warplab-model",
            "warplab-studies",
            "warplab-technique",
        ],
    ),
    (
        "timing",
        &[
            "warplab-host",
            "warplab-lab",
            "warplab-model",
            "warplab-studies",
            "warplab-technique",
            "warplab-techniques",
        ],
    ),
];

#[test]
fn crates_stand_on_those_below_them() {
    let root = workspace();
    let workspace = manifest(&root);
    let ours: BTreeSet<&str> = workspace["workspace"]["dependencies"]
        .as_table()
        .expect("a table")
        .iter()
        .filter(|(_, value)| value.get("path").is_some())
        .map(|(name, _)| name.as_str())
        .collect();
    let (mut checked, mut problems) = (0, Vec::new());
    for member in members() {
        let folder = member.strip_prefix(&root).unwrap_or(&member).display().to_string();
        let Some((_, may_use)) = MAY_USE.iter().find(|(name, _)| *name == folder) else { continue };
        checked += 1;
        let manifest = manifest(&member);
        let used = manifest.get("dependencies").and_then(toml::Value::as_table);
        let used = used.into_iter().flat_map(|table| table.keys().map(String::as_str));
        let upward = used.filter(|name| ours.contains(name) && !may_use.contains(name));
        problems.extend(upward.map(|name| format!("{folder} must not stand on {name}")));
    }
    assert_eq!(checked, MAY_USE.len(), "a crate of the list is no member of the workspace");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
