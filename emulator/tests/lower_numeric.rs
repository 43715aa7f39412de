//! Arithmetic that takes several instructions (division, roots, 64-bit integers, bit fields), compared with
//! Rust's own on boundary values and random operands.

use crate::lower_kit;

use lower_kit::*;
use test_kit::Random;

/// All pairs of boundary values, then random ones.
fn pairs<T: Copy>(edges: &[T], random: impl FnMut() -> (T, T), extra: usize) -> (Vec<T>, Vec<T>) {
    let all = edges.iter().flat_map(|&a| edges.iter().map(move |&b| (a, b)));
    all.chain(std::iter::repeat_with(random).take(extra)).unzip()
}

fn u32_pairs() -> (Vec<u32>, Vec<u32>) {
    let mut r = Random::new(1);
    // Random bits cut to random lengths, so that quotients of every size occur.
    pairs(
        &INTS,
        || {
            let x = r.bits();
            let y = r.bits();
            ((x as u32) >> (x >> 59), (y as u32) >> (y >> 59))
        },
        3000,
    )
}

fn u64_pairs() -> (Vec<u64>, Vec<u64>) {
    let mut r = Random::new(2);
    pairs(
        &longs(),
        || {
            let (x, y, s) = (r.bits(), r.bits(), r.bits());
            (x >> (s & 63), y >> (s >> 8 & 63))
        },
        3000,
    )
}

fn check32(name: &str, ty: &str, want: impl Fn(u32, u32) -> u32) {
    let (a, b) = u32_pairs();
    let text = elementwise(&[ty, ty], ty, &format!("{name} %out, %in0, %in1;"));
    let got = apply(&text, &[a.clone(), b.clone()], a.len(), 1);
    for i in 0..a.len() {
        assert_eq!(got[i], want(a[i], b[i]), "{name} {:#x}, {:#x}", a[i], b[i]);
    }
}

fn check64(name: &str, ty: &str, want: impl Fn(u64, u64) -> u64) {
    let (a, b) = u64_pairs();
    let text = elementwise(&[ty, ty], ty, &format!("{name} %out, %in0, %in1;"));
    let got = values64(&apply(&text, &[words64(&a), words64(&b)], a.len(), 2));
    for i in 0..a.len() {
        assert_eq!(got[i], want(a[i], b[i]), "{name} {:#x}, {:#x}", a[i], b[i]);
    }
}

#[test]
fn division_of_32_bit_integers() {
    check32("div.u32", "u32", |a, b| a.checked_div(b).unwrap_or(u32::MAX));
    check32("rem.u32", "u32", |a, b| a.checked_rem(b).unwrap_or(u32::MAX));
    check32(
        "div.s32",
        "s32",
        |a, b| if b == 0 { u32::MAX } else { (a as i32).wrapping_div(b as i32) as u32 },
    );
    check32(
        "rem.s32",
        "s32",
        |a, b| if b == 0 { u32::MAX } else { (a as i32).wrapping_rem(b as i32) as u32 },
    );
}

#[test]
fn division_of_64_bit_integers() {
    check64("div.u64", "u64", |a, b| a.checked_div(b).unwrap_or(u64::MAX));
    check64("rem.u64", "u64", |a, b| a.checked_rem(b).unwrap_or(u64::MAX));
    check64(
        "div.s64",
        "s64",
        |a, b| if b == 0 { u64::MAX } else { (a as i64).wrapping_div(b as i64) as u64 },
    );
    check64(
        "rem.s64",
        "s64",
        |a, b| if b == 0 { u64::MAX } else { (a as i64).wrapping_rem(b as i64) as u64 },
    );
}

