//! Tests of `timing why` on kernels with a known bottleneck, created by the configuration.

use crate::common;

use common::{Item, Launch};
use std::process::Command;
use timing::config::load;
use timing::replay::{ReplayOptions, replay};
use timing::why::{Diagnosis, diagnose, text};
use trace_format::isa::MachineKernel;
use trace_format::reader::Trace;

fn why(kernel: MachineKernel, blocks: u32, threads: u32, set: &[&str]) -> Diagnosis {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("t.wtrace");
    let launch = Launch { kernel: 0, stream: 0, blocks, threads };
    common::record(&path, &[kernel], &[Item::Launch(launch), Item::Copy(0), Item::Launch(launch)]);
    let trace = Trace::open(&path).expect("the trace");
    let set: Vec<String> = set.iter().map(|item| (*item).to_owned()).collect();
    let config = load("gtx480", &set).expect("a configuration").config;
    let replay = replay(&trace, &config, &[], &ReplayOptions::default()).expect("a replay");
    let mut found = diagnose(&replay, &config);
    assert_eq!(found.len(), 1, "launches of one kernel are one diagnosis");
    found.remove(0)
}

fn main_limit(diagnosis: &Diagnosis) -> &'static str {
    let sum: f64 = diagnosis.limits.iter().map(|found| found.share).sum();
    assert!((sum - 1.0).abs() < 1e-9, "the shares sum to {sum}");
    let run: f64 = diagnosis.limits.iter().map(|found| found.share_of_run).sum();
    assert!((run - 1.0).abs() < 1e-9, "the shares after the launch sum to {run}");
    diagnosis.main_limit().expect("a limit").limit.name
}

#[test]
fn machines_built_for_one_bottleneck_have_it() {
    let chain = || common::arithmetic("chain", 400);
    let wide = "front_end.icache_prefetch_lines=8";
    // One warp and one scheduler: each product waits for the one before.
    let of = why(chain(), 1, 32, &["gpu.sms=1", "scheduler.count=1", wide]);
    assert_eq!(main_limit(&of), "dependencies");
    assert!(of.facts.resident_warps <= 1.0 && (of.facts.lanes - 32.0).abs() < 1e-9);
    // The same on eight SMs: seven have nothing to do.
    let of = why(chain(), 1, 32, &["gpu.sms=8", wide]);
    assert_eq!(main_limit(&of), "idle");
    assert!(of.limits[0].finding.advice[0].contains("fewer than SMs"), "{:?}", of.limits[0].finding);
    assert!(of.facts.active_sms <= 1.0);
    // Many warps, one slow unit.
    let slow = "latency.fp_fma={ latency_cycles = 20, initiation_cycles = 20 }";
    let unit = "units.fp32={ count = 1, lanes = 32, runs_on = '' }";
    let of = why(chain(), 4, 256, &["gpu.sms=1", slow, unit, wide]);
    assert_eq!(main_limit(&of), "units");
    // Many warps, one bank with one port.
    let of = why(chain(), 4, 256, &["gpu.sms=1", "register_file.banks=1", wide]);
    assert_eq!(main_limit(&of), "operand_collection");
    // Many warps without any bottleneck.
    let free = ["register_file.bank_ports=8", "collectors.ports=8", "collectors.alu=32", "scheduler.count=1"];
    let fetch = ["front_end.fetch_warps_per_cycle=4", "register_file.result_bus_width=8", wide, "gpu.sms=1"];
    let of = why(chain(), 6, 256, &[&free[..], &fetch[..]].concat());
    assert_eq!(main_limit(&of), "issue", "{:?}", of.limits);
    // A launch latency longer than the kernel is reported, and does not hide the kernel's limit.
    let of = why(chain(), 1, 32, &["gpu.sms=1", "scheduler.count=1", wide, "launch.latency_cycles=100000"]);
    assert_eq!(main_limit(&of), "dependencies");
    assert!(of.launch_bound().is_some_and(|launch| launch.share > 0.9));
}

#[test]
fn memory_is_told_apart_by_bandwidth_and_latency() {
    let mixed = || common::mixed("mixed");
    let few = why(mixed(), 1, 32, &["gpu.sms=1", "launch.flush_l2=true"]);
    let found = few.limits.iter().find(|found| found.limit.name == "memory").expect("loads");
    assert!(found.finding.why.starts_with("Memory latency, not bandwidth"), "{:?}", found.finding);
    assert!(few.facts.dram_utilisation < 0.1);
    let narrow = ["gpu.dram_clock_khz=20000", "dram.channels=1", "launch.flush_l2=true"];
    let many = why(mixed(), 120, 256, &narrow);
    assert_eq!(main_limit(&many), "memory");
    let found = many.main_limit().expect("a limit");
    assert!(found.finding.why.starts_with("DRAM bandwidth"), "{:?}", found.finding);
    assert!(many.facts.dram_utilisation > 0.6 && many.facts.dram_utilisation <= 1.0);
    // One channel of 8 bytes, four beats a cycle, 20 MHz.
    assert!((many.facts.dram_peak_gb_per_s - 0.64).abs() < 1e-9);
}

#[test]
fn the_text_has_lines_that_fit_and_every_share() {
    let of = why(common::mixed("mixed"), 30, 128, &[]);
    let text = text::render(&of, "gtx480");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(text.starts_with("mixed on gtx480: 2 launches"), "{text}");
    assert!(text.contains("Scheduler slots of") && text.contains('→'), "{text}");
    let shares = text.lines().filter(|line| line.starts_with("    ") && line.contains(" % "));
    let number =
        |line: &str| -> Option<f64> { line.split(" % ").next()?.split_whitespace().last()?.parse().ok() };
    let sum: f64 = shares.filter_map(number).sum();
    assert!((sum - 100.0).abs() < 0.6, "{sum}: {text}");
}

#[test]
fn the_command_prints_text_and_json() {
    let folder = tempfile::tempdir().expect("a folder");
    let launch = |kernel| Item::Launch(Launch { kernel, stream: 0, blocks: 4, threads: 64 });
    let kernels = [common::mixed("mixed"), common::arithmetic("chain", 50)];
    common::record(&folder.path().join("t.wtrace"), &kernels, &[launch(0), launch(1), launch(0)]);
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_timing"));
        command.arg("why").args(arguments).current_dir(folder.path()).output().expect("the command runs")
    };
    let output = run(&["t.wtrace", "--config", "qv100"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("mixed on qv100: 2 launches"), "{text}");
    assert!(text.contains("chain on qv100: 1 launch,"), "{text}");
    let output = run(&["t.wtrace", "--json", "-", "--kernels", "chain"]);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("only JSON on stdout");
    let kernel = &value["traces"][0]["kernels"][0];
    assert_eq!(kernel["kernel"], "chain");
    assert_eq!(kernel["launches"], serde_json::json!([1]));
    assert!(kernel["limited_by"].is_string() && kernel["figures"]["dram_peak_gb_per_s"].is_number());
    let output = run(&["t.wtrace", "--kernels", "nothing"]);
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("0: mixed"));
}
