//! Integer instructions other than sums and products, compared with 128-bit arithmetic and bit-by-bit definitions:
//! packed halves, carries of every width, 24-bit products, dot products, bit fields and searches, permutes, funnel
//! shifts, selections and tests.

use crate::lower_kit;

use lower_kit::*;
use test_kit::Random;

/// Three arrays of words: all pairs of interesting ones, then random ones.
fn words() -> Vec<Vec<u32>> {
    let mut edges = INTS.to_vec();
    edges.extend([
        0x7FFF,
        0x7FFF_8000,
        0x8000_7FFF,
        0x8080_8080,
        0x7F7F_7F7F,
        0x80_0000,
        0x7F_FFFF,
        0x100_0000,
    ]);
    let mut random = Random::new(12);
    let mut arrays = vec![Vec::new(); 3];
    for &a in &edges {
        for &b in &edges {
            let c = edges[(random.bits() % edges.len() as u64) as usize];
            [a, b, c].iter().zip(&mut arrays).for_each(|(&x, array)| array.push(x));
        }
    }
    for _ in 0..1500 {
        arrays.iter_mut().for_each(|array| array.push(random.bits() as u32));
    }
    arrays
}

/// An instruction of up to three 32-bit operands against its reference.
fn check(body: &str, want: impl Fn(u32, u32, u32) -> u32) {
    let arrays = words();
    let text = if body.contains('%') { body.into() } else { format!("{body} %out, %in0, %in1, %in2;") };
    let got = apply(&elementwise(&["b32"; 3], "b32", &text), &arrays, arrays[0].len(), 1);
    for (i, &got) in got.iter().enumerate() {
        let (a, b, c) = (arrays[0][i], arrays[1][i], arrays[2][i]);
        assert_eq!(got, want(a, b, c), "{text} {a:#x}, {b:#x}, {c:#x}: {got:#x}");
    }
}

/// The same on 64-bit operands.
fn check64(body: &str, want: impl Fn(u64, u64, u64) -> u64) {
    let mut random = Random::new(13);
    let edges = longs();
    let mut arrays = vec![Vec::new(); 3];
    for &a in &edges {
        for &b in edges.iter().step_by(3) {
            let c = edges[(random.bits() % edges.len() as u64) as usize];
            [a, b, c].iter().zip(&mut arrays).for_each(|(&x, array)| array.push(x));
        }
    }
    for _ in 0..1000 {
        arrays.iter_mut().for_each(|array| array.push(random.bits()));
    }
    let text = if body.contains('%') { body.into() } else { format!("{body} %out, %in0, %in1, %in2;") };
    let inputs: Vec<Vec<u32>> = arrays.iter().map(|a| words64(a)).collect();
    let got = values64(&apply(&elementwise(&["b64"; 3], "b64", &text), &inputs, arrays[0].len(), 2));
    for (i, &got) in got.iter().enumerate() {
        let (a, b, c) = (arrays[0][i], arrays[1][i], arrays[2][i]);
        assert_eq!(got, want(a, b, c), "{text} {a:#x}, {b:#x}, {c:#x}: {got:#x}");
    }
}

fn by_halves(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    u32::from(f(a as u16, b as u16)) | u32::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16
}

#[test]
fn packed_halves() {
    let two = |op: &str| format!("{op} %out, %in0, %in1;");
    let signed = |f: fn(i16, i16) -> i16| {
        move |a: u32, b: u32, _: u32| by_halves(a, b, |x, y| f(x as i16, y as i16) as u16)
    };
    let unsigned = |f: fn(u16, u16) -> u16| move |a: u32, b: u32, _: u32| by_halves(a, b, f);
    check(&two("add.u16x2"), unsigned(u16::wrapping_add));
    check(&two("add.s16x2"), unsigned(u16::wrapping_add));
    check(&two("add.sat.s16x2"), signed(i16::saturating_add));
    check(&two("add.sat.u16x2"), unsigned(u16::saturating_add));
    check(&two("min.s16x2"), signed(i16::min));
    check(&two("max.u16x2"), unsigned(u16::max));
    check(&two("min.u16x2"), unsigned(u16::min));
    check(&two("max.s16x2"), signed(i16::max));
    check(&two("min.relu.s16x2"), signed(|x, y| x.min(y).max(0)));
    check(&two("max.relu.s32"), |a, b, _| (a as i32).max(b as i32).max(0) as u32);
    check(&two("min.relu.s32"), |a, b, _| (a as i32).min(b as i32).max(0) as u32);
}