#[test]
fn sums_products_and_extremes_of_integers() {
    check64("add.u64", "u64", u64::wrapping_add);
    check64("sub.s64", "s64", u64::wrapping_sub);
    check64("mul.lo.u64", "u64", u64::wrapping_mul);
    check64("mul.hi.u64", "u64", |a, b| ((u128::from(a) * u128::from(b)) >> 64) as u64);
    check64("mul.hi.s64", "s64", |a, b| ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64);
    check64("min.s64", "s64", |a, b| (a as i64).min(b as i64) as u64);
    check64("max.u64", "u64", u64::max);
    check64("and.b64", "b64", |a, b| a & b);
    check64("xor.b64", "b64", |a, b| a ^ b);
    check32("mul.hi.s32", "s32", |a, b| ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32);
    check32("mul24.lo.s32", "s32", |a, b| {
        let cut = |x: u32| ((x << 8) as i32) >> 8;
        cut(a).wrapping_mul(cut(b)) as u32
    });
    check32("add.sat.s32", "s32", |a, b| (a as i32).saturating_add(b as i32) as u32);
    check32("sub.sat.s32", "s32", |a, b| (a as i32).saturating_sub(b as i32) as u32);
    check32("min.u32", "u32", u32::min);
}

#[test]
fn comparisons_of_64_bit_integers() {
    for (op, ty, want) in [
        ("lt.s64", "s64", (|a, b| (a as i64) < b as i64) as fn(u64, u64) -> bool),
        ("ge.u64", "u64", |a, b| a >= b),
        ("gt.u64", "u64", |a, b| a > b),
        ("le.s64", "s64", |a, b| a as i64 <= b as i64),
        ("eq.b64", "b64", |a, b| a == b),
        ("ne.s64", "s64", |a, b| a != b),
    ] {
        let (a, b) = u64_pairs();
        let body = format!("setp.{op} %q0, %in0, %in1; selp.u32 %out, 1, 0, %q0;");
        let got = apply(&elementwise(&[ty, ty], "u32", &body), &[words64(&a), words64(&b)], a.len(), 1);
        for i in 0..a.len() {
            assert_eq!(got[i] != 0, want(a[i], b[i]), "setp.{op} {:#x}, {:#x}", a[i], b[i]);
        }
    }
}

#[test]
fn shifts_of_any_amount() {
    let amounts: Vec<u32> = vec![0, 1, 15, 31, 32, 33, 47, 63, 64, 65, 1000, u32::MAX];
    let values = longs();
    let (v, n): (Vec<u64>, Vec<u32>) =
        values.iter().flat_map(|&v| amounts.iter().map(move |&n| (v, n))).unzip();
    type Want = fn(u64, u32) -> u64;
    for (op, ty, want) in [
        ("shl.b64", "b64", (|v, n| v.checked_shl(n).unwrap_or(0)) as Want),
        ("shr.u64", "u64", |v, n| v.checked_shr(n).unwrap_or(0)),
        ("shr.s64", "s64", |v, n| ((v as i64) >> n.min(63)) as u64),
    ] {
        let text = elementwise(&[ty, "u32"], ty, &format!("{op} %out, %in0, %in1;"));
        let got = values64(&apply(&text, &[words64(&v), n.clone()], v.len(), 2));
        for i in 0..v.len() {
            assert_eq!(got[i], want(v[i], n[i]), "{op} {:#x}, {}", v[i], n[i]);
        }
        // Constant amounts are lowered differently.
        for &k in &amounts {
            let text = elementwise(&[ty], ty, &format!("{op} %out, %in0, {k};"));
            let got = values64(&apply(&text, &[words64(&values)], values.len(), 2));
            for (g, &v) in got.iter().zip(&values) {
                assert_eq!(*g, want(v, k), "{op} {v:#x}, {k}");
            }
        }
    }
}

fn bfe(v: u64, pos: u32, len: u32, width: u32, signed: bool) -> u64 {
    // The PTX ISA's pseudo-code.
    let msb = width - 1;
    let (pos, len) = (pos & 0xFF, len & 0xFF);
    let bit = |i: u32| v >> i & 1;
    let sign = if !signed || len == 0 { 0 } else { bit((pos + len - 1).min(msb)) };
    (0..=msb).fold(0, |d, i| d | (if i < len && pos + i <= msb { bit(pos + i) } else { sign }) << i)
}

