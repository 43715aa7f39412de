//! Conversions between all pairs of integer and floating-point types, with every rounding and saturation,
//! against soft-float conversions (`rustc_apfloat`), 128-bit integers and exhaustive search over the values
//! of the narrow formats.

use crate::lower_kit;

use lower_kit::*;
use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};
use test_kit::Random;

const ROUNDINGS: [(&str, Round); 4] = [
    ("rn", Round::NearestTiesToEven),
    ("rz", Round::TowardZero),
    ("rm", Round::TowardNegative),
    ("rp", Round::TowardPositive),
];
const INTEGERS: [&str; 8] = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"];
const FLOATS: [&str; 4] = ["f16", "bf16", "f32", "f64"];

/// A statement that makes a value of a type of the low bits of `%in0`, and one that moves it to `%out`.
fn load(ty: &str) -> String {
    match bits(ty) {
        8 | 16 => "{ .reg .b16 %v; cvt.u16.u64 %v, %in0; ".into(),
        32 => format!("{{ .reg .{ty} %v; .reg .b32 %z; mov.b64 {{%v, %z}}, %in0; "),
        _ => format!("{{ .reg .{ty} %v; mov.b64 %v, %in0; "),
    }
}

fn store(ty: &str) -> (String, &'static str) {
    match bits(ty) {
        8 | 16 => (".reg .b16 %r; ".into(), "cvt.u64.u16 %out, %r; }"),
        32 => (format!(".reg .{ty} %r; .reg .b32 %y; mov.b32 %y, 0; "), "mov.b64 %out, {%r, %y}; }"),
        _ => (format!(".reg .{ty} %r; "), "mov.b64 %out, %r; }"),
    }
}

fn bits(ty: &str) -> u32 {
    ty.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().unwrap()
}

/// Results of `cvt.<name>` between two types, on the low bits of 64-bit inputs.
fn convert(name: &str, to: &str, from: &str, inputs: &[u64]) -> Vec<u64> {
    let (declare, finish) = store(to);
    let body = format!("{}{declare}cvt.{name} %r, %v; {finish}", load(from));
    values64(&apply(&elementwise(&["b64"], "b64", &body), &[words64(inputs)], inputs.len(), 2))
}

fn integers() -> Vec<u64> {
    let mut v = longs();
    let mut random = Random::new(8);
    for k in 0..64 {
        v.extend([1u64 << k, (1u64 << k).wrapping_sub(1), (1u64 << k) + 1, (1u64 << k).wrapping_neg()]);
        // Ties and near ties of every format at every magnitude.
        v.extend([11u32, 8, 24, 53].iter().map(|&p| (1u64 << k) | (1u64 << k) >> p));
    }
    v.extend((0..600).map(|_| {
        let x = random.bits();
        x >> (x & 63)
    }));
    v
}

/// Encodings of a floating-point type: boundaries, integers with fractions, random ones.
fn encodings(ty: &str) -> Vec<u64> {
    let mut random = Random::new(u64::from(bits(ty)));
    let mut v: Vec<u64> = match ty {
        "f16" | "bf16" => (0..=0xFFFFu64).step_by(13).collect(),
        "f32" => floats().into_iter().map(u64::from).collect(),
        _ => doubles(),
    };
    v.extend([0u64, 0x7C00, 0x7C01, 0x7F80, 0x7F81, 0x8000, 0xFC00, 0xFF80, 1, 0x8001, 0x3C00, 0x3F80]);
    // Values around the limits of the integer types and the ties between integers and between halves.
    let interesting = (0..66).flat_map(|k| {
        let p = 2f64.powi(k - 26);
        [p, p * 1.5, p - 0.5, p + 0.5, p * (1.0 + 1.0 / 2048.0), p * (1.0 + 1.0 / 256.0), p * 65520.0]
    });
    for x in interesting.chain([65504.0, 65519.996, 65520.0, 1e-8, 5.96e-8, 2.98e-8, 2f64.powi(-25)]) {
        for x in [x, -x, x.next_up(), x.next_down()] {
            v.push(match ty {
                "f16" => Half::from_bits(0).max(from_double::<Half>(x)).to_bits() as u64,
                "bf16" => from_double::<BFloat>(x).to_bits() as u64,
                "f32" => u64::from((x as f32).to_bits()),
                _ => x.to_bits(),
            });
        }
    }
    v.extend((0..800).map(|_| random.bits() & (u64::MAX >> (64 - bits(ty)))));
    v
}

