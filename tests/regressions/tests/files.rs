//! Files: nothing that a command reads is destroyed, nothing that a stranger wrote is believed, and no write fails in
//! silence.

use regressions::{compile, fails, program, run, succeeds, text};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A kernel that adds in a loop.
const KERNEL: &str = "\
.version 7.0
.target sm_75
.address_size 64
.visible .entry work(.param .u64 out, .param .u32 rounds) {
  .reg .b64 %rd<4>; .reg .b32 %r<9>; .reg .pred %p;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [rounds];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
  mad.lo.u32 %r5, %r2, %r3, %r4;
  mov.u32 %r6, 0; mov.u32 %r7, 0;
L: setp.ge.u32 %p, %r7, %r1;
  @%p bra D;
  xor.b32 %r8, %r6, %r5;
  mad.lo.u32 %r6, %r8, 5, %r7;
  add.u32 %r7, %r7, 1;
  bra L;
D: mul.wide.u32 %rd2, %r5, 4;
  add.u64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r6;
  ret;
}
";

/// A folder with programs and what is made of them.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().expect("a folder"))
    }

    /// With `a.ptx`, `a.toml` and their recording `t.wtrace`.
    fn recorded(blocks: u32, rounds: u32) -> Place {
        let place = Place::new();
        place.kernel("a", blocks, rounds);
        succeeds(&mut place.command("emu record a.ptx -o t.wtrace"));
        place
    }

    /// The same with results, a folder of Accel-Sim's text, and so on: an input for every command.
    fn full() -> Place {
        let place = Place::recorded(2, 4);
        succeeds(&mut place.command("timing replay t.wtrace --config gtx480 --json r.json"));
        succeeds(&mut place.command("timing replay t.wtrace --config qv100 --csv ref.csv --per-launch"));
        succeeds(&mut place.command("timing replay t.wtrace --config gtx480 --csv ours.csv --per-launch"));
        succeeds(&mut place.command("trace export t.wtrace --accelsim d"));
        let config = succeeds(&mut place.command("timing config show gtx480"));
        place.write("c.toml", &config);
        place.write("s.toml", "traces = [\"t.wtrace\"]\nvary = [\"sm.max_warps=32,64\"]\n");
        place.write("reference.csv", "kernel,launch,cycles\nwork,0,1000\n");
        place.write("gpgpusim.config", "-gpgpu_n_clusters 15\n");
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.at(name), text).expect("written");
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.at(name)).unwrap_or_else(|why| panic!("{name}: {why}"))
    }

    fn json(&self, name: &str) -> serde_json::Value {
        serde_json::from_slice(&self.read(name)).expect("JSON")
    }

    fn kernel(&self, name: &str, blocks: u32, rounds: u32) {
        self.write(&format!("{name}.ptx"), KERNEL);
        self.write(
            &format!("{name}.toml"),
            &format!(
                "[buffers.out]\ntype = \"u32\"\nlen = \"{blocks}*128\"\n[[launch]]\nkernel = \"work\"\n\
                 grid = [{blocks}]\nblock = [128]\nargs = [\"@out\", {{ u32 = \"{rounds}\" }}]\n"
            ),
        );
    }

    /// A command in this folder, its words separated by spaces.
    fn command(&self, words: &str) -> Command {
        let mut words = words.split(' ');
        let mut command = program(words.next().expect("a program"));
        command.args(words).current_dir(self.0.path());
        command
    }
}

/// Commands with an output option `OUT`, the input that OUT is set to, and whether OUT is a folder in which the input lies.
const OUTPUTS: &[(&str, &str)] = &[
    ("emu record a.ptx --output OUT", "a.ptx"),
    ("emu record a.ptx --output OUT", "a.toml"),
    ("emu init a.ptx --force --output OUT", "a.ptx"),
    ("timing replay t.wtrace --json OUT", "t.wtrace"),
    ("timing replay t.wtrace --csv OUT", "t.wtrace"),
    ("timing replay t.wtrace --config c.toml --json OUT", "c.toml"),
    ("timing replay t.wtrace --timeline OUT", "t.wtrace"),
    ("timing replay t.wtrace --konata OUT", "t.wtrace"),
    ("timing replay t.wtrace --interval 100 --series OUT", "t.wtrace"),
    ("timing why t.wtrace --json OUT", "t.wtrace"),
    ("timing study redundancy t.wtrace --json OUT", "t.wtrace"),
    ("timing study redundancy t.wtrace --csv OUT", "t.wtrace"),
    ("timing explore t.wtrace --tech bow --json OUT", "t.wtrace"),
    ("timing sweep t.wtrace --vary sm.max_warps=32,64 --json OUT", "t.wtrace"),
    ("timing sweep --file s.toml --json OUT", "s.toml"),
    ("timing correlate r.json reference.csv --json OUT", "r.json"),
    ("timing correlate r.json reference.csv --csv OUT", "reference.csv"),
    ("timing correlate r.json reference.csv --html OUT", "r.json"),
    ("timing config import gpgpusim.config --output OUT", "gpgpusim.config"),
    ("timing import-trace d --output OUT", "d/kernelslist.g"),
    ("timing import-trace d --output OUT", "d/kernel-1.traceg"),
];

