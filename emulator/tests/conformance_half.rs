//! Half-precision arithmetic in every form, scalar and packed, against soft-float arithmetic of the same
//! formats (`rustc_apfloat`) and the `half` crate's comparisons, on boundary values and random operands.

use crate::lower_kit;

use lower_kit::*;
use rustc_apfloat::ieee::{BFloat, Half};
use rustc_apfloat::{Float, Round};
use test_kit::Random;

/// A 16-bit format and its reference.
trait Reference {
    const NAME: &'static str;
    const ONE: u16;
    const INFINITY: u16;
    fn add(a: u16, b: u16) -> u16;
    fn mul(a: u16, b: u16) -> u16;
    fn fma(a: u16, b: u16, c: u16) -> u16;
    fn value(a: u16) -> f64;
    fn nearest(v: f64) -> u16;
}

struct F16;
struct Bf16;

const NEAREST: Round = Round::NearestTiesToEven;

macro_rules! reference {
    ($name:ident, $text:literal, $soft:ident, $half:ty, $one:literal, $infinity:literal) => {
        impl Reference for $name {
            const NAME: &'static str = $text;
            const ONE: u16 = $one;
            const INFINITY: u16 = $infinity;
            fn add(a: u16, b: u16) -> u16 {
                let r = $soft::from_bits(a.into()).add_r($soft::from_bits(b.into()), NEAREST).value;
                if r.is_nan() { 0x7FFF } else { r.to_bits() as u16 }
            }
            fn mul(a: u16, b: u16) -> u16 {
                let r = $soft::from_bits(a.into()).mul_r($soft::from_bits(b.into()), NEAREST).value;
                if r.is_nan() { 0x7FFF } else { r.to_bits() as u16 }
            }
            fn fma(a: u16, b: u16, c: u16) -> u16 {
                let [a, b, c] = [a, b, c].map(|x| $soft::from_bits(x.into()));
                let r = a.mul_add_r(b, c, NEAREST).value;
                if r.is_nan() { 0x7FFF } else { r.to_bits() as u16 }
            }
            fn value(a: u16) -> f64 {
                <$half>::from_bits(a).to_f64()
            }
            fn nearest(v: f64) -> u16 {
                <$half>::from_f64(v).to_bits()
            }
        }
    };
}
reference!(F16, "f16", Half, half::f16, 0x3C00, 0x7C00);
reference!(Bf16, "bf16", BFloat, half::bf16, 0x3F80, 0x7F80);

fn is_nan<R: Reference>(x: u16) -> bool {
    x & 0x7FFF > R::INFINITY
}

fn flushed<R: Reference>(x: u16) -> u16 {
    if x & R::INFINITY == 0 { x & 0x8000 } else { x }
}

fn saturated<R: Reference>(x: u16) -> u16 {
    match R::value(x) {
        v if v >= 1.0 => R::ONE,
        v if v > 0.0 => x,
        _ => 0,
    }
}

fn edges<R: Reference>() -> Vec<u16> {
    let least_normal = R::INFINITY & R::INFINITY.wrapping_neg();
    let positive = [
        0,
        1,
        2,
        least_normal - 1,
        least_normal,
        least_normal + 1,
        R::ONE - 1,
        R::ONE,
        R::ONE + 1,
        R::ONE + least_normal,
        R::INFINITY - 1,
        R::INFINITY - least_normal,
        R::INFINITY,
        R::INFINITY + 1,
        0x7FFF,
        0x1234,
        0x5A5A,
    ];
    positive.iter().flat_map(|&x| [x, x | 0x8000]).collect()
}

/// `n` arrays of packed operands: all pairs of edges in the first two, random bits and near values.
fn operands<R: Reference>(n: usize, seed: u64) -> Vec<Vec<u32>> {
    let edges = edges::<R>();
    let mut random = Random::new(seed);
    let mut halves: Vec<Vec<u16>> = vec![Vec::new(); n];
    for &a in &edges {
        for &b in &edges {
            let c = edges[(random.bits() % edges.len() as u64) as usize];
            [a, b, c].iter().zip(&mut halves).for_each(|(&x, array)| array.push(x));
        }
    }
    for i in 0..6000 {
        let bits = random.bits();
        // Exponents near one another, so that results are rounded.
        let near = |k: u32| R::ONE.wrapping_add((bits >> (16 * k)) as u16 & 0x8FFF).wrapping_sub(0x0800);
        for (k, array) in halves.iter_mut().enumerate() {
            array.push(if i % 2 == 0 { (bits >> (16 * k)) as u16 } else { near(k as u32) });
        }
    }
    halves.iter().map(|a| a.chunks(2).map(|p| u32::from(p[0]) | u32::from(p[1]) << 16).collect()).collect()
}

