//! What cubins say about kernels and data: of a committed cubin, of the same source for every target if there is a
//! toolkit, of damaged ones.

use crate::kit;

use proptest::prelude::*;
use sass::Target;
use sass::cubin::{CodeField, CodeRelocation, Cubin, CubinError, Data, KernelInfo, Place, Referent};
use std::path::Path;
use std::process::Command;
use test_kit::{Tool, skipped};

/// nvcc's `-cubin -arch=sm_75` of data/variables.cu.
const VARIABLES: &[u8] = include_bytes!("data/variables.sm_75.cubin");
const VECTORADD: &[u8] = include_bytes!("data/vectoradd.sm_80.cubin");
/// Of data/linked.cu, as that file says.
const LINKED: &[u8] = include_bytes!("data/linked.sm_80.cubin");

/// Reads everything that a cubin says; the errors are as good as the contents.
fn read_all(bytes: &[u8]) -> Result<usize, CubinError> {
    let cubin = Cubin::parse(bytes)?;
    let mut read = cubin.data()?.variables.len();
    for kernel in cubin.kernels() {
        read += cubin.kernel_info(kernel)?.parameters.len();
    }
    for function in &cubin.functions {
        read += cubin.code_relocations(function)?.len() + cubin.indirect_branches(function)?.len();
    }
    Ok(read)
}

fn info<'a>(cubin: &Cubin<'a>, name: &str) -> KernelInfo<'a> {
    let function = cubin.function(name).unwrap_or_else(|| panic!("no function {name}"));
    assert!(function.is_kernel);
    cubin.kernel_info(function).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Where the section of a name begins in the file.
fn section(bytes: &[u8], name: &str) -> usize {
    let elf = goblin::elf::Elf::parse(bytes).expect("an ELF file");
    let found = elf.section_headers.iter().find(|s| elf.shdr_strtab.get_at(s.sh_name) == Some(name));
    found.unwrap_or_else(|| panic!("no section {name}")).sh_offset as usize
}

/// Checks what variables.cu says, of whatever target it was compiled for.
fn check(cubin: &Cubin<'_>) {
    let target = cubin.target;
    let base = match target {
        Target::Sm120 => 0x380,
        Target::Sm90 => 0x210,
        _ => 0x160,
    };
    // The first KiB is reserved.
    let reserved = if target.number() >= 90 { 0x400 } else { 0 };
    let switches = info(cubin, "switches");
    assert_eq!((switches.parameter_base, switches.parameter_bytes), (base, 16), "{target}");
    let places: Vec<_> = switches.parameters.iter().map(|p| (p.offset, p.bytes)).collect();
    assert_eq!(places, [(0, 8), (8, 4), (12, 4)]);
    assert_eq!(switches.bank0.len() as u32, base + 16);
    assert_eq!((switches.max_threads, switches.required_threads), (Some([256, 1, 1]), None));
    assert_eq!((switches.barriers, switches.frame_bytes, switches.stack_bytes), (1, 0, Some(0)));
    assert!(switches.registers >= 8, "{}", switches.registers);
    assert!(switches.externs.is_empty() && switches.cluster.is_none());
    // The targets of the jump tables are what the tables hold.
    assert!(!switches.indirect_branches.is_empty());
    let table: Vec<u64> = switches
        .bank2
        .chunks_exact(4)
        .map(|word| u64::from(u32::from_le_bytes([word[0], word[1], word[2], word[3]])))
        .collect();
    let code: Vec<_> = cubin.function("switches").expect("it is there").instructions().collect();
    for branch in &switches.indirect_branches {
        match &code[branch.address as usize / 16] {
            Ok(instruction) if target == Target::Sm120 => assert_eq!(instruction.mnemonic, "BRXU"),
            Ok(instruction) => assert_eq!(instruction.mnemonic, "BRX"),
            Err(error) => panic!("{target}: {error}"),
        }
        assert!(branch.targets.len() > 2);
        assert!(branch.targets.iter().all(|target| table.contains(target)), "{branch:x?}");
    }

    let variables = info(cubin, "variables");
    let places: Vec<_> = variables.parameters.iter().map(|p| (p.offset, p.bytes)).collect();
    assert_eq!(places, [(0, 8), (8, 1200), (1208, 4)]);
    assert_eq!(variables.shared_bytes, reserved + 256);
    assert_eq!((variables.frame_bytes, variables.stack_bytes), (8, Some(8)));
    assert_eq!(variables.externs, ["vprintf"]);
    assert_eq!(variables.system_calls.len(), 1);

    let none = info(cubin, "no_parameters");
    assert!(none.parameters.is_empty() && none.parameter_bytes == 0 && none.registers > 0);

    let data = cubin.data().expect("good data");
    assert_eq!(data.constants[64..68], 3u32.to_le_bytes());
    let of = |name: &str| {
        let variable = data.variables.iter().find(|variable| variable.name == name);
        let variable = variable.unwrap_or_else(|| panic!("no variable {name}"));
        (variable.place, variable.bytes)
    };
    assert_eq!(of("table"), (Place::Constants, 64));
    assert_eq!(of("scale"), (Place::Constants, 4));
    assert_eq!(of("counter"), (Place::Initialised, 4));
    assert_eq!(of("big"), (Place::Zeroed, 400));
    addresses(&data);
}

