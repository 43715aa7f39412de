//! Every instruction form on thousands of operands, edges and hard cases of rounding among them: the machine
//! against the oracle, exact results bit for bit, approximate ones within the errors that the PTX ISA states.

use tests::oracle::forms::{Outcome, run};

/// Operands per form.
const COUNT: usize = 2048;

fn check(forms: &[String]) {
    let mut failures = Vec::new();
    for (seed, form) in forms.iter().enumerate() {
        let outcomes = match run(form, seed as u64, COUNT) {
            Ok(outcomes) => outcomes,
            Err(fault) => {
                failures.push(fault.to_string());
                continue;
            }
        };
        let wrong: Vec<&Outcome> = outcomes.iter().filter(|outcome| !outcome.agrees()).collect();
        if let Some(first) = wrong.first() {
            failures.push(format!("{form}: {} wrong, {first:x?}", wrong.len()));
        }
    }
    assert!(failures.is_empty(), "{} of {} forms:\n{}", failures.len(), forms.len(), failures.join("\n"));
}

/// Replaces `<a|b|c>` groups by each of their alternatives, in all combinations.
fn expand(patterns: &[&str]) -> Vec<String> {
    let mut done = Vec::new();
    let mut open: Vec<String> = patterns.iter().rev().map(|p| (*p).to_owned()).collect();
    while let Some(form) = open.pop() {
        let Some((before, rest)) = form.split_once('<') else {
            done.push(form);
            continue;
        };
        let (group, after) = rest.split_once('>').unwrap();
        open.extend(group.split('|').map(|choice| format!("{before}{choice}{after}")));
    }
    done
}

#[test]
fn integer_forms() {
    check(&expand(&[
        "<add|sub|mul.lo|mul.hi|min|max>.<s|u>16 {H}, {h}, {h};",
        "<add|sub|mul.lo|mul.hi|min|max>.<s|u>32 {R}, {r}, {r};",
        "<add|sub|mul.lo|mul.hi|min|max>.<s|u>64 {D}, {d}, {d};",
        "<add|sub>.sat.s32 {R}, {r}, {r};",
        "mad.<lo|hi>.<s|u>16 {H}, {h}, {h}, {h};",
        "mad.<lo|hi>.<s|u>32 {R}, {r}, {r}, {r};",
        "mad.<lo|hi>.<s|u>64 {D}, {d}, {d}, {d};",
        "mul.wide.<s|u>16 {R}, {h}, {h};",
        "mul.wide.<s|u>32 {D}, {r}, {r};",
        "mad.wide.<s|u>16 {R}, {h}, {h}, {r};",
        "mad.wide.<s|u>32 {D}, {r}, {r}, {d};",
        "mul24.<lo|hi>.<s|u>32 {R}, {r}, {r};",
        "mad24.<lo|hi>.<s|u>32 {R}, {r}, {r}, {r};",
        "sad.<s|u>16 {H}, {h}, {h}, {h};",
        "sad.<s|u>32 {R}, {r}, {r}, {r};",
        "sad.<s|u>64 {D}, {d}, {d}, {d};",
        "<abs|neg>.s16 {H}, {h};",
        "<abs|neg>.s32 {R}, {r};",
        "<abs|neg>.s64 {D}, {d};",
        "or.b16 %th, {h}, 1; <div|rem>.<s|u>16 {H}, {h}, %th;",
        "or.b32 %tr, {r}, 1; <div|rem>.<s|u>32 {R}, {r}, %tr;",
        "or.b64 %td, {d}, 1; <div|rem>.<s|u>64 {D}, {d}, %td;",
        "and.b64 %td, {d}, 0xffff; or.b64 %td, %td, 1; <div|rem>.<s|u>64 {D}, {d}, %td;",
        "<div|rem>.<s|u>32 {R}, {r}, <1|2|3|5|7|10|641|4096|65535|0x7fffffff|0x80000000|0xffffffff|-7|0xfffffffe>;",
        "<div|rem>.<s|u>64 {D}, {d}, <1|3|7|10|4096|1000000007|0x7fffffffffffffff|0x8000000000000000|-1|-10>;",
        "<div|rem>.<s|u>16 {H}, {h}, <1|3|7|10|0x7fff|0x8000|-1>;",
        "dp4a.<s|u>32.<s|u>32 {R}, {r}, {r}, {r};",
        "add.cc.u32 {R}, {r}, {r}; addc.cc.u32 {R}, {r}, {r}; addc.u32 {R}, 0, 0;",
        "sub.cc.u32 {R}, {r}, {r}; subc.cc.u32 {R}, {r}, {r}; subc.u32 {R}, 0, 0;",
        "mad.lo.cc.u32 {R}, {r}, {r}, {r}; madc.hi.cc.u32 {R}, {r}, 77, -1; addc.u32 {R}, 0, 0;",
        "add.cc.u64 {D}, {d}, {d}; addc.u64 {D}, {d}, {d};",
        "sub.cc.u64 {D}, {d}, {d}; subc.u64 {D}, {d}, {d};",
    ]));
}

