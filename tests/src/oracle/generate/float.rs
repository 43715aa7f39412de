//! Draws floating-point instructions whose results are exact, and conversions from and to floats.
//!
//! A product and a sum that name no rounding are fused where the oracle's reading of the rule says so.

use super::writer::Writer;

/// One instruction.
pub(super) fn line(w: &mut Writer<'_>) -> String {
    let guard = w.guard();
    match w.dice.below(15) {
        14 => contraction(w),
        0..=5 => single(w, &guard),
        6..=8 => double(w, &guard),
        9 | 10 => conversion(w, &guard),
        11 => compare(w, &guard),
        _ => select(w, &guard),
    }
}

const ROUNDINGS: [&str; 8] = [".rn", ".rn", ".rn", ".rn", ".rn", ".rz", ".rm", ".rp"];

fn single(w: &mut Writer<'_>, guard: &str) -> String {
    let (d, a, b, c) = (w.f(), w.f_or_constant(), w.f_or_constant(), w.f_or_constant());
    let rounding = w.dice.pick(&ROUNDINGS);
    let ftz = w.dice.pick(&["", "", ".ftz"]);
    let sat = w.dice.pick(&["", "", "", "", ".sat"]);
    match w.dice.below(16) {
        0..=2 => {
            let rounding = if w.dice.chance(40) { "" } else { rounding };
            format!("{guard}{}{rounding}{ftz}{sat}.f32 {d}, {a}, {b};", w.dice.pick(&["add", "sub"]))
        }
        3 | 4 => format!("{guard}mul{rounding}{ftz}{sat}.f32 {d}, {a}, {b};"),
        5..=7 => format!("{guard}fma{rounding}{ftz}{sat}.f32 {d}, {a}, {b}, {c};"),
        8 | 9 => format!("{guard}div{rounding}{ftz}.f32 {d}, {a}, {b};"),
        10 => format!("{guard}rcp{rounding}{ftz}.f32 {d}, {a};"),
        11 => format!("{guard}sqrt{rounding}{ftz}.f32 {d}, {a};"),
        12 | 13 => {
            let nan = if w.has(80) { w.dice.pick(&["", "", ".NaN"]) } else { "" };
            // Of operands whose order it knows, ptxas gives one that it has not flushed.
            let ftz = if w.strict() { "" } else { ftz };
            format!("{guard}{}{ftz}{nan}.f32 {d}, {a}, {b};", w.dice.pick(&["min", "max"]))
        }
        14 => format!("{guard}{}{ftz}.f32 {d}, {a};", w.dice.pick(&["abs", "neg"])),
        // The sign of a NaN is undefined.
        _ => format!(
            "{{\n.reg .pred %t;\n.reg .f32 %u;\nsetp.nan.f32 %t, {a}, {a};\nselp.f32 %u, 0fbf800000, {a}, %t;\n{guard}copysign.f32 {d}, %u, {b};\n}}"
        ),
    }
}

fn double(w: &mut Writer<'_>, guard: &str) -> String {
    let (d, a, b, c) = (w.g(), w.g_or_constant(), w.g_or_constant(), w.g_or_constant());
    let rounding = w.dice.pick(&ROUNDINGS);
    match w.dice.below(16) {
        0..=2 => {
            let rounding = if w.dice.chance(40) { "" } else { rounding };
            format!("{guard}{}{rounding}.f64 {d}, {a}, {b};", w.dice.pick(&["add", "sub"]))
        }
        3 | 4 => format!("{guard}mul{rounding}.f64 {d}, {a}, {b};"),
        5..=7 => format!("{guard}fma{rounding}.f64 {d}, {a}, {b}, {c};"),
        8 | 9 => format!("{guard}div{rounding}.f64 {d}, {a}, {b};"),
        10 => format!("{guard}rcp{rounding}.f64 {d}, {a};"),
        11 => format!("{guard}sqrt{rounding}.f64 {d}, {a};"),
        12 | 13 => format!("{guard}{}.f64 {d}, {a}, {b};", w.dice.pick(&["min", "max"])),
        14 => format!("{guard}{}.f64 {d}, {a};", w.dice.pick(&["abs", "neg"])),
        _ => format!(
            "{{\n.reg .pred %t;\n.reg .f64 %u;\nsetp.nan.f64 %t, {a}, {a};\nselp.f64 %u, 0dbff0000000000000, {a}, %t;\n{guard}copysign.f64 {d}, %u, {b};\n}}"
        ),
    }
}

/// A product and a sum of it, which a compiler may fuse where neither names its rounding, and must not elsewhere.
fn contraction(w: &mut Writer<'_>) -> String {
    let double = w.dice.chance(40);
    let (ty, ftz) = if double { ("f64", "") } else { ("f32", w.dice.pick(&["", "", ".ftz"])) };
    let value = |w: &mut Writer<'_>| if double { w.g_or_constant() } else { w.f_or_constant() };
    let (a, b, c) = (value(w), value(w), value(w));
    let (d, product) = if double { (w.g(), w.g()) } else { (w.f(), w.f()) };
    let rounded =
        w.dice.pick(&[["", ""], ["", ""], [".rn", ""], ["", ".rn"], [".rn", ".rn"], [".rz", ".rn"]]);
    let (op, guard) = (w.dice.pick(&["add", "sub"]), w.guard());
    let (x, y) =
        if w.dice.chance(50) { (product.as_str(), c.as_str()) } else { (c.as_str(), product.as_str()) };
    format!(
        "mul{}{ftz}.{ty} {product}, {a}, {b};\n{guard}{op}{}{ftz}.{ty} {d}, {x}, {y};",
        rounded[0], rounded[1]
    )
}

