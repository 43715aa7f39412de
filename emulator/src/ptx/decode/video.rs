//! Scalar and SIMD video instructions, in one generic form.

use super::super::inst::Operand;
use super::super::op_data::{VideoKind, VideoLanes, VideoOp, VideoSecond, VideoSelector};
use super::super::resolve::{Arg, ArgKind};
use super::super::types::{Comparison, ScalarType as T, ShiftMode};
use super::cursor::{Decoder, Width};
use super::raw::Decode;

/// Lanes of a SIMD form: 2, 4, or 1 for the scalar ones.
fn lane_count(kind: VideoKind) -> u8 {
    match kind.as_str().as_bytes().last() {
        Some(b'2') => 2,
        Some(b'4') => 4,
        _ => 1,
    }
}

/// An operand's register, the part of it that is meant, and whether it is negated.
struct Part<'a> {
    operand: Operand,
    part: Option<&'a str>,
    negated: bool,
}

pub(super) fn video(d: &mut Decoder<'_, '_>, kind: VideoKind) -> Decode<VideoOp> {
    let lanes = lane_count(kind);
    let compares = matches!(kind, VideoKind::Vset | VideoKind::Vset2 | VideoKind::Vset4);
    let comparison = if compares { Some(d.need("a comparison", Comparison::from_keyword)?) } else { None };
    let types = &[T::U32, T::S32];
    let dst_ty = if compares { T::U32 } else { d.ty(types)? };
    let (a_ty, b_ty) = (d.ty(types)?, d.ty(types)?);
    let shifts = matches!(kind, VideoKind::Vshl | VideoKind::Vshr);
    let shift_mode =
        if shifts { Some(d.need("`.clamp` or `.wrap`", ShiftMode::from_keyword)?) } else { None };
    let multiplies = kind == VideoKind::Vmad;
    let plus_one = multiplies && d.flag("po");
    let scale = if multiplies { scale(d) } else { 0 };
    let sat = !compares && d.flag("sat");
    let second = if multiplies { VideoSecond::Add } else { second_operation(d, lanes) };
    let mut op = VideoOp {
        kind,
        dst_ty,
        a_ty,
        b_ty,
        sat,
        second,
        a_part: None,
        b_part: None,
        shift_mode,
        comparison,
        scale,
        plus_one,
        negate: [false; 3],
        lanes: default_lanes(lanes),
    };
    operands(d, &mut op, lanes)?;
    Ok(op)
}

/// `.shr7`, `.shr15`.
fn scale(d: &mut Decoder<'_, '_>) -> u8 {
    let scale = d.take(|word| match word {
        "shr7" => Some(7),
        "shr15" => Some(15),
        _ => None,
    });
    scale.unwrap_or(0)
}

fn second_operation(d: &mut Decoder<'_, '_>, lanes: u8) -> VideoSecond {
    let second = d.take(|word| match word {
        "add" => Some(VideoSecond::Add),
        "min" if lanes == 1 => Some(VideoSecond::Min),
        "max" if lanes == 1 => Some(VideoSecond::Max),
        _ => None,
    });
    second.unwrap_or(VideoSecond::None)
}

/// Each lane from its own place, all written.
fn default_lanes(lanes: u8) -> VideoLanes {
    VideoLanes { mask: (1 << lanes) - 1, a: [0, 1, 2, 3], b: [lanes, lanes + 1, lanes + 2, lanes + 3] }
}