#[test]
fn products_of_24_bits_and_saturated_ones() {
    let cut = |x: u32| i128::from(((x << 8) as i32) >> 8);
    let ucut = |x: u32| i128::from(x & 0xFF_FFFF);
    let sat = |v: i128| v.clamp(i32::MIN.into(), i32::MAX.into()) as u32;
    check("mul24.hi.s32 %out, %in0, %in1;", |a, b, _| ((cut(a) * cut(b)) >> 16) as u32);
    check("mul24.hi.u32 %out, %in0, %in1;", |a, b, _| ((ucut(a) * ucut(b)) >> 16) as u32);
    check("mul24.lo.u32 %out, %in0, %in1;", |a, b, _| (ucut(a) * ucut(b)) as u32);
    check("mad24.lo.s32", |a, b, c| (cut(a) * cut(b) + i128::from(c)) as u32);
    check("mad24.hi.u32", |a, b, c| (((ucut(a) * ucut(b)) >> 16) + i128::from(c)) as u32);
    check("mad24.hi.sat.s32", |a, b, c| {
        sat(i128::from(((cut(a) * cut(b)) >> 16) as i32) + i128::from(c as i32))
    });
    check("mad.hi.sat.s32", |a, b, c| {
        sat(((i128::from(a as i32) * i128::from(b as i32)) >> 32) + i128::from(c as i32))
    });
}

/// One carry flag serves additions and subtractions: `sub.cc` leaves the inverted borrow there, and `subc` adds the
/// flag to the complement, so that families may be mixed.
#[test]
fn additions_and_subtractions_share_one_carry_flag() {
    let firsts = ["add.cc", "sub.cc", "addc.cc", "subc.cc", "mad.lo.cc", "madc.hi.cc"];
    let lasts = ["addc", "subc", "madc.lo", "madc.hi", "subc.cc", "addc.cc", "madc.lo.cc"];
    // The result of an instruction of `bits` bits, and the flag that it leaves.
    fn step(op: &str, bits: u32, [a, b, c]: [u64; 3], flag: bool) -> (u64, bool) {
        let mask = u128::MAX >> (128 - bits);
        let [a, b, c] = [a, b, c].map(|x| u128::from(x) & mask);
        let into = if op.contains("addc") || op.contains("subc") || op.contains("madc") {
            u128::from(flag)
        } else {
            0
        };
        let sum = if op.starts_with("sub") {
            a + (!b & mask) + if op.starts_with("subc") { into } else { 1 }
        } else if op.starts_with("mad") {
            let product = if op.contains("hi") { (a * b) >> bits } else { (a * b) & mask };
            product + c + into
        } else {
            a + b + into
        };
        ((sum & mask) as u64, if op.contains(".cc") { sum > mask } else { flag })
    }
    for bits in [32, 64] {
        for first in firsts {
            for last in lasts {
                let operands = |op: &str, a, b, c| {
                    if op.starts_with("mad") { format!("{a}, {b}, {c}") } else { format!("{a}, {b}") }
                };
                let t = if bits == 32 { "%t" } else { "%d" };
                // Sets the flag, executes the pair, and reads the flag as a number.
                let body = format!(
                    "add.cc.u{bits} {t}0, %in0, %in2;\n{first}.u{bits} {t}1, {};\n{last}.u{bits} {t}2, {};\naddc.u{bits} {t}3, 0, 0;\n\
                     xor.b{bits} %out, {t}1, {t}2; shl.b{bits} {t}3, {t}3, 7; xor.b{bits} %out, %out, {t}3;",
                    operands(first, "%in0", "%in1", "%in2"),
                    operands(last, "%in2", "%in0", "%in1"),
                );
                let want = |a: u64, b: u64, c: u64| {
                    let (_, flag) = step("add.cc", bits, [a, c, 0], false);
                    let (x, flag) = step(first, bits, [a, b, c], flag);
                    let (y, flag) = step(last, bits, [c, a, b], flag);
                    x ^ y ^ u64::from(flag) << 7
                };
                if bits == 32 {
                    check(&body, |a, b, c| want(a.into(), b.into(), c.into()) as u32);
                } else {
                    check64(&body, want);
                }
            }
        }
    }
    // As measured on hardware.
    let known = |body: &str, want: u32| check(body, |_, _, _| want);
    known("sub.cc.u32 %t0, 1, 2; addc.u32 %out, 0, 0;", 0);
    known("sub.cc.u32 %t0, 2, 1; addc.u32 %out, 0, 0;", 1);
    known("add.cc.u32 %t0, 1, 2; subc.u32 %out, 0, 0;", u32::MAX);
    known("add.cc.u32 %t0, -1, 1; subc.u32 %out, 0, 0;", 0);
}