/// Options whose value is a folder: what they replace in it is in tests of its own.
const FOLDERS: &[&str] = &[
    "demo --out",
    "demo man --output",
    "emu extract --output",
    "emu man --output",
    "timing explore --output",
    "timing man --output",
    "timing report --output",
    "timing reproduce --cache",
    "timing reproduce --output",
    "timing sweep --output",
    "timing sweep --store",
    "trace export --accelsim",
    "trace man --output",
];

/// Options that write and belong to programs that are run, in another test.
const OF_PROGRAMS: &[&str] = &["emu record --summary", "emu run --summary"];

/// Options of commands that read no file, so that none is destroyed.
const WITHOUT_INPUT: &[&str] = &["timing accuracy --json", "timing accuracy --output"];

/// Names of options with a value that write files.
const WRITING: [&str; 11] =
    ["json", "csv", "html", "series", "timeline", "konata", "output", "out", "accelsim", "store", "cache"];

/// The commands of a program, by its help, each with its help.
fn commands(name: &str, before: &str, found: &mut Vec<(String, String)>) {
    let words = format!("{before} --help");
    let help = succeeds(program(name).args(words.split_whitespace()).env("COLUMNS", "100"));
    let listed = help.split("\nCommands:\n").nth(1).unwrap_or("").lines();
    let inner: Vec<String> = listed
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .filter(|word| word != "help")
        .collect();
    if inner.is_empty() {
        found.push((format!("{name}{before}"), help));
    }
    inner.iter().for_each(|word| commands(name, &format!("{before} {word}"), found));
}

/// The output options of every command, as `timing replay --json`.
fn output_options() -> BTreeSet<String> {
    let mut all = Vec::new();
    ["emu", "timing", "trace", "demo"].iter().for_each(|name| commands(name, "", &mut all));
    let mut options = BTreeSet::new();
    for (command, help) in &all {
        for name in WRITING.iter().chain(&["summary"]) {
            if help.contains(&format!("--{name} <")) {
                options.insert(format!("{command} --{name}"));
            }
        }
    }
    options
}

/// The words of a command that name it, with its output option.
fn option_of(case: &str) -> String {
    let words: Vec<&str> = case.split(' ').collect();
    let at = words.iter().position(|word| *word == "OUT").expect("an output");
    let name = if words[1] == "config" { words[..3].join(" ") } else { words[..2].join(" ") };
    format!("{name} {}", words[at - 1])
}

#[test]
fn every_output_option_is_in_these_tests() {
    let known: BTreeSet<String> = OUTPUTS.iter().map(|(case, _)| option_of(case)).collect();
    let others = FOLDERS.iter().chain(OF_PROGRAMS).chain(WITHOUT_INPUT);
    let others: BTreeSet<String> = others.map(|&name| name.to_owned()).collect();
    let all = output_options();
    assert!(all.len() > 25, "{all:?}");
    let missing: Vec<_> = all.iter().filter(|one| !known.contains(*one) && !others.contains(*one)).collect();
    assert!(missing.is_empty(), "not in OUTPUTS, FOLDERS or WITHOUT_INPUT: {missing:?}");
}