#[test]
fn bit_forms() {
    check(&expand(&[
        "<and|or|xor>.b16 {H}, {h}, {h};",
        "<and|or|xor>.b32 {R}, {r}, {r};",
        "<and|or|xor>.b64 {D}, {d}, {d};",
        "<not|cnot>.b16 {H}, {h};",
        "<not|cnot|brev>.b32 {R}, {r};",
        "<not|cnot|brev>.b64 {D}, {d};",
        "<popc|clz>.b32 {R}, {r};",
        "<popc|clz>.b64 {R}, {d};",
        "bfind<|.shiftamt>.<s|u>32 {R}, {r};",
        "bfind<|.shiftamt>.<s|u>64 {R}, {d};",
        "bfe.<s|u>32 {R}, {r}, {r}, {r};",
        "bfe.<s|u>64 {D}, {d}, {r}, {r};",
        "bfe.<s|u>32 {R}, {r}, <0|7|31|32|255>, <0|1|8|32|200>;",
        "bfi.b32 {R}, {r}, {r}, {r}, {r};",
        "bfi.b64 {D}, {d}, {d}, {r}, {r};",
        "bfi.b32 {R}, {r}, {r}, <0|7|31|32|255>, <0|1|8|32|200>;",
        "bmsk.<clamp|wrap>.b32 {R}, {r}, {r};",
        "szext.<clamp|wrap>.<s|u>32 {R}, {r}, {r};",
        "prmt.b32<|.f4e|.b4e|.rc8|.ecl|.ecr|.rc16> {R}, {r}, {r}, {r};",
        "prmt.b32 {R}, {r}, {r}, <0x3210|0x7654|0x0123|0x9988|0xba98|0x4440|0xffff>;",
        "lop3.b32 {R}, {r}, {r}, {r}, <0x00|0x17|0x3c|0x69|0x80|0xca|0xd8|0xe8|0xff>;",
        "lop3.<or|and>.b32 {R}|{P}, {r}, {r}, {r}, <0x17|0x80|0xca>, {p};",
        "shf.<l|r>.<clamp|wrap>.b32 {R}, {r}, {r}, {r};",
        "shf.<l|r>.<clamp|wrap>.b32 {R}, {r}, {r}, <0|1|31|32|33|64>;",
        "shl.b16 {H}, {h}, {r};",
        "shl.b32 {R}, {r}, {r};",
        "shl.b64 {D}, {d}, {r};",
        "shl.b64 {D}, {d}, <0|1|31|32|33|63|64|65>;",
        "shr.<s|u>16 {H}, {h}, {r};",
        "shr.<s|u>32 {R}, {r}, {r};",
        "shr.<s|u>64 {D}, {d}, {r};",
        "shr.<s|u>64 {D}, {d}, <0|1|31|32|33|63|64|65>;",
    ]));
}

