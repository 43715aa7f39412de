//! A random kernel as PTX text, and the layout of its output.

use super::nodes::{print_all, registers};
use super::plan::Kernel;
use super::shape::{ACCUMULATOR_BYTES, LOCAL_BYTES, SCRATCH_BYTES, SHARED_SLICE_BYTES};
use super::{Dice, functions};
use std::fmt::Write;

/// The target of kernels that may hold every instruction.
const NEWEST_TARGET: u32 = 90;

/// What a slot of a thread's output holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputSlot {
    /// Bytes that must be equal.
    Bits,
    /// A single-precision number: any NaN equals any NaN.
    Single,
    /// A double-precision number, likewise.
    Double,
}

/// Where a thread's output lies.
#[derive(Clone, Debug)]
pub struct Output {
    /// Each with its register, offset in the slice and kind.
    pub slots: Vec<(String, usize, OutputSlot)>,
    /// Bytes per thread.
    pub slice_bytes: usize,
}

impl Kernel {
    /// Location of each register's last value.
    pub fn output(&self) -> Output {
        let mut slots = Vec::new();
        let mut at = 0usize;
        // Widest first, so that no slot needs padding.
        for (letter, bytes, slot) in [
            ('d', 8, OutputSlot::Bits),
            ('g', 8, OutputSlot::Double),
            ('r', 4, OutputSlot::Bits),
            ('f', 4, OutputSlot::Single),
            ('p', 4, OutputSlot::Bits),
            ('h', 2, OutputSlot::Bits),
        ] {
            for (name, _) in self.inits.iter().filter(|(name, _)| name[1..].starts_with(letter)) {
                slots.push((name.clone(), at, slot));
                at += bytes;
            }
        }
        // The word after them is for early returns.
        let end = at.next_multiple_of(4);
        Output { slots, slice_bytes: (end + 4).next_multiple_of(8) }
    }

    /// Offset of the word that early returns write.
    pub fn early_return_offset(&self) -> usize {
        let output = self.output();
        let last = output.slots.iter().map(|(name, at, _)| at + width(name)).max().unwrap_or(0);
        last.next_multiple_of(4)
    }

    /// The PTX module.
    pub fn ptx(&self) -> String {
        let mut body = String::new();
        print_all(&self.body, &mut body);
        let body = body.replace("@EARLY@", &self.early_return_offset().to_string());
        let mut text = String::new();
        self.header(&mut text, &body);
        self.declarations(&mut text, &body);
        self.preamble(&mut text, body.contains("%w"));
        text.push_str(&body);
        self.epilogue(&mut text, &body);
        text
    }

    fn header(&self, text: &mut String, body: &str) {
        let shared = self.block.iter().product::<u32>() as usize * SHARED_SLICE_BYTES;
        let _ = writeln!(
            text,
            ".version 9.0\n.target sm_{}\n.address_size 64\n",
            self.target.unwrap_or(NEWEST_TARGET)
        );
        *text +=
            ".global .align 8 .b8 g_table[64] = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,250,251,252,253};\n";
        *text +=
            ".const .align 8 .u32 c_table[16] = {3,1,4,1,5,9,2,6,0xFFFFFFFF,0x80000000,5,8,9,7,9,3};\n\n";
        functions::print(&self.functions, body, text);
        *text += ".visible .entry kernel(\n\t.param .u64 p_in,\n\t.param .u64 p_out,\n\t.param .u64 p_acc,\n";
        *text +=
            "\t.param .u64 p_scratch,\n\t.param .u32 p_word,\n\t.param .u16 p_half,\n\t.param .u64 p_long,\n";
        *text += "\t.param .f32 p_single,\n\t.param .f64 p_double\n)\n";
        let _ = writeln!(text, "{}\n{{", self.directives);
        if self.uses_shared {
            let _ = writeln!(text, "\t.shared .align 16 .b8 s_slices[{shared}];");
            let _ = writeln!(text, "\t.shared .align 8 .b8 s_acc[{ACCUMULATOR_BYTES}];");
        }
        if self.uses_local {
            let _ = writeln!(text, "\t.local .align 16 .b8 l_array[{LOCAL_BYTES}];");
        }
    }

    fn declarations(&self, text: &mut String, body: &str) {
        registers(text, self.pools, self.typed, body);
        *text += "\t.reg .b32 %tid_linear, %cta_linear, %gtid, %x0, %x1, %x2, %x3;\n";
        *text += "\t.reg .b64 %in, %inf, %ing, %out, %acc, %scratch, %own, %ownf, %owng, %y0;\n\t.reg .pred %px;\n";
    }