/// Destination, `a`, `b` and, where the form has it, `c`.
fn operands(d: &mut Decoder<'_, '_>, op: &mut VideoOp, lanes: u8) -> Decode<()> {
    let dst = next_part(d)?;
    let (Operand::Reg(_) | Operand::Sink) = dst.operand else {
        return Err(d.whole("writes a register", "give one as its first operand"));
    };
    let a = next_part(d)?;
    let b = next_part(d)?;
    op.negate = [a.negated, b.negated, false];
    if lanes == 1 {
        op.a_part = selector(d, a.part)?;
        op.b_part = selector(d, b.part)?;
        if let Some(part) = selector(d, dst.part)? {
            op.second = VideoSecond::Merge(part);
        }
    } else {
        op.lanes.mask = lane_mask(d, dst.part, lanes)?.unwrap_or(op.lanes.mask);
        op.lanes.a = lane_choice(d, a.part, lanes)?.unwrap_or(op.lanes.a);
        op.lanes.b = lane_choice(d, b.part, lanes)?.unwrap_or(op.lanes.b);
    }
    d.push_dst(dst.operand);
    d.push_src(a.operand);
    d.push_src(b.operand);
    if op.second != VideoSecond::None || d.remaining() > 0 {
        let c = next_part(d)?;
        if c.part.is_some() {
            return Err(d.whole("takes `c` whole", "drop its selector"));
        }
        op.negate[2] = c.negated;
        d.push_src(c.operand);
    }
    if op.negate != [false; 3] && op.kind != VideoKind::Vmad {
        return Err(d.whole("negates nothing", "only vmad takes `-a`"));
    }
    Ok(())
}

fn next_part<'a>(d: &mut Decoder<'a, '_>) -> Decode<Part<'a>> {
    let arg = d.next()?;
    let (reg, part, negated) = match arg.kind {
        ArgKind::Part(reg, part, negated) => (reg, Some(part), negated),
        ArgKind::NegReg(reg) => (reg, None, true),
        _ => {
            let operand = match arg.kind {
                ArgKind::Sink => Operand::Sink,
                _ => d.src_operand(&arg, T::B32, Width::Exact)?,
            };
            return Ok(Part { operand, part: None, negated: false });
        }
    };
    let whole = Arg { kind: ArgKind::Reg(reg), span: arg.span };
    let operand = d.src_operand(&whole, T::B32, Width::Exact)?;
    Ok(Part { operand, part, negated })
}

fn selector(d: &Decoder<'_, '_>, part: Option<&str>) -> Decode<Option<VideoSelector>> {
    let Some(part) = part else { return Ok(None) };
    match VideoSelector::from_keyword(part) {
        Some(selector) => Ok(Some(selector)),
        None => Err(d.whole(&format!("has no part `.{part}`"), "parts are .b0 to .b3, .h0 and .h1")),
    }
}

/// `.h10`, `.b3210`: the digits behind the letter, which must be `h` for two lanes and `b` for four.
fn lane_digits<'a>(d: &Decoder<'_, '_>, part: &'a str, lanes: u8) -> Decode<&'a [u8]> {
    let letter = if lanes == 2 { 'h' } else { 'b' };
    let digits = part.strip_prefix(letter).unwrap_or("");
    if digits.is_empty()
        || digits.len() > usize::from(lanes)
        || !digits.bytes().all(|byte| byte.is_ascii_digit())
    {
        let help = format!("lanes are named like `.{}`", if lanes == 2 { "h10" } else { "b3210" });
        return Err(d.whole(&format!("has no lanes `.{part}`"), &help));
    }
    Ok(digits.as_bytes())
}

fn lane_mask(d: &Decoder<'_, '_>, part: Option<&str>, lanes: u8) -> Decode<Option<u8>> {
    let Some(part) = part else { return Ok(None) };
    let mut mask = 0;
    for digit in lane_digits(d, part, lanes)? {
        let lane = digit - b'0';
        if lane >= lanes {
            return Err(d.whole(&format!("has no lane {lane}"), "count lanes from 0"));
        }
        mask |= 1 << lane;
    }
    Ok(Some(mask))
}

fn lane_choice(d: &Decoder<'_, '_>, part: Option<&str>, lanes: u8) -> Decode<Option<[u8; 4]>> {
    let Some(part) = part else { return Ok(None) };
    let digits = lane_digits(d, part, lanes)?;
    if digits.len() != usize::from(lanes) {
        return Err(d.whole(&format!("chooses {lanes} lanes"), "name one source lane for each"));
    }
    let mut choice = [0; 4];
    // Written from the highest lane down.
    for (lane, digit) in digits.iter().rev().enumerate() {
        choice[lane] = digit - b'0';
        if choice[lane] >= 2 * lanes {
            return Err(d.whole(
                &format!("has no source lane {}", choice[lane]),
                "`a` and `b` have so many together",
            ));
        }
    }
    Ok(Some(choice))
}
