//! Resident blocks of the shipped GPU models against NVIDIA's own calculator, `cuda_occupancy.h` of the toolkit: for
//! every bundled kernel as it is launched, and for random demands.

use emulator::session::{Session, Setup};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use test_kit::Random;
use test_kit::{Tool, skipped};
use tests::tabled_workloads;
use timing::config::{builtin, load};
use timing::occupancy::{Demand, occupancy};

/// What CUDA reports of a GPU: the tables of the programming guide.
struct Device {
    config: &'static str,
    capability: (u32, u32),
    threads: u32,
    shared: u32,
    shared_opt_in: u32,
    shared_reserved: u32,
    sms: u32,
}

const DEVICES: &[Device] = &[
    Device {
        config: "titanx-pascal",
        capability: (6, 1),
        threads: 2048,
        shared: 98304,
        shared_opt_in: 49152,
        shared_reserved: 0,
        sms: 28,
    },
    Device {
        config: "gtx1080ti",
        capability: (6, 1),
        threads: 2048,
        shared: 98304,
        shared_opt_in: 49152,
        shared_reserved: 0,
        sms: 28,
    },
    Device {
        config: "qv100",
        capability: (7, 0),
        threads: 2048,
        shared: 98304,
        shared_opt_in: 98304,
        shared_reserved: 0,
        sms: 80,
    },
    Device {
        config: "rtx2060",
        capability: (7, 5),
        threads: 1024,
        shared: 65536,
        shared_opt_in: 65536,
        shared_reserved: 0,
        sms: 30,
    },
    Device {
        config: "rtx3070",
        capability: (8, 6),
        threads: 1536,
        shared: 102_400,
        shared_opt_in: 101_376,
        shared_reserved: 1024,
        sms: 46,
    },
];

/// A kernel's demand, its shared memory apart.
#[derive(Clone, Copy, Debug)]
struct Question {
    threads: u32,
    registers: u32,
    fixed: u32,
    dynamic: u32,
}

/// The folder of the header.
fn include() -> Option<PathBuf> {
    let told = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let cached = home.iter().flat_map(|home| [home.join(".cache/cuda"), home.join(".cache/warplab/cuda")]);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let beside: Vec<PathBuf> = std::env::split_paths(&path)
        .filter(|folder| folder.join("nvcc").is_file())
        .filter_map(|folder| folder.parent().map(Path::to_path_buf))
        .collect();
    told.chain(cached)
        .chain(beside)
        .chain([PathBuf::from("/usr/local/cuda")])
        .map(|home| home.join("include"))
        .find(|folder| folder.join("cuda_occupancy.h").is_file())
}

/// The compiled calculator, or why there is none.
fn calculator(folder: &Path) -> Result<PathBuf, String> {
    let include = include().ok_or(
        "no cuda_occupancy.h; tools/scripts/cuda-toolkit.sh installs the toolkit, CUDA_HOME says where it is",
    )?;
    let out = folder.join("occupancy");
    let mut compile = Command::new(std::env::var_os("CXX").unwrap_or_else(|| "c++".into()));
    compile.arg("-I").arg(include).arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("data/occupancy.cpp"));
    let compiled =
        compile.arg("-o").arg(&out).output().map_err(|error| format!("no C++ compiler: {error}"))?;
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    Ok(out)
}

fn ask(calculator: &Path, device: &Device, questions: &[Question]) -> Vec<i64> {
    let config = load(device.config, &[]).expect("a configuration").config;
    let mut input = String::new();
    for q in questions {
        let (major, minor) = device.capability;
        input += &format!(
            "{major} {minor} {} {} {} 49152 {} {} {} {} {} {} {}\n",
            device.threads,
            config.sm.registers,
            device.shared,
            device.shared_opt_in,
            device.shared_reserved,
            device.sms,
            q.threads,
            q.registers,
            q.fixed,
            q.dynamic
        );
    }
    let mut child = Command::new(calculator)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the calculator starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("the calculator ends");
    writer.join().expect("no panic").expect("the calculator reads");
    let text = String::from_utf8(output.stdout).expect("numbers");
    text.lines().map(|line| line.parse().expect("a number")).collect()
}

/// Every launch of every bundled workload.
fn bundled() -> Vec<Question> {
    let mut questions = Vec::new();
    for workload in tabled_workloads() {
        for manifest in workload.manifests() {
            let session = Session::open_manifest(&manifest, &Setup::default())
                .unwrap_or_else(|e| panic!("{}: {e}", manifest.display()));
            for launch in &session.manifest().launches {
                let kernel = session.kernel(&launch.kernel).expect("the kernel that is launched");
                questions.push(Question {
                    threads: launch.block.iter().product(),
                    registers: u32::from(kernel.regs_per_thread).max(1),
                    fixed: kernel.static_shared_bytes,
                    dynamic: launch.shared_bytes,
                });
            }
        }
    }
    assert!(questions.len() >= 30, "only {} launches", questions.len());
    questions
}

/// Demands that reach every limit, from a fixed seed.
fn random() -> Vec<Question> {
    let mut numbers = Random::new(1);
    let mut draw = |below: u64| numbers.below(below) as u32;
    let mut questions = Vec::new();
    for _ in 0..4000 {
        let threads = if draw(4) == 0 { 32 * (1 + draw(32)) } else { 1 + draw(1024) };
        let registers = 1 + draw(255);
        let fixed = if draw(2) == 0 { 0 } else { draw(49_153) };
        let dynamic = if draw(2) == 0 { 0 } else { draw(60_000) };
        questions.push(Question { threads, registers, fixed, dynamic });
    }
    // The edges of granules.
    for registers in 1..=255 {
        questions.push(Question { threads: 32 * (1 + registers % 32), registers, fixed: 0, dynamic: 0 });
    }
    for fixed in (0..49_152).step_by(127) {
        questions.push(Question { threads: 64, registers: 16, fixed, dynamic: 0 });
    }
    questions
}

#[test]
fn occupancy_is_that_of_cudas_calculator() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let calculator = match calculator(folder.path()) {
        Ok(calculator) => calculator,
        Err(why) => {
            return skipped(Tool::Nvcc, &why);
        }
    };
    let mut questions = bundled();
    questions.extend(random());
    for device in DEVICES.iter().filter(|device| builtin::find(builtin::GPUS, device.config).is_some()) {
        let config = load(device.config, &[]).expect("a configuration").config;
        let theirs = ask(&calculator, device, &questions);
        assert_eq!(theirs.len(), questions.len(), "{}", device.config);
        let mut limits = std::collections::BTreeSet::new();
        for (q, theirs) in questions.iter().zip(theirs) {
            let demand = Demand {
                threads_per_block: q.threads,
                // The calculator takes ptxas's count, which has the registers that no instruction names.
                registers_per_thread: q.registers.saturating_sub(config.sm.hidden_registers_per_thread),
                shared_bytes: q.fixed + q.dynamic,
            };
            let ours = occupancy(&config.sm, config.sm.registers, &demand);
            let blocks = ours.as_ref().map_or(0, |found| i64::from(found.blocks));
            limits.insert(ours.map_or("none", |found| found.limit.name()));
            // Where nothing fits the calculator says 0 or refuses the demand.
            assert_eq!(blocks, theirs.max(0), "{}: {q:?}", device.config);
        }
        assert_eq!(limits.len(), 5, "{}: the demands reach every limit, not only {limits:?}", device.config);
    }
}
