//! SASS opcodes to rows of the opcode table. A row of the same name is taken if there is one, with the modifiers on
//! which timing depends; other opcodes are taken for a row of the same unit and latency class, which imports report.

use std::collections::HashMap;
use std::sync::OnceLock;
use trace_format::isa::*;

/// How a row was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Taken {
    /// The row has the opcode's name.
    Same,
    /// The opcode is known, and the row's class comes closest.
    Like,
    /// The opcode is not known; its first letters decide.
    Guess,
}

/// Opcodes without a row of their own, by the row that they are taken for.
const LIKE: &[(&str, &[&str])] = &[
    ("FADD", &["FADD32I", "FSWZ", "FSWZADD"]),
    ("FMUL", &["FMUL32I"]),
    ("FFMA", &["FFMA32I"]),
    ("FMNMX", &["FMNMX3"]),
    ("MUFU", &["RRO"]),
    ("HADD2", &["HADD2_32I"]),
    ("HMUL2", &["HMUL2_32I"]),
    ("HFMA2", &["HFMA2_32I", "HFMA2_MMA"]),
    ("DSETP", &["DMNMX", "DSET"]),
    ("IADD3", &["IADD", "IADD2", "IADD32I", "VIADD", "VADD", "ISET", "ICMP"]),
    ("IMNMX", &["VIMNMX", "VIMNMX3", "VIADDMNMX", "VMNMX"]),
    ("IMAD", &["IMUL", "IMUL32I", "IMAD32I", "IMADSP", "XMAD", "VMAD", "IMMUL"]),
    ("IDP", &["IDP4A"]),
    ("LEA", &["ISCADD", "ISCADD32I"]),
    ("LOP3", &["LOP", "LOP32I"]),
    ("SHF.L", &["SHL", "VSHL"]),
    ("SHF.R", &["SHR", "BFE", "VSHR"]),
    ("PRMT", &["BFI"]),
    ("SEL", &["FSEL", "FCMP"]),
    // Moves between register files; a uniform register has no number in a trace.
    ("MOV", &["MOV32I", "R2UR", "P2R", "R2P", "LEPC", "UMOV", "ULDC", "LDCU", "QSPC", "B2R", "R2B"]),
    ("PLOP3", &["PSETP", "PSET", "CSET", "CSETP", "UPLOP3"]),
    // Writes a pair of registers.
    ("IMAD.WIDE", &["CS2R"]),
    ("S2R", &["S2UR", "CS2UR"]),
    ("I2F", &["I2FP", "UI2F", "UI2FP"]),
    ("F2I", &["F2IP", "UF2I"]),
    ("I2I", &["I2IP"]),
    ("FRND", &["UFRND"]),
    ("VOTE", &["VOTEU"]),
    ("REDUX", &["CREDUX"]),
    // The uniform data path, on which integer instructions have the latency of vector ones.
    (
        "IADD3",
        &[
            "UIADD3", "UISETP", "ULEA", "ULOP", "ULOP3", "USHF", "USHL", "USHR", "USEL", "UPRMT", "UP2UR",
            "UR2UP", "UPSETP", "UIMNMX", "UVIMNMX", "UBMSK", "USGXT", "USETP",
        ],
    ),
    ("IMAD", &["UIMAD"]),
    ("POPC", &["UPOPC"]),
    ("FLO", &["UFLO"]),
    ("BREV", &["UBREV"]),
    ("FFMA", &["UFFMA", "UFMUL", "UFADD", "UFSEL"]),
    ("FSETP", &["UFSETP"]),
    // Memory.
    ("LDG", &["LDGSTS", "LDGMC"]),
    ("ATOMG", &["ATOM"]),
    ("RED", &["REDG", "REDAS"]),
    ("SURED", &["SUATOM"]),
    ("TEX", &["TEXS", "TLD", "TLDS", "TLD4", "TLD4S", "TXD", "TMML", "TXA"]),
    ("LDSM.16.M88", &["LDSM"]),
    ("STSM.16.M88", &["STSM"]),
    ("MOVM.16.MT88", &["MOVM"]),
    ("HMMA", &["HGMMA", "QGMMA", "BGMMA", "UTCHMMA", "UTCQMMA"]),
    ("IMMA", &["IGMMA", "UTCIMMA"]),
    ("DMMA.884", &["DMMA"]),
    ("MEMBAR", &["FENCE"]),
    // Control.
    ("BRA", &["BRX", "BRXU", "JMP", "JMX", "JMXU", "BRK", "CONT", "LONGJMP"]),
    ("CALL", &["JCAL"]),
    ("EXIT", &["KILL", "PEXIT"]),
    (
        "NOP",
        &[
            "BSSY",
            "BSYNC",
            "BREAK",
            "BMOV",
            "YIELD",
            "SSY",
            "SYNC",
            "PBK",
            "PCNT",
            "PRET",
            "PLONGJMP",
            "RTT",
            "BPT",
            "DEPBAR",
            "LDGDEPBAR",
            "LDS_LDU",
            "ARRIVES",
            "PREEXIT",
            "ACQBULK",
            "ENDCOLLECTIVE",
            "WARPGROUP",
            "ELECT",
            "ERRBAR",
            "CGAERRBAR",
            "CCTL",
            "CCTLL",
            "CCTLT",
            "PMTRIG",
            "SETCTAID",
            "SETLMEMBASE",
            "GETLMEMBASE",
            "UCGABAR_ARV",
            "UCGABAR_WAIT",
            "USETMAXREG",
            "UTMALDG",
            "UTMASTG",
            "UTMAPF",
            "UTMAREDG",
            "UTMACCTL",
            "UTMACMDFLUSH",
            "UBLKCP",
            "UBLKPF",
            "UBLKRED",
            "UTCATOMSWS",
            "UTCBAR",
        ],
    ),
];

