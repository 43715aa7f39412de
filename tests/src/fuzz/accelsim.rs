//! Damaged text traces of Accel-Sim's tracer, of every version: fields, bytes and lines changed, lines left out or
//! repeated, texts cut off. Everything follows from a seed.

use super::Reached;
use crate::oracle::generate::Dice;
use std::fmt::Write;
use std::path::Path;
use trace_format::validate::{Progress, validate};
use warplab_accelsim::{ImportOptions, import};

/// Fields at which something happens.
const FIELDS: [&str; 24] = [
    "0",
    "1",
    "-1",
    "3",
    "31",
    "33",
    "255",
    "256",
    "R255",
    "R254",
    "R253",
    "P0",
    "UR4",
    "ffffffff",
    "00000000",
    "0x0",
    "0xffffffffffffffff",
    "ffffffffffffffffff",
    "-9223372036854775808",
    "18446744073709551615",
    "99999999999999999999",
    "LDG.E.128",
    "BAR.SYNC",
    "0xfffffffffffffff8",
];

/// Lines that begin or end something.
const LINES: [&str; 10] = [
    "#BEGIN_TB",
    "#END_TB",
    "thread block = 0,0,0",
    "thread block = 1,0,0",
    "warp = 0",
    "warp = 1",
    "insts = 3",
    "insts = 18446744073709551615",
    "",
    "-grid dim = (65535,65535,64)",
];

/// Instructions with registers and accesses of every kind: destinations, opcode, sources and memory.
const INSTRUCTIONS: [&str; 24] = [
    "1 R1 MOV 0 0",
    "1 R0 S2R 0 0",
    "1 R4 IMAD.WIDE 2 R6 R7 0",
    "1 R4 LDG.E.SYS 1 R4 4 1 0x7f0008000000 4",
    "1 R8 LDG.E.128.CONSTANT.SYS 1 R4 16 2 0x7f0008000000",
    "0 STG.E.64 2 R6 R8 8 1 0x7f0010000000 8",
    "1 R9 LD.E 1 R4 4 1 0x7f2000000010 4",
    "0 ST.E.U8 2 R4 R9 1 1 0x7f1ffe000000 -1",
    "1 R3 LDS.U.128 1 R2 16 1 0x0 16",
    "0 STS 2 R2 R3 4 1 0x40 4",
    "1 R5 LDL 1 R1 4 1 0xfffd40 0",
    "0 STL.64 2 R1 R6 8 1 0xfffd48 0",
    "1 R5 ATOMG.E.ADD.STRONG.GPU 2 R4 R5 4 1 0x7f0010000000 0",
    "0 RED.E.MAX.64 2 R4 R6 8 1 0x7f0010000100 8",
    "1 R5 ATOMS.ADD 2 R2 R5 4 1 0x80 0",
    "1 R2 LDC 1 R2 4 1 0x160 0",
    "1 R12 HMMA.16816.F32 3 R12 R8 R16 0",
    "1 R2 SHFL.IDX 3 R2 R3 R4 0",
    "0 BAR.SYNC 0 0",
    "1 R4 DFMA 3 R4 R6 R8 0",
    "1 R4 TEX.LZ 2 R4 R6 0",
    "1 R4 LDSM.16.M88.4 1 R4 4 1 0x100 16",
    "0 UIADD3 0 0",
    "1 R7 XYZZY.FOO 2 R7 R8 0",
];

/// The text of a seed.
#[must_use]
pub fn input(seed: u64) -> Vec<u8> {
    let mut dice = Dice::new(seed ^ 0x0ACC_E151);
    let text = whole(&mut dice);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..dice.below(4) {
        let at = dice.below(lines.len().max(1)).min(lines.len().saturating_sub(1));
        match dice.below(7) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[at].clone()),
            2 => lines.insert(at, dice.pick(&LINES).to_owned()),
            3 => {
                let other = dice.below(lines.len());
                lines.swap(at, other);
            }
            _ => {
                let mut fields: Vec<&str> = lines[at].split(' ').collect();
                let field = dice.below(fields.len());
                fields[field] = dice.pick(&FIELDS);
                lines[at] = fields.join(" ");
            }
        }
        if lines.is_empty() {
            break;
        }
    }
    let mut bytes = lines.join("\n").into_bytes();
    bytes.push(b'\n');
    if dice.below(8) == 0 {
        bytes.truncate(dice.below(bytes.len()));
    }
    if dice.below(8) == 0 && !bytes.is_empty() {
        let at = dice.below(bytes.len());
        bytes[at] ^= 1 << dice.below(8);
    }
    bytes
}

/// A sound text of some version: two blocks of two warps, which execute the same instructions.
fn whole(dice: &mut Dice) -> String {
    let version = 1 + dice.below(6);
    let line_info = version >= 4 && dice.below(3) == 0;
    let mut text = format!(
        "-kernel name = k\n-kernel id = 1\n-grid dim = (2,1,1)\n-block dim = (48,1,1)\n-shmem = 1024\n-nregs = 24\n\
         -binary version = {}\n-cuda stream id = 0\n-shmem base_addr = 0x00007f2000000000\n\
         -local mem base_addr = 0x00007f1ffe000000\n-accelsim tracer version = {version}\n-enable lineinfo = {}\n\
         #traces format = …\n",
        dice.pick(&[61, 70, 75, 86]),
        u8::from(line_info)
    );
    let code: Vec<&str> = (0..3 + dice.below(12)).map(|_| dice.pick(&INSTRUCTIONS)).collect();
    for block in 0..2 {
        let _ = write!(text, "#BEGIN_TB\nthread block = {block},0,0\n");
        for (warp, mask) in [(0, u32::MAX), (1, 0xFFFF)] {
            let _ = write!(text, "warp = {warp}\ninsts = {}\n", code.len() + 1);
            for (i, inst) in code.iter().chain(&["0 EXIT 0 0"]).enumerate() {
                let place = if version < 3 { format!("{block} 0 0 {warp} ") } else { String::new() };
                let line = if line_info { "7 " } else { "" };
                // Distances between the addresses of 32 or 16 lanes.
                let lanes = mask.count_ones() as usize;
                let tail = if inst.contains(" 2 0x") { " 16".repeat(lanes - 1) } else { String::new() };
                let immediate = if version >= 4 { " 0" } else { "" };
                let _ = writeln!(text, "{place}{line}{:04x} {mask:08x} {inst}{tail}{immediate}", i * 16);
            }
        }
        text += "#END_TB\n";
    }
    text
}

/// Imports any bytes as a kernel's trace into a folder; what is accepted is sound.
///
/// # Panics
/// Panics when a trace that was imported is unsound or has other instructions than the import says.
pub fn fuzz_import(bytes: &[u8], folder: &Path) -> Reached {
    let (list, kernel, to) =
        (folder.join("kernelslist.g"), folder.join("kernel-1.traceg"), folder.join("k.wtrace"));
    let written = std::fs::write(&list, "MemcpyHtoD,0x00007f0008000000,16384\nkernel-1.traceg\n")
        .and_then(|()| std::fs::write(&kernel, bytes));
    written.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    match import(&list, &to, &ImportOptions::default()) {
        Ok(done) => {
            let report = validate(&to, 1, &Progress::default()).unwrap_or_else(|why| panic!("{why}"));
            assert!(report.is_sound(), "{:?}", report.problems);
            assert_eq!(report.warp_instructions, done.warp_instructions);
            Reached::Finished
        }
        Err(why) => {
            let text = why.to_string();
            assert!(text.contains("kernel-1.traceg") && text.len() > 20, "{text}");
            Reached::Refused
        }
    }
}