fn from_double<F: Float>(x: f64) -> F
where
    Double: FloatConvert<F>,
{
    Double::from_bits(x.to_bits().into()).convert_r(Round::NearestTiesToEven, &mut false).value
}

/// The exact value of an encoding.
fn value(ty: &str, x: u64) -> f64 {
    match ty {
        "f16" => half::f16::from_bits(x as u16).to_f64(),
        "bf16" => half::bf16::from_bits(x as u16).to_f64(),
        "f32" => f64::from(f32::from_bits(x as u32)),
        _ => f64::from_bits(x),
    }
}

fn canonical(ty: &str) -> u64 {
    if ty == "f32" { 0x7FFF_FFFF } else { 0x7FFF }
}

fn is_nan(ty: &str, x: u64) -> bool {
    value(ty, x).is_nan()
}

/// Runs a generic expression for the reference type of a name.
macro_rules! with_float {
    ($ty:expr, $F:ident => $body:expr) => {
        match $ty {
            "f16" => {
                type $F = Half;
                $body
            }
            "bf16" => {
                type $F = BFloat;
                $body
            }
            "f32" => {
                type $F = Single;
                $body
            }
            _ => {
                type $F = Double;
                $body
            }
        }
    };
}

fn integer_value(ty: &str, x: u64) -> i128 {
    let n = bits(ty);
    let x = x & (u64::MAX >> (64 - n));
    if ty.starts_with('s') { i128::from(((x << (64 - n)) as i64) >> (64 - n)) } else { i128::from(x) }
}

fn limits(ty: &str) -> (i128, i128) {
    let n = bits(ty);
    if ty.starts_with('s') { (-(1 << (n - 1)), (1 << (n - 1)) - 1) } else { (0, (1 << n) - 1) }
}

/// An integer as it is in the result register: types of 8 bits are extended to its 16.
fn stored(ty: &str, v: i128) -> u64 {
    let width = bits(ty).max(16);
    v as u64 & (u64::MAX >> (64 - width))
}

#[test]
fn integers_to_floats() {
    let inputs = integers();
    for from in INTEGERS {
        for to in FLOATS {
            if to == "bf16" && bits(from) == 8 {
                continue;
            }
            for (name, round) in ROUNDINGS {
                let got = convert(&format!("{name}.{to}.{from}"), to, from, &inputs);
                for (&x, &got) in inputs.iter().zip(&got) {
                    let v = integer_value(from, x);
                    let want = with_float!(to, F => F::from_i128_r(v, round).value.to_bits() as u64);
                    assert_eq!(got, want, "cvt.{name}.{to}.{from} of {v}: {got:#x}, not {want:#x}");
                }
            }
        }
    }
}

#[test]
fn integers_to_saturated_floats() {
    let inputs = integers();
    for (to, one) in [("f16", 0x3C00), ("f32", 0x3F80_0000), ("f64", 0x3FF0_0000_0000_0000)] {
        let got = convert(&format!("rn.sat.{to}.s32"), to, "s32", &inputs);
        for (&x, &got) in inputs.iter().zip(&got) {
            assert_eq!(got, if x as u32 as i32 > 0 { one } else { 0 }, "{to} {x:#x}");
        }
    }
}

