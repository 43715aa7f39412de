//! Tests of `timing report` and `timing compare`: their files, equal bytes, and error messages.

#[path = "../report/tests/browse/mod.rs"]
mod browse;
use crate::common;

use common::{Item, Launch};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use test_kit::{Tool, skipped};
use trace_format::isa::{Language, MachineKernel, Position, SourceFile, SourceLine};

/// A kernel whose instructions come from lines 10, 11, … of a PTX file.
fn kernel() -> MachineKernel {
    let mut kernel = common::mixed("increment");
    let lines = 10..10 + kernel.insts.len() as u32;
    let at = |line| SourceLine { code: Position { file: 1, line }, ..SourceLine::default() };
    kernel.lines = lines.clone().map(at).collect();
    let lines = lines.map(|line| (line, format!("    ptx text of line {line};"))).collect();
    kernel.files = vec![SourceFile { language: Language::Ptx, name: "increment.ptx".into(), lines }];
    kernel
}

fn record(path: &Path) {
    let launch = Launch { kernel: 0, stream: 0, blocks: 4, threads: 64 };
    common::record(path, &[kernel()], &[Item::Launch(launch), Item::Copy(0), Item::Launch(launch)]);
}

fn timing(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_timing"));
    command.args(arguments).current_dir(folder).output().expect("the command runs")
}

fn ok(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).expect("a file")).expect("JSON")
}

fn data<'a>(report: &'a Value, id: &str) -> &'a Value {
    let sets = report["data"].as_array().expect("data");
    sets.iter().find(|set| set["id"] == id).unwrap_or_else(|| panic!("no {id}"))
}

/// A cell of the first row whose second cell is `machine`.
fn cell(set: &Value, machine: &str, key: &str) -> f64 {
    let columns = set["columns"].as_array().expect("columns");
    let at = columns.iter().position(|column| column["key"] == key).expect("a column");
    let rows = set["rows"].as_array().expect("rows");
    rows.iter().find(|row| row[1] == machine).expect("a row")[at].as_f64().expect("a number")
}

