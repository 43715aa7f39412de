//! Video instructions against the definitions of the PTX ISA in 128-bit integers: every scalar operation with
//! all types, saturation, secondary operations and parts, every SIMD operation with masks and lane choices.

use crate::lower_kit;

use lower_kit::*;
use test_kit::Random;

/// Words with interesting bytes and halves, `n` arrays.
fn words(n: usize) -> Vec<Vec<u32>> {
    let edges =
        [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFF_FFFF, 0x8000_0000, u32::MAX, 0x80FF_7F01];
    let mut random = Random::new(n as u64);
    let mut arrays = vec![Vec::new(); n];
    for &a in &edges {
        for &b in &edges {
            let c = edges[(random.bits() % edges.len() as u64) as usize];
            [a, b, c].iter().zip(&mut arrays).for_each(|(&x, array)| array.push(x));
        }
    }
    for _ in 0..112 {
        arrays.iter_mut().for_each(|array| array.push(random.bits() as u32));
    }
    arrays
}

fn run_form(text: &str, arrays: &[Vec<u32>]) -> Vec<u32> {
    apply(&elementwise(&["b32", "b32", "b32"], "b32", text), arrays, arrays[0].len(), 1)
}

fn extended(x: u32, at: u32, bits: u32, signed: bool) -> i128 {
    let v = (u64::from(x) >> at) & ((1 << bits) - 1);
    if signed && v >> (bits - 1) != 0 { i128::from(v) - (1 << bits) } else { i128::from(v) }
}

/// The part of a word that a selector names.
fn part(x: u32, selector: &str, signed: bool) -> i128 {
    match selector.as_bytes() {
        [b'.', b'b', k] => extended(x, 8 * u32::from(k - b'0'), 8, signed),
        [b'.', b'h', k] => extended(x, 16 * u32::from(k - b'0'), 16, signed),
        _ => extended(x, 0, 32, signed),
    }
}