/// Every integral rounding on a double.
fn integral(rounding: &str, v: f64) -> f64 {
    match rounding {
        "rni" => v.round_ties_even(),
        "rzi" => v.trunc(),
        "rmi" => v.floor(),
        _ => v.ceil(),
    }
}

#[test]
fn floats_to_integers() {
    for from in FLOATS {
        let inputs = encodings(from);
        for to in INTEGERS {
            if from == "bf16" && bits(to) == 8 {
                continue;
            }
            for rounding in ["rni", "rzi", "rmi", "rpi"] {
                let got = convert(&format!("{rounding}.{to}.{from}"), to, from, &inputs);
                let (min, max) = limits(to);
                for (&x, &got) in inputs.iter().zip(&got) {
                    let v = value(from, x);
                    let want = if v.is_nan() {
                        // PTX ISA: zero, or the top bit where either side has 64 bits.
                        if from == "f64" || bits(to) == 64 {
                            if min < 0 { min } else { 1 << (bits(to) - 1) }
                        } else {
                            0
                        }
                    } else {
                        (integral(rounding, v).clamp(-1e30, 1e30) as i128).clamp(min, max)
                    };
                    assert_eq!(got, stored(to, want), "cvt.{rounding}.{to}.{from} of {x:#x} ({v})");
                }
            }
        }
    }
}

#[test]
fn subnormals_flush_on_the_way_to_integers() {
    let inputs = encodings("f32");
    let got = convert("rpi.ftz.s32.f32", "s32", "f32", &inputs);
    for (&x, &got) in inputs.iter().zip(&got) {
        let v = f32::from_bits(x as u32);
        let v = if v.is_subnormal() { 0.0 } else { v.ceil() };
        assert_eq!(got as u32, v as i32 as u32, "{x:#x}");
    }
}

/// Conversions of floats by soft float, NaN aside.
fn converted(to: &str, from: &str, x: u64, round: Round) -> u64 {
    with_float!(from, A => with_float!(to, B => {
        let v: B = A::from_bits(x.into()).convert_r(round, &mut false).value;
        v.to_bits() as u64
    }))
}

fn flushed(ty: &str, x: u64) -> u64 {
    if ty == "f32" && x & 0x7F80_0000 == 0 { x & 0x8000_0000 } else { x }
}

#[test]
fn floats_to_floats() {
    for from in FLOATS {
        let inputs = encodings(from);
        for to in FLOATS {
            // Conversions from bfloat16 to types of its size and above accept a rounding too, and never need it.
            let narrows = bits(to) < bits(from);
            if to == from || bits(to) == bits(from) {
                continue;
            }
            let single = to == "f32" || from == "f32";
            for (name, round) in ROUNDINGS.iter().take(if narrows { 4 } else { 1 }) {
                for ftz in [false, true] {
                    let rounding = if narrows { format!("{name}.") } else { String::new() };
                    if ftz && (!single || to == "bf16" || from == "bf16") {
                        continue;
                    }
                    let name = format!("{rounding}{}{to}.{from}", if ftz { "ftz." } else { "" });
                    let got = convert(&name, to, from, &inputs);
                    for (&x, &got) in inputs.iter().zip(&got) {
                        let x = if ftz { flushed(from, x) } else { x };
                        if is_nan(from, x) {
                            assert!(if to == "f64" { is_nan(to, got) } else { got == canonical(to) });
                            continue;
                        }
                        let want = converted(to, from, x, *round);
                        let want = if ftz { flushed(to, want) } else { want };
                        assert_eq!(got, want, "cvt.{name} of {x:#x}: {got:#x}, not {want:#x}");
                    }
                }
            }
        }
    }
}