#[test]
fn a_report_says_what_replays_and_studies_say_in_the_same_bytes_each_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    record(&at("a.wtrace"));
    let report = |more: &[&str]| {
        let what = ["report", "a.wtrace", "--tech", "bow", "--tech", "bow,corf", "--studies", "redundancy"];
        ok(&timing(folder.path(), &[&what[..], more].concat()))
    };
    let said = report(&["-o", "one"]);
    assert!(said.contains("one/index.html"), "{said}");
    report(&["--threads", "1", "-o", "two"]);
    for file in
        ["index.html", "data.json", "csv/counters.csv", "parquet/counters.parquet", "figures/speedup.png"]
    {
        let read = |name: &str| std::fs::read(at(name).join(file)).expect(file);
        assert!(read("one") == read("two"), "{file}");
    }
    ok(&timing(folder.path(), &["replay", "a.wtrace", "--tech", "bow", "--json", "replay.json"]));
    let (report, replay) = (json(&at("one/data.json")), json(&at("replay.json")));
    let counters = data(&report, "counters");
    assert_eq!(cell(counters, "bow", "cycles"), replay["cycles"].as_f64().expect("cycles"));
    assert_eq!(
        cell(counters, "baseline", "rf_reads"),
        replay["baseline"]["rf_reads"].as_f64().expect("reads")
    );
    let speedup = replay["ratio"]["speedup"].as_f64().expect("a quotient");
    assert!((cell(counters, "bow", "speedup") - speedup).abs() < 1e-12);
    ok(&timing(folder.path(), &["study", "redundancy", "a.wtrace", "--csv", "study.csv"]));
    // Without the comment on what produced it.
    let csv = |name: &str| {
        let text = std::fs::read_to_string(at(name)).expect("a file");
        text.split_once('\n').map(|(_, table)| table.to_owned()).expect("a table")
    };
    assert_eq!(csv("one/csv/redundancy-kernels.csv"), csv("study.csv"));
    // The findings are made from the same counts.
    let plain = &replay["baseline"];
    let slots = |cause: &str| plain["stalls"][cause].as_f64().expect("slots");
    let all: f64 = plain["stalls"].as_object().expect("causes").values().filter_map(Value::as_f64).sum();
    let kpi = |label: &str| {
        let kpis = report["key_numbers"].as_array().expect("tiles");
        let found = kpis.iter().find(|kpi| kpi["section"] == "Findings" && kpi["label"] == label);
        found.unwrap_or_else(|| panic!("no {label}"))["value"].as_f64().expect("a number")
    };
    let used = slots("issued") / (all - slots("no_warp") - slots("launch"));
    assert!((kpi("Issue slots used") - used).abs() < 1e-12);
    let fastest = ["bow", "bow+corf"].map(|variant| cell(counters, variant, "speedup"));
    assert!((kpi("Speedup") - fastest[0].max(fastest[1])).abs() < 1e-12);
    let redundancy = data(&report, "redundancy-means");
    let column =
        |key: &str| redundancy["columns"].as_array().expect("columns").iter().position(|c| c["key"] == key);
    let share =
        redundancy["rows"][0][column("block_redundant_share").expect("a share")].as_f64().expect("a number");
    assert!((kpi("Largest opportunity") - share).abs() < 1e-12);
    let page = std::fs::read_to_string(at("one/index.html")).expect("the page");
    let sections: Vec<usize> = ["Findings", "What ran", "Limit studies"]
        .iter()
        .map(|title| page.find(&format!("--h\">{title}")).unwrap_or_else(|| panic!("no section {title}")))
        .collect();
    assert!(sections.is_sorted(), "the findings come first");
    let finding = match speedup - 1.0 {
        gain if gain > 0.005 => format!("<strong>bow</strong> is {:.1}\u{a0}% faster", gain * 100.0),
        gain if gain < -0.005 => format!("<strong>bow</strong> is {:.1}\u{a0}% slower", -gain * 100.0),
        _ => "<strong>bow</strong> is as fast as the baseline".to_owned(),
    };
    let plainly = |text: &str| text.replace(['\u{a0}', '\u{202f}'], " ");
    assert!(plainly(&page).contains(&plainly(&finding)), "{finding}");
    let limit = page.split("<strong>increment</strong>: ").nth(1).and_then(|rest| rest.split("</li>").next());
    assert!(limit.is_some_and(|text| text.contains("limited by ")), "what limits the kernel: {limit:?}");
    // SM 0 has a block of two warps in either launch; every line issues once per warp, the load's user waits longest.
    let lines = data(&report, "hot-lines");
    assert_eq!(lines["rows"].as_array().expect("rows").len(), kernel().insts.len());
    assert_eq!((&lines["rows"][0][3], &lines["rows"][0][4]), (&"PTX".into(), &"ptx text of line 16;".into()));
    let shares: f64 = lines["rows"].as_array().expect("rows").iter().filter_map(|row| row[5].as_f64()).sum();
    assert!((shares - 1.0).abs() < 1e-9, "{shares}");
    assert!(
        lines["rows"].as_array().expect("rows").iter().all(|row| row[7] == 4 && row[8] == 32.0),
        "{lines}"
    );
}

