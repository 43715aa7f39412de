//! Whole programs recorded by the library: contents of the trace, selection by flags, and the trace when a program
//! ends early. Expected launches, copies and blocks are counted by hand from the program.
//!
//! `CUDA_HOME` or PATH say where nvcc is; without it the tests say that they were skipped.

use crate::kit;

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::LazyLock;
use trace_format::container::Contents;
use trace_format::container::TransferKind::{DeviceToHost, Fill, HostToDevice};
use trace_format::reader::Trace;
use trace_format::validate::{Progress, validate};

fn scratch() -> &'static Path {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
        // Removes files of earlier runs.
        let _ = std::fs::remove_dir_all(Path::new(env!("CARGO_TARGET_TMPDIR")).join("recording"));
        kit::libraries("recording")
    });
    &FOLDER
}

/// The compiled program; `None` without nvcc.
fn program() -> Option<&'static Path> {
    static PROGRAM: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
        let nvcc = kit::nvcc()?;
        let (out, source) = (scratch().join("steps"), "tests/recording/steps.cu");
        let mut compile = Command::new(nvcc);
        compile.args(["-std=c++17", "-arch=compute_75", "-code=compute_75", "-cudart", "shared", "-o"]);
        compile.arg(&out).arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(source));
        let compiled = compile.output().expect("nvcc starts");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        Some(out)
    });
    if PROGRAM.is_none() {
        kit::skipped(
            kit::Tool::Nvcc,
            "no nvcc; tools/scripts/cuda-toolkit.sh installs it, CUDA_HOME says where it is",
        );
    }
    PROGRAM.as_deref()
}

fn command(program: &Path, trace: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).env("LD_LIBRARY_PATH", scratch()).env("WARPLAB_RECORD", trace);
    command.envs(variables.iter().copied()).stdout(Stdio::null());
    // A shell that runs the tests in the background may ignore the signal.
    let unignore = || {
        // SAFETY: setting a signal to its default is allowed between fork and exec.
        unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
        Ok(())
    };
    // SAFETY: the closure only does the above.
    unsafe { command.pre_exec(unignore) };
    command
}

