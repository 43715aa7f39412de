//! Tools of the lowering's tests: PTX text in, words of buffers out.

use emulator::exec::{self, Launch, Options, Unobserved};
use emulator::lower::{LowerOptions, Lowered, ModuleLayout, lower_kernel};
use emulator::memory::GlobalMemory;
use emulator::ptx;
use emulator::record::Unrecorded;
use trace_format::semantics::{Banks, Geometry};

/// Lowers the only kernel of a PTX text, with the allocation checked.
pub(crate) fn lower(text: &str, max_registers: u16) -> Lowered {
    lower_with(text, LowerOptions { max_registers, ..LowerOptions::default() })
}

/// The same with other options.
pub(crate) fn lower_with(text: &str, options: LowerOptions) -> Lowered {
    try_lower(text, options).unwrap_or_else(|why| panic!("{why}\n{text}"))
}

/// The same, or why the front end or lowering refuses it.
fn try_lower(text: &str, options: LowerOptions) -> Result<Lowered, String> {
    let module = ptx::parse(text, "test.ptx").map_err(|errors| errors.to_string())?;
    let layout = ModuleLayout::of(&module).unwrap();
    let (kernel, _) = module.kernels().next().expect("a kernel");
    let options = LowerOptions { check: true, ..options };
    lower_kernel(&module, &layout, kernel, &options).map_err(|errors| errors.to_string())
}

/// Why a text is refused: by the front end, by lowering, or as something that is not supported.
pub(crate) fn refusal(text: &str) -> String {
    match try_lower(text, LowerOptions::default()) {
        Ok(lowered) => {
            lowered.unsupported.first().unwrap_or_else(|| panic!("{text} is lowered")).message.clone()
        }
        Err(why) => why,
    }
}

/// Runs a kernel whose parameters are pointers to the buffers, in order, then scalar words.
pub(crate) fn run(
    lowered: &Lowered,
    buffers: &[Vec<u32>],
    scalars: &[u32],
    grid: u32,
    block: u32,
) -> Vec<Vec<u32>> {
    run_with_constants(lowered, buffers, scalars, Vec::new(), [grid, block])
}

/// Like [`run`], with the contents of the `.const` bank.
pub(crate) fn run_with_constants(
    lowered: &Lowered,
    buffers: &[Vec<u32>],
    scalars: &[u32],
    user: Vec<u8>,
    [grid, block]: [u32; 2],
) -> Vec<Vec<u32>> {
    let mut memory = GlobalMemory::new();
    let bytes = |words: &Vec<u32>| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
    let ids: Vec<_> =
        buffers.iter().enumerate().map(|(i, w)| memory.allocate(format!("buffer{i}"), bytes(w))).collect();
    let geometry = Geometry { grid: [grid, 1, 1], block: [block, 1, 1] };
    let mut param = Banks::parameter_head(&geometry, lowered.kernel.local_bytes);
    ids.iter().for_each(|&id| param.extend(memory.allocation(id).base.to_le_bytes()));
    scalars.iter().for_each(|s| param.extend(s.to_le_bytes()));
    let banks = Banks { param, literal: lowered.kernel.literals.clone(), user, addresses: Vec::new() };
    let launch = Launch { kernel: &lowered.kernel, geometry, dynamic_shared_bytes: 0, banks, index: 0 };
    let options = Options { threads: 1, max_instructions: 1 << 32, ..Options::default() };
    exec::launch(&mut memory, &launch, &options, &mut Unrecorded, &Unobserved)
        .unwrap_or_else(|e| panic!("{e}"));
    let words = |id| -> Vec<u32> {
        let bytes = memory.allocation(id).bytes.contents();
        bytes.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect()
    };
    ids.into_iter().map(words).collect()
}

/// A kernel that applies instructions to element `t` of its input arrays. `inputs` and `output` are PTX
/// types; `body` computes `%out` from `%in0`, `%in1`, … and may use `%t0` to `%t9` (32 bits), `%d0` to `%d9`
/// (64 bits) and `%q0` to `%q9` (predicates).
pub(crate) fn elementwise(inputs: &[&str], output: &str, body: &str) -> String {
    let bytes = |ty: &str| ty[1..].parse::<u32>().map_or(4, |bits| bits / 8);
    // Sums of packed integers saturate on this target alone.
    let target = if body.contains("add.sat") { "sm_120a" } else { "sm_100a" };
    let mut text = format!(".version 9.2\n.target {target}\n.address_size 64\n.visible .entry test(");
    for i in 0..=inputs.len() {
        text += &format!("{}.param .u64 p{i}", if i == 0 { "" } else { ", " });
    }
    text +=
        ")\n{\n.reg .b64 %a<9>; .reg .b32 %tid<3>; .reg .b32 %t<10>; .reg .b64 %d<10>; .reg .pred %q<10>;\n";
    text += &format!(".reg .{output} %out;\n");
    text += "mov.u32 %tid0, %ctaid.x;\nmov.u32 %tid1, %ntid.x;\nmov.u32 %tid2, %tid.x;\n";
    text += "mad.lo.s32 %tid0, %tid0, %tid1, %tid2;\n";
    for (i, ty) in inputs.iter().enumerate() {
        text += &format!(".reg .{ty} %in{i};\nld.param.u64 %a{i}, [p{i}];\n");
        text +=
            &format!("mad.wide.u32 %a{i}, %tid0, {}, %a{i};\nld.global.{ty} %in{i}, [%a{i}];\n", bytes(ty));
    }
    let n = inputs.len();
    text += body;
    text += &format!("\nld.param.u64 %a8, [p{n}];\nmad.wide.u32 %a8, %tid0, {}, %a8;\n", bytes(output));
    text += &format!("st.global.{output} [%a8], %out;\nret;\n}}\n");
    text
}

