//! Tests of `timing reproduce`: a paper's figures from recordings that a stand-in for the emulator makes.

use crate::common;

use common::{Item, Launch};
use std::error::Error;
use std::path::Path;
use std::process::{Command, Output};

type Outcome = Result<(), Box<dyn Error>>;

/// Two programs of which one cannot be recorded, a study, a curve and a replay with a technique.
const EXPERIMENT: &str = r#"
[paper]
name = "Mine"
title = "A paper"
citation = "Nobody, 2026"
machine = "gtx480"
set = ["gpu.sms=2"]

[[programs]]
name = "ONE"
workload = "one"
groups = ["good"]

[[programs]]
name = "TWO"
workload = "two"
groups = ["bad"]

[[figures]]
id = "1"
title = "Redundant instructions"
says = ["A third."]
[[figures.series]]
name = "Block"
study = "redundancy"
share = "block_redundant_share"
paper = { mean = 0.33, ONE = 0.5 }

[[figures]]
id = "2"
title = "Live registers"
motivation = true
form = "curve"
programs = ["ONE"]
[[figures.series]]
name = "Live"
study = "liveness"

[[figures]]
id = "3"
title = "Performance"
unit = "ratio"
mean = "geometric"
programs = ["good"]
[[figures.series]]
name = "Nothing changes"
replay = { tech = ["null"], of = ["cycles"], relation = "under" }
paper = { mean = 1.1 }
"#;

/// A folder with two workloads, the experiment and a recorder.
struct Place(tempfile::TempDir);