fn clamp(v: i128, bits: u32, signed: bool) -> i128 {
    if signed { v.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { v.clamp(0, (1 << bits) - 1) }
}

fn compared(cmp: &str, a: i128, b: i128) -> bool {
    match cmp {
        "eq" => a == b,
        "ne" => a != b,
        "lt" => a < b,
        "le" => a <= b,
        "gt" => a > b,
        _ => a >= b,
    }
}

const SELECTORS: [&str; 7] = ["", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1"];
const TYPES: [&str; 2] = ["u32", "s32"];
const COMPARISONS: [&str; 6] = ["eq", "ne", "lt", "le", "gt", "ge"];

/// The result of a scalar form after saturation, secondary operation and merge.
fn finished(t: i128, sat: bool, dst_signed: bool, second: &str, c: u32) -> u32 {
    let width = match second.as_bytes() {
        [b'.', b'h', _] => 16,
        [b'.', b'b', _] => 8,
        _ => 32,
    };
    let t = if sat { clamp(t, width, dst_signed) } else { t };
    let wide = extended(c, 0, 32, dst_signed);
    let insert = |at: u32, bits: u32| {
        let mask = ((1u64 << bits) - 1) as u32;
        c & !(mask << at) | (t as u32 & mask) << at
    };
    match second.as_bytes() {
        b"add" => (t + wide) as u32,
        b"min" => t.min(wide) as u32,
        b"max" => t.max(wide) as u32,
        [b'.', b'h', k] => insert(16 * u32::from(k - b'0'), 16),
        [b'.', b'b', k] => insert(8 * u32::from(k - b'0'), 8),
        _ => t as u32,
    }
}

/// Text of a scalar form.
fn scalar(name: &str, sat: bool, second: &str, parts: [&str; 2]) -> String {
    let [a, b] = parts;
    let sat = if sat { ".sat" } else { "" };
    match second {
        "" => format!("{name}{sat} %out, %in0{a}, %in1{b};"),
        merge if merge.starts_with('.') => format!("{name}{sat} %out{merge}, %in0{a}, %in1{b}, %in2;"),
        op => format!("{name}{sat}.{op} %out, %in0{a}, %in1{b}, %in2;"),
    }
}

const SECONDS: [&str; 8] = ["", "add", "min", "max", ".b0", ".b3", ".h0", ".h1"];

#[test]
fn scalar_arithmetic() {
    let arrays = words(3);
    let mut random = Random::new(1);
    let mut pick = || SELECTORS[(random.bits() % 7) as usize];
    for kind in ["vadd", "vsub", "vabsdiff", "vmin", "vmax"] {
        for (d_ty, a_ty, b_ty) in
            TYPES.iter().flat_map(|d| TYPES.iter().flat_map(move |a| TYPES.map(|b| (d, a, b))))
        {
            for second in SECONDS {
                for sat in [false, true] {
                    let parts = [pick(), pick()];
                    let text = scalar(&format!("{kind}.{d_ty}.{a_ty}.{b_ty}"), sat, second, parts);
                    let got = run_form(&text, &arrays);
                    for (i, &got) in got.iter().enumerate() {
                        let a = part(arrays[0][i], parts[0], *a_ty == "s32");
                        let b = part(arrays[1][i], parts[1], b_ty == "s32");
                        let t = match kind {
                            "vadd" => a + b,
                            "vsub" => a - b,
                            "vabsdiff" => (a - b).abs(),
                            "vmin" => a.min(b),
                            _ => a.max(b),
                        };
                        let want = finished(t, sat, *d_ty == "s32", second, arrays[2][i]);
                        assert_eq!(
                            got, want,
                            "{text} {:#x} {:#x} {:#x}",
                            arrays[0][i], arrays[1][i], arrays[2][i]
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn scalar_shifts() {
    let mut arrays = words(3);
    arrays[1].iter_mut().enumerate().for_each(|(i, b)| *b = if i % 3 == 0 { *b } else { i as u32 % 37 });
    let mut random = Random::new(2);
    let mut pick = || SELECTORS[(random.bits() % 7) as usize];
    for kind in ["vshl", "vshr"] {
        for (d_ty, a_ty, mode) in
            TYPES.iter().flat_map(|d| TYPES.iter().flat_map(move |a| ["clamp", "wrap"].map(|m| (d, a, m))))
        {
            for second in ["", "add", ".b1", ".h1"] {
                for sat in [false, true] {
                    let parts = [pick(), pick()];
                    let text = scalar(&format!("{kind}.{d_ty}.{a_ty}.u32.{mode}"), sat, second, parts)
                        .replace(&format!(".{mode}.sat"), &format!(".sat.{mode}"));
                    let got = run_form(&text, &arrays);
                    for (i, &got) in got.iter().enumerate() {
                        let a = part(arrays[0][i], parts[0], *a_ty == "s32");
                        let n = part(arrays[1][i], parts[1], false);
                        let n = if mode == "wrap" { n & 31 } else { n.min(32) };
                        let t = if kind == "vshl" { a << n } else { a >> n };
                        let want = finished(t, sat, *d_ty == "s32", second, arrays[2][i]);
                        assert_eq!(got, want, "{text} {:#x} {:#x}", arrays[0][i], arrays[1][i]);
                    }
                }
            }
        }
    }
}

#[test]
fn scalar_comparisons() {
    let arrays = words(3);
    for cmp in COMPARISONS {
        for (a_ty, b_ty) in TYPES.iter().flat_map(|a| TYPES.map(|b| (a, b))) {
            for second in SECONDS {
                let parts = [".h1", if second.is_empty() { "" } else { ".b2" }];
                let text = scalar(&format!("vset.{a_ty}.{b_ty}.{cmp}"), false, second, parts);
                let got = run_form(&text, &arrays);
                for (i, &got) in got.iter().enumerate() {
                    let a = part(arrays[0][i], parts[0], *a_ty == "s32");
                    let b = part(arrays[1][i], parts[1], b_ty == "s32");
                    let t = i128::from(compared(cmp, a, b));
                    assert_eq!(got, finished(t, false, false, second, arrays[2][i]), "{text}");
                }
            }
        }
    }
}

#[test]
fn products() {
    let arrays = words(3);
    let mut random = Random::new(3);
    let mut pick = || SELECTORS[(random.bits() % 7) as usize];
    for (a_ty, b_ty) in TYPES.iter().flat_map(|a| TYPES.map(|b| (a, b))) {
        for (po, na, nb, nc) in [
            (false, "", "", ""),
            (true, "", "", ""),
            (false, "-", "", ""),
            (false, "", "-", ""),
            (false, "-", "-", ""),
            (false, "", "", "-"),
        ] {
            for scale in [0, 7, 15] {
                for sat in [false, true] {
                    let negated = (na == "-") ^ (nb == "-");
                    let signed = *a_ty == "s32" || b_ty == "s32" || negated || nc == "-";
                    // Parts keep the products of negated unsigned words inside 64 bits.
                    let parts = if negated { [".h0", pick()] } else { [pick(), pick()] };
                    let name = format!(
                        "vmad.{}.{a_ty}.{b_ty}{}{}{}",
                        if signed { "s32" } else { "u32" },
                        if po { ".po" } else { "" },
                        if sat { ".sat" } else { "" },
                        if scale == 0 { String::new() } else { format!(".shr{scale}") }
                    );
                    let text = format!("{name} %out, {na}%in0{}, {nb}%in1{}, {nc}%in2;", parts[0], parts[1]);
                    let got = run_form(&text, &arrays);
                    for (i, &got) in got.iter().enumerate() {
                        let a = part(arrays[0][i], parts[0], *a_ty == "s32");
                        let b = part(arrays[1][i], parts[1], b_ty == "s32");
                        let c = extended(arrays[2][i], 0, 32, signed);
                        let product = if negated { -(a * b) } else { a * b };
                        let sum = product + if nc == "-" { -c } else { c } + i128::from(po);
                        let shifted = sum >> scale;
                        let want = if sat { clamp(shifted, 32, signed) } else { shifted } as u32;
                        assert_eq!(
                            got, want,
                            "{text} {:#x} {:#x} {:#x}",
                            arrays[0][i], arrays[1][i], arrays[2][i]
                        );
                    }
                }
            }
        }
    }
}

/// A SIMD form's lane choice as text and, per result lane, the source lane.
fn choice(random: &mut Random, lanes: u32, default_first: u32) -> (String, Vec<u32>) {
    if random.bits().is_multiple_of(2) {
        return (String::new(), (default_first..default_first + lanes).collect());
    }
    let picks: Vec<u32> = (0..lanes).map(|_| (random.bits() % u64::from(2 * lanes)) as u32).collect();
    let digits: String = picks.iter().rev().map(u32::to_string).collect();
    (format!(".{}{digits}", if lanes == 2 { 'h' } else { 'b' }), picks)
}

/// `vabsdiff4` is one instruction for the types and operands for which ptxas makes it one.
#[test]
fn differences_of_bytes_are_one_instruction() {
    let count = |form: &str| {
        let text = elementwise(&["b32", "b32", "b32"], "b32", &format!("vabsdiff4.{form};"));
        let listing: Vec<String> = lower(&text, 64).kernel.insts.iter().map(ToString::to_string).collect();
        listing.iter().filter(|line| line.contains("VABSDIFF4")).count()
    };
    for types in ["u32.u32.u32", "u32.s32.s32"] {
        for second in ["", ".add"] {
            assert_eq!(count(&format!("{types}{second} %out, %in0, %in1, %in2")), 1, "{types}{second}");
        }
    }
    for form in [
        "u32.u32.s32 %out, %in0, %in1, %in2",
        "s32.u32.u32 %out, %in0, %in1, %in2",
        "u32.u32.u32.sat %out, %in0, %in1, %in2",
        "u32.u32.u32 %out.b10, %in0, %in1, %in2",
        "u32.u32.u32 %out, %in0.b0123, %in1, %in2",
    ] {
        assert_eq!(count(form), 0, "{form}");
    }
}

#[test]
fn lanes() {
    let arrays = words(3);
    let mut random = Random::new(4);
    for kind in ["vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax", "vset"] {
        for lanes in [2u32, 4] {
            let bits = 32 / lanes;
            for (d_ty, a_ty, b_ty) in
                TYPES.iter().flat_map(|d| TYPES.iter().flat_map(move |a| TYPES.map(|b| (d, a, b))))
            {
                for (sat, add) in [(false, false), (true, false), (false, true), (true, true)] {
                    let set = kind == "vset";
                    if set && (sat || *d_ty == "s32") {
                        continue;
                    }
                    let cmp = COMPARISONS[(random.bits() % 6) as usize];
                    let (a_text, a_lanes) = choice(&mut random, lanes, 0);
                    let (b_text, b_lanes) = choice(&mut random, lanes, lanes);
                    let mask = if random.bits().is_multiple_of(2) {
                        (1 << lanes) - 1
                    } else {
                        1 + random.bits() as u32 % ((1 << lanes) - 1)
                    };
                    let mask_digits: String =
                        (0..lanes).rev().filter(|l| mask >> l & 1 != 0).map(|l| l.to_string()).collect();
                    let mask_text = if mask == (1 << lanes) - 1 {
                        String::new()
                    } else {
                        format!(".{}{mask_digits}", if lanes == 2 { 'h' } else { 'b' })
                    };
                    let types =
                        if set { format!("{a_ty}.{b_ty}.{cmp}") } else { format!("{d_ty}.{a_ty}.{b_ty}") };
                    let text = format!(
                        "{kind}{lanes}.{types}{}{} %out{mask_text}, %in0{a_text}, %in1{b_text}, %in2;",
                        if sat { ".sat" } else { "" },
                        if add { ".add" } else { "" }
                    );
                    let got = run_form(&text, &arrays);
                    for (i, &got) in got.iter().enumerate() {
                        let element = |l: u32, ty: &str| {
                            extended(arrays[(l / lanes) as usize][i], l % lanes * bits, bits, ty == "s32")
                        };
                        let mut want = arrays[2][i];
                        for l in (0..lanes).filter(|l| mask >> l & 1 != 0) {
                            let (a, b) =
                                (element(a_lanes[l as usize], a_ty), element(b_lanes[l as usize], b_ty));
                            let t = match kind {
                                "vadd" => a + b,
                                "vsub" => a - b,
                                "vavrg" => (a + b + i128::from(a + b >= 0)) >> 1,
                                "vabsdiff" => (a - b).abs(),
                                "vmin" => a.min(b),
                                "vmax" => a.max(b),
                                _ => i128::from(compared(cmp, a, b)),
                            };
                            let t = if sat { clamp(t, bits, *d_ty == "s32") } else { t };
                            let lane = ((1u64 << bits) - 1) as u32;
                            want = if add {
                                want.wrapping_add(t as u32)
                            } else {
                                want & !(lane << (l * bits)) | (t as u32 & lane) << (l * bits)
                            };
                        }
                        assert_eq!(
                            got, want,
                            "{text} {:#x} {:#x} {:#x}",
                            arrays[0][i], arrays[1][i], arrays[2][i]
                        );
                    }
                }
            }
        }
    }
}