/// Applies an elementwise kernel to arrays of 32-bit words (or pairs, where the type has 64 bits).
pub(crate) fn apply(text: &str, inputs: &[Vec<u32>], elements: usize, output_words: usize) -> Vec<u32> {
    let lowered = lower(text, 255);
    let padded = elements.next_multiple_of(64);
    let mut buffers: Vec<Vec<u32>> = inputs.to_vec();
    for b in &mut buffers {
        let width = b.len() / elements;
        b.resize(padded * width, 0);
    }
    buffers.push(vec![0; padded * output_words]);
    let mut out = run(&lowered, &buffers, &[], padded as u32 / 64, 64).pop().unwrap();
    out.truncate(elements * output_words);
    out
}

/// Words of 64-bit values.
pub(crate) fn words64(values: &[u64]) -> Vec<u32> {
    values.iter().flat_map(|v| [*v as u32, (*v >> 32) as u32]).collect()
}

/// 64-bit values of words.
pub(crate) fn values64(words: &[u32]) -> Vec<u64> {
    words.chunks_exact(2).map(|w| u64::from(w[0]) | u64::from(w[1]) << 32).collect()
}

/// Interesting 32-bit integers.
pub(crate) const INTS: [u32; 18] = [
    0,
    1,
    2,
    3,
    7,
    10,
    31,
    32,
    33,
    255,
    0x8000,
    0xFFFF,
    0x0001_0001,
    0x7FFF_FFFF,
    0x8000_0000,
    0x8000_0001,
    u32::MAX - 1,
    u32::MAX,
];

/// Interesting 64-bit integers.
pub(crate) fn longs() -> Vec<u64> {
    let mut v: Vec<u64> =
        INTS.iter().flat_map(|&x| [u64::from(x), u64::from(x) << 32, x as i32 as u64]).collect();
    v.extend([
        u64::MAX,
        1 << 63,
        (1 << 63) - 1,
        (1 << 32) - 1,
        1 << 32,
        (1 << 32) + 1,
        10_000_000_000_000_000_000,
    ]);
    v.sort_unstable();
    v.dedup();
    v
}

/// Interesting single-precision numbers: zeros, subnormals, ends of the range, NaN, all exponents.
pub(crate) fn floats() -> Vec<u32> {
    let mut v = vec![
        0,
        1,
        2,
        0x007F_FFFF,
        0x0080_0000,
        0x0080_0001,
        0x3F80_0000,
        0x3F80_0001,
        0x3F7F_FFFF,
        0x3FFF_FFFF,
        0x4040_0000,
        0x7F7F_FFFF,
        0x7F80_0000,
        0x7FC0_0000,
        0x7F80_0001,
        0x7E80_0000,
        0x7F00_0000,
        0x0100_0000,
        0x0040_0000,
        0x0D00_0000,
        0x0CFF_FFFF,
    ];
    v.extend((0..255u32).step_by(9).map(|e| e << 23 | 0x0012_3456));
    v.iter().flat_map(|&x| [x, x | 0x8000_0000]).collect()
}

/// The same for doubles.
pub(crate) fn doubles() -> Vec<u64> {
    let mut v: Vec<u64> = vec![
        0,
        1,
        0x000F_FFFF_FFFF_FFFF,
        0x0010_0000_0000_0000,
        0x0010_0000_0000_0001,
        0x3FF0_0000_0000_0000,
        0x3FF0_0000_0000_0001,
        0x3FEF_FFFF_FFFF_FFFF,
        0x3FFF_FFFF_FFFF_FFFF,
        0x4008_0000_0000_0000,
        0x7FEF_FFFF_FFFF_FFFF,
        0x7FF0_0000_0000_0000,
        0x7FF8_0000_0000_0000,
        0x7FF0_0000_0000_0001,
        0x7FD0_0000_0000_0000,
        0x0370_0000_0000_0000,
        0x0008_0000_0000_0000,
        0x0000_0000_FFFF_FFFF,
    ];
    v.extend((0..2047u64).step_by(67).map(|e| e << 52 | 0x0000_1234_5678_9ABC));
    v.iter().flat_map(|&x| [x, x | 1 << 63]).collect()
}
