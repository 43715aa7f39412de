//! Resolved instructions to typed ones.
//!
//! [`decode`] finds the instruction's handler by its opcode; the handlers, grouped by kind in the files
//! beside this one, take modifiers and operands from a [`Decoder`], which reports unused ones. Modifiers may
//! be in any order except for types, which are taken in order. That PTX has the instruction, [`forms`](super::forms) has
//! checked before; what cannot be decoded is not emulated, and gives one diagnostic that names the instruction, the
//! modifier or operand, and its position.

mod arith;
mod convert;
mod cursor;
mod logic;
mod matrix;
mod memory;
mod movement;
mod raw;
mod sync;
mod texture;
mod transfer;
mod video;

pub(super) use raw::{RawInst, Signatures};

use super::inst::Inst;
use super::module::Register;
use super::op::Op;
use super::op_data::VideoKind;
use super::types::ScalarType;
use cursor::Decoder;
use raw::Decode;

/// Decodes one instruction.
pub(super) fn decode(
    raw: RawInst<'_, '_>,
    text: &str,
    registers: &[Register],
    signatures: &Signatures<'_>,
) -> Decode<Inst> {
    let (guard, span, loc) = (raw.guard, raw.span, raw.loc);
    let mut decoder = Decoder::new(raw, text, registers, signatures)?;
    let op = match dispatch(&mut decoder) {
        Ok(op) => op,
        Err(error) => return Err(decoder.blame(error)),
    };
    let (operands, dst_count) = decoder.finish()?;
    let mut inst = Inst::from_operands(guard, op, operands, dst_count, span);
    inst.loc = loc;
    Ok(inst)
}

/// Instructions that exist in PTX and are not emulated: newer than the machines modelled, or tied to
/// hardware that they do not have.
const KNOWN_UNSUPPORTED: &[&str] = &["wgmma", "tcgen05", "multimem", "clusterlaunchcontrol", "tensormap"];

fn dispatch(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    match d.opcode() {
        "add" | "addc" => arith::add(d).map(Op::Add),
        "sub" | "subc" => arith::add(d).map(Op::Sub),
        "mul" => arith::mul(d),
        "mad" | "madc" => arith::mad(d),
        "fma" => arith::fma(d),
        "mul24" => arith::mul24(d),
        "mad24" => arith::mad24(d),
        "sad" => d.uniform(arith::INT, 3).map(Op::Sad),
        "div" => arith::div(d),
        "rem" => d.uniform(arith::INT, 2).map(Op::Rem),
        "abs" | "neg" => arith::sign(d),
        "min" => arith::min_max(d).map(Op::Min),
        "max" => arith::min_max(d).map(Op::Max),
        "rcp" => arith::root(d).map(Op::Rcp),
        "sqrt" => arith::root(d).map(Op::Sqrt),
        "rsqrt" => arith::root(d).map(Op::Rsqrt),
        "sin" | "cos" | "lg2" | "ex2" | "tanh" => arith::transcendental(d),
        "testp" => arith::testp(d),
        "copysign" => d.uniform(&[ScalarType::F32, ScalarType::F64], 2).map(Op::Copysign),
        "popc" | "clz" | "bfind" | "brev" => logic::bit_count(d),
        "fns" => logic::fns(d),
        "bfe" | "bfi" => logic::bit_field(d),
        "bmsk" | "szext" => logic::mask(d),
        "dp4a" | "dp2a" => logic::dot_product(d),
        "set" => logic::set(d),
        "setp" => logic::setp(d),
        "selp" => logic::selp(d),
        "slct" => logic::slct(d),
        "and" => d.uniform(logic::BITS_OR_PRED, 2).map(Op::And),
        "or" => d.uniform(logic::BITS_OR_PRED, 2).map(Op::Or),
        "xor" => d.uniform(logic::BITS_OR_PRED, 2).map(Op::Xor),
        "not" => d.uniform(logic::BITS_OR_PRED, 1).map(Op::Not),
        "cnot" => d.uniform(&logic::BITS_OR_PRED[1..], 1).map(Op::Cnot),
        "lop3" => logic::lop3(d),
        "shf" => logic::funnel_shift(d),
        "shl" | "shr" => logic::shift(d),
        "mov" => movement::mov(d),
        "cvt" => convert::cvt(d),
        "cvta" => movement::cvta(d),
        "isspacep" => movement::isspacep(d),
        "prmt" => movement::prmt(d),
        "mapa" | "getctarank" => movement::cluster_address(d),
        "ld" | "ldu" => memory::ld(d),
        "st" => memory::st(d),
        "atom" => memory::atomic(d, true).map(Op::Atom),
        "red" => memory::atomic(d, false).map(Op::Red),
        "prefetch" | "prefetchu" => memory::prefetch(d),
        "discard" | "applypriority" => memory::cache_hint(d),
        "createpolicy" => memory::createpolicy(d),
        "cp" => memory::cp(d),
        "tex" | "tld4" => texture::tex(d),
        "txq" | "suq" => texture::query(d),
        "istypep" => texture::istypep(d),
        "suld" | "sust" | "sured" => texture::surface(d),
        "bra" | "brx" | "call" | "ret" | "exit" | "trap" | "brkpt" => transfer::control(d),
        "nanosleep" | "pmevent" | "alloca" | "stacksave" | "stackrestore" | "setmaxnreg"
        | "griddepcontrol" => transfer::miscellaneous(d),
        "bar" | "barrier" => sync::barrier(d),
        "membar" | "fence" => sync::fence(d),
        "vote" => sync::vote(d),
        "shfl" => sync::shfl(d),
        "match" => sync::match_lanes(d),
        "activemask" => sync::activemask(d),
        "redux" => sync::redux(d),
        "elect" => sync::elect(d),
        "mbarrier" => sync::mbarrier(d),
        "wmma" => matrix::wmma(d),
        "mma" => matrix::mma(d),
        "ldmatrix" | "stmatrix" => matrix::matrix_memory(d),
        "movmatrix" => matrix::movmatrix(d),
        other => match VideoKind::from_keyword(other) {
            Some(kind) => video::video(d, kind).map(Op::Video),
            None if KNOWN_UNSUPPORTED.contains(&other) => {
                Err(d.whole("is not supported", "compile for an older target, such as sm_75"))
            }
            None => Err(d.whole("is not supported", "use another instruction")),
        },
    }
}