fn bfi(a: u64, b: u64, pos: u32, len: u32, width: u32) -> u64 {
    let (pos, len) = (pos & 0xFF, len & 0xFF);
    (0..len).take_while(|i| pos + i < width).fold(b, |f, i| f & !(1 << (pos + i)) | (a >> i & 1) << (pos + i))
}

#[test]
fn bit_fields() {
    let places: Vec<(u32, u32)> = [0, 1, 5, 31, 32, 33, 63, 64, 200, 255, 256]
        .iter()
        .flat_map(|&p| [0, 1, 7, 31, 32, 33, 63, 64, 100, 255, 257].map(|l| (p, l)))
        .collect();
    let mut r = Random::new(5);
    let values: Vec<(u64, u64)> = places.iter().map(|_| (r.bits(), r.bits())).collect();
    let (pos, len): (Vec<u32>, Vec<u32>) = places.iter().copied().unzip();
    let (a, b): (Vec<u64>, Vec<u64>) = values.iter().copied().unzip();
    let low = |v: &[u64]| v.iter().map(|x| *x as u32).collect::<Vec<u32>>();
    for signed in [false, true] {
        let s = if signed { "s" } else { "u" };
        let t32 = format!("{s}32");
        let text = elementwise(&[&t32, "u32", "u32"], &t32, &format!("bfe.{s}32 %out, %in0, %in1, %in2;"));
        let got = apply(&text, &[low(&a), pos.clone(), len.clone()], a.len(), 1);
        let t64 = format!("{s}64");
        let text = elementwise(&[&t64, "u32", "u32"], &t64, &format!("bfe.{s}64 %out, %in0, %in1, %in2;"));
        let got64 = values64(&apply(&text, &[words64(&a), pos.clone(), len.clone()], a.len(), 2));
        for i in 0..a.len() {
            let at = (a[i], pos[i], len[i]);
            assert_eq!(
                u64::from(got[i]),
                bfe(a[i] & 0xFFFF_FFFF, pos[i], len[i], 32, signed),
                "bfe.{s}32 {at:x?}"
            );
            assert_eq!(got64[i], bfe(a[i], pos[i], len[i], 64, signed), "bfe.{s}64 {at:x?}");
        }
    }
    let text = elementwise(&["b32", "b32", "u32", "u32"], "b32", "bfi.b32 %out, %in0, %in1, %in2, %in3;");
    let got = apply(&text, &[low(&a), low(&b), pos.clone(), len.clone()], a.len(), 1);
    let text = elementwise(&["b64", "b64", "u32", "u32"], "b64", "bfi.b64 %out, %in0, %in1, %in2, %in3;");
    let got64 = values64(&apply(&text, &[words64(&a), words64(&b), pos.clone(), len.clone()], a.len(), 2));
    for i in 0..a.len() {
        let at = (a[i], b[i], pos[i], len[i]);
        let narrow = bfi(a[i] & 0xFFFF_FFFF, b[i] & 0xFFFF_FFFF, pos[i], len[i], 32);
        assert_eq!(u64::from(got[i]), narrow, "bfi.b32 {at:x?}");
        assert_eq!(got64[i], bfi(a[i], b[i], pos[i], len[i], 64), "bfi.b64 {at:x?}");
    }
}