#[test]
fn comparisons_and_selections() {
    check(&expand(&[
        "setp.<eq|ne|lt|le|gt|ge>.<s|u>16 {P}, {h}, {h};",
        "setp.<eq|ne|lt|le|gt|ge>.<s|u>32 {P}|{P}, {r}, {r};",
        "setp.<eq|ne|lt|le|gt|ge>.<s|u>64 {P}|{P}, {d}, {d};",
        "setp.<lt|ge>.<s|u>64 {P}, {d}, <0|1|-1|0x80000000|0xffffffff|0x100000000>;",
        "setp.<lt|eq>.<and|or|xor>.<s|u>32 {P}|{P}, {r}, {r}, {p};",
        "setp.<lt|eq>.<and|or|xor>.<s|u>64 {P}|{P}, {d}, {d}, !{p};",
        "setp.<eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan><|.ftz>.f32 {P}|{P}, {f}, {f};",
        "setp.<eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan>.f64 {P}|{P}, {g}, {g};",
        "setp.<lt|neu>.<and|or|xor>.f32 {P}|{P}, {f}, {f}, {p};",
        "setp.<lt|neu>.<and|or|xor>.f64 {P}|{P}, {g}, {g}, {p};",
        "set.<eq|lt|gtu|nan><|.ftz>.<u32|s32>.f32 {R}, {f}, {f};",
        "set.<eq|lt|gtu|nan>.f32.f32 {F}, {f}, {f};",
        "set.<eq|lt|ge>.<u32|s32>.<u|s>32 {R}, {r}, {r};",
        "set.<eq|lt|ge>.f32.s32 {F}, {r}, {r};",
        "set.<eq|lt>.u32.f64 {R}, {g}, {g};",
        "selp.b16 {H}, {h}, {h}, {p};",
        "selp.b32 {R}, {r}, {r}, {p};",
        "selp.b64 {D}, {d}, {d}, {p};",
        "selp.f32 {F}, {f}, {f}, {p};",
        "selp.f64 {G}, {g}, {g}, {p};",
        "slct.u32.s32 {R}, {r}, {r}, {r};",
        "slct.s64.s32 {D}, {d}, {d}, {r};",
        "slct<|.ftz>.f32.f32 {F}, {f}, {f}, {f};",
        "slct.f64.f32 {G}, {g}, {g}, {f};",
        "testp.<finite|infinite|number|notanumber|normal|subnormal>.f32 {P}, {f};",
        "testp.<finite|infinite|number|notanumber|normal|subnormal>.f64 {P}, {g};",
        "<and|or|xor>.pred {P}, {p}, {p};",
        "not.pred {P}, {p};",
    ]));
}

#[test]
fn single_precision_forms() {
    check(&expand(&[
        "<add|sub|mul><|.rn|.rz|.rm|.rp><|.ftz><|.sat>.f32 {F}, {f}, {f};",
        "fma.<rn|rz|rm|rp><|.ftz><|.sat>.f32 {F}, {f}, {f}, {f};",
        "div.<rn|rz|rm|rp><|.ftz>.f32 {F}, {f}, {f};",
        "<rcp|sqrt>.<rn|rz|rm|rp><|.ftz>.f32 {F}, {f};",
        "div.rn.f32 {F}, {f}, <0f3F800000|0f40400000|0f3FFFFFFF|0f007FFFFF|0f7F7FFFFF|0f00000001|0f40000000>;",
        "div.rn.f32 {F}, <0f3F800000|0f40400000|0f3FFFFFFF|0f007FFFFF|0f7F7FFFFF>, {f};",
        "<min|max><|.ftz><|.NaN>.f32 {F}, {f}, {f};",
        "<abs|neg><|.ftz>.f32 {F}, {f};",
    ]));
}

