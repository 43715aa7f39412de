//! Every built-in configuration loads; every kind of mistake is refused with its key, its place and a remedy.

use super::{builtin, load, load_text};
use crate::program::Program;
use crate::stats::EnergyTable;
use trace_format::isa::*;

fn refusal(text: &str, set: &[&str]) -> String {
    let set: Vec<String> = set.iter().map(|item| (*item).to_owned()).collect();
    load_text(text, "mine.toml", None, &set).expect_err("a refusal").to_string()
}

#[test]
fn every_built_in_configuration_and_energy_table_loads() {
    for gpu in builtin::GPUS {
        let loaded = load(gpu.name, &[]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(loaded.config.name, gpu.name);
        assert!(builtin::find(builtin::ENERGY_TABLES, &loaded.config.energy).is_some(), "{}", gpu.name);
    }
    for table in builtin::ENERGY_TABLES {
        let parsed = EnergyTable::load(table.name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(parsed.name, table.name);
        assert!(parsed.event.values().all(|price| !price.source.is_empty()));
    }
}

/// A paper's machine stays as it is when another GPU's file changes, and every value says where it comes from.
#[test]
fn the_machines_of_papers_name_every_value_and_its_source() {
    for name in builtin::PAPERS {
        let loaded = load(name, &[]).unwrap_or_else(|error| panic!("{error}"));
        let own = |place: &str| {
            let file = place.rsplit_once(':').map_or(place, |(file, _)| file);
            builtin::PAPERS.iter().any(|paper| file == format!("timing/configs/{paper}.toml"))
        };
        for (key, place) in &loaded.places {
            assert!(own(place), "{name} inherits `{key}` from {place}, which is no paper's machine");
        }
        let about = ["base", "name", "description", "energy"];
        let sections: Vec<&str> =
            loaded.places.keys().filter_map(|key| Some(key.rsplit_once('.')?.0)).collect();
        for (key, source) in &loaded.sources {
            let described = about.contains(&key.as_str()) || sections.contains(&key.as_str());
            assert!(described || !source.is_empty(), "{name}: `{key}` has no source");
        }
    }
}

#[test]
fn sizes_and_bandwidths_are_the_published_ones() {
    let of = |name| load(name, &[]).expect("built-in").config;
    for (name, l2_kib, gigabytes) in
        [("gtx480", 768, 177), ("titanx-pascal", 3072, 480), ("qv100", 6144, 870)]
    {
        let config = of(name);
        let slices = config.dram.channels * config.l2.slices_per_channel;
        assert_eq!(slices * config.l2.size_bytes / 1024, l2_kib, "{name}");
        let d = &config.dram;
        let bytes = u64::from(d.channels * d.bus_bytes * d.data_rate) * config.gpu.dram_clock_khz;
        assert_eq!(bytes / 1_000_000, gigabytes, "{name}");
    }
}

/// On Fermi, the cores execute conversions and special registers, on later GPUs SFU units do.
#[test]
fn a_latency_class_may_run_on_another_unit_than_sfu() {
    let int = |op| Inst::new(op).dst(Reg(2)).srcs([Src::reg(Reg(4))]);
    let to = |dst| int(Op::I2f { dst, src: IntTy::S32, rnd: Rnd::Rn });
    let kernel = MachineKernel {
        insts: vec![to(FloatTy::F32), to(FloatTy::F64), int(Op::Popc {}), Inst::new(Op::Exit {})],
        lines: vec![SourceLine::default(); 4],
        regs_per_thread: 6,
        ..MachineKernel::default()
    };
    let placed = |gpu| {
        let config = load(gpu, &[]).expect("built-in").config;
        let program = Program::new(&kernel, &config).expect("a kernel");
        let unit =
            |pc: usize| (Unit::ALL[usize::from(program.insts[pc].unit)], program.insts[pc].initiation_cycles);
        [unit(0), unit(1), unit(2)]
    };
    assert_eq!(placed("gtx480"), [(Unit::Fp32, 2), (Unit::Sfu, 8), (Unit::Fp32, 2)]);
    assert_eq!(placed("qv100").map(|(unit, _)| unit), [Unit::Sfu, Unit::Fp64, Unit::Sfu]);
    let message = refusal("base = \"gtx480\"\n", &["latency.convert.runs_on=ldst"]);
    assert!(message.contains("latency.convert.runs_on"), "{message}");
}

/// A product takes as much of a tensor core's time as it fills of 16x8x16 halves: half with a depth of eight, a quarter with
/// 8x8x16 bytes.
#[test]
fn smaller_matrix_products_take_fewer_cycles() {
    let half = |shape| Op::Hmma { shape, ty: HmmaTy::F16, acc: AccTy::F32, sat: HmmaSat(false) };
    let bytes = |shape| Op::Imma { shape, a: IntElement::S8, b: IntElement::S8, sat: SatInt(false) };
    let tf32 = |shape| Op::Hmma { shape, ty: HmmaTy::Tf32, acc: AccTy::F32, sat: HmmaSat(false) };
    let ops = [
        half(HmmaShape::S16816),
        half(HmmaShape::S1688),
        tf32(HmmaShape::S1688),
        tf32(HmmaShape::S1684),
        bytes(ImmaShape::S16832),
        bytes(ImmaShape::S16816),
        bytes(ImmaShape::S8816),
    ];
    let insts: Vec<Inst> = ops.into_iter().map(Inst::new).chain([Inst::new(Op::Exit {})]).collect();
    let lines = vec![SourceLine::default(); insts.len()];
    let kernel = MachineKernel { insts, lines, regs_per_thread: 16, ..MachineKernel::default() };
    let config =
        load("qv100", &["latency.tensor={ latency_cycles = 30, initiation_cycles = 16 }".into()]).unwrap();
    let program = Program::new(&kernel, &config.config).expect("a kernel");
    let cycles = |at: usize| (program.insts[at].latency_cycles, program.insts[at].initiation_cycles);
    let whole_half_quarter = [(30, 16), (22, 8), (18, 4)];
    let expected = [0, 1, 0, 1, 0, 1, 2].map(|part| whole_half_quarter[part]);
    assert_eq!(std::array::from_fn(cycles), expected);
}

#[test]
fn a_file_inherits_and_overrides() {
    let text = "base = \"titanx-pascal\"\nname = \"half\"\n[sm]\nregisters = 32768\n";
    let loaded = load_text(text, "mine.toml", None, &["l2.ways=8".into(), "l2.size_bytes=65536".into()])
        .expect("a valid configuration");
    assert_eq!((loaded.config.sm.registers, loaded.config.sm.max_warps), (32768, 64));
    assert_eq!(
        (loaded.config.l2.ways, loaded.config.name.as_str()),
        (8, "half, l2.ways 8, l2.size_bytes 65536")
    );
    assert_eq!(loaded.places["sm.registers"], "mine.toml:4");
    let base = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../configs/titanx-pascal.toml"))
        .expect("the built-in file");
    let line = 1 + base.lines().position(|line| line.starts_with("max_warps")).expect("the key");
    assert_eq!(loaded.places["sm.max_warps"], format!("timing/configs/titanx-pascal.toml:{line}"));
    assert_eq!(loaded.places["l2.ways"], "--set l2.ways=8");
}

#[test]
fn mistakes_name_key_place_and_rule() {
    let base = "base = \"gtx480\"\n";
    let cases: &[(&str, &[&str])] = &[
        ("[l1]\nwayz = 3\n", &["mine.toml:3", "l1.wayz", "unknown field"]),
        ("[l1]\nways = \"three\"\n", &["mine.toml:3", "l1.ways", "invalid type"]),
        ("[l1]\nways = 3\n", &["l1.size_bytes", "16384", "32 × 3 × 128 = 12288"]),
        ("[register_file]\nbanks = 0\n", &["mine.toml:3", "register_file.banks", "0 is refused"]),
        ("[scheduler]\npolicy = \"best\"\n", &["mine.toml:3", "scheduler.policy", "lrr"]),
        ("[scheduler]\ncount = 5\n", &["scheduler.count", "5 is refused", "between 1 and 4"]),
        ("[units.int]\nlanes = 12\n", &["units.int.lanes", "12", "divides 32"]),
        ("[units.gpu]\ncount = 1\nlanes = 1\nruns_on = \"\"\n", &["units.gpu", "unknown unit class", "fp32"]),
        (
            "[latency.warp]\nlatency_cycles = 1\ninitiation_cycles = 1\n",
            &["latency.warp", "unknown latency class"],
        ),
        ("[dram]\nbanks = 8\n", &["dram.address_map", "4 bank bits"]),
        ("[collectors]\ngeneric = 8\n", &["collectors.alu", "must be 0"]),
        ("[register_file]\nsub_core = true\nbanks = 15\n", &["register_file.banks", "15", "evenly"]),
        ("[l1\n", &["mine.toml:2"]),
        ("name = 5\n", &["mine.toml:2", "name", "string"]),
    ];
    for (text, parts) in cases {
        let message = refusal(&format!("{base}{text}"), &[]);
        for part in *parts {
            assert!(message.contains(part), "{text:?} gave {message:?}, which lacks {part:?}");
        }
    }
}

#[test]
fn overrides_are_checked_like_files() {
    let base = "base = \"gtx480\"\n";
    for (item, part) in [
        ("l1.ways", "expected path.to.key=value"),
        ("l1..ways=3", "empty key"),
        ("name.short=3", "is a value, not a section"),
        ("l1.ways=-1", "l1.ways"),
        ("gpu.sms=0", "gpu.sms"),
    ] {
        let message = refusal(base, &[item]);
        assert!(message.contains(part) && message.contains(item), "{item}: {message}");
    }
}

#[test]
fn missing_files_and_endless_inheritance_end() {
    let message = load("gtx481", &[]).expect_err("unknown").to_string();
    assert!(message.contains("gtx481") && message.contains("gtx480"), "{message}");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("loop.toml");
    std::fs::write(&path, "base = \"loop.toml\"\n").expect("a written file");
    let message = load(&path.display().to_string(), &[]).expect_err("endless").to_string();
    assert!(message.contains("inherit"), "{message}");
    let message = refusal("base = \"nowhere.toml\"\n", &[]);
    assert!(message.contains("nowhere.toml"), "{message}");
}