/// Kernel text for an operation on packed words, or on the two halves one by one.
fn text(op: &str, n: usize, packed: bool) -> String {
    let args = |prefix: &str| (0..n).map(|i| format!(", %{prefix}{i}")).collect::<String>();
    let body = if packed {
        format!("{op} %out{};", args("in"))
    } else {
        let unpack: String = (0..n).map(|i| format!("mov.b32 {{%x{i}, %y{i}}}, %in{i}; ")).collect();
        format!(
            "{{ .reg .b16 %x<4>, %y<4>, %r<2>; {unpack} {op} %r0{}; {op} %r1{}; mov.b32 %out, {{%r0, %r1}}; }}",
            args("x"),
            args("y")
        )
    };
    elementwise(&vec!["b32"; n], "b32", &body)
}

/// Runs `op` scalar and packed and compares every half; `%` in `op` stands for the type.
fn check<R: Reference>(op: &str, n: usize, want: impl Fn(&[u16]) -> u16) {
    let inputs = operands::<R>(n, op.len() as u64);
    for packed in [false, true] {
        let ty = format!("{}{}", R::NAME, if packed { "x2" } else { "" });
        let op = op.replace('%', &ty);
        let got = apply(&text(&op, n, packed), &inputs, inputs[0].len(), 1);
        for (i, &word) in got.iter().enumerate() {
            for shift in [0, 16] {
                let args: Vec<u16> = inputs.iter().map(|a| (a[i] >> shift) as u16).collect();
                let got = (word >> shift) as u16;
                assert_eq!(got, want(&args), "{op} of {args:#06x?} gives {got:#06x}");
            }
        }
    }
}

fn arithmetic<R: Reference>() {
    check::<R>("add.%", 2, |x| R::add(x[0], x[1]));
    check::<R>("sub.rn.%", 2, |x| R::add(x[0], x[1] ^ 0x8000));
    check::<R>("mul.%", 2, |x| R::mul(x[0], x[1]));
    check::<R>("fma.rn.%", 3, |x| R::fma(x[0], x[1], x[2]));
    check::<R>("fma.rn.relu.%", 3, |x| {
        let r = R::fma(x[0], x[1], x[2]);
        if r & 0x8000 != 0 { 0 } else { r }
    });
}

#[test]
fn sums_and_products() {
    arithmetic::<F16>();
    arithmetic::<Bf16>();
}

#[test]
fn flushing_and_saturation() {
    let f = flushed::<F16>;
    check::<F16>("add.rn.ftz.%", 2, |x| f(F16::add(f(x[0]), f(x[1]))));
    check::<F16>("mul.ftz.%", 2, |x| f(F16::mul(f(x[0]), f(x[1]))));
    check::<F16>("fma.rn.ftz.%", 3, |x| f(F16::fma(f(x[0]), f(x[1]), f(x[2]))));
    check::<F16>("sub.sat.%", 2, |x| saturated::<F16>(F16::add(x[0], x[1] ^ 0x8000)));
    check::<F16>("mul.rn.sat.%", 2, |x| saturated::<F16>(F16::mul(x[0], x[1])));
    check::<F16>("fma.rn.ftz.sat.%", 3, |x| saturated::<F16>(f(F16::fma(f(x[0]), f(x[1]), f(x[2])))));
}

/// Minimum and maximum as in the PTX ISA's pseudo-code.
fn extreme<R: Reference>(x: u16, y: u16, max: bool, nan: bool, xorsign: bool) -> u16 {
    let sign = if xorsign { (x ^ y) & 0x8000 } else { 0 };
    let (x, y) = if xorsign { (x & 0x7FFF, y & 0x7FFF) } else { (x, y) };
    let r = match (is_nan::<R>(x), is_nan::<R>(y)) {
        (true, true) => return 0x7FFF,
        (true, _) | (_, true) if nan => return 0x7FFF,
        (true, false) => y,
        (false, true) => x,
        _ => {
            let rank = |v: u16| (R::value(v), if v & 0x8000 != 0 { 0 } else { 1 });
            let x_above = rank(x).partial_cmp(&rank(y)) == Some(std::cmp::Ordering::Greater);
            if x_above == max { x } else { y }
        }
    };
    r | sign
}