#[test]
fn saturating_floats() {
    for (to, from) in [
        ("f16", "f32"),
        ("f32", "f32"),
        ("f32", "f64"),
        ("f64", "f64"),
        ("f16", "f16"),
        ("f32", "f16"),
        ("f64", "f32"),
    ] {
        let inputs = encodings(from);
        let rounding = if bits(to) < bits(from) { "rn." } else { "" };
        let got = convert(&format!("{rounding}sat.{to}.{from}"), to, from, &inputs);
        for (&x, &got) in inputs.iter().zip(&got) {
            let v = value(from, x);
            let clamped = if v.is_nan() || v <= 0.0 { 0.0 } else { v.min(1.0) };
            let want = with_float!(to, F => from_double::<F>(clamped).to_bits() as u64);
            assert_eq!(got, want, "cvt.sat.{to}.{from} of {x:#x}");
        }
    }
}

#[test]
fn integral_values_of_the_same_type() {
    for ty in FLOATS {
        let inputs = encodings(ty);
        for rounding in ["rni", "rzi", "rmi", "rpi"] {
            let got = convert(&format!("{rounding}.{ty}.{ty}"), ty, ty, &inputs);
            for (&x, &got) in inputs.iter().zip(&got) {
                let v = integral(rounding, value(ty, x));
                if v.is_nan() {
                    assert!(is_nan(ty, got));
                    continue;
                }
                let want = with_float!(ty, F => from_double::<F>(v).to_bits() as u64);
                assert_eq!(got, want, "cvt.{rounding}.{ty}.{ty} of {x:#x}");
            }
        }
    }
}

#[test]
fn integers_to_integers() {
    let inputs = integers();
    for from in INTEGERS {
        for to in INTEGERS {
            for sat in [false, true] {
                let ((least, most), (min, max)) = (limits(from), limits(to));
                if sat && min <= least && most <= max {
                    // Every value fits, and there is no `.sat`.
                    continue;
                }
                let name = format!("{}{to}.{from}", if sat { "sat." } else { "" });
                let got = convert(&name, to, from, &inputs);
                for (&x, &got) in inputs.iter().zip(&got) {
                    let v = integer_value(from, x);
                    let v = if sat { v.clamp(min, max) } else { integer_value(to, v as u64) };
                    assert_eq!(got, stored(to, v), "cvt.{name} of {x:#x}");
                }
            }
        }
    }
}

#[test]
fn tensor_floats() {
    let inputs: Vec<u32> =
        encodings("f32").iter().map(|&x| x as u32).chain([0x3F80_1000, 0x3F80_3000]).collect();
    let finite = |x: u32| x & 0x7F80_0000 != 0x7F80_0000;
    type Round = fn(u32) -> u32;
    let forms: [(&str, Round); 3] = [
        ("rna", |x| x.wrapping_add(0x1000) & !0x1FFF),
        ("rn", |x| x.wrapping_add(0xFFF + (x >> 13 & 1)) & !0x1FFF),
        ("rz", |x| x & !0x1FFF),
    ];
    for (name, round) in forms {
        for relu in [false, true] {
            if relu && name == "rna" {
                continue;
            }
            let body = format!("cvt.{name}{}.tf32.f32 %out, %in0;", if relu { ".relu" } else { "" });
            let got =
                apply(&elementwise(&["f32"], "b32", &body), std::slice::from_ref(&inputs), inputs.len(), 1);
            for (&x, &got) in inputs.iter().zip(&got) {
                let want = match f32::from_bits(x) {
                    v if v.is_nan() => 0x7FFF_FFFF,
                    _ if relu && x >> 31 != 0 => 0,
                    _ if finite(x) => round(x),
                    _ => x,
                };
                assert_eq!(got, want, "cvt.{name}.tf32 of {x:#x}");
            }
        }
    }
}

/// A narrow format by its fields: value of an encoding without its sign.
struct Narrow {
    name: &'static str,
    width: u32,
    container: u32,
    value: fn(u32) -> f64,
}

fn fields(bits: u32, mantissa: u32, bias: i32) -> f64 {
    let (e, m) =
        ((bits >> mantissa) as i32, f64::from(bits & ((1 << mantissa) - 1)) / f64::from(1 << mantissa));
    if e == 0 { m * 2f64.powi(1 - bias) } else { (1.0 + m) * 2f64.powi(e - bias) }
}