#[test]
fn carries_of_every_width() {
    // 128-bit sum and difference in 32-bit and in 64-bit limbs.
    let wide = |lo: u64, hi: u64| u128::from(lo) | u128::from(hi) << 64;
    let sum64 = |op: &str, last: &str| {
        format!("{op}.cc.u64 %d0, %in0, %in1; {last}.u64 %d1, %in2, %in0; xor.b64 %out, %d0, %d1;")
    };
    check64(&sum64("add", "addc"), |a, b, c| {
        let s = wide(a, c).wrapping_add(wide(b, a));
        s as u64 ^ (s >> 64) as u64
    });
    check64(&sum64("sub", "subc"), |a, b, c| {
        let s = wide(a, c).wrapping_sub(wide(b, a));
        s as u64 ^ (s >> 64) as u64
    });
    // The schoolbook product of two 64-bit numbers in 32-bit limbs, as compilers write it.
    let body = "{ .reg .b32 %a<2>, %b<2>, %r<4>; mov.b64 {%a0, %a1}, %in0; mov.b64 {%b0, %b1}, %in1; \
                mul.lo.u32 %r0, %a0, %b0; mul.hi.u32 %r1, %a0, %b0; mad.lo.cc.u32 %r1, %a0, %b1, %r1; \
                madc.hi.u32 %r2, %a0, %b1, 0; mad.lo.cc.u32 %r1, %a1, %b0, %r1; madc.hi.cc.u32 %r2, %a1, %b0, %r2; \
                addc.u32 %r3, 0, 0; mad.lo.cc.u32 %r2, %a1, %b1, %r2; madc.hi.u32 %r3, %a1, %b1, %r3; \
                mov.b64 %d0, {%r0, %r1}; mov.b64 %d1, {%r2, %r3}; xor.b64 %out, %d0, %d1; }";
    check64(body, |a, b, _| {
        let p = u128::from(a) * u128::from(b);
        p as u64 ^ (p >> 64) as u64
    });
    // 64-bit limbs: the low product carries into the high one.
    let body = "mad.lo.cc.u64 %d0, %in0, %in1, %in2; madc.hi.cc.u64 %d1, %in0, %in1, %in2; \
                addc.u64 %d2, 0, 0; xor.b64 %out, %d0, %d1; add.u64 %out, %out, %d2;";
    check64(body, |a, b, c| {
        let p = u128::from(a) * u128::from(b);
        let (low, carry) = (p as u64).overflowing_add(c);
        let high = (p >> 64) + u128::from(c) + u128::from(carry);
        (low ^ high as u64).wrapping_add((high >> 64) as u64)
    });
    check64("mad.hi.s64", |a, b, c| {
        ((i128::from(a as i64) * i128::from(b as i64)) >> 64).wrapping_add(c.into()) as u64
    });
}

fn byte(x: u32, i: u32, signed: bool) -> i128 {
    let b = (x >> (8 * i)) as u8;
    if signed { i128::from(b as i8) } else { i128::from(b) }
}

fn half(x: u32, i: u32, signed: bool) -> i128 {
    let h = (x >> (16 * i)) as u16;
    if signed { i128::from(h as i16) } else { i128::from(h) }
}