#[test]
fn an_output_that_is_an_input_is_refused() {
    let place = Place::full();
    symlink(place.at("t.wtrace"), place.at("link.wtrace")).expect("linked");
    fs::hard_link(place.at("t.wtrace"), place.at("hard.wtrace")).expect("linked");
    let links = ["./t.wtrace", "d/../t.wtrace", "link.wtrace", "hard.wtrace"];
    let linked = links.map(|name| ("timing replay t.wtrace --config gtx480 --json OUT", name));
    for (case, input) in OUTPUTS.iter().chain(&linked) {
        let before = place.read(input);
        let told = fails(&mut place.command(&case.replace("OUT", input)), 1);
        assert!(told.contains("input of this command"), "{case} with {input}: {told}");
        assert!(place.read(input) == before, "{case} has changed {input}");
    }
    let parts: Vec<_> =
        fs::read_dir(place.0.path()).expect("a folder").flatten().map(|e| e.file_name()).collect();
    assert!(!parts.iter().any(|name| name.to_string_lossy().contains(".part")), "{parts:?}");
}

#[test]
fn two_outputs_that_are_one_file_are_refused() {
    let place = Place::full();
    fs::create_dir(place.at("new")).expect("made");
    for more in
        ["--json x --csv x", "--json x --csv ./x", "--json new/x --csv new/../new/x", "--json - --csv -"]
    {
        let told = fails(&mut place.command(&format!("timing replay t.wtrace {more}")), 2);
        assert!(told.contains("both write"), "{more}: {told}");
    }
    fails(&mut place.command("emu record --summary x -o x -- true"), 2);
    fails(&mut place.command("timing accuracy --json x --output ./x"), 2);
    assert!(!place.at("x").exists());
    // A page and a file of its folder.
    fs::create_dir(place.at("page")).expect("made");
    let told =
        fails(&mut place.command("timing explore t.wtrace --tech bow -o page --json page/data.json"), 1);
    assert!(told.contains("two different files") || told.contains("this file too"), "{told}");
}

#[test]
fn a_program_that_is_recorded_is_not_replaced() {
    let place = Place::new();
    fs::copy("/bin/true", place.at("app")).expect("copied");
    place.write("script.sh", "true\n");
    let before = place.read("app");
    for case in [
        "emu record -o app -- ./app",
        "emu record -o script.sh -- sh script.sh",
        "emu run --summary app -- ./app",
        "emu record -o t.wtrace --summary script.sh -- sh script.sh",
    ] {
        let told = fails(&mut place.command(case), 1);
        assert!(told.contains("input of this command"), "{case}: {told}");
    }
    assert!(place.read("app") == before && place.read("script.sh") == b"true\n");
}

#[test]
fn standard_output_that_is_appended_to_an_input_is_refused() {
    let place = Place::recorded(2, 4);
    let before = place.read("t.wtrace");
    let file = fs::OpenOptions::new().append(true).open(place.at("t.wtrace")).expect("opened");
    let mut command = place.command("trace dump t.wtrace");
    let output = command.stdout(file).stderr(Stdio::piped()).output().expect("started");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(place.read("t.wtrace") == before);
}

#[test]
fn a_page_of_something_else_is_not_replaced() {
    let place = Place::full();
    place.write("s2.toml", "");
    let cases = [
        "timing report t.wtrace --studies none -o site",
        "timing explore t.wtrace --tech bow -o site",
        "timing sweep t.wtrace --vary sm.max_warps=32,64 -o site",
    ];
    fs::create_dir(place.at("site")).expect("made");
    place.write("thesis", "<html>my thesis");
    for by_link in [false, true] {
        let _ = fs::remove_file(place.at("site/index.html"));
        if by_link {
            symlink(place.at("thesis"), place.at("site/index.html")).expect("linked");
        } else {
            place.write("site/index.html", "<html>my thesis");
        }
        for case in cases {
            let told = fails(&mut place.command(case), 1);
            assert!(told.contains("is no page of Warplab"), "{case}: {told}");
            assert!(
                place.read("site/index.html") == b"<html>my thesis"
                    && place.read("thesis") == b"<html>my thesis"
            );
        }
    }
    fs::remove_file(place.at("site/index.html")).expect("removed");
    for _ in 0..2 {
        succeeds(&mut place.command(cases[0]));
    }
    // A link that somebody has put into the folder is replaced, and its target stays.
    fs::remove_file(place.at("site/data.json")).expect("removed");
    symlink(place.at("thesis"), place.at("site/data.json")).expect("linked");
    succeeds(&mut place.command(cases[0]));
    assert_eq!(place.read("thesis"), b"<html>my thesis");
    // The folder's data are an input of the comparison.
    let told = fails(&mut place.command(&format!("{} --against site/data.json", cases[0])), 1);
    assert!(told.contains("input of this command"), "{told}");
}