const NARROW: [Narrow; 5] = [
    Narrow {
        name: "e4m3x2",
        width: 8,
        container: 8,
        value: |b| if b == 0x7F { f64::NAN } else { fields(b, 3, 7) },
    },
    Narrow {
        name: "e5m2x2",
        width: 8,
        container: 8,
        value: |b| if b >= 0x7C { f64::NAN } else { fields(b, 2, 15) },
    },
    Narrow { name: "e3m2x2", width: 6, container: 8, value: |b| fields(b, 2, 3) },
    Narrow { name: "e2m3x2", width: 6, container: 8, value: |b| fields(b, 3, 1) },
    Narrow { name: "e2m1x2", width: 4, container: 4, value: |b| fields(b, 1, 1) },
];

impl Narrow {
    /// The nearest finite encoding, ties to even, by looking at all of them.
    fn nearest(&self, v: f64) -> u32 {
        let codes = 1u32 << (self.width - 1);
        let sign = if v.is_sign_negative() { codes } else { 0 };
        // Values beyond every range, where differences would lose their low bits.
        let v = v.clamp(-1e6, 1e6);
        let mut best = 0;
        for code in (0..codes).filter(|&c| !(self.value)(c).is_nan()) {
            let (d, b) = ((v.abs() - (self.value)(code)).abs(), (v.abs() - (self.value)(best)).abs());
            if d < b || d == b && code & 1 == 0 {
                best = code;
            }
        }
        if v.is_nan() { if self.width == 8 { 0x7F } else { codes - 1 } } else { best | sign }
    }
}

#[test]
fn packed_narrow_floats() {
    let mut inputs: Vec<u32> = encodings("f32").iter().map(|&x| x as u32).collect();
    for format in &NARROW {
        // All values, all midpoints and their neighbours.
        let values: Vec<f64> =
            (0..1 << (format.width - 1)).map(|c| (format.value)(c)).filter(|v| !v.is_nan()).collect();
        for pair in values.windows(2) {
            let middle = ((pair[0] + pair[1]) / 2.0) as f32;
            inputs.extend([pair[0] as f32, middle, middle.next_up(), -middle.next_down()].map(f32::to_bits));
        }
    }
    let upper: Vec<u32> = inputs.iter().rev().copied().collect();
    for format in &NARROW {
        for relu in [false, true] {
            let ty = format.name;
            let (reg, back) =
                if format.container == 4 { ("b8", "cvt.u32.u8") } else { ("b16", "cvt.u32.u16") };
            let modifiers = if relu { ".relu" } else { "" };
            let body = format!(
                "{{ .reg .{reg} %r; cvt.rn.satfinite{modifiers}.{ty}.f32 %r, %in1, %in0; {back} %out, %r; }}"
            );
            let text = elementwise(&["f32", "f32"], "b32", &body);
            let got = apply(&text, &[inputs.clone(), upper.clone()], inputs.len(), 1);
            let one = |x: u32| {
                let code = format.nearest(f64::from(f32::from_bits(x)));
                if relu && code >> (format.width - 1) != 0 { 0 } else { code }
            };
            for (i, &got) in got.iter().enumerate() {
                let want = one(inputs[i]) | one(upper[i]) << format.container;
                assert_eq!(got, want, "{ty}{modifiers} of {:#x}, {:#x}", upper[i], inputs[i]);
            }
            // And back: every encoding as a half, whose range holds all of them.
            let codes: Vec<u32> = (0..1 << (2 * format.container)).step_by(7).collect();
            let body = format!(
                "{{ .reg .{reg} %r; cvt.u{}.u32 %r, %in0; cvt.rn{modifiers}.f16x2.{ty} %out, %r; }}",
                &reg[1..]
            );
            let got =
                apply(&elementwise(&["b32"], "b32", &body), std::slice::from_ref(&codes), codes.len(), 1);
            let half = |code: u32| {
                let sign = code >> (format.width - 1) & 1 != 0;
                let magnitude = code & ((1 << (format.width - 1)) - 1);
                let v = (format.value)(magnitude);
                if ty == "e5m2x2" && magnitude == 0x7C {
                    return if sign && relu { 0 } else { 0x7C00 | u32::from(sign) << 15 };
                }
                let bits = u32::from(half::f16::from_f64(if sign { -v } else { v }).to_bits());
                if v.is_nan() {
                    0x7FFF
                } else if relu && sign {
                    0
                } else {
                    bits
                }
            };
            for (&code, &got) in codes.iter().zip(&got) {
                let want = half(code) | half(code >> format.container) << 16;
                assert_eq!(got, want, "f16x2.{ty}{modifiers} of {code:#x}");
            }
        }
    }
}

