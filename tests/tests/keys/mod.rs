//! Every key of a machine is felt by something, or refused: a key that is accepted and changes nothing deceives the one who
//! sets it.

mod probes;

use crate::launch_kit::{self, Buffer, Launch};
use emulator::exec::{Options, Unobserved};
use emulator::session::{Session, Setup};
use probes::Probe;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use timing::config::{GpuConfig, flatten, load};
use timing::occupancy::{Demand, occupancy};
use timing::overrides::unused;
use timing::replay::{ReplayOptions, replay};
use trace_format::reader::Trace;

/// Keys that no probe can feel on a machine of today, each with its reason.
const NOT_FELT: &[(&str, &str)] = &[
    ("name", "text"),
    ("description", "text"),
    ("energy", "cycles do not depend on it"),
    ("constant_cache.replacement", "all constants are in the cache"),
    ("texture_cache.replacement", "the probe fetches from each line a few times"),
    ("texture_cache.set_hash", "the probe fetches from lines all over the texture"),
    (
        "front_end.l0.replacement",
        "the other warp of the sub-core runs its code twice, and each time through all of the cache",
    ),
    ("l1.word_banks", "with collectors each line takes a cycle, which is as long"),
    ("sm.max_registers_per_thread", "a kernel that has more is replayed with them, and the commands name it"),
    ("sub_core.uniform_read_cycles", "only code of NVIDIA's compiler has uniform addresses"),
    ("sub_core.uniform_saved_cycles", "only code of NVIDIA's compiler has uniform addresses"),
    ("sub_core.uniform_store_read_cycles", "only code of NVIDIA's compiler has uniform addresses"),
    ("sub_core.yield_cycles", "our control bits never ask for it"),
    ("units.ldst.count", "the queues of sub-cores send fewer instructions than one unit takes"),
    ("units.tensor.lanes", "products of matrices hold their unit for longer than 32 lanes take"),
];

/// Records a probe in a folder.
fn record(probe: &Probe, folder: &Path) -> Trace {
    let ptx = folder.join("probe.ptx");
    std::fs::write(&ptx, &probe.ptx).expect("a file");
    let buffer = |name: &str, init: &str| -> Buffer { (name.to_owned(), probe.words, Some(init.to_owned())) };
    let buffers =
        [buffer("from", "{ random = { seed = 5, min = 0, max = 1000000 } }"), buffer("to", "{ fill = 0 }")];
    let launches: Vec<Launch> =
        probe.launches.iter().map(|&(grid, block)| ("run", grid, block, &[][..])).collect();
    save(launch_kit::open_all(folder, &ptx, &launches, &buffers), folder)
}

/// Fetches from a texture of 256 by 256 texels.
fn record_fetches(folder: &Path) -> Trace {
    let ptx = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/textures/fetches_sm75.ptx");
    let text = format!(
        "ptx = '{}'\n[buffers.texels]\ntype = 'u8'\nlen = 262144\ninit = {{ random = {{ seed = 3, min = 0, max = 255 }} }}\n\
         [buffers.at]\ntype = 'f32'\nlen = 65536\ninit = {{ random = {{ seed = 4, min = -2.0, max = 3.0 }} }}\n\
         [buffers.out]\ntype = 'u32'\nlen = 65536\n\
         [[texture]]\nname = 'tex'\nbuffer = 'texels'\nformat = 'u8x4'\nkind = 'pitch2d'\nsize = [256, 256]\n\
         filter = 'linear'\nnormalized = true\nread = 'normalized_float'\n\
         [[launch]]\nkernel = 'fetch2d'\ngrid = 64\nblock = 256\nargs = ['@out', '@at', {{ texture = 'tex' }}]\n",
        ptx.display()
    );
    let manifest = folder.join("launch.toml");
    std::fs::write(&manifest, text).expect("a file");
    save(Session::open_manifest(&manifest, &Setup::default()).expect("a session"), folder)
}

fn save(mut session: Session, folder: &Path) -> Trace {
    let path = folder.join("probe.wtrace");
    session.record(&path, &Options::default(), &Unobserved).expect("a recording");
    Trace::open(&path).expect("a trace")
}

/// All that a replay counts, as text.
fn counted(trace: &Trace, config: &GpuConfig) -> Option<String> {
    let done = replay(trace, config, &[], &ReplayOptions { threads: 1, ..ReplayOptions::default() }).ok()?;
    let all =
        done.launches.iter().map(|launch| format!("{:?}{:?}", launch.stats.counters, launch.stats.stalls));
    Some(all.collect())
}

/// Blocks on an SM of kernels whose threads, registers and shared memory are within and beyond limits.
fn residency(config: &GpuConfig) -> String {
    let sm = &config.sm;
    let mut told = String::new();
    for threads_per_block in [32, 96, 128, 256, 1024] {
        for registers_per_thread in [16, 33, 61, 100, 254] {
            for shared_bytes in [0, 1, 8192, 13_000, 40_000, 65_000] {
                let demand = Demand { threads_per_block, registers_per_thread, shared_bytes };
                let _ = writeln!(told, "{:?}", occupancy(sm, sm.registers, &demand));
            }
        }
    }
    told
}