impl Place {
    /// The recorder copies the trace of `one`, counts its calls and refuses `two`.
    fn new() -> Result<Place, Box<dyn Error>> {
        let place = Place(tempfile::tempdir()?);
        for name in ["one", "two"] {
            let folder = place.path().join("workloads/suite").join(name);
            std::fs::create_dir_all(&folder)?;
            std::fs::write(folder.join(format!("{name}.toml")), format!("ptx = \"{name}.ptx\"\n"))?;
            std::fs::write(folder.join(format!("{name}.ptx")), "// not read\n")?;
        }
        let launch = Launch { kernel: 0, stream: 0, blocks: 4, threads: 64 };
        let trace = place.path().join("one.wtrace");
        common::record(&trace, &[common::mixed("mixed")], &[Item::Launch(launch)]);
        place.write("mine.toml", EXPERIMENT)?;
        place.write(
            "emu",
            "#!/bin/sh\necho \"$@\" >> calls\nfor word in \"$@\"; do last=$word; done\n\
             case \"$*\" in *two*) echo 'error: no such size'; echo 'error: no such size' >&2; exit 1;; esac\n\
             cp one.wtrace \"$last\"\n",
        )?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(place.path().join("emu"), mode)?;
        }
        Ok(place)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, text: &str) -> std::io::Result<()> {
        std::fs::write(self.path().join(name), text)
    }

    fn reproduce(&self, further: &[&str]) -> std::io::Result<Output> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_timing"));
        command.arg("reproduce").arg("mine.toml").args(["--workloads", "workloads", "--emu", "./emu"]);
        command.args(["--cache", "cache", "-o", "out"]).args(further).current_dir(self.path()).output()
    }

    fn calls(&self) -> usize {
        std::fs::read_to_string(self.path().join("calls")).unwrap_or_default().lines().count()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn ours_stand_beside_the_papers_and_a_failing_program_is_named() -> Outcome {
    let place = Place::new()?;
    let done = place.reproduce(&[])?;
    let (said, errors) = (text(&done.stdout), text(&done.stderr));
    assert_eq!(done.status.code(), Some(1), "{said}{errors}");
    assert!(
        errors.contains("two is left out of a figure: emu record two --size paper: no such size"),
        "{errors}"
    );
    assert!(said.contains("Mine, Figure 1"), "{said}");
    let line = |start: &str| said.lines().find(|line| line.starts_with(start)).map(str::to_owned);
    let one = line("ONE").ok_or(format!("no row of ONE: {said}"))?;
    assert!(one.trim_end().ends_with("50.0 %"), "the paper's value stands beside ours: {one}");
    assert!(said.contains("missing: TWO (emu record two"), "{said}");
    let mean = said.lines().find(|line| line.starts_with("3 ")).ok_or("no mean of figure 3")?;
    assert!(mean.contains("×1.000") && mean.contains("×1.100") && mean.contains("−9.1 %"), "{mean}");
    let data = std::fs::read_to_string(place.path().join("out/data.json"))?;
    assert!(data.contains("figure-2-chart-1") && data.contains("figure-3"), "{data}");
    for file in ["index.html", "csv/figure-1.csv", "figures/figure-2-chart-1.svg"] {
        assert!(place.path().join("out").join(file).is_file(), "{file}");
    }
    Ok(())
}

#[test]
fn answers_and_recordings_are_kept_by_content() -> Outcome {
    let place = Place::new()?;
    let first = place.reproduce(&["3"])?;
    assert_eq!(first.status.code(), Some(0), "{}", text(&first.stderr));
    assert_eq!(place.calls(), 1);
    let again = place.reproduce(&["3"])?;
    assert_eq!((again.status.code(), place.calls()), (Some(0), 1), "nothing is recorded twice");
    assert_eq!(text(&first.stdout), text(&again.stdout));
    // A further question is asked of the recording that is there.
    let further = place.reproduce(&["motivation", "3"])?;
    assert_eq!((further.status.code(), place.calls()), (Some(0), 1));
    assert!(text(&further.stdout).contains("Mine, Figure 2"));
    // Other content is recorded anew, and so is another size.
    place.write("workloads/suite/one/one.ptx", "// changed\n")?;
    assert_eq!(place.reproduce(&["3"])?.status.code(), Some(0));
    assert_eq!(place.calls(), 2);
    assert_eq!(place.reproduce(&["3", "--size", "test"])?.status.code(), Some(0));
    assert_eq!(place.calls(), 3);
    Ok(())
}

#[test]
fn results_do_not_depend_on_threads_and_discarded_traces_are_gone() -> Outcome {
    let place = Place::new()?;
    let one = place.reproduce(&["2", "3", "--threads", "1", "--discard-traces"])?;
    assert_eq!(one.status.code(), Some(0), "{}", text(&one.stderr));
    assert_eq!(std::fs::read_dir(place.path().join("cache/traces"))?.count(), 0);
    let page = std::fs::read(place.path().join("out/index.html"))?;
    let four = place.reproduce(&["2", "3", "--threads", "4", "--cache", "other"]);
    // The option is given twice, which the command refuses.
    assert_eq!(four?.status.code(), Some(2));
    std::fs::remove_dir_all(place.path().join("cache"))?;
    let four = place.reproduce(&["2", "3", "--threads", "4"])?;
    assert_eq!(text(&one.stdout), text(&four.stdout));
    assert_eq!(page, std::fs::read(place.path().join("out/index.html"))?);
    Ok(())
}

#[test]
fn errors_name_the_place_and_the_remedy() -> Outcome {
    let place = Place::new()?;
    let refused = |place: &Place, further: &[&str], expected: &str| -> Outcome {
        let done = place.reproduce(further)?;
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{expected}: {said}");
        assert!(said.contains(expected), "expected {expected}: {said}");
        Ok(())
    };
    refused(&place, &["9"], "Mine has no figure 9 here; there are 1, 2, 3, and motivation")?;
    let broken = [
        (
            "share = \"block_redundant_share\"",
            "share = \"blocks\"",
            "the study redundancy has no share blocks",
        ),
        ("study = \"redundancy\"", "study = \"redundance\"", "redundance"),
        ("programs = [\"good\"]", "programs = [\"fine\"]", "figure 3: there is no program or group fine"),
        ("of = [\"cycles\"]", "of = [\"cycle\"]", "series Nothing changes: a replay counts no cycle"),
        ("ONE = 0.5", "THREE = 0.5", "`paper` names THREE"),
        ("tech = [\"null\"]", "tech = [\"nil\"]", "unknown technique `nil`"),
        ("machine = \"gtx480\"", "machine = \"gtx481\"", "paper.machine"),
        ("mean = \"geometric\"", "mean = \"harmonic\"", "mine.toml: TOML parse error at line"),
        ("name = \"TWO\"", "name = \"ONE\"", "the program ONE is listed twice"),
        ("id = \"3\"", "id = \"1\"", "there are two figures 1"),
    ];
    for (from, to, expected) in broken {
        assert!(EXPERIMENT.contains(from), "{from}");
        place.write("mine.toml", &EXPERIMENT.replacen(from, to, 1))?;
        refused(&place, &[], expected)?;
    }
    place.write("mine.toml", EXPERIMENT)?;
    std::fs::remove_file(place.path().join("emu"))?;
    refused(&place, &[], "./emu")?;
    let unknown = Command::new(env!("CARGO_BIN_EXE_timing")).args(["reproduce", "nobody"]).output()?;
    assert!(text(&unknown.stderr).contains("unknown paper `nobody`; known are bow, corf, dac"));
    Ok(())
}

#[test]
fn every_built_in_paper_is_well_formed_and_can_be_shown() -> Outcome {
    let list = Command::new(env!("CARGO_BIN_EXE_timing")).arg("reproduce").output()?;
    let said = text(&list.stdout);
    assert_eq!(list.status.code(), Some(0), "{}", text(&list.stderr));
    for paper in ["bow", "corf", "dac", "darsie", "larf", "regmutex", "uv"] {
        assert!(said.contains(&format!("\n{paper}: ")), "{said}");
        let shown =
            Command::new(env!("CARGO_BIN_EXE_timing")).args(["reproduce", paper, "--show"]).output()?;
        assert!(text(&shown.stdout).contains("[paper]"));
    }
    Ok(())
}