#[test]
fn packed_halves() {
    let inputs: Vec<u32> = encodings("f32").iter().map(|&x| x as u32).collect();
    let upper: Vec<u32> = inputs.iter().rev().copied().collect();
    for (ty, element, infinity) in [("f16x2", "f16", 0x7C00u64), ("bf16x2", "bf16", 0x7F80)] {
        for (name, round, relu, finite) in [
            ("rn", Round::NearestTiesToEven, false, false),
            ("rz", Round::TowardZero, false, false),
            ("rn.relu", Round::NearestTiesToEven, true, false),
            ("rn.satfinite", Round::NearestTiesToEven, false, true),
            ("rz.satfinite.relu", Round::TowardZero, true, true),
        ] {
            let text = elementwise(&["f32", "f32"], "b32", &format!("cvt.{name}.{ty}.f32 %out, %in1, %in0;"));
            let got = apply(&text, &[inputs.clone(), upper.clone()], inputs.len(), 1);
            let one = |x: u32| {
                if f32::from_bits(x).is_nan() {
                    return 0x7FFF;
                }
                let bits = converted(element, "f32", x.into(), round);
                let bits = if finite && bits & 0x7FFF == infinity { bits - 1 } else { bits };
                if relu && bits >> 15 != 0 { 0 } else { bits as u32 }
            };
            for (i, &got) in got.iter().enumerate() {
                assert_eq!(
                    got,
                    one(inputs[i]) | one(upper[i]) << 16,
                    "cvt.{name}.{ty} {:#x} {:#x}",
                    upper[i],
                    inputs[i]
                );
            }
        }
    }
}

#[test]
fn packed_saturated_integers() {
    let mut random = Random::new(4);
    let values: Vec<u32> = INTS
        .iter()
        .copied()
        .chain((0..2000).map(|_| {
            let x = random.bits();
            ((x as i32) >> (x >> 59)) as u32
        }))
        .collect();
    let other: Vec<u32> = values.iter().rev().copied().collect();
    for ty in ["u16", "s16", "u8", "s8", "u4", "s4"] {
        let n = bits(ty);
        let merge = n < 16;
        let body = format!(
            "cvt.pack.sat.{ty}.s32{} %out, %in0, %in1{};",
            if merge { ".b32" } else { "" },
            if merge { ", %in0" } else { "" }
        );
        let text = elementwise(&["b32", "b32"], "b32", &body);
        let got = apply(&text, &[values.clone(), other.clone()], values.len(), 1);
        let (min, max) = limits(ty);
        let one = |x: u32| i128::from(x as i32).clamp(min, max) as u32 & ((1u64 << n) - 1) as u32;
        for (i, &got) in got.iter().enumerate() {
            let above = if merge { values[i] << (2 * n) } else { 0 };
            assert_eq!(
                got,
                one(other[i]) | one(values[i]) << n | above,
                "{ty} {:#x} {:#x}",
                values[i],
                other[i]
            );
        }
    }
}