fn extremes<R: Reference>() {
    for (name, max) in [("min", false), ("max", true)] {
        check::<R>(&format!("{name}.%"), 2, |x| extreme::<R>(x[0], x[1], max, false, false));
        check::<R>(&format!("{name}.NaN.%"), 2, |x| extreme::<R>(x[0], x[1], max, true, false));
        check::<R>(&format!("{name}.xorsign.abs.%"), 2, |x| extreme::<R>(x[0], x[1], max, false, true));
        check::<R>(&format!("{name}.NaN.xorsign.abs.%"), 2, |x| extreme::<R>(x[0], x[1], max, true, true));
    }
}

#[test]
fn minima_and_maxima() {
    extremes::<F16>();
    extremes::<Bf16>();
    let f = flushed::<F16>;
    check::<F16>("max.ftz.%", 2, |x| extreme::<F16>(f(x[0]), f(x[1]), true, false, false));
}

#[test]
fn single_precision_extremes_with_signs() {
    let (a, b): (Vec<u32>, Vec<u32>) =
        floats().iter().flat_map(|&a| floats().into_iter().map(move |b| (a, b))).unzip();
    for (op, max, nan) in [("min.xorsign.abs", false, false), ("max.NaN.xorsign.abs", true, true)] {
        let body = format!("{op}.f32 %out, %in0, %in1;");
        let got = apply(&elementwise(&["f32", "f32"], "f32", &body), &[a.clone(), b.clone()], a.len(), 1);
        for i in 0..a.len() {
            let (x, y) = (f32::from_bits(a[i]).abs(), f32::from_bits(b[i]).abs());
            let sign = (a[i] ^ b[i]) & 0x8000_0000;
            let want = if x.is_nan() && y.is_nan() || nan && (x.is_nan() || y.is_nan()) {
                0x7FFF_FFFF
            } else {
                // Of a number and NaN, Rust's functions return the number, as PTX does.
                (if max { x.max(y) } else { x.min(y) }).to_bits() | sign
            };
            assert_eq!(got[i], want, "{op} {:#x}, {:#x}", a[i], b[i]);
        }
    }
}

#[test]
fn signs() {
    check::<F16>("neg.%", 1, |x| x[0] ^ 0x8000);
    check::<Bf16>("neg.%", 1, |x| x[0] ^ 0x8000);
    check::<F16>("abs.%", 1, |x| x[0] & 0x7FFF);
    check::<Bf16>("abs.%", 1, |x| x[0] & 0x7FFF);
    // A NaN's payload is unspecified once `.ftz` makes it an arithmetic operation.
    check::<F16>(
        "neg.ftz.%",
        1,
        |x| if is_nan::<F16>(x[0]) { 0x7FFF } else { flushed::<F16>(x[0] ^ 0x8000) },
    );
}

#[test]
fn signs_become_modifiers_of_operands() {
    // -(a) * b + (-c): the negations fold; the result is that of the plain formula.
    let body = "{ .reg .b32 %n, %m; neg.f16x2 %n, %in0; neg.f16x2 %m, %in2; \
                fma.rn.f16x2 %out, %n, %in1, %m; }";
    let text = elementwise(&["b32"; 3], "b32", body);
    let inputs = operands::<F16>(3, 9);
    let lowered = lower(&text, 255);
    let listing: String = lowered.kernel.insts.iter().map(|i| format!("{i}\n")).collect();
    assert!(listing.contains("HFMA2") && !listing.contains("LOP3"), "{listing}");
    let got = apply(&text, &inputs, inputs[0].len(), 1);
    for i in 0..got.len() {
        for shift in [0, 16] {
            let [a, b, c] = [0, 1, 2].map(|k| (inputs[k][i] >> shift) as u16);
            assert_eq!((got[i] >> shift) as u16, F16::fma(a ^ 0x8000, b, c ^ 0x8000));
        }
    }
}

const COMPARISONS: [&str; 14] =
    ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"];

fn compared(name: &str, x: f64, y: f64) -> bool {
    let unordered = x.is_nan() || y.is_nan();
    match name {
        "num" => !unordered,
        "nan" => unordered,
        _ => {
            let ordered = match &name[..2] {
                "eq" => x == y,
                "ne" => !unordered && x != y,
                "lt" => x < y,
                "le" => x <= y,
                "gt" => x > y,
                _ => x >= y,
            };
            ordered || name.len() == 3 && unordered
        }
    }
}