#[test]
fn dot_products() {
    for (a_ty, s) in [("u32", false), ("s32", true)] {
        for (b_ty, t) in [("u32", false), ("s32", true)] {
            check(&format!("dp4a.{a_ty}.{b_ty}"), |a, b, c| {
                (0..4).fold(i128::from(c), |sum, i| sum + byte(a, i, s) * byte(b, i, t)) as u32
            });
            for (mode, first) in [("lo", 0), ("hi", 2)] {
                check(&format!("dp2a.{mode}.{a_ty}.{b_ty}"), |a, b, c| {
                    (0..2).fold(i128::from(c), |sum, i| sum + half(a, i, s) * byte(b, first + i, t)) as u32
                });
            }
        }
    }
}

#[test]
fn sums_of_differences() {
    check("sad.u32", |a, b, c| a.abs_diff(b).wrapping_add(c));
    check("sad.s32", |a, b, c| (a as i32).abs_diff(b as i32).wrapping_add(c));
    check64("sad.u64", |a, b, c| a.abs_diff(b).wrapping_add(c));
    check64("sad.s64", |a, b, c| (a as i64).abs_diff(b as i64).wrapping_add(c));
    let narrow = |ty: &str| {
        format!(
            "{{ .reg .b16 %a, %b, %c, %z; mov.b32 {{%a, %z}}, %in0; mov.b32 {{%b, %z}}, %in1; \
             mov.b32 {{%c, %z}}, %in2; sad.{ty} %c, %a, %b, %c; cvt.u32.u16 %out, %c; }}"
        )
    };
    check(&narrow("u16"), |a, b, c| u32::from((a as u16).abs_diff(b as u16).wrapping_add(c as u16)));
    check(&narrow("s16"), |a, b, c| u32::from((a as i16).abs_diff(b as i16).wrapping_add(c as u16)));
}

/// The PTX ISA's pseudo-code.
fn nth_set(mask: u32, base: u32, offset: i32) -> u32 {
    let bit = |i: i64| (0..32).contains(&i) && mask >> i & 1 != 0;
    if offset == 0 {
        return if bit(base.into()) { base } else { u32::MAX };
    }
    let (mut at, step) = (i64::from(base), i64::from(offset.signum()));
    let mut count = i64::from(offset).abs() - 1;
    while (0..32).contains(&at) {
        if bit(at) {
            if count == 0 {
                return at as u32;
            }
            count -= 1;
        }
        at += step;
    }
    u32::MAX
}

#[test]
fn searches_for_bits() {
    let body =
        "and.b32 %t1, %in1, 31; cvt.s32.s8 %t2, %in2; shr.s32 %t2, %t2, 1; fns.b32 %out, %in0, %t1, %t2;";
    check(body, |a, b, c| nth_set(a, b & 31, i32::from(c as i8) >> 1));
    check("and.b32 %t1, %in1, 31; and.b32 %t2, %in2, 7; fns.b32 %out, %in0, %t1, %t2;", |a, b, c| {
        nth_set(a, b & 31, (c & 7) as i32)
    });
    // Leading bits of all widths: position, or shift amount.
    let top = |x: u64, width: u32| if x == 0 { u32::MAX } else { x.ilog2().min(width) };
    let flip32 = |a: u32| if (a as i32) < 0 { !a } else { a };
    let flip64 = |a: u64| if (a as i64) < 0 { !a } else { a };
    check("bfind.u32 %out, %in0;", |a, _, _| top(a.into(), 32));
    check("bfind.s32 %out, %in0;", |a, _, _| top(flip32(a).into(), 32));
    let shift = |p: u32, width: u32| if p == u32::MAX { p } else { width - 1 - p };
    check("bfind.shiftamt.u32 %out, %in0;", |a, _, _| shift(top(a.into(), 32), 32));
    check("bfind.shiftamt.s32 %out, %in0;", |a, _, _| shift(top(flip32(a).into(), 32), 32));
    let long = |op: &str| format!("{op} %t0, %in0; cvt.u64.u32 %out, %t0;");
    check64(&long("bfind.u64"), |a, _, _| top(a, 64).into());
    check64(&long("bfind.s64"), |a, _, _| top(flip64(a), 64).into());
    check64(&long("bfind.shiftamt.u64"), |a, _, _| shift(top(a, 64), 64).into());
    check64(&long("bfind.shiftamt.s64"), |a, _, _| shift(top(flip64(a), 64), 64).into());
    check64(&long("clz.b64"), |a, _, _| a.leading_zeros().into());
    check64(&long("popc.b64"), |a, _, _| a.count_ones().into());
    check64("brev.b64 %out, %in0;", |a, _, _| a.reverse_bits());
}