#[test]
fn a_result_of_somebody_else_writes_nothing_when_it_is_produced_again() {
    let place = Place::recorded(2, 4);
    succeeds(&mut place.command("timing replay t.wtrace --json r.json"));
    let with = |more: &[&str]| {
        let mut result = place.json("r.json");
        let command = result["produced_by"]["command"].as_array_mut().expect("words");
        command.extend(more.iter().map(|&word| word.into()));
        place.write("evil.json", &result.to_string());
    };
    for more in [
        &["--csv", "thesis"][..],
        &["--csv=thesis"],
        &["--timeline", "thesis"],
        &["--konata", "thesis"],
        &["--json", "thesis"],
        &["--json=thesis", "--csv", "other"],
    ] {
        place.write("thesis", "years of work");
        with(more);
        let told = succeeds(&mut place.command("timing rerun evil.json"));
        assert!(told.contains(more[0]) && told.contains("left out"), "{told}");
        assert_eq!(place.read("thesis"), b"years of work", "{more:?}");
        assert!(!place.at("other").exists());
    }
    // Commands that write without an option.
    let mut result = place.json("r.json");
    for command in [
        &["timing", "sweep", "t.wtrace", "--vary", "sm.max_warps=32,64", "-o", "swept", "--slurm", "cpus=1"]
            [..],
        &["timing", "man", "-o", "pages"],
        &["timing", "import-trace", "d"],
        &["timing", "reproduce", "bow"],
        &["timing", "rerun", "evil.json"],
    ] {
        result["produced_by"]["command"] = command.into();
        place.write("evil.json", &result.to_string());
        let told = fails(&mut place.command("timing rerun evil.json"), 1);
        assert!(told.contains("is not produced again"), "{told}");
    }
}

#[test]
fn a_damaged_entry_of_a_store_is_computed_again() {
    let place = Place::recorded(8, 16);
    let sweep = || succeeds(&mut place.command("timing sweep t.wtrace --vary sm.max_warps=32,64 -o swept"));
    sweep();
    let table = place.read("swept/sweep.csv");
    let entries = || -> Vec<PathBuf> {
        let all = fs::read_dir(place.at("swept/runs")).expect("a folder").flatten().map(|e| e.path());
        let mut all: Vec<_> = all.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
        all.sort();
        all
    };
    assert_eq!(entries().len(), 2);
    let sound: Vec<String> = entries().iter().map(|path| fs::read_to_string(path).expect("text")).collect();
    let damages: [&dyn Fn(usize) -> String; 4] = [
        // Another number, the other run's result, half of it, and nothing.
        &|at| sound[at].replacen("\"cycles\":", "\"cycles\":1", 1),
        &|at| sound[1 - at].clone(),
        &|at| sound[at][..sound[at].len() / 2].to_owned(),
        &|_| String::new(),
    ];
    for damage in damages {
        for (at, path) in entries().iter().enumerate() {
            assert_ne!(damage(at), sound[at]);
            fs::write(path, damage(at)).expect("written");
        }
        let told = sweep();
        assert!(told.contains("warning") && told.contains("computed again"), "{told}");
        assert!(place.read("swept/sweep.csv") == table);
        assert!(!sweep().contains("warning"));
    }
    // What never ends is not read.
    for path in entries() {
        fs::remove_file(&path).expect("removed");
        symlink("/dev/zero", &path).expect("linked");
    }
    assert!(sweep().contains("computed again"));
    assert!(place.read("swept/sweep.csv") == table);
}

/// Starts a command, waits until it has opened a file, does something, and returns what it printed and its exit code.
fn while_open(command: &mut Command, file: &Path, act: impl FnOnce()) -> (Option<i32>, String) {
    let started = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = started.expect("started");
    let folder = PathBuf::from(format!("/proc/{}/fd", child.id()));
    let is_open = || {
        let all = fs::read_dir(&folder).ok()?;
        all.flatten().find(|entry| fs::read_link(entry.path()).is_ok_and(|to| to == file))
    };
    while is_open().is_none() {
        assert!(child.try_wait().expect("a child").is_none(), "it ended without opening {}", file.display());
        std::thread::yield_now();
    }
    act();
    let output = child.wait_with_output().expect("ended");
    (output.status.code(), text(&output))
}