#[test]
fn named_machines_stand_in_a_report_as_in_a_replay() {
    let folder = tempfile::tempdir().expect("a folder");
    record(&folder.path().join("a.wtrace"));
    let machines =
        ["--machine", "w5: bow, technique.bow.window=5", "--machine", "small qv100: qv100, sm.max_warps=32"];
    let with = |start: &[&str]| ok(&timing(folder.path(), &[start, &machines].concat()));
    with(&["report", "a.wtrace", "--studies", "none", "-o", "out"]);
    with(&["replay", "a.wtrace", "--json", "all.json"]);
    let read = |name: &str| std::fs::read_to_string(folder.path().join("out").join(name)).expect("written");
    let (report, replay) =
        (json(&folder.path().join("out/data.json")), json(&folder.path().join("all.json")));
    let counters = data(&report, "counters");
    let number = |value: &Value, key: &str| value[key].as_f64().unwrap_or_else(|| panic!("no {key}"));
    let listed = replay["machines"].as_array().expect("machines");
    assert_eq!(listed.len(), 2);
    for (machine, alone) in [
        ("w5", &["--tech", "bow", "--set", "technique.bow.window=5"][..]),
        ("small qv100", &["--config", "qv100", "--set", "sm.max_warps=32"]),
    ] {
        assert!(
            read("index.html").contains(machine) && read("csv/counters.csv").contains(machine),
            "{machine}"
        );
        let of_all = listed.iter().find(|one| one["machine"] == machine).expect("the machine");
        let alone = [&["replay", "a.wtrace", "--json", "one.json"][..], alone].concat();
        ok(&timing(folder.path(), &alone));
        let alone = json(&folder.path().join("one.json"));
        for key in ["cycles", "rf_reads", "rf_writes"] {
            assert_eq!(cell(counters, machine, key), number(of_all, key), "{machine}: {key}");
            assert_eq!(cell(counters, machine, key), number(&alone, key), "{machine}: {key}");
        }
        let speedup = number(&replay, "kernel_cycles") / number(&alone, "kernel_cycles");
        assert!((cell(counters, machine, "speedup") - speedup).abs() < 1e-12, "{machine}");
    }
    assert_ne!(cell(counters, "w5", "rf_reads"), cell(counters, "baseline", "rf_reads"));
    assert_ne!(cell(counters, "small qv100", "cycles"), cell(counters, "baseline", "cycles"));
    assert_eq!(cell(counters, "baseline", "rf_reads"), number(&replay, "rf_reads"));
    let twice = timing(
        folder.path(),
        &["report", "a.wtrace", "-o", "x", "--machine", "a: bow", "--machine", "a: corf"],
    );
    assert_eq!(twice.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&twice.stderr).contains("the machine a is given twice"));
}

#[test]
fn techniques_together_stand_beside_the_product_of_each_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    record(&folder.path().join("a.wtrace"));
    let what = ["report", "a.wtrace", "--tech", "bow", "--studies", "none", "-o", "out"];
    ok(&timing(
        folder.path(),
        &[&what[..], &["--combine", "bow,corf++", "--combine", "larf,regmutex"]].concat(),
    ));
    let report = json(&folder.path().join("out/data.json"));
    let counters = data(&report, "counters");
    let speed = |variant: &str| cell(counters, variant, "speedup");
    let rows = data(&report, "together")["rows"].as_array().expect("rows").clone();
    assert_eq!(rows.len(), 3, "IPC, accesses and energy of one combination; the other is refused");
    let number = |at: usize| rows[0][at].as_f64().expect("a number");
    assert_eq!((&rows[0][0], &rows[0][1]), (&"bow+corf++".into(), &"IPC".into()));
    assert!((number(3) - speed("bow") * speed("corf++")).abs() < 1e-12);
    assert!((number(4) - speed("bow+corf++")).abs() < 1e-12);
    assert!((number(5) - (number(4) / number(3) - 1.0)).abs() < 1e-12);
    let page = std::fs::read_to_string(folder.path().join("out/index.html")).expect("the page");
    assert!(
        page.contains("larf+regmutex is left out: techniques")
            && page.contains("together-bow-and-corf-plus-ipc")
    );
}

/// Two kernels, of which one needs more registers than an SM has.
#[test]
fn a_kernel_that_fits_no_sm_is_left_out_of_the_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let kernel = |registers| MachineKernel { regs_per_thread: registers, ..kernel() };
    let record = |name: &str, registers, threads| {
        let launch = Launch { kernel: 0, stream: 0, blocks: 2, threads };
        common::record(&path.join(name), &[kernel(registers)], &[Item::Launch(launch)]);
    };
    record("large.wtrace", 200, 512);
    record("small.wtrace", 16, 64);
    for command in [&["report", "-o", "r"][..], &["replay", "--json", "r.json"], &["why", "--json", "w.json"]]
    {
        let traces = ["large.wtrace", "small.wtrace"];
        let output = timing(path, &[&command[..1], &traces[..], &command[1..]].concat());
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains("large.wtrace: ") && told.contains("1 of 2 traces left out"), "{told}");
    }
    let page = std::fs::read_to_string(path.join("r/index.html")).expect("the page");
    assert!(page.contains("large.wtrace is left out") && page.contains("small"));
    for file in ["r.json", "w.json"] {
        let text = std::fs::read_to_string(path.join(file)).expect("the result");
        assert!(text.contains("left_out") && text.contains("small.wtrace"));
    }
}