#[test]
fn counting_and_finding_bits() {
    let v = longs();
    type Want = fn(u64) -> u32;
    for (op, want) in [
        ("clz.b64", (|x| x.leading_zeros()) as Want),
        ("popc.b64", |x| x.count_ones()),
        ("bfind.u64", |x| 63u32.wrapping_sub(x.leading_zeros())),
        ("bfind.s64", |x| 63u32.wrapping_sub((if (x as i64) < 0 { !x } else { x }).leading_zeros())),
    ] {
        let ty = if op.starts_with("bfind") { &op[6..] } else { "b64" };
        let got = apply(&elementwise(&[ty], "u32", &format!("{op} %out, %in0;")), &[words64(&v)], v.len(), 1);
        for (g, &x) in got.iter().zip(&v) {
            assert_eq!(*g, want(x), "{op} {x:#x}");
        }
    }
    let got = apply(&elementwise(&["b32"], "u32", "clz.b32 %out, %in0;"), &[INTS.to_vec()], INTS.len(), 1);
    assert_eq!(got, INTS.map(u32::leading_zeros));
}

#[test]
fn carry_chains() {
    // A 96-bit sum and difference, of which the middle words are kept.
    let (a, b) = u64_pairs();
    let body = "mov.b64 {%t0, %t1}, %in0; mov.b64 {%t2, %t3}, %in1;
        add.cc.u32 %t4, %t0, %t2; addc.cc.u32 %t5, %t1, %t3; addc.u32 %t6, 0, 0;
        sub.cc.u32 %t7, %t0, %t2; subc.cc.u32 %t8, %t1, %t3; subc.u32 %t9, 0, 0;
        xor.b32 %t5, %t5, %t8; xor.b32 %t6, %t6, %t9; mov.b64 %out, {%t5, %t6};";
    let got =
        values64(&apply(&elementwise(&["b64", "b64"], "b64", body), &[words64(&a), words64(&b)], a.len(), 2));
    for i in 0..a.len() {
        let sum = u128::from(a[i]) + u128::from(b[i]);
        let difference = u128::from(a[i]).wrapping_sub(u128::from(b[i]));
        assert_eq!(got[i], (sum >> 32) as u64 ^ (difference >> 32) as u64, "{:#x} {:#x}", a[i], b[i]);
    }
}

/// Whether two results are the same number, or both NaN.
fn same32(a: u32, b: u32) -> bool {
    a == b || (f32::from_bits(a).is_nan() && f32::from_bits(b).is_nan())
}

fn same64(a: u64, b: u64) -> bool {
    a == b || (f64::from_bits(a).is_nan() && f64::from_bits(b).is_nan())
}

fn float_pairs() -> (Vec<u32>, Vec<u32>) {
    let mut r = Random::new(3);
    let (mut a, mut b) = pairs(&floats(), || (r.bits() as u32, r.bits() as u32), 20_000);
    // Quotients around the smallest normal number and below, where rounding is hardest.
    for _ in 0..20_000 {
        let (x, y) = (r.bits(), r.bits());
        let eb = 130 + (x >> 40) as u32 % 100;
        let ea = eb.saturating_sub(120 + (y >> 40) as u32 % 40);
        a.push(ea << 23 | (x as u32 & 0x807F_FFFF));
        b.push(eb << 23 | (y as u32 & 0x807F_FFFF));
    }
    // Quotients of normal numbers next to the middle of two: a 2^k = b m + r with an odd m of 25 bits.
    for i in 0..40_000u64 {
        let divisor = r.bits() >> 40 | 1 << 23 | 1;
        let (k, rest) = (24 + i % 2, [1i64, -1, 3, -3][i as usize / 2 % 4]);
        let inverse = (0..5).fold(divisor, |x, _| x.wrapping_mul(2u64.wrapping_sub(divisor.wrapping_mul(x))));
        let middle = inverse.wrapping_mul(rest.wrapping_neg() as u64) & ((1 << k) - 1) | (1 << 24);
        let dividend = (divisor * middle).wrapping_add_signed(rest) >> k;
        if (1 << 23..1 << 24).contains(&dividend) {
            a.push((dividend as f32).to_bits());
            b.push((divisor as f32).to_bits());
        }
    }
    (a, b)
}