#[test]
fn a_result_names_the_trace_that_was_replayed() {
    let place = Place::recorded(60, 200);
    fs::copy(place.at("t.wtrace"), place.at("kept")).expect("copied");
    place.kernel("b", 1, 2);
    succeeds(&mut place.command("emu record b.ptx -o small.wtrace"));
    let file = fs::canonicalize(place.at("t.wtrace")).expect("a path");
    let run = || place.command("timing replay t.wtrace --config gtx480 --threads 1 --json t.json");
    succeeds(&mut run());
    let (hash, cycles) = {
        let json = place.json("t.json");
        (json["produced_by"]["traces"][0]["hash"].clone(), json["cycles"].clone())
    };
    let acts: [&dyn Fn(); 2] =
        [&|| fs::rename(place.at("small.wtrace"), place.at("t.wtrace")).expect("replaced"), &|| {
            fs::remove_file(place.at("t.wtrace")).expect("removed");
        }];
    for act in acts {
        fs::remove_file(place.at("t.json")).expect("removed");
        let (code, told) = while_open(&mut run(), &file, act);
        assert_eq!(code, Some(0), "{told}");
        let json = place.json("t.json");
        assert_eq!((&json["produced_by"]["traces"][0]["hash"], &json["cycles"]), (&hash, &cycles));
        fs::copy(place.at("kept"), place.at("t.wtrace")).expect("copied");
    }
    // A file that is written anew in its place is not the one that was replayed, whatever its bytes are.
    fs::remove_file(place.at("t.json")).expect("removed");
    let bytes = place.read("kept");
    let (code, told) = while_open(&mut run(), &file, || fs::write(&file, &bytes).expect("written"));
    assert_eq!(code, Some(1), "{told}");
    assert!(!place.at("t.json").exists());
}

#[test]
fn an_imported_copy_is_no_larger_than_an_address_space() {
    let place = Place::full();
    let list = String::from_utf8(place.read("d/kernelslist.g")).expect("text");
    for (copy, is_sound) in [
        ("MemcpyHtoD,0x0,18446744073709551615", false),
        ("MemcpyHtoD,0xffffffffffffff00,257", false),
        ("MemcpyHtoD,0x1,9223372036854775808", false),
        ("MemcpyHtoD,0x0,18446744073709551616", false),
        ("MemcpyHtoD,0xffffffffffffff00,255", true),
        ("MemcpyHtoD,0x7f0000000000,281474976710656", true),
    ] {
        place.write("d/kernelslist.g", &format!("{copy}\n{list}"));
        let mut import = place.command("timing import-trace d -o i.wtrace");
        if is_sound {
            succeeds(&mut import);
            succeeds(&mut place.command("trace verify i.wtrace"));
            succeeds(&mut place.command("timing replay i.wtrace --config qv100"));
        } else {
            let told = fails(&mut import, 1);
            assert!(told.contains("kernelslist.g:1"), "{told}");
        }
    }
}

/// `fails` or succeeds, but ends by itself: no panic, no signal.
fn ends_by_itself(command: &mut Command) -> i32 {
    let output = run(command);
    let code = output.status.code();
    assert!(matches!(code, Some(0..=2)), "{command:?} ends with {}: {}", output.status, text(&output));
    code.unwrap_or_default()
}