/// Checks a report and writes problems into its title.
const PROBE: &str = r##"<script>
window.failures = [];
addEventListener("error", (e) => failures.push(e.message));
addEventListener("securitypolicyviolation", (e) => failures.push(e.violatedDirective));
for (const kind of ["error", "warn"]) console[kind] = (...words) => failures.push(words.join(" "));
addEventListener("load", () => {
  try {
    const expect = (what, ok) => { if (!ok) failures.push(what); };
    expect("findings first", document.querySelector("main > section").id === "findings");
    expect("sentences", document.querySelectorAll("#findings .sentences li").length >= 3);
    const entries = [...document.querySelectorAll("#limit-studies details.entry")];
    expect("studies are folded", entries.length > 10 && entries.every((entry) => !entry.open));
    expect("and named in the navigation", document.querySelectorAll("nav details li").length === entries.length);
    entries.forEach((entry) => { entry.open = true; });
    for (const id of ["issue-slots", "cpi-stack", "speedup", "rf-energy", "energy-by-component", "redundancy-by-level"]) {
      const svg = document.querySelector("#" + id + " svg.chart");
      expect(id, svg && svg.getBoundingClientRect().height > 50);
      const mark = svg.querySelector(".mark"), box = mark.getBoundingClientRect();
      mark.dispatchEvent(new PointerEvent("pointermove", { bubbles: true, clientX: box.x + 1, clientY: box.y + 1 }));
      const tip = document.getElementById("tip");
      expect("hover on " + id, !tip.hidden && /\d/.test(tip.textContent));
      expect("CSV of " + id, document.querySelector("#" + id + " a[download]").href.startsWith("data:text/csv"));
    }
    const loaded = performance.getEntriesByType("resource").map((entry) => entry.name);
    expect("loads " + loaded, loaded.every((name) => name.startsWith("data:")));
    expect("no wider than the window", document.documentElement.scrollWidth <= innerWidth);
    const table = document.querySelector("#hot-lines table.sortable");
    const lines = () => [...table.tBodies[0].rows].map((row) => +row.cells[2].dataset.v);
    const before = lines();
    table.tHead.rows[0].cells[2].querySelector("button").click();
    const sorted = [...before].sort((a, b) => b - a);
    expect("sorts", lines().join() === sorted.join() && sorted.join() !== before.join());
    expect("source", document.querySelector(".source-figure").textContent.includes("ptx text of line 16"));
  } catch (error) { failures.push(String(error)); }
  document.title = "PROBE " + (failures.length ? failures.join(" | ") : "passed");
});
</script></head>"##;

#[test]
fn the_page_works_in_a_browser_wide_and_on_a_phone() {
    let folder = tempfile::tempdir().expect("a folder");
    record(&folder.path().join("a.wtrace"));
    ok(&timing(folder.path(), &["report", "a.wtrace", "--tech", "bow", "-o", "r"]));
    let report = json(&folder.path().join("r/data.json"));
    for study in timing::studies::registry() {
        assert!(!data(&report, &format!("{}-kernels", study.name)).is_null());
    }
    let html = std::fs::read_to_string(folder.path().join("r/index.html")).expect("the page");
    let page = folder.path().join("probe.html");
    std::fs::write(&page, html.replacen("</head>", PROBE, 1)).expect("writes");
    for width in [1440, 500] {
        let Some(title) = browse::title(&page, folder.path(), width) else { return };
        assert_eq!(title, "PROBE passed", "{width} pixels wide");
    }
}