#[test]
fn double_precision_forms() {
    check(&expand(&[
        "<add|sub|mul><|.rn|.rz|.rm|.rp>.f64 {G}, {g}, {g};",
        "fma.<rn|rz|rm|rp>.f64 {G}, {g}, {g}, {g};",
        "div.<rn|rz|rm|rp>.f64 {G}, {g}, {g};",
        "<rcp|sqrt>.<rn|rz|rm|rp>.f64 {G}, {g};",
        "div.rn.f64 {G}, {g}, <0d3FF0000000000000|0d4008000000000000|0d3FFFFFFFFFFFFFFF|0d7FEFFFFFFFFFFFFF>;",
        "div.rn.f64 {G}, <0d3FF0000000000000|0d4008000000000000|0d3FFFFFFFFFFFFFFF|0d000FFFFFFFFFFFFF>, {g};",
        "<min|max|add>.f64 {G}, {g}, {g};",
        "<abs|neg>.f64 {G}, {g};",
    ]));
}

/// Whether every value of an integer conversion's source fits its result: such a conversion has no `.sat`.
fn fits(form: &str) -> bool {
    let mut types = form.split([' ', '.']).filter_map(|word| {
        let bits: u32 = word.get(1..)?.parse().ok()?;
        Some((word.starts_with('s'), bits)).filter(|_| word.starts_with(['u', 's']))
    });
    match (types.next(), types.next()) {
        (Some((false, _)), Some((true, _))) => false,
        (Some((true, to)), Some((false, from))) => to > from,
        (Some((_, to)), Some((_, from))) => to >= from,
        _ => false,
    }
}

#[test]
fn conversions() {
    let mut forms = expand(&[
        "cvt<|.sat>.<u|s><8|16>.<u|s><8|16> {H}, {h};",
        "cvt<|.sat>.<u|s><8|16>.<u|s>32 {H}, {r};",
        "cvt<|.sat>.<u|s><8|16>.<u|s>64 {H}, {d};",
        "cvt<|.sat>.<u|s><8|16|32>.<u|s><8|16|32> {R}, {r};",
        "cvt<|.sat>.<u|s><8|16|32>.<u|s>64 {R}, {d};",
        "cvt<|.sat>.<u|s>64.<u|s><8|16|32> {D}, {r};",
        "cvt.<rn|rz|rm|rp>.f32.<u|s><8|16|32> {F}, {r};",
        "cvt.<rn|rz|rm|rp>.f32.<u|s>64 {F}, {d};",
        "cvt.<rn|rz|rm|rp>.f64.<u|s>32 {G}, {r};",
        "cvt.<rn|rz|rm|rp>.f64.<u|s>64 {G}, {d};",
        "cvt.<rni|rzi|rmi|rpi><|.ftz>.<u|s><8|16|32>.f32 {R}, {f};",
        "cvt.<rni|rzi|rmi|rpi><|.ftz>.<u|s>64.f32 {D}, {f};",
        "cvt.<rni|rzi|rmi|rpi>.<u|s><8|16|32>.f64 {R}, {g};",
        "cvt.<rni|rzi|rmi|rpi>.<u|s>64.f64 {D}, {g};",
        "cvt<|.ftz>.f64.f32 {G}, {f};",
        "cvt.<rn|rz|rm|rp><|.ftz><|.sat>.f32.f64 {F}, {g};",
        "cvt.<rni|rzi|rmi|rpi><|.ftz><|.sat>.f32.f32 {F}, {f};",
        "cvt<|.ftz>.sat.f32.f32 {F}, {f};",
        "cvt.<rni|rzi|rmi|rpi>.f64.f64 {G}, {g};",
        "cvt.<rn|rz>.f16.f32 {H}, {f};",
        "cvt<|.ftz>.f32.f16 {F}, {h};",
        "cvt.<rn|rz>.f16.f64 {H}, {g};",
        "cvt.f64.f16 {G}, {h};",
        "cvt.<rni|rzi|rmi|rpi>.<u|s>32.f16 {R}, {h};",
        "cvt.rn.f16.<u|s>32 {H}, {r};",
    ]);
    forms.retain(|form| !form.starts_with("cvt.sat.") || !fits(form));
    check(&forms);
}

