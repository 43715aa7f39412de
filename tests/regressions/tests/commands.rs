//! What users met at the command line: numbers that were compared though they cannot be, runs that failed after others had
//! run, messages without a remedy, tables that no program could read, words that completions did not offer.

use regressions::{fails, program, succeeds, text};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

fn workload(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../workloads").join(name)
}

fn within(folder: &Path, name: &str, arguments: &[&str]) -> Command {
    let mut command = program(name);
    command.current_dir(folder).args(arguments);
    command
}

/// A folder with a recording, `t.wtrace`, and its result on qv100, `r.json`.
fn recorded() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let ptx = workload("textbook/vectoradd/vectoradd.ptx");
    succeeds(within(folder.path(), "emu", &["record", "-o", "t.wtrace"]).arg(ptx));
    succeeds(&mut within(
        folder.path(),
        "timing",
        &["replay", "t.wtrace", "--config", "qv100", "--json", "r.json"],
    ));
    folder
}

fn json(folder: &Path, name: &str) -> Value {
    let text = std::fs::read_to_string(folder.join(name)).expect("the file");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn correlations_match_sizes_and_refuse_other_gpus_and_numbers_of_two_kinds() {
    let folder = recorded();
    let launch = json(folder.path(), "r.json")["traces"][0]["launches"][0].clone();
    let side = |key: &str| -> Vec<u64> {
        launch[key].as_array().expect("sides").iter().filter_map(Value::as_u64).collect()
    };
    let (kernel, grid, block) = (launch["kernel"].as_str().expect("a name"), side("grid"), side("block"));
    let shown = |sides: &[u64]| format!("({}, {}, {})", sides[0], sides[1], sides[2]);
    let profile = |capability: &str, grid: &[u64], cycles: &str| {
        let text = format!(
            "\"ID\",\"Process Name\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"CC\",\"sm__cycles_elapsed.max\",\"gpu__time_duration.sum\"\n\
             \"\",\"\",\"\",\"\",\"\",\"\",\"cycle\",\"usecond\"\n\
             \"0\",\"t\",\"{kernel}\",\"{}\",\"{}\",\"{capability}\",{cycles}\n",
            shown(&block),
            shown(grid)
        );
        std::fs::write(folder.path().join("p.csv"), text).expect("written");
    };
    let correlate = |more: &[&str]| {
        let arguments = [&["correlate", "r.json", "p.csv"][..], more].concat();
        within(folder.path(), "timing", &arguments)
    };
    profile("7.0", &grid, "\"9,123\",\"8.39\"");
    succeeds(&mut correlate(&[]));
    let twice = [grid[0] * 2, grid[1], grid[2]];
    profile("7.0", &twice, "\"9,123\",\"8.39\"");
    let said = fails(&mut correlate(&[]), 1);
    assert!(said.contains("a grid of") && said.contains("at the size of the profile"), "{said}");
    profile("8.6", &grid, "\"9,123\",\"8.39\"");
    let said = fails(&mut correlate(&[]), 1);
    assert!(said.contains("8.6") && said.contains("7.0") && said.contains("--other-gpu"), "{said}");
    succeeds(&mut correlate(&["--other-gpu"]));
    profile("7.0", &grid, "\"9,12\",\"8.39\"");
    let said = fails(&mut correlate(&[]), 1);
    assert!(said.contains("decimal comma") && said.contains("9,12") && said.contains("8.39"), "{said}");
    // With decimal commas throughout, 9.123 cycles are 9 123 and 8,39 is a fraction.
    profile("7.0", &grid, "\"9.123\",\"8,39\"");
    succeeds(&mut correlate(&["--json", "c.json"]));
    let found = json(folder.path(), "c.json").to_string();
    assert!(found.contains("9123"), "{found}");
    profile("7.0", &grid, "\"many\",\"8.39\"");
    let said = fails(&mut correlate(&[]), 1);
    assert!(said.contains("many") && said.contains("line 3"), "{said}");
    // A decimal comma without quotes is one column too many.
    std::fs::write(folder.path().join("p.csv"), format!("kernel,cycles\n{kernel},9,5\n")).expect("written");
    let said = fails(&mut correlate(&[]), 1);
    assert!(said.contains("line 2") && said.contains("quotes"), "{said}");
    std::fs::write(folder.path().join("p.csv"), format!("kernel;cycles\n{kernel};9,5\n")).expect("written");
    let said = fails(&mut correlate(&[]), 1);
    assert!(said.contains("semicolons"), "{said}");
}

#[test]
fn a_sweep_checks_every_combination_before_it_runs_one() {
    let folder = recorded();
    let base = ["sweep", "t.wtrace", "--vary", "sm.max_warps=16,32", "-o", "out"];
    let said = fails(&mut within(folder.path(), "timing", &base), 1);
    for part in ["nothing was run", "sm.max_warps=16", "sm.max_threads_per_block", "--skip-refused"] {
        assert!(said.contains(part), "{part} is not in: {said}");
    }
    assert!(!folder.path().join("out").exists(), "{said}");
    let said =
        fails(&mut within(folder.path(), "timing", &["replay", "t.wtrace", "--set", "sm.max_warps=16"]), 1);
    assert!(said.contains("error: --set sm.max_warps=16: "), "what the user wrote comes first: {said}");
}

/// Commands, and words of the message that says what to do.
#[test]
fn messages_say_the_remedy() {
    let folder = recorded();
    let path = folder.path();
    std::fs::write(path.join("without.toml"), "[sm]\nmax_warps = 32\n").expect("written");
    std::fs::write(path.join("mine.toml"), "base = \"gtx480\"\n[sm]\nmax_warps = 48\n").expect("written");
    std::fs::write(path.join("app"), "").expect("written");
    succeeds(&mut within(path, "timing", &["study", "redundancy", "t.wtrace", "--json", "s.json"]));
    let replay = ["replay", "t.wtrace"];
    let cases: &[(&str, &[&str], &[&str])] = &[
        (
            "timing",
            &[&replay[..], &["--tech", "las"]].concat(),
            &["changes nothing without `larf`", "--tech larf,las"],
        ),
        (
            "timing",
            &[&replay[..], &["--set", "bow.window=3"]].concat(),
            &["technique.bow.window", "--set bow.window=3"],
        ),
        ("timing", &[&replay[..], &["--set", "max_warps=32"]].concat(), &["did you mean `sm.max_warps`?"]),
        (
            "timing",
            &[&replay[..], &["--config", "without.toml"]].concat(),
            &["base = \"titanx-pascal\"", "`timing list`"],
        ),
        (
            "timing",
            &[&replay[..], &["--config", "qv100", "--tech", "corf,bow"]].concat(),
            &["changes operand collectors", "--config qv100-collectors"],
        ),
        (
            "timing",
            &["study", "t.wtrace"],
            &["timing study redundancy t.wtrace", "timing study all t.wtrace"],
        ),
        ("timing", &["study", "redundancy"], &["timing study redundancy app.wtrace"]),
        ("timing", &["compare", "r.json", "s.json"], &["warplab-replay/", "warplab-study/", "same command"]),
        ("emu", &["record", "-o", "x.wtrace", "--", "app"], &["`emu record -- ./app`"]),
        ("emu", &["record", "-o", "x.wtrace", "--", "nothing"], &["in PATH", "./nothing"]),
    ];
    for (name, arguments, parts) in cases {
        let output = regressions::run(&mut within(path, name, arguments));
        assert_eq!(output.status.code(), Some(1), "{name} {arguments:?}: {}", text(&output));
        assert!(
            parts.iter().all(|part| text(&output).contains(part)),
            "{name} {arguments:?}: {}",
            text(&output)
        );
    }
    let said = fails(&mut within(path, "timing", &[&replay[..], &["--config", "rtx4090"]].concat()), 1);
    assert!(!said.contains("did you mean") && said.contains("rtx2060"), "the list, and no guess: {said}");
    let said = fails(&mut within(path, "timing", &[&replay[..], &["--config", "gtx48"]].concat()), 1);
    assert!(said.contains("did you mean `gtx480`?"), "{said}");
    // A machine without a name of its own is called as its file.
    let said = succeeds(&mut within(path, "timing", &[&replay[..], &["--config", "mine.toml"]].concat()));
    assert!(said.contains("t.wtrace on mine\n"), "{said}");
}

#[test]
fn any_name_is_explained() {
    for (name, part) in [
        ("max_warps", "sm.max_warps"),
        ("sm.max_warps", "--set sm.max_warps="),
        ("redundancy", "timing study redundancy"),
        ("gtx480", "timing config show gtx480"),
        ("corf-40nm", "--set energy=corf-40nm"),
        ("rf_reads", "timing list --counters"),
        ("las", "It changes nothing without larf"),
        ("gto", "scheduler.policy"),
    ] {
        let said = succeeds(program("timing").args(["list", name]));
        assert!(said.contains(part), "{name}: {said}");
    }
    let said = fails(program("timing").args(["list", "nonsense"]), 1);
    assert!(said.contains("timing config keys"), "{said}");
}

#[test]
fn csv_files_are_plain_and_say_beside_them_what_produced_them() {
    let folder = recorded();
    let path = folder.path();
    let commands: &[&[&str]] = &[
        &["replay", "t.wtrace", "--csv", "a.csv", "--interval", "500", "--series", "b.csv"],
        &["study", "redundancy", "t.wtrace", "--csv", "c.csv"],
        &["correlate", "r.json", "a.csv", "--csv", "d.csv", "--match", "names.csv"],
    ];
    std::fs::write(path.join("names.csv"), "reference,kernel\nnothing,nothing\n").expect("written");
    for arguments in commands {
        let output = regressions::run(&mut within(path, "timing", arguments));
        // A table of totals has no kernels to correlate.
        if arguments[0] != "correlate" {
            assert!(output.status.success(), "{arguments:?}: {}", text(&output));
        }
    }
    for name in ["a.csv", "b.csv", "c.csv"] {
        let table = std::fs::read_to_string(path.join(name)).expect("a table");
        let columns = table.lines().next().expect("a header").split(',').count();
        assert!(columns > 2 && !table.contains('#') && !table.contains("produced_by"), "{name}: {table}");
        let by = json(path, &format!("{name}.provenance.json"));
        assert_eq!(by["produced_by"]["command"][0], "timing", "{name}: {by}");
        let said = succeeds(&mut within(path, "timing", &["rerun", "--show", name]));
        assert!(said.starts_with("timing "), "{said}");
    }
}

#[test]
fn every_command_has_examples_and_completions_offer_values() {
    let commands = |name: &str, path: &[&str]| -> Vec<String> {
        let said = succeeds(program(name).args(path).arg("--help"));
        let listed = said.lines().skip_while(|line| *line != "Commands:").skip(1);
        let listed = listed.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
        let words = listed.filter_map(|line| line.split_whitespace().next()).filter(|word| *word != "help");
        words.map(str::to_owned).collect()
    };
    let mut seen = 0;
    for name in ["emu", "timing", "trace", "demo"] {
        let mut waiting: Vec<Vec<String>> =
            commands(name, &[]).into_iter().map(|inner| vec![inner]).collect();
        while let Some(path) = waiting.pop() {
            let words: Vec<&str> = path.iter().map(String::as_str).collect();
            let inner = commands(name, &words);
            if inner.is_empty() {
                let said = succeeds(program(name).args(&words).arg("--help"));
                assert!(said.contains("Example"), "{name} {words:?} has no example");
                seen += 1;
            }
            waiting.extend(inner.into_iter().map(|inner| [&path[..], &[inner]].concat()));
        }
    }
    assert!(seen > 25, "{seen} commands");
    for (name, values) in [
        (
            "timing",
            &["rtx2060", "larf+corf", "redundancy", "sm.max_warps=", "technique.bow.window=", "workloads"][..],
        ),
        ("demo", &["rtx2060", "matmul_tiled"]),
        ("emu", &["h100"]),
    ] {
        for shell in ["bash", "zsh", "fish"] {
            let said = succeeds(program(name).args(["completions", shell]));
            let missing: Vec<&&str> = values.iter().filter(|value| !said.contains(**value)).collect();
            assert!(missing.is_empty(), "{name} {shell}: {missing:?}");
        }
    }
}

/// One word for one thing; those of earlier versions still work, and help does not show them.
#[test]
fn options_have_one_word_and_the_old_ones_still_work() {
    let folder = recorded();
    let ptx = workload("textbook/vectoradd/vectoradd.ptx");
    let manifest = workload("textbook/vectoradd/vectoradd.toml");
    for word in ["--manifest", "--launch"] {
        succeeds(within(folder.path(), "emu", &["run"]).arg(&ptx).arg(word).arg(&manifest));
    }
    for word in ["--kernels", "--kernel"] {
        succeeds(program("emu").arg("disasm").arg(&ptx).args([word, "vectoradd"]));
    }
    for word in ["--launches", "--launch"] {
        succeeds(&mut within(folder.path(), "trace", &["dump", "t.wtrace", word, "0", "--limit", "3"]));
    }
    for word in ["--output", "--out", "-o"] {
        succeeds(&mut within(folder.path(), "demo", &["--list", word, "somewhere"]));
    }
    for (name, command) in
        [("emu", "run"), ("emu", "record"), ("emu", "disasm"), ("emu", "init"), ("trace", "dump")]
    {
        let said = succeeds(program(name).args([command, "--help"]));
        let words: Vec<&str> = said.split([' ', '\n', ',']).collect();
        for old in ["--kernel", "--launch", "--out"] {
            assert!(!words.contains(&old), "{name} {command} shows {old}");
        }
    }
}