/// Other values of a key, as overrides: those that a message lists, or numbers around and far from the present one.
fn others(machine: &str, key: &str, value: &toml::Value) -> Vec<String> {
    match value {
        toml::Value::Boolean(set) => vec![format!("{key}={}", !set)],
        toml::Value::Integer(n) => {
            let n = *n;
            let tried = [2 * n, 1, n / 2, 8 * n, 0, n + 1, n - 1, n / 8, 64 * n, n + 40, 2, 4];
            tried
                .iter()
                .filter(|other| **other != n && **other >= 0)
                .map(|other| format!("{key}={other}"))
                .collect()
        }
        toml::Value::Float(x) => vec![format!("{key}={}", x * 2.0), format!("{key}={}", x / 2.0)],
        toml::Value::Array(_) => vec![format!("{key}=[16384]"), format!("{key}=[0, 8192]")],
        toml::Value::String(present) => {
            let refused = load(machine, &[format!("{key}=\"?\"")]).err().map(|error| error.to_string());
            let words = refused.unwrap_or_default();
            let names = words.split(|c: char| !(c.is_ascii_alphanumeric() || "_-.".contains(c)));
            let mut names: Vec<&str> = names.filter(|name| !name.is_empty() && name != present).collect();
            names.dedup();
            names.iter().map(|name| format!("{key}=\"{name}\"")).collect()
        }
        _ => Vec::new(),
    }
}

/// A recording of a probe, and what its replay counts without overrides.
struct Recorded {
    name: &'static str,
    trace: Trace,
    before: String,
}

/// What a machine counts without overrides.
struct Baseline<'a> {
    machine: &'a str,
    residency: String,
    probes: Vec<Recorded>,
}

/// Whether a probe counts otherwise with another value of the key; the number of values that were tried.
fn felt(before: &Baseline<'_>, key: &str, value: &toml::Value) -> Result<(), usize> {
    let Baseline { machine, probes, .. } = before;
    let configs: Vec<GpuConfig> = others(machine, key, value)
        .iter()
        .filter_map(|set| load(machine, std::slice::from_ref(set)).ok().map(|loaded| loaded.config))
        .take(4)
        .collect();
    if configs.is_empty() {
        // The rules tie it to others.
        return Ok(());
    }
    if configs.iter().any(|config| residency(config) != before.residency) {
        return Ok(());
    }
    let first = probes.iter().filter(|probe| probe.name == probes::for_key(key));
    for probe in first.chain(probes.iter().filter(|probe| probe.name != probes::for_key(key))) {
        if configs.iter().any(|config| counted(&probe.trace, config).is_some_and(|now| now != probe.before)) {
            return Ok(());
        }
    }
    Err(configs.len())
}

/// Recordings of all probes, each in a folder of its own.
fn record_all(folder: &Path) -> Vec<(&'static str, Trace)> {
    let place = |name: &str| {
        let place = folder.join(name);
        std::fs::create_dir_all(&place).expect("a folder");
        place
    };
    let mut traces = vec![(probes::FETCHES, record_fetches(&place(probes::FETCHES)))];
    traces.extend(probes::probes().iter().map(|probe| (probe.name, record(probe, &place(probe.name)))));
    traces
}

/// Writes PTX, manifest and trace of every probe into the folder that `WARPLAB_PROBES` names, to be looked at.
#[test]
#[ignore = "writes files for people"]
fn probes_into_a_folder() {
    let folder = std::env::var_os("WARPLAB_PROBES").expect("WARPLAB_PROBES names a folder");
    record_all(Path::new(&folder));
}

#[test]
fn every_key_is_felt_or_refused() {
    check("rtx2060");
}

#[test]
#[ignore = "takes minutes"]
fn every_key_of_a_machine_with_collectors_is_felt_or_refused() {
    check("rtx2060-collectors");
}

/// Sets each key of a machine to other values, and sees that something changes.
fn check(machine: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let traces = record_all(folder.path());
    let config = load(machine, &[]).expect("a machine").config;
    let probes: Vec<Recorded> = traces
        .iter()
        .map(|(name, trace)| {
            let before = counted(trace, &config).expect("a replay");
            Recorded { name, trace: trace.clone(), before }
        })
        .collect();
    let before = Baseline { machine, residency: residency(&config), probes };
    let keys = flatten(&toml::Value::try_from(&config).expect("TOML"));
    let keys: Vec<(&String, &toml::Value)> = keys
        .iter()
        .filter(|(key, _)| unused(key, &config).is_none() && !NOT_FELT.iter().any(|(known, _)| known == key))
        .collect();
    let (next, not_felt) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((key, value)) = keys.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(tried) = felt(&before, key, value) {
                        let line = format!("{machine}: {key} = {value}: {tried} other values change nothing");
                        not_felt.lock().unwrap_or_else(PoisonError::into_inner).push(line);
                    }
                }
            });
        }
    });
    let mut wrong = not_felt.into_inner().unwrap_or_else(PoisonError::into_inner);
    wrong.sort();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