#[test]
fn masks_and_extensions() {
    let ones = |n: u32| if n > 31 { u32::MAX } else { (1 << n) - 1 };
    check("bmsk.clamp.b32 %out, %in0, %in1;", |a, b, _| ones(b).checked_shl(a).unwrap_or(0));
    check("bmsk.wrap.b32 %out, %in0, %in1;", |a, b, _| ones(b & 31) << (a & 31));
    let extend = |x: u32, n: u32, signed: bool| match n {
        0 => 0,
        1..=31 if signed => (((x << (32 - n)) as i32) >> (32 - n)) as u32,
        1..=31 => x & ((1 << n) - 1),
        _ => x,
    };
    check("szext.clamp.u32 %out, %in0, %in1;", |a, b, _| extend(a, b, false));
    check("szext.clamp.s32 %out, %in0, %in1;", |a, b, _| extend(a, b, true));
    check("szext.wrap.u32 %out, %in0, %in1;", |a, b, _| extend(a, b & 31, false));
    check("szext.wrap.s32 %out, %in0, %in1;", |a, b, _| extend(a, b & 31, true));
}

#[test]
fn permutes() {
    let pick = |a: u32, b: u32, i: u32| (u64::from(a) | u64::from(b) << 32) >> (8 * (i & 7)) & 0xFF;
    let gather = |a: u32, b: u32, f: &dyn Fn(u32) -> u32| {
        (0..4).fold(0, |d, i| d | (pick(a, b, f(i)) as u32) << (8 * i))
    };
    check("prmt.b32", |a, b, c| {
        (0..4).fold(0, |d, i| {
            let n = c >> (4 * i) & 15;
            let v = pick(a, b, n) as u32;
            let v = if n & 8 != 0 { if v & 0x80 != 0 { 0xFF } else { 0 } } else { v };
            d | v << (8 * i)
        })
    });
    check("prmt.b32.f4e", |a, b, c| gather(a, b, &|i| (c & 3) + i));
    check("prmt.b32.b4e", |a, b, c| gather(a, b, &|i| ((c & 3) + 8 - i) & 7));
    check("prmt.b32.rc8", |a, b, c| gather(a, b, &|_| c & 3));
    check("prmt.b32.ecl", |a, b, c| gather(a, b, &|i| i.max(c & 3)));
    check("prmt.b32.ecr", |a, b, c| gather(a, b, &|i| i.min(c & 3)));
    check("prmt.b32.rc16", |a, b, c| gather(a, b, &|i| (c & 1) * 2 + (i & 1)));
}

#[test]
fn funnels_and_logic() {
    let both = |a: u32, b: u32| u64::from(a) | u64::from(b) << 32;
    check("shf.l.clamp.b32", |a, b, c| (both(a, b) << c.min(32) >> 32) as u32);
    check("shf.l.wrap.b32", |a, b, c| (both(a, b) << (c & 31) >> 32) as u32);
    check("shf.r.clamp.b32", |a, b, c| (both(a, b) >> c.min(32)) as u32);
    check("shf.r.wrap.b32", |a, b, c| (both(a, b) >> (c & 31)) as u32);
    for lut in [0x00u32, 0x1E, 0x80, 0x96, 0xE8, 0xCA, 0xFF] {
        let f = move |a: u32, b: u32, c: u32| {
            (0..32)
                .fold(0, |d, i| d | (lut >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1) << i)
        };
        check(&format!("lop3.b32 %out, %in0, %in1, %in2, {lut};"), f);
        for (op, and) in [("or", false), ("and", true)] {
            let body = format!(
                "setp.lt.u32 %q1, %in0, %in1; lop3.{op}.b32 %t0|%q0, %in0, %in1, %in2, {lut}, %q1; \
                 selp.b32 %t1, 1, 0, %q0; xor.b32 %out, %t0, %t1;"
            );
            check(&body, move |a, b, c| {
                let (d, q) = (f(a, b, c), a < b);
                d ^ u32::from(if and { d != 0 && q } else { d != 0 || q })
            });
        }
    }
    check("cnot.b32 %out, %in0;", |a, _, _| u32::from(a == 0));
    check64("cnot.b64 %out, %in0;", |a, _, _| u64::from(a == 0));
}