#[test]
fn names_of_cpp_kernels_are_readable_to_people_and_whole_in_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let read = |name: &str| std::fs::read_to_string(at(name)).expect("a file");
    let launch = |kernel| Item::Launch(Launch { kernel, stream: 0, blocks: 4, threads: 64 });
    let named = |name: &str| MachineKernel { name: name.into(), ..kernel() };
    let mangled = ["_Z4stepPKfPfi", "_Z3sumPf", "_Z3sumPd"];
    common::record(&at("a.wtrace"), &mangled.map(named), &[launch(0), launch(1), launch(2)]);
    ok(&timing(folder.path(), &["report", "a.wtrace", "--studies", "redundancy", "-o", "r"]));
    let (page, csv) = (read("r/index.html"), read("r/csv/kernels.csv"));
    for (name, short, whole) in [
        (mangled[0], "step", "step(float const*, float*, int)"),
        (mangled[1], "sum(float*)", "sum(float*)"),
        (mangled[2], "sum(double*)", "sum(double*)"),
    ] {
        assert!(page.contains(&format!("<td>{short}</td>")), "{short} in tables");
        assert!(page.contains(&format!("<summary>a: {whole}</summary>")), "{whole} over its listing");
        assert!(csv.contains(name) && read("r/csv/redundancy-kernels.csv").contains(name), "{name} in files");
        let visible = page
            .split("<script type=\"application/json\"")
            .next()
            .expect("the page")
            .replace("data:text/csv", "\n");
        assert!(!visible.contains(&format!(">{name}<")), "{name} is not shown");
    }
    let views = ["--timeline", "t.json", "--konata", "k.log", "--json", "o.json"];
    // The readable name chooses kernels like the one of the object file.
    for chosen in ["^_Z4step", r"^step\(float const\*", "step"] {
        ok(&timing(folder.path(), &[&["replay", "a.wtrace", "--kernels", chosen][..], &views].concat()));
        let launches = json(&at("o.json"))["traces"][0]["launches"].as_array().cloned().unwrap_or_default();
        assert_eq!(launches.len(), 1, "{chosen}");
        assert_eq!(launches[0]["kernel"], mangled[0]);
    }
    let events = json(&at("t.json"))["traceEvents"].as_array().cloned().expect("events");
    assert!(
        events.iter().any(|event| event["name"] == "step(float const*, float*, int)"
            && event["args"]["kernel"] == mangled[0])
    );
    assert!(read("k.log").contains("step(float const*, float*, int), block 0"));
    let refused = timing(folder.path(), &["replay", "a.wtrace", "--kernels", "nothing"]);
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(told.contains("0: step(float const*, float*, int) [_Z4stepPKfPfi]"), "{told}");
    for (command, name) in [
        (&["why", "a.wtrace"][..], "step(float const*, float*, int) on "),
        (&["study", "redundancy", "a.wtrace", "--by", "kernel"], " step "),
    ] {
        let told = ok(&timing(folder.path(), command));
        assert!(told.contains(name) && !told.contains("_Z"), "{command:?}: {told}");
    }
}

#[test]
fn ten_lines_of_python_redraw_a_figure() {
    // The environment that the project's script makes, or the system's Python.
    let environment = std::env::var_os("WARPLAB_PYTHON").map(PathBuf::from);
    let cached = || std::env::home_dir().map(|home| home.join(".cache/warplab/python/bin/python3"));
    let interpreter = environment.or_else(cached).filter(|p| p.is_file()).unwrap_or("python3".into());
    let python = |folder: &Path, arguments: &[&str]| {
        Command::new(&interpreter)
            .args(arguments)
            .current_dir(folder)
            .output()
            .ok()
            .filter(|o| o.status.success())
    };
    let folder = tempfile::tempdir().expect("a folder");
    if python(folder.path(), &["-c", "import polars, matplotlib"]).is_none() {
        let why = "Python checks skipped: polars and matplotlib are not installed (tools/scripts/python-clients.sh)";
        return skipped(Tool::Python, why);
    }
    record(&folder.path().join("a.wtrace"));
    ok(&timing(folder.path(), &["report", "a.wtrace", "--studies", "none", "-o", "r"]));
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/redraw.py");
    python(folder.path(), &[example, "r", "redrawn.png"]).expect("the example runs");
    let picture = std::fs::read(folder.path().join("redrawn.png")).expect("the figure");
    assert!(picture.starts_with(b"\x89PNG") && picture.len() > 2000);
    // Every Parquet file has the contents of the CSV beside it, in every reader.
    let check = "import polars as pl, pathlib\n\
        for file in sorted(pathlib.Path('r/parquet').iterdir()):\n\
        \x20   table = pl.read_parquet(file)\n\
        \x20   csv = pl.read_csv(f'r/csv/{file.stem}.csv', schema=table.schema)\n\
        \x20   csv, table = (t.with_columns(pl.col(pl.String).fill_null('')) for t in (csv, table))\n\
        \x20   assert csv.equals(table), file\n\
        \x20   print(file.stem, table.shape)";
    let said = python(folder.path(), &["-c", check]).expect("Parquet and CSV agree");
    assert!(String::from_utf8_lossy(&said.stdout).contains("kernels (1, 12)"));
}