fn comparisons<R: Reference>() {
    let ty = R::NAME;
    let inputs = operands::<R>(2, 77);
    for name in COMPARISONS {
        // Bits of the result: both halves of the packed predicate, combined with a third one; the scalar
        // comparison; masks; floats.
        let body = format!(
            "{{ .reg .b16 %x<2>, %y<2>, %s; .reg .b32 %m; .reg .b64 %w; mov.b32 {{%x0, %y0}}, %in0; mov.b32 {{%x1, %y1}}, %in1; \
             setp.{name}.{ty}x2 %q0|%q1, %in0, %in1; setp.lt.u32 %q9, %in0, %in1; \
             setp.{name}.xor.{ty}x2 %q2|%q3, %in0, %in1, %q9; setp.{name}.or.{ty} %q4, %y0, %y1, !%q9; \
             selp.u32 %t0, 1, 0, %q0; selp.u32 %t1, 2, 0, %q1; selp.u32 %t2, 4, 0, %q2; selp.u32 %t3, 8, 0, %q3; \
             selp.u32 %t4, 16, 0, %q4; or.b32 %t0, %t0, %t1; or.b32 %t0, %t0, %t2; or.b32 %t0, %t0, %t3; \
             or.b32 %t0, %t0, %t4; set.{name}.u32.{ty}x2 %m, %in0, %in1; and.b32 %m, %m, 0x00200020; \
             or.b32 %t0, %t0, %m; set.{name}.and.{ty}x2.{ty}x2 %out, %in0, %in1, %q9; \
             set.{name}.{ty}.{ty} %s, %x0, %x1; cvt.u32.u16 %t5, %s; shl.b32 %t5, %t5, 6; \
             xor.b32 %out, %out, %t0; xor.b32 %out, %out, %t5; }}"
        );
        let got = apply(&elementwise(&["b32", "b32"], "b32", &body), &inputs, inputs[0].len(), 1);
        for (i, &got) in got.iter().enumerate() {
            let (a, b) = (inputs[0][i], inputs[1][i]);
            let at = |s: u32| compared(name, R::value((a >> s) as u16), R::value((b >> s) as u16));
            let (low, high, less) = (at(0), at(16), a < b);
            let one = u32::from(R::ONE);
            let bit = |b: bool, v: u32| if b { v } else { 0 };
            let want = bit(low, 1)
                | bit(high, 2)
                | bit(low ^ less, 4)
                | bit(high ^ less, 8)
                | bit(high || !less, 16)
                | bit(low, 0x20)
                | bit(high, 0x20_0000);
            let floats = bit(low && less, one) | bit(high && less, one << 16);
            assert_eq!(got, want ^ floats ^ bit(low, one << 6), "{name}.{ty} {a:#x}, {b:#x}");
        }
    }
}

#[test]
fn comparisons_of_both_formats() {
    comparisons::<F16>();
    comparisons::<Bf16>();
}

fn functions<R: Reference>(ex2: &str, ex2_bound: f64, tanh_bound: f64) {
    let inputs = operands::<R>(1, 5);
    for packed in [false, true] {
        let ty = format!("{}{}", R::NAME, if packed { "x2" } else { "" });
        for (op, f) in
            [(format!("{ex2}.{ty}"), f64::exp2 as fn(f64) -> f64), (format!("tanh.approx.{ty}"), f64::tanh)]
        {
            let got = apply(&text(&op, 1, packed), &inputs, inputs[0].len(), 1);
            for (i, &word) in got.iter().enumerate() {
                for shift in [0, 16] {
                    let x = (inputs[0][i] >> shift) as u16;
                    let got = (word >> shift) as u16;
                    let want = f(R::value(x));
                    if want.is_nan() {
                        assert_eq!(got, 0x7FFF, "{op} {x:#x}");
                        continue;
                    }
                    let (g, rounded) = (R::value(got), R::value(R::nearest(want)));
                    let close = if op.starts_with("tanh") {
                        (g - want).abs() <= tanh_bound
                    } else {
                        // A result at the end of the range may be off by the rounding to a subnormal.
                        let least = R::value(1);
                        let flushed = op.contains("ftz") && want < f64::from(f32::MIN_POSITIVE) && g == 0.0;
                        (g - want).abs() <= want * ex2_bound + least || g == rounded || flushed
                    };
                    assert!(close, "{op} {x:#x}: {g:e} for {want:e}");
                }
            }
        }
    }
}