/// Checks a form's relative or absolute error for all operands that `wanted` accepts.
fn approximate(form: &str, bound: f64, absolute: f64, wanted: impl Fn(&[f64]) -> bool) {
    let outcomes = run(form, 7, 4 * COUNT).unwrap_or_else(|fault| panic!("{fault}"));
    for outcome in outcomes {
        let (kind, expected) = outcome.expected[0];
        let value = |bits: u64| {
            if kind == 'f' { f64::from(f32::from_bits(bits as u32)) } else { f64::from_bits(bits) }
        };
        let sources: Vec<f64> = outcome.sources.iter().map(|&bits| value(bits)).collect();
        if !wanted(&sources) {
            continue;
        }
        let (expected, actual) = (value(expected), value(outcome.actual[0]));
        // On one side of the bound the result may be flushed, on the other not.
        let edge = if kind == 'f' { 1.000_001 * f64::from(f32::MIN_POSITIVE) } else { 0.0 };
        if form.contains("ftz") && expected.abs() <= edge && actual.abs() <= edge {
            continue;
        }
        if expected.is_nan() || expected.is_infinite() || expected == 0.0 {
            let same = expected.is_nan() && actual.is_nan() || expected == actual || actual.abs() <= absolute;
            assert!(same, "{form} of {sources:?} is {actual} instead of {expected}");
            continue;
        }
        // Close to overflow, an infinity is accepted.
        let actual = match actual.is_infinite() && kind == 'f' {
            true if expected.abs() * (1.0 + bound) > f64::from(f32::MAX) => expected,
            _ => actual,
        };
        let error = (actual - expected).abs();
        // A subnormal result has the precision that is left.
        let least = if kind == 'f' { f64::from(f32::from_bits(1)) } else { f64::from_bits(1) };
        assert!(
            error <= absolute || error <= bound * expected.abs() + least,
            "{form} of {sources:?} is {actual} instead of {expected}"
        );
    }
}

#[test]
fn approximate_forms_keep_their_bounds() {
    let exp = |n: f64| 2f64.powf(n);
    let any = |_: &[f64]| true;
    for form in expand(&["rcp.approx<|.ftz>.f32 {F}, {f};", "sqrt.approx<|.ftz>.f32 {F}, {f};"]) {
        approximate(&form, exp(-22.99), 0.0, any);
    }
    for form in expand(&["rsqrt.approx<|.ftz>.f32 {F}, {f};"]) {
        approximate(&form, exp(-22.4), 0.0, any);
    }
    for form in expand(&["div.<approx|full><|.ftz>.f32 {F}, {f}, {f};"]) {
        // Two units in the last place where the divisor is neither tiny nor huge.
        approximate(&form, exp(-22.0), 0.0, |s| (exp(-126.0)..=exp(126.0)).contains(&s[1].abs()));
    }
    for form in expand(&["ex2.approx<|.ftz>.f32 {F}, {f};"]) {
        approximate(&form, exp(-22.0), 0.0, any);
    }
    for form in expand(&["lg2.approx<|.ftz>.f32 {F}, {f};"]) {
        approximate(&form, exp(-22.0), exp(-22.0), any);
    }
    for form in expand(&["<sin|cos>.approx<|.ftz>.f32 {F}, {f};"]) {
        approximate(&form, 0.0, exp(-20.5), |s| s[0].abs() <= std::f64::consts::TAU);
    }
    approximate("tanh.approx.f32 {F}, {f};", exp(-10.987), 0.0, any);
    // Twenty bits or so, from the upper words alone.
    approximate("rcp.approx.ftz.f64 {G}, {g};", exp(-19.0), 0.0, |s| s[0].is_normal() && s[0].abs() < 1e300);
    approximate("rsqrt.approx.f64 {G}, {g};", exp(-19.0), 0.0, any);
}