#[test]
fn flushing_division_and_roots_have_no_subnormal_numbers() {
    let (a, b) = float_pairs();
    let flush = |x: u32| f32::from_bits(if x & 0x7F80_0000 == 0 { x & 0x8000_0000 } else { x });
    type Function = fn(f32, f32) -> f32;
    let cases: [(&str, Function); 3] = [
        ("div.rn.ftz.f32 %out, %in0, %in1;", |a, b| a / b),
        ("rcp.rn.ftz.f32 %out, %in0;", |a, _| 1.0 / a),
        ("sqrt.rn.ftz.f32 %out, %in0;", |a, _| a.sqrt()),
    ];
    for (body, want) in cases {
        let got = apply(&elementwise(&["f32", "f32"], "f32", body), &[a.clone(), b.clone()], a.len(), 1);
        for i in 0..a.len() {
            let want = flush(want(flush(a[i]), flush(b[i])).to_bits()).to_bits();
            assert!(same32(got[i], want), "{body} {:#x} {:#x}: {:#x}, want {want:#x}", a[i], b[i], got[i]);
        }
    }
}

#[test]
fn single_precision_division_is_exact() {
    let (a, b) = float_pairs();
    let text = elementwise(&["f32", "f32"], "f32", "div.rn.f32 %out, %in0, %in1;");
    let got = apply(&text, &[a.clone(), b.clone()], a.len(), 1);
    for i in 0..a.len() {
        let want = (f32::from_bits(a[i]) / f32::from_bits(b[i])).to_bits();
        assert!(same32(got[i], want), "{:#x} / {:#x} = {:#x}, want {want:#x}", a[i], b[i], got[i]);
    }
}

#[test]
fn directed_single_precision_division_is_exact() {
    use rustc_apfloat::{Float, Round, ieee::Single};
    let (a, b) = float_pairs();
    for (name, round) in
        [("rz", Round::TowardZero), ("rm", Round::TowardNegative), ("rp", Round::TowardPositive)]
    {
        let text = elementwise(&["f32", "f32"], "f32", &format!("div.{name}.f32 %out, %in0, %in1;"));
        let got = apply(&text, &[a.clone(), b.clone()], a.len(), 1);
        for i in 0..a.len() {
            let x = Single::from_bits(u128::from(a[i]));
            let want = x.div_r(Single::from_bits(u128::from(b[i])), round).value.to_bits() as u32;
            assert!(same32(got[i], want), "{:#x} /{name} {:#x} = {:#x}, want {want:#x}", a[i], b[i], got[i]);
        }
    }
}

#[test]
fn single_precision_reciprocal_and_root_are_exact() {
    let mut r = Random::new(4);
    let mut x = floats();
    x.extend(std::iter::repeat_with(|| r.bits() as u32).take(60_000));
    let rcp = apply(&elementwise(&["f32"], "f32", "rcp.rn.f32 %out, %in0;"), &[x.clone()], x.len(), 1);
    let sqrt = apply(&elementwise(&["f32"], "f32", "sqrt.rn.f32 %out, %in0;"), &[x.clone()], x.len(), 1);
    for i in 0..x.len() {
        let v = f32::from_bits(x[i]);
        assert!(same32(rcp[i], (1.0 / v).to_bits()), "1 / {:#x} = {:#x}", x[i], rcp[i]);
        assert!(same32(sqrt[i], v.sqrt().to_bits()), "sqrt {:#x} = {:#x}", x[i], sqrt[i]);
    }
    for (name, up) in [("rp", true), ("rm", false)] {
        let text = elementwise(&["f32"], "f32", &format!("sqrt.{name}.f32 %out, %in0;"));
        let got = apply(&text, &[x.clone()], x.len(), 1);
        for i in 0..x.len() {
            // The double root is exact, or strictly between two single-precision numbers.
            let root = f64::from(f32::from_bits(x[i])).sqrt();
            let near = root as f32;
            let want = match (f64::from(near) < root, f64::from(near) > root) {
                (true, _) if up => near.next_up(),
                (_, true) if !up => near.next_down(),
                _ => near,
            };
            assert!(same32(got[i], want.to_bits()), "sqrt.{name} {:#x} = {:#x}", x[i], got[i]);
        }
    }
}