/// Records the program under a name of its own and checks the trace.
fn record(name: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Option<(ExitStatus, Trace)> {
    let (program, path) = (program()?, scratch().join(format!("{name}.wtrace")));
    let status = command(program, &path, arguments, variables).stderr(Stdio::null()).status();
    Some((status.expect("the program starts"), open(&path)))
}

fn open(path: &Path) -> Trace {
    let report = validate(path, 2, &Progress::default()).expect("the trace can be opened");
    assert!(report.is_sound(), "{}: {:?}", path.display(), report.problems);
    Trace::open(path).expect("the trace can be opened")
}

fn names(trace: &Trace) -> Vec<&str> {
    (0..trace.launches().len() as u32).map(|l| trace.kernel_of(l).name.as_str()).collect()
}

#[test]
fn a_program_is_recorded_with_its_streams_and_copies_and_replayed() {
    let Some((status, trace)) = record("whole", &["3"], &[("WARPLAB_THREADS", "1")]) else { return };
    assert!(status.success());
    let (scale, add) = ("_Z5scalePii", "_Z3addPiPKii");
    assert_eq!(names(&trace), [scale, add, scale, add, scale, add]);
    assert_eq!(trace.kernel_count(), 2);
    let launches = trace.launches();
    assert!(
        launches.iter().enumerate().all(|(i, l)| l.number == i as u64 && l.is_whole() && l.cut().is_none())
    );
    assert!(launches.iter().step_by(2).all(|l| l.stream == 0 && l.geometry.grid == [8, 1, 1]));
    let other = launches[1].stream;
    assert!(other > 2 && launches.iter().skip(1).step_by(2).all(|l| l.stream == other));
    let moved: Vec<_> = trace.transfers().iter().map(|t| (t.kind, t.bytes, t.after_launches)).collect();
    let expected = [
        (HostToDevice, 4, 0),
        (Fill, 4000, 0),
        (HostToDevice, 4000, 0),
        (HostToDevice, 4000, 0),
        (DeviceToHost, 4000, 6),
    ];
    assert_eq!(moved, expected);
    // In each round the second stream waits for the first; in the second round the program waits for both; at the
    // end the copy does.
    let waits: Vec<_> = trace.waits().iter().map(|w| (w.stream, w.after_launches)).collect();
    assert_eq!(waits, [(other, 1), (other, 3), (0, 4), (other, 5), (0, 6)]);
    let fill = trace.transfers()[1];
    assert_eq!((fill.from, fill.to), (0, trace.transfers()[3].to));

    let config = timing::config::load("titanx-pascal", &[]).expect("the machine is known").config;
    let options = timing::replay::ReplayOptions { checked: true, ..Default::default() };
    let replay = timing::replay::replay(&trace, &config, &[], &options).expect("the trace is replayed");
    assert_eq!(replay.launches.len(), 6);
    assert!(replay.launches.iter().all(|l| l.blocks == l.grid_blocks && l.stats.counters.cycles > 0));

    let (_, again) = record("again", &["3"], &[("WARPLAB_THREADS", "4")]).expect("nvcc is there");
    let bytes = |trace: &Trace| std::fs::read(trace.path()).expect("the trace can be read");
    assert!(bytes(&trace) == bytes(&again), "another run and number of threads gives another trace");
}

/// A trace of addresses of a program holds what the plain machine needs, and no values.
#[test]
fn a_program_is_recorded_without_values_and_takes_the_same_cycles() {
    let Some((_, values)) = record("with_values", &["3"], &[]) else { return };
    let only = ("WARPLAB_RECORD_ADDRESSES_ONLY", "1");
    let (status, addresses) = record("addresses", &["3"], &[only]).expect("nvcc is there");
    assert!(status.success());
    assert_eq!(
        (values.header().contents, addresses.header().contents),
        (Contents::Values, Contents::Addresses)
    );
    assert_eq!((names(&values), values.transfers()), (names(&addresses), addresses.transfers()));
    let bytes = |trace: &Trace| std::fs::metadata(trace.path()).expect("the trace is there").len();
    assert!(bytes(&addresses) < bytes(&values), "{} of {} bytes", bytes(&addresses), bytes(&values));

    let config = timing::config::load("titanx-pascal", &[]).expect("the machine is known").config;
    let options = timing::replay::ReplayOptions::default();
    let replay = |trace| {
        let replay = timing::replay::replay(trace, &config, &[], &options).expect("the trace is replayed");
        replay.launches.iter().map(|launch| launch.stats).collect::<Vec<_>>()
    };
    assert_eq!(format!("{:?}", replay(&addresses)), format!("{:?}", replay(&values)));
    // An empty variable counts as unset.
    let empty = record("empty_variable", &["3"], &[(only.0, "")]).expect("nvcc is there").1;
    assert_eq!(empty.header().contents, Contents::Values);
}

/// Memory of the program has other addresses in each run; the trace does not depend on them.
#[test]
fn registered_memory_is_recorded_the_same_in_every_run() {
    for variables in [&[][..], &[("STEPS_LARGE", "1")]] {
        let traces: Vec<Vec<u8>> = (0..4)
            .filter_map(|i| {
                let name = format!("host-{}-{i}", variables.len());
                let (status, _) = record(&name, &["2", "host"], variables)?;
                assert!(status.success());
                Some(std::fs::read(scratch().join(format!("{name}.wtrace"))).expect("the trace is there"))
            })
            .collect();
        assert!(traces.windows(2).all(|pair| pair[0] == pair[1]), "{variables:?}");
    }
}

/// Recordings of kernels that receive the host's address of registered memory are equal if addresses are the same
/// in every run, as with `emu record`; otherwise a message says that they differ.
#[test]
fn host_addresses_are_recorded_the_same_where_they_are_the_same() {
    let Some(program) = program() else { return };
    let fix = || {
        // SAFETY: the call changes only how the program is laid out that is started now.
        match unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) } {
            -1 => Err(std::io::Error::last_os_error()),
            _ => Ok(()),
        }
    };
    for variables in [&[][..], &[("STEPS_LARGE", "1")]] {
        let traces: Vec<Vec<u8>> = (0..4)
            .map_while(|i| {
                let path = scratch().join(format!("own-{}-{i}.wtrace", variables.len()));
                let mut run = command(program, &path, &["2", "own"], variables);
                // SAFETY: the closure only makes a system call.
                unsafe { run.pre_exec(fix) };
                // If addresses cannot be fixed, the program does not start.
                let ran = run.stderr(Stdio::piped()).output().ok()?;
                let told = String::from_utf8_lossy(&ran.stderr);
                assert!(ran.status.success() && !told.contains("host's address"), "{told}");
                drop(open(&path));
                Some(std::fs::read(path).expect("the trace is there"))
            })
            .collect();
        if traces.is_empty() {
            kit::skipped(kit::Tool::System, "addresses cannot be fixed here");
        }
        assert!(traces.windows(2).all(|pair| pair[0] == pair[1]), "{variables:?}");
    }
    let wanders =
        std::fs::read_to_string("/proc/sys/kernel/randomize_va_space").is_ok_and(|v| v.trim() != "0");
    let mut run = command(program, &scratch().join("wandering.wtrace"), &["2", "own"], &[]);
    let told = run.stderr(Stdio::piped()).output().expect("the program starts").stderr;
    let told = String::from_utf8_lossy(&told);
    assert_eq!(
        told.matches("is passed the host's address of registered memory").count(),
        usize::from(wanders),
        "{told}"
    );
}

#[test]
fn flags_choose_launches() {
    let chosen = [("WARPLAB_RECORD_KERNELS", "scale"), ("WARPLAB_RECORD_LAUNCHES", "2-")];
    let Some((status, trace)) = record("chosen", &["5"], &chosen) else { return };
    assert!(status.success());
    let numbers = |trace: &Trace| trace.launches().iter().map(|l| l.number).collect::<Vec<_>>();
    assert_eq!(numbers(&trace), [2, 4, 6, 8]);
    assert_eq!(trace.kernel_count(), 1);
    let every = [("WARPLAB_RECORD_EVERY", "3"), ("WARPLAB_RECORD_LAUNCHES", "1-7")];
    let (_, trace) = record("every", &["5"], &every).expect("nvcc is there");
    assert_eq!(numbers(&trace), [1, 4, 7]);
}