#[test]
fn approximate_functions_are_within_the_bounds_of_the_isa() {
    functions::<F16>("ex2.approx", 2f64.powf(-9.9), 2f64.powf(-10.987));
    functions::<Bf16>("ex2.approx.ftz", 2f64.powi(-7), 2f64.powi(-8));
}

#[test]
fn mixed_precision_takes_halves_into_single_precision() {
    let inputs = operands::<F16>(2, 31);
    let addend: Vec<u32> = inputs[0].iter().rev().copied().collect();
    let all = [inputs[0].clone(), inputs[1].clone(), addend.clone()];
    for (ty, value) in [("f16", F16::value as fn(u16) -> f64), ("bf16", Bf16::value)] {
        let body = format!(
            "{{ .reg .b16 %x, %y, %z; .reg .f32 %c, %r, %s; mov.b32 {{%x, %z}}, %in0; mov.b32 {{%y, %z}}, %in1; \
             mov.b32 %c, %in2; fma.rn.f32.{ty} %r, %x, %y, %c; sub.f32.{ty} %s, %x, %c; \
             mov.b32 %t0, %r; mov.b32 %t1, %s; xor.b32 %out, %t0, %t1; }}"
        );
        let got = apply(&elementwise(&["b32"; 3], "b32", &body), &all, addend.len(), 1);
        let bits = |v: f32| if v.is_nan() { 0x7FFF_FFFF } else { v.to_bits() };
        for (i, &got) in got.iter().enumerate() {
            let (x, y) = (value(inputs[0][i] as u16) as f32, value(inputs[1][i] as u16) as f32);
            let c = f32::from_bits(addend[i]);
            assert_eq!(got, bits(x.mul_add(y, c)) ^ bits(x - c), "{ty} {x} {y} {c}");
        }
    }
}

#[test]
fn selection_and_sign_copies() {
    let inputs = operands::<F16>(2, 3);
    let body = "{ .reg .b16 %x<2>, %y<2>, %s; mov.b32 {%x0, %y0}, %in0; mov.b32 {%x1, %y1}, %in1; \
                setp.gt.f16 %q0, %x0, %x1; selp.b16 %s, %x0, %x1, %q0; mov.b32 %out, {%s, %y1}; }";
    let got = apply(&elementwise(&["b32", "b32"], "b32", body), &inputs, inputs[0].len(), 1);
    for (i, &got) in got.iter().enumerate() {
        let (a, b) = (inputs[0][i] as u16, inputs[1][i] as u16);
        let want = if F16::value(a) > F16::value(b) { a } else { b };
        assert_eq!(got, u32::from(want) | inputs[1][i] & 0xFFFF_0000);
    }
}

#[test]
fn pairs_of_single_precision_numbers() {
    let mut random = Random::new(21);
    let mut words = || -> Vec<u64> {
        let edges = floats();
        let mut pick = || {
            let x = random.bits();
            if x.is_multiple_of(3) { edges[(x >> 8) as usize % edges.len()] } else { (x >> 32) as u32 }
        };
        (0..2000).map(|_| u64::from(pick()) | u64::from(pick()) << 32).collect()
    };
    let inputs = [words(), words(), words()];
    let arrays: Vec<Vec<u32>> = inputs.iter().map(|v| words64(v)).collect();
    type Want = fn(f32, f32, f32) -> f32;
    let forms: [(&str, usize, Want); 4] = [
        ("add.rn", 2, |a, b, _| a + b),
        ("sub", 2, |a, b, _| a - b),
        ("mul.rn", 2, |a, b, _| a * b),
        ("fma.rn", 3, f32::mul_add),
    ];
    for (op, n, want) in forms {
        let args: String = (0..n).map(|i| format!(", %in{i}")).collect();
        let text = elementwise(&["b64"; 3], "b64", &format!("{op}.f32x2 %out{args};"));
        let got = apply(&text, &arrays, 2000, 2);
        for (i, &got) in got.iter().enumerate() {
            let [a, b, c] = [0, 1, 2].map(|k| f32::from_bits(arrays[k][i]));
            let want = want(a, b, c);
            let bits = if want.is_nan() { 0x7FFF_FFFF } else { want.to_bits() };
            assert_eq!(got, bits, "{op}.f32x2 {a} {b} {c}");
        }
    }
}