#[test]
fn flushing_division_and_roots() {
    let flush = |x: u32| if x & 0x7F80_0000 == 0 { x & 0x8000_0000 } else { x };
    let (a, b) = float_pairs();
    let div = elementwise(&["f32", "f32"], "f32", "div.rn.ftz.f32 %out, %in0, %in1;");
    let got = apply(&div, &[a.clone(), b.clone()], a.len(), 1);
    let sqrt = apply(
        &elementwise(&["f32"], "f32", "sqrt.rn.ftz.f32 %out, %in0;"),
        std::slice::from_ref(&a),
        a.len(),
        1,
    );
    for i in 0..a.len() {
        let (x, y) = (f32::from_bits(flush(a[i])), f32::from_bits(flush(b[i])));
        let want = flush((x / y).to_bits());
        assert!(same32(got[i], want), "{:#x} / {:#x} = {:#x}, want {want:#x}", a[i], b[i], got[i]);
        assert!(same32(sqrt[i], flush(x.sqrt().to_bits())), "sqrt {:#x} = {:#x}", a[i], sqrt[i]);
    }
}

fn double_pairs() -> (Vec<u64>, Vec<u64>) {
    let mut r = Random::new(6);
    let (mut a, mut b) = pairs(&doubles(), || (r.bits(), r.bits()), 10_000);
    for _ in 0..10_000 {
        let (x, y) = (r.bits(), r.bits());
        let eb = 1030 + (x >> 53) % 900;
        let ea = eb.saturating_sub(1015 + (y >> 53) % 80);
        let bits = 0x800F_FFFF_FFFF_FFFF;
        a.push(ea << 52 | x & bits);
        b.push(eb << 52 | y & bits);
    }
    (a, b)
}

#[test]
fn double_precision_division_is_exact() {
    use rustc_apfloat::{Float, Round, ieee::Double};
    let (a, b) = double_pairs();
    for (name, round) in [
        ("rn", Round::NearestTiesToEven),
        ("rz", Round::TowardZero),
        ("rm", Round::TowardNegative),
        ("rp", Round::TowardPositive),
    ] {
        let text = elementwise(&["f64", "f64"], "f64", &format!("div.{name}.f64 %out, %in0, %in1;"));
        let got = values64(&apply(&text, &[words64(&a), words64(&b)], a.len(), 2));
        for i in 0..a.len() {
            let want = if name == "rn" {
                (f64::from_bits(a[i]) / f64::from_bits(b[i])).to_bits()
            } else {
                let x = Double::from_bits(u128::from(a[i]));
                x.div_r(Double::from_bits(u128::from(b[i])), round).value.to_bits() as u64
            };
            assert!(same64(got[i], want), "{:#x} /{name} {:#x} = {:#x}, want {want:#x}", a[i], b[i], got[i]);
        }
    }
}

#[test]
fn double_precision_reciprocal_and_root_are_exact() {
    let mut r = Random::new(7);
    let mut x = doubles();
    x.extend(std::iter::repeat_with(|| r.bits()).take(30_000));
    // Mantissas of all ones are the hardest reciprocals; squares and their neighbours the hardest roots.
    x.extend((1..2046u64).step_by(5).map(|e| e << 52 | 0x000F_FFFF_FFFF_FFFF));
    for _ in 0..5000 {
        let root = (1.0 + (r.bits() >> 12) as f64 / 2f64.powi(52)).to_bits() & !0x3FF_FFFF;
        let square = (f64::from_bits(root) * f64::from_bits(root)).to_bits();
        x.extend([square - 1, square, square + 1]);
    }
    let rcp = elementwise(&["f64"], "f64", "rcp.rn.f64 %out, %in0;");
    let rcp = values64(&apply(&rcp, &[words64(&x)], x.len(), 2));
    let sqrt = elementwise(&["f64"], "f64", "sqrt.rn.f64 %out, %in0;");
    let sqrt = values64(&apply(&sqrt, &[words64(&x)], x.len(), 2));
    for i in 0..x.len() {
        let v = f64::from_bits(x[i]);
        assert!(same64(rcp[i], (1.0 / v).to_bits()), "1 / {:#x} = {:#x}", x[i], rcp[i]);
        assert!(
            same64(sqrt[i], v.sqrt().to_bits()),
            "sqrt {:#x} = {:#x}, want {:#x}",
            x[i],
            sqrt[i],
            v.sqrt().to_bits()
        );
    }
}