/// Every word of bank 4 is an address, and the two pointers are.
fn addresses(data: &Data<'_>) {
    let place = |name: &str| {
        let variable = data.variables.iter().find(|variable| variable.name == name).expect("a variable");
        (variable.place, variable.offset)
    };
    let bank4 = data.relocations.iter().filter(|relocation| relocation.place == Place::Addresses);
    assert_eq!(bank4.clone().count() * 8, data.addresses.len());
    assert!(bank4.clone().any(|relocation| relocation.of == Referent::External("vprintf")));
    assert!(bank4.clone().all(|relocation| !relocation.generic && relocation.addend == 0));
    for (pointer, to, addend) in [("to_counter", "counter", 0), ("middle", "big", 20)] {
        let (at, to) = (place(pointer), place(to));
        let found = data.relocations.iter().find(|r| (r.place, r.offset) == at).expect("an address");
        assert_eq!(found.of, Referent::Data { place: to.0, offset: to.1 });
        assert_eq!((found.addend, found.generic), (addend, true));
    }
}

#[test]
fn a_cubin_says_what_running_it_needs() {
    check(&Cubin::parse(VARIABLES).expect("a good cubin"));
    let vectoradd = info(&Cubin::parse(VECTORADD).expect("a good cubin"), "vectoradd");
    assert_eq!((vectoradd.registers, vectoradd.parameter_base, vectoradd.barriers), (12, 0x160, 0));
    assert_eq!((vectoradd.parameters.len(), vectoradd.bank2.len()), (4, 0));
}