/// The first opcode of every row, by the row's mnemonic.
fn rows() -> &'static HashMap<&'static str, Op> {
    static ROWS: OnceLock<HashMap<&'static str, Op>> = OnceLock::new();
    ROWS.get_or_init(|| {
        let mut rows = HashMap::new();
        Op::samples(|op| {
            if op.number() < Op::FIRST_OF_MACHINE_CODE {
                rows.entry(op.info().mnemonic).or_insert(op);
            }
        });
        rows
    })
}

fn like(base: &str) -> Option<Op> {
    static LIKES: OnceLock<HashMap<&'static str, Op>> = OnceLock::new();
    let likes = LIKES.get_or_init(|| {
        let of = |&(row, names): &(&'static str, &'static [&'static str])| {
            names.iter().map(move |name| (*name, rows()[row]))
        };
        LIKE.iter().flat_map(of).collect()
    });
    likes.get(base).copied()
}

/// The row for an opcode as a trace writes it, e.g. `LDG.E.64.SYS`.
pub(crate) fn row_of(opcode: &str, has_addresses: bool, has_result: bool) -> (Op, Taken) {
    let tokens: Vec<&str> = opcode.split('.').filter(|token| !token.is_empty()).collect();
    let Some(&base) = tokens.first() else { return (Op::Nop {}, Taken::Guess) };
    let (op, taken) = match named(&tokens) {
        Some(op) => (op, Taken::Same),
        None => match like(base) {
            Some(op) => (op, Taken::Like),
            None => (guess(base), Taken::Guess),
        },
    };
    let op = modified(op, &tokens);
    if has_addresses && !op.info().kind.is_memory() {
        let row = if has_result { rows()["LDG"] } else { rows()["STG"] };
        return (modified(row, &tokens), Taken::Guess);
    }
    (op, taken)
}

/// The row whose mnemonic is the longest beginning of an opcode.
fn named(tokens: &[&str]) -> Option<Op> {
    // A fault would end the kernel in a replay, and the trace goes on.
    if tokens[0] == "BPT" {
        return None;
    }
    (1..=tokens.len().min(3)).rev().find_map(|n| rows().get(tokens[..n].join(".").as_str()).copied())
}

/// By the first letters, as NVIDIA names its instructions.
fn guess(base: &str) -> Op {
    let row = match base {
        _ if base.contains("MMA") => "HMMA",
        _ if base.starts_with("LD") => "LDG",
        _ if base.starts_with("ST") => "STG",
        _ if base.starts_with("ATOM") => "ATOMG",
        _ if base.starts_with("RED") => "RED",
        _ if base.starts_with("TLD") || base.starts_with("TEX") => "TEX",
        _ if base.starts_with("F2") => "F2F",
        _ if base.starts_with("U") || base.starts_with("B") => "NOP",
        _ if base.starts_with("F") => "FADD",
        _ if base.starts_with("D") => "DADD",
        _ if base.starts_with("H") => "HADD2",
        _ => "IADD3",
    };
    rows()[row]
}

/// Sets a modifier if one of an opcode's tokens is its suffix.
fn with<M: Modifier>(op: Op, tokens: &[&str]) -> Op {
    let named = |value: &&M| value.suffix().strip_prefix('.').is_some_and(|suffix| tokens.contains(&suffix));
    let value = M::VALUES.iter().find(named);
    value.and_then(|value| op.with(*value)).unwrap_or(op)
}

/// The modifiers on which unit, latency, width, space or the way past L1 depend.
fn modified(op: Op, all: &[&str]) -> Op {
    let tokens = &all[1..];
    let has = |token: &str| tokens.contains(&token);
    let op = match op {
        Op::F2f { rnd, ftz, sat, .. } => {
            let mut types = tokens.iter().filter_map(|token| of_suffix::<FloatTy>(token));
            let dst = types.next().unwrap_or(FloatTy::F32);
            Op::F2f { dst, src: types.next().unwrap_or(FloatTy::F32), rnd, ftz, sat }
        }
        Op::I2f { rnd, .. } => Op::I2f {
            dst: first(tokens).unwrap_or(FloatTy::F32),
            src: first(tokens).unwrap_or(IntTy::S32),
            rnd,
        },
        Op::F2i { rnd, ftz, .. } => Op::F2i {
            dst: first(tokens).unwrap_or(IntTy::S32),
            src: first(tokens).unwrap_or(FloatTy::F32),
            rnd,
            ftz,
        },
        Op::Frnd { rnd, ftz, sat, .. } => {
            Op::Frnd { ty: first(tokens).unwrap_or(FloatTy::F32), rnd, ftz, sat }
        }
        Op::Bar { .. } => Op::Bar {
            mode: match () {
                () if has("ARV") => BarMode::Arrive,
                () if has("RED") && has("POPC") => BarMode::RedPopc,
                () if has("RED") && has("OR") => BarMode::RedOr,
                () if has("RED") => BarMode::RedAnd,
                () => BarMode::Sync,
            },
        },
        // The default of a product is the newest shape.
        Op::Hmma { ty, sat, .. } => {
            with::<AccTy>(Op::Hmma { shape: HmmaShape::S16816, ty, acc: AccTy::F32, sat }, tokens)
        }
        Op::Imma { shape, sat, .. } => {
            let element = first(tokens).unwrap_or(IntElement::U8);
            Op::Imma { shape, a: element, b: element, sat }
        }
        // Texture fetches give one register of their results, and no words.
        Op::Tex { .. } => op.with(TexWords::X).unwrap_or(op),
        // Of a special register from outside nothing is recorded here.
        Op::S2r { .. } => Op::S2r { sr: SpecialReg::LaneId },
        Op::Atomg { .. } if all[0] == "ATOM" || has("GENERIC") => op.with(AddrMode::Generic).unwrap_or(op),
        Op::Red { .. } if has("GENERIC") => op.with(AddrMode::Generic).unwrap_or(op),
        _ => op,
    };
    // An access without a width moves a word.
    let op = with::<MemWidth>(op.with(MemWidth::B32).unwrap_or(op), tokens);
    let op = with::<AtomTy>(with::<AtomOp>(op, tokens), tokens);
    let op = if has("CAST") { op.with(AtomOp::Cas).unwrap_or(op) } else { op };
    let op = with::<HmmaTy>(with::<HmmaShape>(op, tokens), tokens);
    let op = with::<MatrixCount>(with::<ImmaShape>(op, tokens), tokens);
    let op = with::<MufuFn>(with::<ShflMode>(op, tokens), tokens);
    let op = if has("U64") || has("64") { op.with(Wide(true)).unwrap_or(op) } else { op };
    let op = if has("CONSTANT") { op.with(ReadOnly(true)).unwrap_or(op) } else { op };
    // Accesses that the whole GPU has to see pass L1 by.
    let strong = has("STRONG") && !has("CTA") && !has("SM");
    if strong { op.with(MemOrder::Strong).unwrap_or(op) } else { op }
}

fn of_suffix<M: Modifier>(token: &str) -> Option<M> {
    M::VALUES.iter().find(|value| value.suffix().strip_prefix('.') == Some(token)).copied()
}

fn first<M: Modifier>(tokens: &[&str]) -> Option<M> {
    tokens.iter().find_map(|token| of_suffix(token))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::isa::space::Space;

    fn row(opcode: &str) -> (&'static str, Taken) {
        let (op, taken) = row_of(opcode, false, true);
        (op.info().mnemonic, taken)
    }

    #[test]
    fn every_name_in_the_list_is_taken_for_a_row_that_exists_and_has_no_row_itself() {
        for (row, names) in LIKE {
            assert!(rows().contains_key(row), "{row}");
            for name in *names {
                assert!(row_of(name, false, true).1 == Taken::Like, "{name} has a row");
            }
        }
    }

    #[test]
    fn rows_of_the_same_name_come_first_and_the_longest_name_wins() {
        assert_eq!(row("IMAD.WIDE.U32"), ("IMAD.WIDE", Taken::Same));
        assert_eq!(row("IMAD.MOV.U32"), ("IMAD", Taken::Same));
        assert_eq!(row("SHF.R.S32.HI"), ("SHF.R", Taken::Same));
        assert_eq!(row("LDSM.16.M88.4"), ("LDSM.16.M88", Taken::Same));
        assert_eq!(row("VIADD"), ("IADD3", Taken::Like));
        assert_eq!(row("XYZZY.U8"), ("IADD3", Taken::Guess));
        assert_eq!(row_of("XYZZY", true, false).0.info().mnemonic, "STG");
    }

    #[test]
    fn modifiers_that_timing_depends_on_are_kept() {
        let info = |opcode| row_of(opcode, true, true).0.info();
        let bytes = |opcode| info(opcode).memory.expect("memory").bytes();
        assert_eq!((bytes("LDG.E.SYS"), bytes("STS"), bytes("ATOMG.E.ADD"), bytes("LDC")), (4, 4, 4, 4));
        assert_eq!(info("LDG.E.128.CONSTANT.SYS").dst_regs, 4);
        assert!(info("LDG.E.CONSTANT").memory.expect("memory").read_only);
        assert_eq!(info("LDG.E.U8.SYS").memory.expect("memory").bytes(), 1);
        assert_eq!(info("LDS.U.128").memory.expect("memory").bytes(), 16);
        let order = |opcode| info(opcode).memory.expect("memory").order;
        assert_eq!((order("LDG.E.STRONG.GPU"), order("LDG.E.SYS")), (MemOrder::Strong, MemOrder::Weak));
        assert_eq!(info("ATOM.E.ADD").kind, Kind::Atomic(Space::Generic));
        assert_eq!(info("ATOMG.E.CAS.64.STRONG.GPU").src_regs, [2, 2, 2]);
        let pure = |opcode| row_of(opcode, false, true).0.info();
        assert_eq!((pure("F2F.F64.F32").unit, pure("F2F.F16.F32").unit), (Unit::Fp64, Unit::Sfu));
        assert_eq!((pure("I2F.F64").dst_regs, pure("F2I.S64.F64.TRUNC").src_regs[0]), (2, 2));
        assert_eq!((pure("HMMA.16816.F32").src_regs, pure("HMMA.1688.F16").dst_regs), ([4, 2, 4], 2));
    }
}