fn conversion(w: &mut Writer<'_>, guard: &str) -> String {
    let float_rounding = w.dice.pick(&ROUNDINGS);
    let whole = w.dice.pick(&[".rni", ".rzi", ".rmi", ".rpi"]);
    let ftz = w.dice.pick(&["", "", ".ftz"]);
    let sat = w.dice.pick(&["", "", "", ".sat"]);
    let bits = w.dice.pick(&[8, 16, 32, 32, 32, 64, 64]);
    let ty = format!("{}{bits}", w.dice.pick(&["s", "u"]));
    let register_bits = match bits {
        8 => w.dice.pick(&[16, 32]),
        bits => bits,
    };
    // ptxas may leave the upper half of a register as it was where it converts to 8 bits under a guard.
    let register_bits = if bits == 8 && w.strict() { 16 } else { register_bits };
    let integer = w.int(register_bits);
    let (f, g) = (w.f(), w.g());
    let kind = w.dice.below(12);
    if w.strict() && bits == 16 && (4..8).contains(&kind) {
        // Where it converts to 16 bits again behind a branch, ptxas may leave the upper half as it was and read it.
        return select(w, guard);
    }
    match kind {
        0 | 1 => format!("{guard}cvt{float_rounding}.f32.{ty} {f}, {integer};"),
        2 | 3 => format!("{guard}cvt{float_rounding}.f64.{ty} {g}, {integer};"),
        4 | 5 => format!("{guard}cvt{whole}{ftz}.{ty}.f32 {integer}, {f};"),
        6 | 7 => format!("{guard}cvt{whole}.{ty}.f64 {integer}, {g};"),
        8 => format!("{guard}cvt{ftz}.f64.f32 {g}, {f};"),
        9 => format!("{guard}cvt{float_rounding}{ftz}{sat}.f32.f64 {f}, {g};"),
        10 => match w.dice.below(3) {
            0 => format!("{guard}cvt{whole}{ftz}{sat}.f32.f32 {f}, {};", w.f()),
            1 => format!("{guard}cvt.sat{ftz}.f32.f32 {f}, {};", w.f()).replace(".sat.ftz", ".ftz.sat"),
            _ => format!("{guard}cvt{whole}.f64.f64 {g}, {};", w.g()),
        },
        _ => {
            let h = w.h();
            match w.dice.below(2) {
                0 => format!("{guard}cvt.f32.f16 {f}, {h};"),
                _ => format!("{guard}cvt{}.f16.f32 {h}, {f};", w.dice.pick(&[".rn", ".rz"])),
            }
        }
    }
}

const COMPARISONS: [&str; 14] =
    ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"];

fn compare(w: &mut Writer<'_>, guard: &str) -> String {
    let (p, q, c, r) = (w.p(), w.p(), w.condition(), w.r());
    let comparison = w.dice.pick(&COMPARISONS);
    let (ty, a, b) = if w.dice.chance(60) {
        (w.dice.pick(&["f32", "f32", "ftz.f32"]), w.f(), w.f_or_constant())
    } else {
        ("f64", w.g(), w.g_or_constant())
    };
    match w.dice.below(10) {
        0..=4 => format!("{guard}setp.{comparison}.{ty} {p}, {a}, {b};"),
        5 | 6 => {
            let both = if p != q && w.dice.chance(40) { format!("{p}|{q}") } else { p };
            let combine = w.dice.pick(&["and", "or", "xor"]);
            // A branch on the result may compare again without flushing.
            let ty = if w.strict() { ty.trim_start_matches("ftz.") } else { ty };
            format!("{guard}setp.{comparison}.{combine}.{ty} {both}, {a}, {b}, {c};")
        }
        7 => {
            let dst = w.dice.pick(&["u32", "s32"]);
            let ftz = if ty == "ftz.f32" { ".ftz" } else { "" };
            let ty = if ty == "f64" { "f64" } else { "f32" };
            format!("{guard}set.{comparison}{ftz}.{dst}.{ty} {r}, {a}, {b};")
        }
        8 => {
            let class = w.dice.pick(&["finite", "infinite", "number", "notanumber", "normal", "subnormal"]);
            let ty = if ty == "f64" { "f64" } else { "f32" };
            // ptxas leaves out a guard that it knows to be false.
            let guard = if w.strict() { "" } else { guard };
            format!("{guard}testp.{class}.{ty} {p}, {a};")
        }
        _ => {
            let (f, a, b) = (w.f(), w.f(), w.f_or_constant());
            // ptxas guards the comparison alone: where it is not made, it converts what the register had.
            let guard = if w.strict() { "" } else { guard };
            format!("{guard}set.{comparison}.f32.f32 {f}, {a}, {b};")
        }
    }
}

fn select(w: &mut Writer<'_>, guard: &str) -> String {
    let p = w.p();
    match w.dice.below(6) {
        0 | 1 => {
            let (d, a, b) = (w.f(), w.f_or_constant(), w.f_or_constant());
            format!("{guard}selp.f32 {d}, {a}, {b}, {p};")
        }
        2 => {
            let (d, a, b) = (w.g(), w.g_or_constant(), w.g_or_constant());
            format!("{guard}selp.f64 {d}, {a}, {b}, {p};")
        }
        3 => {
            let (d, a, b, c) = (w.f(), w.f(), w.f(), w.f());
            let ftz = w.dice.pick(&["", ".ftz"]);
            format!("{guard}slct{ftz}.f32.f32 {d}, {a}, {b}, {c};")
        }
        4 => format!("{guard}mov.f32 {}, {};", w.f(), w.f_or_constant()),
        _ => format!("{guard}mov.f64 {}, {};", w.g(), w.g_or_constant()),
    }
}
