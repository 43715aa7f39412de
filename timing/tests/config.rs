//! Tests of `timing config`: its output, and the import of GPGPU-Sim option files.

use std::path::Path;
use std::process::Command;

fn timing(folder: &Path, arguments: &[&str]) -> (bool, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_timing"));
    let output =
        command.arg("config").args(arguments).current_dir(folder).output().expect("the command runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.success(), text(output.stdout), text(output.stderr))
}

#[test]
fn every_value_is_shown_with_its_place_and_source() {
    let folder = tempfile::tempdir().expect("a folder");
    for gpu in timing::config::builtin::GPUS {
        let (success, shown, message) = timing(folder.path(), &["show", gpu.name]);
        assert!(success, "{message}");
        for line in shown.lines() {
            let (value, rest) = line.split_once("  # ").unwrap_or_else(|| panic!("{}: {line}", gpu.name));
            let key = value.split(" = ").next().unwrap_or("").trim();
            assert!(rest.contains("timing/configs/"), "{}: {key} has no place", gpu.name);
            let told = rest.split("timing/configs/").next().unwrap_or("").trim();
            let named = matches!(key, "name" | "description" | "energy");
            assert!(named || !told.is_empty(), "{}: {key} has no source", gpu.name);
        }
    }
    let (_, shown, _) = timing(folder.path(), &["show", "qv100", "--set", "l2.mshrs=7"]);
    let line =
        |key: &str| shown.lines().find(|line| line.starts_with(&format!("{key} = "))).expect("the key");
    assert!(line("gpu.sms").contains("80") && line("gpu.sms").contains("gpgpu_n_clusters"));
    assert!(
        line("gpu.l2_clock_khz").contains("gpgpu_clock_domains"),
        "what stands above speaks for what follows"
    );
    assert!(
        line("latency.int_max.latency_cycles").contains("[ptxas]"),
        "{}",
        line("latency.int_max.latency_cycles")
    );
    assert!(line("l2.mshrs").contains("7") && line("l2.mshrs").contains("--set l2.mshrs=7"));
}

#[test]
fn an_option_file_becomes_a_configuration_that_can_be_used() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = include_str!("../model/tests/gpgpusim/SM7_QV100.config");
    std::fs::write(folder.path().join("gpgpusim.config"), text).expect("a file");
    let arguments = ["import", "gpgpusim.config", "-o", "mine.toml", "--compare", "qv100-collectors"];
    let (success, shown, told) = timing(folder.path(), &arguments);
    assert!(success && shown.is_empty(), "{told}");
    assert!(told.contains("based on qv100-collectors") && told.contains("options have no effect"), "{told}");
    assert!(told.contains("latency.sfu.latency_cycles = 100, there 20"), "{told}");
    let (success, shown, told) = timing(folder.path(), &["show", "mine.toml"]);
    assert!(success, "{told}");
    let line = shown.lines().find(|line| line.starts_with("l1.ways = 64")).expect("the key");
    assert!(line.contains("-gpgpu_cache:dl1 S:4:128:64") && line.contains("mine.toml:"), "{line}");
    assert!(shown.contains("name = \"mine\""), "{shown}");
    // Standard output holds only the configuration.
    let (success, shown, _) = timing(folder.path(), &["import", "gpgpusim.config", "--name", "other"]);
    assert!(success && shown.starts_with("# Imported from gpgpusim.config"), "{shown}");
    assert!(shown.contains("name = \"other\""));
}

#[test]
fn what_cannot_be_imported_ends_with_a_message_and_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("bad.config"), "-gpgpu_n_clusters many\n").expect("a file");
    std::fs::write(folder.path().join("binary.config"), [0u8, 159, 146, 150]).expect("a file");
    for (file, part) in [
        ("bad.config", "bad.config:1: -gpgpu_n_clusters many"),
        ("missing.config", "cannot read missing.config"),
        ("binary.config", "cannot read binary.config"),
    ] {
        let (success, _, told) = timing(folder.path(), &["import", file, "-o", "out.toml"]);
        assert!(!success && told.contains(part) && !told.contains("panicked"), "{file}: {told}");
        assert!(!folder.path().join("out.toml").exists());
    }
}