#[test]
fn selections_by_sign() {
    check("slct.b32.s32", |a, b, c| if (c as i32) >= 0 { a } else { b });
    check("slct.u32.f32", |a, b, c| if f32::from_bits(c) >= 0.0 { a } else { b });
    check("slct.f32.f32", |a, b, c| if f32::from_bits(c) >= 0.0 { a } else { b });
    check("slct.ftz.s32.f32", |a, b, c| {
        let c = f32::from_bits(c);
        if c >= 0.0 || c.is_subnormal() { a } else { b }
    });
    check64("mov.b64 {%t0, %t1}, %in2; slct.b64.s32 %out, %in0, %in1, %t1;", |a, b, c| {
        if (c as i64) >= 0 { a } else { b }
    });
    check64("mov.b64 {%t0, %t1}, %in2; slct.f64.f32 %out, %in0, %in1, %t1;", |a, b, c| {
        if f32::from_bits((c >> 32) as u32) >= 0.0 { a } else { b }
    });
}

#[test]
fn classes_of_floats() {
    type Class32 = fn(f32) -> bool;
    let classes: [(&str, Class32); 6] = [
        ("finite", f32::is_finite),
        ("infinite", f32::is_infinite),
        ("number", |v| !v.is_nan()),
        ("notanumber", f32::is_nan),
        ("normal", |v| v.is_normal() || v == 0.0),
        ("subnormal", f32::is_subnormal),
    ];
    let values = floats();
    for (name, class) in classes {
        let body = format!("testp.{name}.f32 %q0, %in0; selp.u32 %out, 1, 0, %q0;");
        let got = apply(&elementwise(&["f32"], "u32", &body), std::slice::from_ref(&values), values.len(), 1);
        for (&x, &got) in values.iter().zip(&got) {
            assert_eq!(got != 0, class(f32::from_bits(x)), "testp.{name}.f32 {x:#x}");
        }
    }
    type Class64 = fn(f64) -> bool;
    let classes: [(&str, Class64); 6] = [
        ("finite", f64::is_finite),
        ("infinite", f64::is_infinite),
        ("number", |v| !v.is_nan()),
        ("notanumber", f64::is_nan),
        ("normal", |v| v.is_normal() || v == 0.0),
        ("subnormal", f64::is_subnormal),
    ];
    let values = doubles();
    for (name, class) in classes {
        let body = format!("testp.{name}.f64 %q0, %in0; selp.u32 %out, 1, 0, %q0;");
        let got = apply(&elementwise(&["f64"], "u32", &body), &[words64(&values)], values.len(), 1);
        for (&x, &got) in values.iter().zip(&got) {
            assert_eq!(got != 0, class(f64::from_bits(x)), "testp.{name}.f64 {x:#x}");
        }
    }
}

#[test]
fn wide_products() {
    let wide = |ty: &str| {
        format!("mul.wide.{ty} %d0, %in0, %in1; mov.b64 {{%t0, %t1}}, %d0; xor.b32 %out, %t0, %t1;")
    };
    let fold = |v: i128| v as u32 ^ (v >> 32) as u32;
    check(&wide("u32"), |a, b, _| fold(i128::from(a) * i128::from(b)));
    check(&wide("s32"), |a, b, _| fold(i128::from(a as i32) * i128::from(b as i32)));
    let short = |ty: &str| {
        format!(
            "{{ .reg .b16 %a, %b, %z; mov.b32 {{%a, %z}}, %in0; mov.b32 {{%b, %z}}, %in1; \
             mad.wide.{ty} %out, %a, %b, %in2; }}"
        )
    };
    check(&short("u16"), |a, b, c| ((a & 0xFFFF) * (b & 0xFFFF)).wrapping_add(c));
    check(&short("s16"), |a, b, c| (i32::from(a as i16) * i32::from(b as i16)).wrapping_add(c as i32) as u32);
    check64(
        "{ .reg .b128 %w; .reg .b64 %x, %y; mov.b128 %w, {%in0, %in1}; mov.b128 {%x, %y}, %w; sub.u64 %out, %x, %y; }",
        |a, b, _| a.wrapping_sub(b),
    );
}