#[test]
fn double_precision_extremes() {
    let (a, b) = pairs(&doubles(), || (0, 0), 0);
    for (op, max) in [("min.f64", false), ("max.f64", true)] {
        let text = elementwise(&["f64", "f64"], "f64", &format!("{op} %out, %in0, %in1;"));
        let got = values64(&apply(&text, &[words64(&a), words64(&b)], a.len(), 2));
        for i in 0..a.len() {
            let (x, y) = (f64::from_bits(a[i]), f64::from_bits(b[i]));
            // -0 is below +0; of a number and NaN the result is the number.
            let first = match (x.is_nan(), y.is_nan()) {
                (true, _) => false,
                (_, true) => true,
                _ => (x.total_cmp(&y) == std::cmp::Ordering::Less) != max,
            };
            let want = if first { a[i] } else { b[i] };
            assert!(same64(got[i], want), "{op} {:#x}, {:#x} = {:#x}", a[i], b[i], got[i]);
        }
    }
}

#[test]
fn approximations_keep_their_bounds() {
    let mut r = Random::new(8);
    let mut x: Vec<u32> = (1..254u32).flat_map(|e| [e << 23, e << 23 | 0x0055_5555]).collect();
    x.extend([1, 5, 0x0001_2345, 0x007F_FFFF]);
    x.extend(std::iter::repeat_with(|| r.bits() as u32 & 0x7F7F_FFFF).take(4000));
    type Want = fn(f64) -> f64;
    for (op, want) in [
        ("rcp.approx.f32", (|v| 1.0 / v) as Want),
        ("sqrt.approx.f32", f64::sqrt),
        ("rsqrt.approx.f32", |v| 1.0 / v.sqrt()),
        ("lg2.approx.f32", f64::log2),
    ] {
        let got =
            apply(&elementwise(&["f32"], "f32", &format!("{op} %out, %in0;")), &[x.clone()], x.len(), 1);
        for (g, &bits) in got.iter().zip(&x) {
            let want = want(f64::from(f32::from_bits(bits)));
            let have = f64::from(f32::from_bits(*g));
            let close = (have - want).abs() <= want.abs() * 2f64.powi(-21) + 2f64.powi(-22);
            let inf = have.is_infinite() && want.abs() > f64::from(f32::MAX) * 0.999_999;
            assert!(close || inf, "{op} {bits:#x} = {have}, want {want}");
        }
    }
    let e: Vec<u32> = (-1500..1300).map(|i| (i as f32 / 10.0).to_bits()).collect();
    let got = apply(
        &elementwise(&["f32"], "f32", "ex2.approx.f32 %out, %in0;"),
        std::slice::from_ref(&e),
        e.len(),
        1,
    );
    for (g, &bits) in got.iter().zip(&e) {
        let want = f64::from(f32::from_bits(bits)).exp2();
        let have = f64::from(f32::from_bits(*g));
        let close = (have - want).abs() <= want * 2f64.powi(-21) + 2f64.powi(-149);
        assert!(
            close || (have.is_infinite() && want > f64::from(f32::MAX)),
            "2^{} = {have}, want {want}",
            f32::from_bits(bits)
        );
    }
}
