//! Contraction on random straight code: products and sums of every type with copies, negations, guards, labels and
//! several uses, fused by lowering and by the oracle's own reading of the rule. A wrong choice shows in the last bits.

use std::fmt::Write as _;

use emulator::lower::LowerOptions;
use emulator::ptx;
use tests::oracle::emulated::{Argument, EmulatedModule, How, words};
use tests::oracle::generate::Dice;
use tests::oracle::{Device, Launch};
use trace_format::semantics::Geometry;

const THREADS: usize = 32;
/// Registers that instructions choose from.
const REGISTERS: u32 = 7;
const INSTRUCTIONS: usize = 26;

/// A type with its registers, the names of its moves and its width in bytes.
const TYPES: [(&str, &str, &str, usize); 6] = [
    ("f32", "f", "b32", 4),
    ("f64", "d", "b64", 8),
    ("f16", "h", "b16", 2),
    ("f16x2", "r", "b32", 4),
    ("bf16", "h", "b16", 2),
    ("bf16x2", "r", "b32", 4),
];

/// A kernel that loads its registers, computes and stores some of them.
fn kernel(dice: &mut Dice, (ty, letter, bits, bytes): (&str, &str, &str, usize)) -> String {
    let mut text = format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry kernel(.param .u64 in, .param .u64 out)\n{{\n\
         .reg .b64 %i, %o; .reg .b32 %t, %n; .reg .pred %p<2>; .reg .{} %{letter}<{REGISTERS}>;\n\
         ld.param.u64 %i, [in]; ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; mov.u32 %n, 0;\n\
         mad.wide.u32 %i, %t, 64, %i; mad.wide.u32 %o, %t, 128, %o; setp.gt.u32 %p0, %t, 9; setp.lt.u32 %p1, %t, 20;\n",
        if letter == "f" {
            "f32"
        } else if letter == "d" {
            "f64"
        } else {
            bits
        }
    );
    for i in 0..REGISTERS {
        let _ = writeln!(text, "ld.global.{bits} %{letter}{i}, [%i+{}];", i as usize * bytes);
    }
    let (mut labels, mut product) = (0, None);
    for _ in 0..INSTRUCTIONS {
        let mut any = || format!("%{letter}{}", dice.below(REGISTERS as usize));
        let (d, mut a, mut b) = (any(), any(), any());
        let guard = ["", "", "", "", "", "@%p0 ", "@!%p1 "][dice.below(7)];
        let rn = ["", "", "", "", ".rn"][dice.below(5)];
        // Doubles have neither of these, bf16 has no saturation.
        let ftz = if matches!(ty, "f32" | "f16" | "f16x2") && dice.below(4) == 0 { ".ftz" } else { "" };
        let sat = if matches!(ty, "f32" | "f16" | "f16x2") && dice.below(9) == 0 { ".sat" } else { "" };
        let form = dice.below(14);
        // Most sums add to the last product, which later products seldom overwrite.
        if let (5..=9, Some(last)) = (form, &product) {
            match dice.below(4) {
                0 | 1 => a = String::clone(last),
                2 => b = String::clone(last),
                _ => {}
            }
        }
        if form < 5 {
            product = Some(d.clone());
        }
        let _ = match form {
            0..=4 => writeln!(text, "{guard}mul{rn}{ftz}{sat}.{ty} {d}, {a}, {b};"),
            5..=7 => writeln!(text, "{guard}add{rn}{ftz}{sat}.{ty} {d}, {a}, {b};"),
            8 | 9 => writeln!(text, "{guard}sub{rn}{ftz}{sat}.{ty} {d}, {a}, {b};"),
            10 => writeln!(text, "{guard}mov.{bits} {d}, {a};"),
            11 => writeln!(text, "{guard}neg{}.{ty} {d}, {a};", if dice.below(3) == 0 { ftz } else { "" }),
            12 => match dice.below(4) {
                0 => writeln!(text, "{guard}st.global.{bits} [%o+{}], {a};", 8 + dice.below(2) * 8),
                1 => writeln!(text, "bar.warp.sync -1;"),
                2 => writeln!(text, "{guard}add.u32 %n, %n, 1;"),
                _ => writeln!(text, "fma.rn.{ty} {d}, {a}, {b}, {a};"),
            },
            _ => {
                labels += 1;
                match dice.below(3) {
                    0 => writeln!(text, "@%p1 bra L{labels};\nmul.{ty} {d}, {a}, {b};\nL{labels}:"),
                    1 => writeln!(text, "L{labels}:"),
                    _ => writeln!(text, "abs.{ty} {d}, {a};"),
                }
            }
        };
    }
    for at in 0..REGISTERS - 2 {
        let _ = writeln!(text, "st.global.{bits} [%o+{}], %{letter}{at};", 24 + 8 * at);
    }
    text + "st.global.u32 [%o], %n;\nret;\n}\n"
}

/// Numbers near one, so that results neither vanish nor overflow and last bits count.
fn input(dice: &mut Dice, ty: &str) -> Vec<u8> {
    (0..THREADS * 16)
        .flat_map(|_| {
            let noise = dice.bits() as u32;
            let word = match ty {
                "f32" => 0x3F00_0000 | noise & 0x80FF_FFFF,
                // Both words of a double have its exponent.
                "f64" => 0x3FE0_0000 | noise & 0x801F_FFFF,
                "bf16" | "bf16x2" => 0x3F00_3F00 | noise & 0x80FF_80FF,
                _ => 0x3800_3800 | noise & 0x87FF_87FF,
            };
            word.to_le_bytes()
        })
        .collect()
}

fn on_oracle(module: &ptx::Module, input: &[u8], fmad: bool) -> Vec<u8> {
    let device = Device::new(module).unwrap();
    let mut device = if fmad { device } else { device.unfused() };
    let from = device.global.add(input.to_vec());
    let to = device.global.add(vec![0; THREADS * 128]);
    let launch = Launch {
        kernel: "kernel".into(),
        grid: [1; 3],
        block: [THREADS as u32, 1, 1],
        dynamic_shared_bytes: 0,
        args: [from, to].map(|a| a.to_le_bytes().to_vec()).to_vec(),
        max_instructions: 10_000,
    };
    device.run(&launch).unwrap_or_else(|fault| panic!("{fault}"));
    device.global.contents(to).unwrap().to_vec()
}

fn in_emulator(module: &ptx::Module, input: &[u8], fmad: bool) -> Vec<u8> {
    let mut emulated = EmulatedModule::new(module).unwrap();
    let options = LowerOptions { check: true, fmad, ..LowerOptions::default() };
    let lowered = emulated.lower("kernel", &options).unwrap_or_else(|fault| panic!("{fault}"));
    let from = emulated.memory.allocate("in", input.to_vec());
    let to = emulated.memory.allocate("out", vec![0; THREADS * 128]);
    let args = [Argument::Pointer(from, 0), Argument::Pointer(to, 0)];
    let geometry = Geometry { grid: [1; 3], block: [THREADS as u32, 1, 1] };
    let how = How { threads: 1, max_instructions: 1 << 20, trace: None };
    emulated.run(&lowered, geometry, 0, &args, how).unwrap_or_else(|fault| panic!("{fault}"));
    emulated.memory.allocation(to).bytes.to_vec()
}

/// Bytes with every NaN of a type replaced by one, since PTX does not define a double's NaN.
fn numbers(bytes: &[u8], ty: &str) -> Vec<u64> {
    let double = |b: &[u8]| {
        let value = f64::from_le_bytes(b.try_into().unwrap());
        if value.is_nan() { u64::MAX } else { value.to_bits() }
    };
    let word = |b: &[u8]| u64::from_le_bytes(b.try_into().unwrap());
    bytes.chunks_exact(8).map(|b| if ty == "f64" { double(b) } else { word(b) }).collect()
}

#[test]
fn lowering_and_the_oracle_fuse_the_same() {
    let mut differ = 0;
    for seed in 0..1500u64 {
        let mut dice = Dice::new(seed ^ 0xF0CA_CC1A);
        let (ty, letter, bits, bytes) = TYPES[(seed % 6) as usize];
        let text = kernel(&mut dice, (ty, letter, bits, bytes));
        let input = input(&mut dice, ty);
        let module = ptx::parse(&text, "random.ptx").unwrap_or_else(|e| panic!("{}\n{text}", words(&e)));
        let [fused, plain] = [true, false].map(|fmad| {
            let (wanted, got) = (on_oracle(&module, &input, fmad), in_emulator(&module, &input, fmad));
            let same = numbers(&wanted, ty) == numbers(&got, ty);
            assert!(same, "seed {seed}, contraction {fmad}:\n{text}");
            got
        });
        differ += u32::from(fused != plain);
    }
    assert!(differ > 300, "only {differ} kernels show that anything was fused");
}

/// A function that returns a product and its sum; the kernel takes both results, or the sum alone.
fn calls(take_product: bool) -> String {
    let product = if take_product { "%d4" } else { "_" };
    format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n\
         .func (.reg .f64 %s, .reg .f64 %m) both(.reg .f64 %a, .reg .f64 %b, .reg .f64 %c)\n\
         {{ mul.f64 %m, %a, %b; sub.f64 %s, %m, %c; ret; }}\n\
         .visible .entry kernel(.param .u64 in, .param .u64 out)\n{{\n\
         .reg .b64 %i, %o; .reg .b32 %t; .reg .f64 %d<5>;\n\
         ld.param.u64 %i, [in]; ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; mov.f64 %d4, 0d0000000000000000;\n\
         mad.wide.u32 %i, %t, 64, %i; mad.wide.u32 %o, %t, 128, %o;\n\
         ld.global.f64 %d0, [%i]; ld.global.f64 %d1, [%i+8]; ld.global.f64 %d2, [%i+16];\n\
         call (%d3, {product}), both, (%d0, %d1, %d2);\n\
         st.global.f64 [%o], %d3; st.global.f64 [%o+8], %d4; ret;\n}}\n"
    )
}

/// Whether a product is fused depends on whether the caller reads it.
#[test]
fn a_result_that_the_caller_discards_is_no_use_of_a_product() {
    let input = input(&mut Dice::new(7), "f64");
    for take_product in [false, true] {
        let module =
            ptx::parse(&calls(take_product), "calls.ptx").unwrap_or_else(|e| panic!("{}", words(&e)));
        let [fused, plain] = [true, false].map(|fmad| {
            let (wanted, got) = (on_oracle(&module, &input, fmad), in_emulator(&module, &input, fmad));
            assert_eq!(wanted, got, "product taken: {take_product}, contraction: {fmad}");
            got
        });
        assert_eq!(fused == plain, take_product, "fused exactly where nobody reads the product");
    }
}