    /// `wide`: there are registers of 128 bits.
    fn preamble(&self, text: &mut String, wide: bool) {
        let slice = self.output().slice_bytes;
        *text += "\tld.param.u64 %in, [p_in];\n\tcvta.to.global.u64 %in, %in;\n";
        *text += "\tld.param.u64 %out, [p_out];\n\tcvta.to.global.u64 %out, %out;\n";
        *text += "\tld.param.u64 %acc, [p_acc];\n\tcvta.to.global.u64 %acc, %acc;\n";
        *text += "\tld.param.u64 %scratch, [p_scratch];\n\tcvta.to.global.u64 %scratch, %scratch;\n";
        *text += "\tmov.u32 %x0, %tid.x;\n\tmov.u32 %x1, %ntid.x;\n\tmov.u32 %x2, %tid.y;\n";
        *text += "\tmad.lo.s32 %tid_linear, %x2, %x1, %x0;\n\tmov.u32 %x3, %ntid.y;\n\tmul.lo.s32 %x1, %x1, %x3;\n";
        *text += "\tmov.u32 %x2, %tid.z;\n\tmad.lo.s32 %tid_linear, %x2, %x1, %tid_linear;\n";
        *text += "\tmov.u32 %x2, %ntid.z;\n\tmul.lo.s32 %x1, %x1, %x2;\n";
        *text += "\tmov.u32 %x0, %ctaid.x;\n\tmov.u32 %x2, %nctaid.x;\n\tmov.u32 %x3, %ctaid.y;\n";
        *text += "\tmad.lo.s32 %cta_linear, %x3, %x2, %x0;\n\tmov.u32 %x3, %nctaid.y;\n\tmul.lo.s32 %x2, %x2, %x3;\n";
        *text += "\tmov.u32 %x0, %ctaid.z;\n\tmad.lo.s32 %cta_linear, %x0, %x2, %cta_linear;\n";
        *text += "\tmad.lo.s32 %gtid, %cta_linear, %x1, %tid_linear;\n";
        let _ = writeln!(text, "\tmul.wide.u32 %y0, %gtid, {slice};\n\tadd.s64 %out, %out, %y0;");
        let _ =
            writeln!(text, "\tmul.wide.u32 %y0, %gtid, {SCRATCH_BYTES};\n\tadd.s64 %scratch, %scratch, %y0;");
        // Each thread starts from its own words of the three parts of the input.
        *text += "\tand.b32 %x0, %gtid, 127;\n\tmul.wide.u32 %y0, %x0, 24;\n\tadd.s64 %own, %in, %y0;\n";
        *text += "\tadd.s64 %inf, %in, 8192;\n\tadd.s64 %ownf, %own, 8192;\n";
        *text += "\tadd.s64 %ing, %in, 16384;\n\tadd.s64 %owng, %own, 16384;\n";
        for (_, init) in &self.inits {
            let _ = writeln!(text, "\t{init}");
        }
        if wide {
            *text += "\tmov.b128 %w0, {%d0, %d1};\n\tmov.b128 %w1, {%d1, %y0};\n";
        }
        if self.uses_local {
            for at in (0..LOCAL_BYTES).step_by(16) {
                let _ = writeln!(text, "\tst.local.v4.u32 [l_array+{at}], {{%x0, {at}, %gtid, -1}};");
            }
        }
        if self.uses_shared {
            *text += "\tmov.u32 %x1, s_slices;\n\tmad.lo.s32 %x1, %tid_linear, 64, %x1;\n";
            for at in (0..SHARED_SLICE_BYTES).step_by(8) {
                let _ = writeln!(text, "\tst.shared.v2.u32 [%x1+{at}], {{%gtid, {at}}};");
            }
            *text += "\tsetp.ne.u32 %px, %tid_linear, 0;\n\t@%px bra $shared_ready;\n";
            for at in (0..ACCUMULATOR_BYTES).step_by(8) {
                let _ = writeln!(text, "\tst.shared.u64 [s_acc+{at}], {};", at * 77);
            }
            *text += "$shared_ready:\n\tbar.sync 0;\n";
        }
    }

    fn epilogue(&self, text: &mut String, body: &str) {
        *text += "$exit:\n";
        let output = self.output();
        let mut dice = Dice::new(self.seed);
        let mut skip = false;
        for (at, (name, offset, slot)) in output.slots.iter().enumerate() {
            if std::mem::take(&mut skip) {
                continue;
            }
            let next = output.slots.get(at + 1);
            let pair = next.filter(|n| n.0.as_bytes()[1] == name.as_bytes()[1] && dice.chance(20));
            let size = width(name);
            let ty = match (name.as_bytes()[1], slot) {
                (b'p', _) => {
                    let _ = writeln!(
                        text,
                        "\tselp.u32 %x0, 1, 0, {name};\n\tst.global.u32 [%out+{offset}], %x0;"
                    );
                    continue;
                }
                (b'h', _) => "u16",
                (b'r', _) => "u32",
                (b'f', _) => "f32",
                (b'd', _) => "u64",
                _ => "f64",
            };
            match pair {
                Some((second, ..))
                    if offset.is_multiple_of(2 * size) && output.slice_bytes.is_multiple_of(2 * size) =>
                {
                    let _ = writeln!(text, "\tst.global.v2.{ty} [%out+{offset}], {{{name}, {second}}};");
                    skip = true;
                }
                _ => {
                    let _ = writeln!(text, "\tst.global.{ty} [%out+{offset}], {name};");
                }
            }
        }
        if self.uses_shared && body.contains("s_acc") {
            *text += "\tbar.sync 0;\n\tsetp.ne.u32 %px, %tid_linear, 0;\n\t@%px ret;\n";
            let _ = writeln!(text, "\tmad.wide.u32 %y0, %cta_linear, {ACCUMULATOR_BYTES}, %acc;");
            for at in (0..ACCUMULATOR_BYTES).step_by(4) {
                let there = ACCUMULATOR_BYTES + at;
                let _ =
                    writeln!(text, "\tld.shared.u32 %x0, [s_acc+{at}];\n\tst.global.u32 [%y0+{there}], %x0;");
            }
        }
        *text += "\tret;\n}\n";
    }
}

fn width(register: &str) -> usize {
    match register.as_bytes()[1] {
        b'h' => 2,
        b'd' | b'g' => 8,
        _ => 4,
    }
}