#[test]
fn no_value_of_a_configuration_aborts_a_replay() {
    let place = Place::recorded(1, 2);
    let shown = succeeds(&mut place.command("timing config show qv100"));
    let mut tried = 0;
    for line in shown.lines() {
        let Some((key, value)) = line.split_once(" = ") else { continue };
        if value.split_whitespace().next().is_none_or(|word| word.parse::<u64>().is_err()) {
            continue;
        }
        let with = |value: u64| {
            place.command(&format!(
                "timing replay t.wtrace --config qv100 --max-cycles 20000 --set {key}={value}"
            ))
        };
        for value in [0, u64::from(u32::MAX), u64::MAX] {
            ends_by_itself(&mut with(value));
        }
        // The largest number that is accepted, which the message says.
        let told = text(&run(&mut with(u64::from(u32::MAX))));
        let most = told
            .split(" and ")
            .nth(1)
            .map(|rest| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
        if let Some(most) = most.and_then(|digits| digits.parse().ok()) {
            ends_by_itself(&mut with(most));
            tried += 1;
        }
    }
    assert!(tried > 60, "only {tried} keys have a greatest value");
    // Sizes that are right each by itself.
    for set in [
        "--set l1.size_bytes=16777216 --set l1.sets=131072 --set l1.ways=1 --set gpu.sms=1024",
        "--set l2.size_bytes=16777216 --set l2.sets=4096 --set l2.ways=32 --set dram.channels=256 --set l2.slices_per_channel=16 --set l2.partition_hash=none",
        "--set l1.unified_bytes=4294967295",
        "--set shared_memory.carveouts_bytes=[4294967295]",
    ] {
        assert_eq!(
            ends_by_itself(&mut place.command(&format!("timing replay t.wtrace --config qv100 {set}"))),
            1,
            "{set}"
        );
    }
}

#[test]
fn every_output_that_cannot_be_written_is_an_error() {
    let place = Place::full();
    for (case, _) in OUTPUTS {
        let told = fails(&mut place.command(&case.replace("OUT", "/dev/full")), 1);
        assert!(told.contains("No space left"), "{case}: {told}");
    }
    for words in [
        "timing list",
        "timing replay t.wtrace",
        "emu disasm a.ptx",
        "emu run a.ptx",
        "trace info t.wtrace",
        "trace dump t.wtrace",
        "demo --list",
        "emu man",
        "timing man",
    ] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
        let mut command = place.command(words);
        let output = command.stdout(full).stderr(Stdio::piped()).output().expect("started");
        assert_eq!(output.status.code(), Some(1), "{words}: {}", text(&output));
    }
}