#[test]
fn cubins_of_every_target_say_the_same() {
    let Some(toolkit) = kit::toolkit(&["nvcc"]) else {
        return skipped(Tool::Nvcc, "no nvcc; tools/scripts/cuda-toolkit.sh installs it");
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/variables.cu");
    let compiled = |target: Target, options: &[&str]| {
        let cubin = folder.path().join("variables.cubin");
        let made = Command::new(toolkit.join("bin/nvcc"))
            .args(["-cubin", &format!("-arch=sm_{}", target.number())])
            .args(options)
            .arg("-o")
            .args([&cubin, &source])
            .output()
            .expect("nvcc starts");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        std::fs::read(&cubin).expect("the cubin can be read")
    };
    // The compilers of CUDA 13 know no sm_70.
    for target in Target::ALL.into_iter().filter(|target| *target != Target::Sm70) {
        let bytes = compiled(target, &[]);
        let cubin = Cubin::parse(&bytes).expect("a good cubin");
        assert_eq!(cubin.target, target);
        check(&cubin);
    }
    // An object file has to be linked first.
    let object = compiled(Target::Sm80, &["-rdc=true"]);
    assert_eq!(read_all(&object), Err(CubinError::Relocatable));
}

#[test]
fn unsupported_attributes_are_named() {
    let at = section(VARIABLES, ".nv.info.switches");
    let mut bytes = VARIABLES.to_vec();
    // The number of the first record becomes another.
    bytes[at + 1] = 0x54;
    let error = read_all(&bytes).unwrap_err().to_string();
    let told = "section .nv.info.switches, offset 0x0 (kernel switches): attribute 0x54 (REG_RECONFIG) is not supported";
    assert!(error.starts_with(told), "{error}");
    // The other kernel can still be asked about.
    assert_eq!(info(&Cubin::parse(&bytes).unwrap(), "variables").shared_bytes, 256);
    bytes[at + 1] = 0xee;
    let error = read_all(&bytes).unwrap_err().to_string();
    assert!(error.contains("attribute 0xee is not supported, and may change"), "{error}");
    bytes[at + 1] = 0x0a;
    let error = read_all(&bytes).unwrap_err().to_string();
    assert!(error.contains("attribute 0x0a (PARAM_CBANK) has 4 bytes, 8 are expected"), "{error}");
}

#[test]
fn unsupported_relocations_are_named() {
    let at = section(VARIABLES, ".rel.nv.constant4");
    let mut bytes = VARIABLES.to_vec();
    bytes[at + 8] = 0x38;
    let error = read_all(&bytes).unwrap_err().to_string();
    assert!(error.starts_with("section .nv.constant4, offset 0x"), "{error}");
    assert!(error.contains("relocation 0x38 by the address of"), "{error}");
    bytes[at + 8] = 0x02;
    bytes[at..at + 8].copy_from_slice(&0x1000u64.to_le_bytes());
    let error = read_all(&bytes).unwrap_err().to_string();
    assert!(error.contains("section .nv.constant4, offset 0x1000: relocation 0x2 runs off"), "{error}");
}

/// Code that is linked of several files has fields for the addresses of functions, variables and places behind calls.
#[test]
fn code_says_what_addresses_it_needs() {
    let cubin = Cubin::parse(LINKED).expect("a good cubin");
    let relocations = |name: &str| {
        let function = cubin.function(name).expect("the function");
        cubin.code_relocations(function).expect("they are known")
    };
    assert!(relocations("_Z5twicei").is_empty());
    let all = relocations("linked");
    let of = |field: CodeField| all.iter().filter(move |relocation| relocation.field == field);
    let calls: Vec<&CodeRelocation<'_>> = of(CodeField::Call).collect();
    assert!(matches!(
        calls[..],
        [CodeRelocation { of: Referent::Code { function: "_Z5twicei", offset: 0 }, addend: 0, .. }]
    ));
    // The lower and the upper half of the address behind the call, and of the variable.
    for field in [CodeField::Low, CodeField::High] {
        let behind = of(field)
            .find(|relocation| matches!(relocation.of, Referent::Code { .. }))
            .expect("a return address");
        assert_eq!(behind.addend as u64, calls[0].address + 16);
        let places = of(field)
            .filter(|relocation| matches!(relocation.of, Referent::Data { place: Place::Initialised, .. }));
        assert_eq!(places.count(), 1);
    }
    // A call's target is counted in words of four bytes.
    let kernel = cubin.function("linked").expect("the kernel");
    let word = kernel.words().nth(calls[0].address as usize / 16).expect("the call");
    let text = |word| sass::decode(cubin.target, 0, word).expect("it is known").to_string();
    assert_eq!(text(word), "CALL.ABS.NOINC 0x0");
    assert_eq!(text(CodeField::Call.put(word, 0x1234_5678)), "CALL.ABS.NOINC 0x12345678");
}

#[test]
fn unsupported_relocations_of_code_are_named() {
    let at = section(LINKED, ".rel.text.linked");
    let mut bytes = LINKED.to_vec();
    let told = |bytes: &[u8]| read_all(bytes).unwrap_err().to_string();
    bytes[at + 8] = 0x37;
    let error = told(&bytes);
    assert!(
        error.starts_with("section .text.linked, offset 0x") && error.contains("(kernel linked)"),
        "{error}"
    );
    assert!(error.contains("relocation 0x37 by the address of"), "{error}");
    bytes[at + 8] = LINKED[at + 8];
    bytes[at..at + 8].copy_from_slice(&0x8u64.to_le_bytes());
    assert!(told(&bytes).contains("offset 0x8 (kernel linked): an instruction does not begin there"));
    bytes[at..at + 8].copy_from_slice(&0x10000u64.to_le_bytes());
    assert!(told(&bytes).contains("offset 0x10000 (kernel linked): relocation 0x38 runs off the section"));
}

#[test]
fn parameters_fit_their_bank() {
    let at = section(VARIABLES, ".nv.info.variables");
    let length = VARIABLES.len();
    let record = (at..length).find(|&i| VARIABLES[i..].starts_with(&[4, 0x0a, 8, 0])).expect("PARAM_CBANK");
    let mut bytes = VARIABLES.to_vec();
    bytes[record + 8..record + 10].copy_from_slice(&0x1000u16.to_le_bytes());
    let error = read_all(&bytes).unwrap_err().to_string();
    assert!(
        error.contains("(kernel variables): parameters of 0x4bc bytes at 0x1000 do not fit section .nv.constant0.variables"),
        "{error}"
    );
}

#[test]
fn truncated_files_never_panic() {
    for bytes in [VARIABLES, VECTORADD] {
        assert!(read_all(bytes).is_ok());
        let failed = (0..bytes.len()).filter(|&length| read_all(&bytes[..length]).is_err()).count();
        assert!(failed > bytes.len() / 2, "{failed} of {}", bytes.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn damaged_files_never_panic(changes in proptest::collection::vec((0..VARIABLES.len(), any::<u8>()), 1..12)) {
        let mut bytes = VARIABLES.to_vec();
        changes.iter().for_each(|&(at, byte)| bytes[at] = byte);
        let _ = read_all(&bytes);
    }

    // Changes of the tables get further than those of any byte.
    #[test]
    fn damaged_tables_never_panic(place in 0..6usize, changes in proptest::collection::vec((0..160usize, any::<u8>()), 1..4)) {
        let names = [".nv.info", ".nv.info.switches", ".nv.info.variables", ".rel.nv.constant4", ".rela.nv.global.init", ".symtab"];
        let mut bytes = VARIABLES.to_vec();
        let at = section(VARIABLES, names[place]);
        changes.iter().for_each(|&(offset, byte)| bytes[at + offset] = byte);
        if let Err(error) = read_all(&bytes) {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}