#[test]
fn what_changed_is_told_with_what_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    record(&folder.path().join("a.wtrace"));
    let report = |extra: &[&str]| {
        let arguments = ["report", "a.wtrace", "--studies", "none"].iter().chain(extra);
        ok(&timing(folder.path(), &arguments.copied().collect::<Vec<_>>()))
    };
    report(&["-o", "old"]);
    report(&["-o", "same"]);
    let same = timing(folder.path(), &["compare", "old/data.json", "same/data.json", "--exit-code"]);
    assert_eq!(same.status.code(), Some(0));
    assert!(ok(&same).contains("none changed"));
    let told = report(&["--set", "launch.latency_cycles=9000", "-o", "new", "--against", "old/data.json"]);
    assert!(told.contains("cycles"), "{told}");
    let changed = timing(folder.path(), &["compare", "old/data.json", "new/data.json", "--exit-code"]);
    assert_eq!(changed.status.code(), Some(2));
    let text = String::from_utf8_lossy(&changed.stdout).into_owned();
    assert!(text.contains("data / kernels / a increment") && text.contains("cycles"), "{text}");
    let new = json(&folder.path().join("new/data.json"));
    let paths = data(&new, "changes")["rows"].as_array().expect("rows").clone();
    assert!(
        paths.iter().any(|row| row[0].as_str().is_some_and(|path| path.ends_with("/ cycles"))),
        "{paths:?}"
    );
}

#[test]
fn what_is_wrong_is_said_with_what_there_is() {
    let folder = tempfile::tempdir().expect("a folder");
    record(&folder.path().join("a.wtrace"));
    std::fs::write(folder.path().join("other.json"), "{\"schema\": 7}").expect("writes");
    std::fs::write(folder.path().join("broken.json"), "{").expect("writes");
    let cases: [(&[&str], &[&str]); 10] = [
        (&["report", "a.wtrace", "-o", "r", "--tech", "nonsense"], &["nonsense", "bow", "corf"]),
        (&["report", "a.wtrace", "-o", "r", "--combine", "bow"], &["--combine bow", "two techniques"]),
        (&["report", "a.wtrace", "-o", "r", "--combine", "bow,nonsense"], &["nonsense", "corf"]),
        (
            &["report", "a.wtrace", "-o", "r", "--tech", "bow", "--tech", "bow"],
            &["--tech bow is given twice"],
        ),
        (&["report", "a.wtrace", "-o", "r", "--studies", "nonsense"], &["nonsense", "redundancy", "width"]),
        (&["report", "a.wtrace", "-o", "r", "--kernels", "nothing"], &["--kernels nothing", "increment"]),
        (&["report", "a.wtrace", "-o", "r", "--launches", "7"], &["no launch 7", "0-1: increment"]),
        (&["report", "a.wtrace", "-o", "r", "--config", "gtx1"], &["gtx1", "titanx-pascal"]),
        (&["compare", "other.json", "other.json"], &["other.json", "schema"]),
        (&["compare", "broken.json", "other.json"], &["broken.json"]),
    ];
    for (arguments, expected) in cases {
        let output = timing(folder.path(), arguments);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {told}");
        expected.iter().for_each(|text| assert!(told.contains(text), "{arguments:?}: {text} in {told}"));
        assert!(!folder.path().join("r").exists(), "{arguments:?} leaves nothing behind");
    }
}