#[test]
fn streams_that_are_closed_or_full_end_no_program_in_a_panic() {
    let place = Place::full();
    let full = || Stdio::from(fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it"));
    // A pipe that nobody reads.
    let broken = || {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        Stdio::from(writer)
    };
    let failing = [
        "emu run none.ptx",
        "timing replay none.wtrace",
        "trace info none.wtrace",
        "demo --config none",
        "timing nonsense",
        "emu nonsense",
        "trace nonsense",
        "demo --nonsense",
        "timing sweep none.wtrace --vary sm.max_warps=1,2",
        "emu record --kernels x -o y.wtrace -- true",
    ];
    let working = [
        "emu run a.ptx",
        "timing replay t.wtrace --tech bow",
        "timing list",
        "trace info t.wtrace",
        "demo --list",
        "trace dump t.wtrace",
        "emu disasm a.ptx",
        "emu inspect a.ptx",
        "timing --help",
        "emu completions bash",
    ];
    for words in failing.iter().chain(&working) {
        let expected = run(&mut place.command(words)).status.code();
        for stream in [full(), broken()] {
            let status = place.command(words).stdout(Stdio::null()).stderr(stream).status().expect("started");
            assert_eq!(status.code(), expected, "{words}: standard error cannot be written");
        }
        let status = place.command(words).stdout(broken()).stderr(Stdio::null()).status().expect("started");
        assert_eq!(status.code(), expected, "{words}: nobody reads standard output");
    }
}

#[test]
fn names_command_no_terminal_and_no_spreadsheet() {
    let place = Place::full();
    let kernel = String::from_utf8(place.read("d/kernel-1.traceg")).expect("text");
    let name = |name: &str| {
        let renamed: Vec<String> = kernel
            .lines()
            .map(|line| {
                if line.starts_with("-kernel name") {
                    format!("-kernel name = {name}")
                } else {
                    line.to_owned()
                }
            })
            .collect();
        place.write("d/kernel-1.traceg", &(renamed.join("\n") + "\n"));
        run(&mut place.command("timing import-trace d -o hostile.wtrace"))
    };
    let imported = name("\x1b]0;title\x07\x1b[2Jkernel\u{9b}31m\u{202e}");
    assert!(imported.status.success(), "{}", text(&imported));
    fs::rename(place.at("hostile.wtrace"), place.at("h\x1b[2J.wtrace")).expect("renamed");
    let commands = [
        "trace info",
        "trace verify",
        "trace dump",
        "timing replay",
        "timing why",
        "timing report --studies none -o page",
    ];
    for command in commands.iter().chain(&["emu disasm", "timing rerun", "timing compare x"]) {
        let mut command = place.command(command);
        let said = text(&run(command.arg("h\x1b[2J.wtrace")));
        assert!(!said.is_empty());
        assert!(!said.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{command:?}: {said:?}");
        assert!(!said.contains('\u{202e}'), "{command:?}");
    }
    let mut konata = place.command("timing replay --konata k.log --csv k.csv --per-launch --timeline k.json");
    succeeds(konata.arg("h\x1b[2J.wtrace"));
    for file in ["k.log", "k.json", "page/index.html"] {
        let lines = String::from_utf8(place.read(file)).expect("text");
        assert!(!lines.contains(['\x1b', '\x07', '\u{9b}']), "{file}");
    }
    for formula in ["=HYPERLINK(A1)", "+1+cmd", "-1+cmd", "@SUM(A1)"] {
        let imported = name(formula);
        assert!(imported.status.success(), "{}", text(&imported));
        succeeds(
            &mut place.command(
                "timing replay hostile.wtrace --csv f.csv --per-launch --interval 50 --series g.csv",
            ),
        );
        for file in ["f.csv", "g.csv"] {
            let csv = String::from_utf8(place.read(file)).expect("text");
            let cells: Vec<&str> =
                csv.lines().filter(|line| !line.starts_with('#')).flat_map(|line| line.split(',')).collect();
            let cell = cells.iter().find(|cell| cell.contains(&formula[..4])).expect("the name");
            assert!(cell.trim_start_matches('"').starts_with('\''), "{file}: {cell}");
        }
    }
}

#[test]
fn a_line_end_in_a_path_is_no_command_of_a_job() {
    let place = Place::recorded(1, 2);
    let mut command =
        place.command("timing sweep t.wtrace --vary sm.max_warps=32,64 --slurm cpus=1 --dry-run -o");
    let told = fails(command.arg("out\ntouch stolen"), 1);
    assert!(told.contains("control characters"), "{told}");
}

#[test]
fn launches_before_a_free_survive_a_kill() {
    let Some(app) = compile("free_then_killed", "sm_75", &[]) else { return };
    let place = Place::new();
    let output = run(place.command("emu record -o t.wtrace --").arg(app));
    assert!(text(&output).contains("PASS"), "{}", text(&output));
    let info = succeeds(&mut place.command("trace info --json t.wtrace.part"));
    let json = info.lines().skip_while(|line| !line.starts_with('{')).collect::<Vec<_>>().join("\n");
    let end = json.rfind('}').expect("an object") + 1;
    let info: serde_json::Value = serde_json::from_str(&json[..end]).expect("JSON");
    assert_eq!(info["launches"].as_array().map(Vec::len), Some(1), "{info}");
}

#[test]
fn a_recorder_beside_another_has_its_trace_and_no_error() {
    let Some(app) = compile("free_then_killed", "sm_75", &[]) else { return };
    let place = Place::new();
    let record = |wait: &str| {
        let mut command = place.command("emu record -o t.wtrace --");
        command.arg(&app).arg(wait).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let first = record("go").spawn().expect("started");
    while !place.at("t.wtrace.part").exists() {
        std::thread::yield_now();
    }
    place.write("now", "");
    let second = run(&mut record("now"));
    assert_eq!(second.status.code(), Some(0), "{}", text(&second));
    assert!(!text(&second).contains("nothing was recorded"), "{}", text(&second));
    place.write("go", "");
    let first = first.wait_with_output().expect("ended");
    assert_eq!(first.status.code(), Some(0), "{}", text(&first));
    let all = fs::read_dir(place.0.path()).expect("a folder").flatten().map(|entry| entry.path());
    let traces: Vec<_> = all.filter(|path| path.extension().is_some_and(|end| end == "wtrace")).collect();
    assert_eq!(traces.len(), 2, "{traces:?}");
    for trace in traces {
        succeeds(place.command("trace verify").arg(trace));
    }
}

#[test]
fn a_summary_that_cannot_be_written_is_an_error() {
    let Some(app) = compile("free_then_killed", "sm_75", &[]) else { return };
    let place = Place::new();
    place.write("now", "");
    for option in ["run --summary /dev/full", "record -o t.wtrace --summary /dev/full", "record -o /dev/full"]
    {
        let told = fails(place.command(&format!("emu {option} --")).arg(&app).arg("now"), 1);
        assert!(told.contains("No space left"), "{option}: {told}");
    }
}