/// A warp's steps: program counters, lanes and the first active lane's address.
fn steps(trace: &Trace, launch: u32, block: u64, warp: u32) -> Vec<(u32, u32, Option<u64>)> {
    let mut cursor = trace.warp_cursor(launch, block, warp).expect("the block was recorded");
    let mut steps = Vec::new();
    while let Some(step) = cursor.step().expect("the trace is sound") {
        let address = cursor.mem().map(|m| m.addresses[m.mask.trailing_zeros() as usize % 32]);
        steps.push((step.pc.0, step.exec, address));
    }
    steps
}

#[test]
fn a_sample_of_blocks_holds_these_blocks() {
    let Some((_, whole)) = record("all-blocks", &["2"], &[]) else { return };
    for (name, blocks, expected) in
        [("even", "3/even", [[0, 2, 5], [0, 5, 10]]), ("first", "3", [[0, 1, 2], [0, 1, 2]])]
    {
        let flags = [("WARPLAB_RECORD_BLOCKS", blocks), ("WARPLAB_THREADS", "3")];
        let (status, trace) = record(name, &["2"], &flags).expect("nvcc is there");
        assert!(status.success());
        for (number, launch) in trace.launches().iter().enumerate() {
            let held: Vec<u64> = (0..launch.blocks_recorded()).map(|b| launch.grid_block(b)).collect();
            assert_eq!(held, expected[number % 2], "launch {number}");
            for (position, &block) in held.iter().enumerate() {
                let (here, there) = (position as u64, block);
                assert_eq!(steps(&trace, number as u32, here, 1), steps(&whole, number as u32, there, 1));
            }
            assert!(trace.warp_cursor(number as u32, 3, 0).is_err());
        }
        assert!(
            trace
                .partial()
                .is_some_and(|what| what.starts_with("4 of 4 launches hold 12 of their 48 blocks"))
        );
    }
}

#[test]
fn however_a_program_ends_its_trace_is_complete() {
    let Some((status, trace)) = record("exit", &["4", "exit"], &[]) else { return };
    assert_eq!((status.code(), trace.launches().len()), (Some(7), 4));
    for (end, signal) in [("abort", libc::SIGABRT), ("crash", libc::SIGSEGV)] {
        let (status, trace) = record(end, &["4", end], &[]).expect("nvcc is there");
        assert_eq!((status.signal(), trace.launches().len()), (Some(signal), 4), "{end}");
        assert!(trace.launches().iter().all(trace_format::reader::Launch::is_whole));
    }
    let (status, trace) = record("fork", &["3", "fork"], &[]).expect("nvcc is there");
    assert!(status.success());
    assert_eq!((trace.launches().len(), trace.transfers().len()), (6, 5));
}

#[test]
fn a_fault_leaves_the_blocks_before_it() {
    let Some((status, trace)) = record("fault", &["1", "fault"], &[]) else { return };
    assert_eq!(status.code(), Some(1));
    let last = trace.launches().last().expect("there are launches");
    assert_eq!((trace.launches().len(), last.blocks_recorded()), (3, 2));
    assert!(last.cut().is_some_and(|why| why.contains("out of bounds")), "{:?}", last.cut());
}

#[test]
fn an_interrupted_launch_is_cut_off() {
    let Some(program) = program() else { return };
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let path = scratch().join(format!("interrupted-{signal}.wtrace"));
        let mut child = command(program, &path, &["2", "loop"], &[("WARPLAB_THREADS", "2")])
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut said = std::io::BufReader::new(child.stderr.take().expect("it is piped"));
        let mut line = String::new();
        std::io::BufRead::read_line(&mut said, &mut line).expect("the program says where it is");
        assert_eq!(line, "looping\n", "the kernel says that it runs");
        // SAFETY: the child has not been waited for, so that the number is still its own.
        unsafe { libc::kill(child.id() as i32, signal) };
        let status = test_kit::end_of(&mut child, &format!("a program with signal {signal}"));
        assert_eq!(status.signal(), Some(signal));
        let trace = open(&path);
        assert_eq!(trace.launches().len(), 5);
        let (last, before) = trace.launches().split_last().expect("there are launches");
        assert!(before.iter().all(trace_format::reader::Launch::is_whole));
        assert!(last.cut().is_some_and(|why| why.contains(&format!("signal {signal}"))));
        assert!(!path.with_extension("wtrace.part").exists());
    }
}

#[test]
fn a_trace_that_is_there_is_not_written_over() {
    let Some(program) = program() else { return };
    let path = scratch().join("taken.wtrace");
    std::fs::write(&path, "mine").expect("the file can be written");
    let output = command(program, &path, &["1"], &[]).output().expect("the program starts");
    assert!(output.status.success());
    assert_eq!(std::fs::read(&path).expect("it is still there"), b"mine");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("is there already"), "{said}");
}
