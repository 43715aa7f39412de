//! Draws integer instructions, predicates, and conversions between integers.

use super::interesting_bits;
use super::writer::Writer;

/// One instruction or a group.
pub(super) fn line(w: &mut Writer<'_>) -> String {
    match w.dice.below(20) {
        0..=9 => plain(w),
        10 | 11 => shift(w),
        12 | 13 => bits(w),
        14 => division(w),
        15 => wide(w),
        16 => conversion(w),
        17 => carries(w),
        18 => movement(w),
        _ if w.dice.chance(60) => packed(w),
        _ => predicate(w),
    }
}

fn width(w: &mut Writer<'_>) -> u32 {
    w.dice.pick(&[32, 32, 32, 32, 64, 64, 16])
}

/// `.s` or `.u` of a width.
fn signed(w: &mut Writer<'_>, bits: u32) -> String {
    format!("{}{bits}", w.dice.pick(&["s", "u"]))
}

fn plain(w: &mut Writer<'_>) -> String {
    let guard = w.guard();
    let bits = width(w);
    let (d, a, b) = (w.int(bits), w.int_or_constant(bits), w.int_or_constant(bits));
    let ty = signed(w, bits);
    match w.dice.below(20) {
        0..=4 => format!("{guard}add.{ty} {d}, {a}, {b};"),
        5 | 6 => format!("{guard}sub.{ty} {d}, {a}, {b};"),
        7 | 8 => format!("{guard}mul.lo.{ty} {d}, {a}, {b};"),
        9 => format!("{guard}mul.hi.{ty} {d}, {a}, {b};"),
        10 => format!("{guard}{}.{ty} {d}, {a}, {b};", w.dice.pick(&["min", "max"])),
        11 | 12 => format!("{guard}{}.b{bits} {d}, {a}, {b};", w.dice.pick(&["and", "or", "xor"])),
        13 | 14 => {
            let (half, c) = (w.dice.pick(&["lo", "lo", "lo", "hi"]), w.int_or_constant(bits));
            format!("{guard}mad.{half}.{ty} {d}, {a}, {b}, {c};")
        }
        15 => {
            let op = w.dice.pick(&["neg", "abs"]);
            // ptxas keeps 16 bits in 32, and takes 32768 for the negated -32768 where it converts the result.
            match w.strict() && bits == 16 {
                true => format!(
                    "{{\n.reg .b16 %small;\nand.b16 %small, {a}, 0x7fff;\n{guard}{op}.s16 {d}, %small;\n}}"
                ),
                false => format!("{guard}{op}.s{bits} {d}, {a};"),
            }
        }
        // ptxas takes the result of `cnot` for 0 or -1 where it saturates it.
        16 if w.strict() => format!("{guard}not.b{bits} {d}, {a};"),
        16 => format!("{guard}{}.b{bits} {d}, {a};", w.dice.pick(&["not", "cnot"])),
        17 => {
            let c = w.int_or_constant(bits);
            format!("{guard}sad.{ty} {d}, {a}, {b}, {c};")
        }
        18 => word_only(w, &guard),
        _ => {
            let p = w.p();
            format!(
                "{guard}selp.{} {d}, {a}, {b}, {p};",
                w.dice.pick(&["b", "u", "s"]).to_owned() + &bits.to_string()
            )
        }
    }
}

/// Instructions that exist for 32 bits alone, but for `dp2a` and `mad.hi.sat`, which lowering refuses by name.
fn word_only(w: &mut Writer<'_>, guard: &str) -> String {
    let (d, a, b, c) = (w.r(), w.int_or_constant(32), w.int_or_constant(32), w.int_or_constant(32));
    let ty = signed(w, 32);
    match w.dice.below(6) {
        0 => {
            let op = w.dice.pick(&["add", "sub"]);
            // ptxas takes `add.sat(sub(a, b), b)` for `a`, and `add.sat(1, add(a, 2))` for `add.sat(3, a)`, so that what it
            // knows of the operands is hidden from it.
            match w.strict() {
                true => format!(
                    "{{\n.reg .b32 %hidden, %other;\nbrev.b32 %hidden, {a};\nbrev.b32 %other, {b};\n{guard}{op}.sat.s32 {d}, %hidden, %other;\n}}"
                ),
                false => format!("{guard}{op}.sat.s32 {d}, {a}, {b};"),
            }
        }
        1 => format!("{guard}mul24.{}.{ty} {d}, {a}, {b};", w.dice.pick(&["lo", "hi"])),
        2 => format!("{guard}mad24.{}.{ty} {d}, {a}, {b}, {c};", w.dice.pick(&["lo", "hi"])),
        3 => format!("{guard}dp4a.{ty}.{} {d}, {a}, {b}, {c};", signed(w, 32)),
        4 => {
            let bits = width(w);
            let (d, a, b) = (w.int(bits), w.int_or_constant(bits), w.int_or_constant(bits));
            format!("{guard}slct.{}.s32 {d}, {a}, {b}, {c};", signed(w, bits))
        }
        _ => {
            let comparison = w.dice.pick(&["eq", "ne", "lt", "le", "gt", "ge"]);
            format!("{guard}set.{comparison}.{}.{ty} {d}, {a}, {b};", signed(w, 32))
        }
    }
}

fn shift(w: &mut Writer<'_>) -> String {
    let guard = w.guard();
    let bits = width(w);
    let (d, a, amount) = (w.int(bits), w.int_or_constant(bits), w.amount());
    // ptxas leaves out a shift by 64 bits or more behind a product with a constant, and takes the low 16 bits of an amount that
    // it converts from a float.
    let (mut before, mut after, mut amount) = (String::new(), "", amount);
    if w.strict() {
        match amount.parse::<u32>() {
            Ok(large) if bits == 64 && large >= 64 => amount = "63".to_owned(),
            Ok(_) => {}
            Err(_) => {
                before = format!("{{\n.reg .b32 %amount;\nand.b32 %amount, {amount}, 63;\n");
                (after, amount) = ("\n}", "%amount".to_owned());
            }
        }
    }
    let shift = match w.dice.below(5) {
        0 | 1 => format!("{guard}shl.b{bits} {d}, {a}, {amount};"),
        2 | 3 => format!("{guard}shr.{}{bits} {d}, {a}, {amount};", w.dice.pick(&["u", "s", "b"])),
        _ => {
            let (d, a, b) = (w.r(), w.int_or_constant(32), w.int_or_constant(32));
            let (direction, mode) = (w.dice.pick(&["l", "r"]), w.dice.pick(&["clamp", "wrap"]));
            format!("{guard}shf.{direction}.{mode}.b32 {d}, {a}, {b}, {amount};")
        }
    };
    before + &shift + after
}

fn bits(w: &mut Writer<'_>) -> String {
    let guard = w.guard();
    let bits = w.dice.pick(&[32, 32, 64]);
    let (d, a, r) = (w.int(bits), w.int_or_constant(bits), w.r());
    let (start, length) = (w.amount(), w.amount());
    match w.dice.below(12) {
        0 => format!("{guard}popc.b{bits} {r}, {a};"),
        1 => format!("{guard}clz.b{bits} {r}, {a};"),
        2 => format!("{guard}bfind.{}{} {r}, {a};", w.dice.pick(&["", "shiftamt."]), signed(w, bits)),
        3 => format!("{guard}brev.b{bits} {d}, {a};"),
        4 | 5 => {
            let ty = signed(w, bits);
            field(w, &format!("{guard}bfe.{ty} {d}, {a}"), &start, &length)
        }
        6 | 7 => {
            let b = w.int_or_constant(bits);
            field(w, &format!("{guard}bfi.b{bits} {d}, {a}, {b}"), &start, &length)
        }
        8 => {
            let (a, b) = (w.int_or_constant(32), w.int_or_constant(32));
            let selector = if w.dice.chance(60) {
                format!("{:#x}", w.dice.below(0x10000))
            } else {
                w.int_or_constant(32)
            };
            let mode = w.dice.pick(&["", "", "", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"]);
            format!("{guard}prmt.b32{mode} {r}, {a}, {b}, {selector};")
        }
        9 | 10 => {
            let (a, b, c) = (w.int_or_constant(32), w.int_or_constant(32), w.int_or_constant(32));
            format!("{guard}lop3.b32 {r}, {a}, {b}, {c}, {:#x};", w.dice.below(256))
        }
        _ => match w.dice.below(2) {
            0 => format!("{guard}bmsk.{}.b32 {r}, {start}, {length};", w.dice.pick(&["clamp", "wrap"])),
            _ => {
                let (mode, ty) = (w.dice.pick(&["clamp", "wrap"]), signed(w, 32));
                let a = w.int_or_constant(32);
                // Before sm_90, ptxas gives the length as a constant, and writes its bank and offset into wrong bits.
                let length = if w.strict() && !w.has(90) { w.dice.below(40).to_string() } else { length };
                format!("{guard}szext.{mode}.{ty} {r}, {a}, {length};")
            }
        },
    }
}

/// An instruction on a bit field, whose place and length are constants to 255. ptxas leaves open what it makes of larger ones,
/// which are read from registers.
fn field(w: &Writer<'_>, instruction: &str, start: &str, length: &str) -> String {
    let large = |amount: &str| amount.parse::<u64>().is_ok_and(|amount| amount > 255);
    if !w.strict() && !large(start) && !large(length) {
        return format!("{instruction}, {start}, {length};");
    }
    // Of a value that is the same in all lanes, ptxas takes the field to be so too, wherever lanes begin it.
    let start = if w.strict() && start.starts_with('%') { "11" } else { start };
    let cut = |name: &str, amount: &str| match amount.starts_with('%') {
        true => format!("and.b32 {name}, {amount}, 255;"),
        false => format!("mov.b32 {name}, {amount};"),
    };
    let (first, second) = (cut("%start", start), cut("%length", length));
    format!("{{\n.reg .b32 %start, %length;\n{first}\n{second}\n{instruction}, %start, %length;\n}}")
}

/// Divisors are made odd, or are constants.
fn division(w: &mut Writer<'_>) -> String {
    let bits = width(w);
    let ty = signed(w, bits);
    let op = w.dice.pick(&["div", "rem"]);
    let (d, a) = (w.int(bits), w.int_or_constant(bits));
    if w.dice.chance(50) {
        let value = interesting_bits(w.dice) as i64;
        let value = match bits {
            16 => i64::from(value as i16),
            32 => i64::from(value as i32),
            _ => value,
        };
        let value = if value == 0 { 10 } else { value };
        return format!("{}{op}.{ty} {d}, {a}, {value};", w.guard());
    }
    let b = w.int(bits);
    // Half of the divisors are small, so that quotients are not all tiny.
    let shrink =
        if w.dice.chance(50) { format!("shr.s{bits} %t, %t, {};\n", bits - 6) } else { String::new() };
    format!(
        "{{\n.reg .b{bits} %t;\nmov.b{bits} %t, {b};\n{shrink}or.b{bits} %t, %t, 1;\n{op}.{ty} {d}, {a}, %t;\n}}"
    )
}

fn wide(w: &mut Writer<'_>) -> String {
    let guard = w.guard();
    let bits = w.dice.pick(&[32, 32, 32, 16]);
    let (d, c) = (w.int(2 * bits), w.int_or_constant(2 * bits));
    let (a, b) = (w.int_or_constant(bits), w.int_or_constant(bits));
    let ty = signed(w, bits);
    match w.dice.below(2) {
        0 => format!("{guard}mul.wide.{ty} {d}, {a}, {b};"),
        _ => format!("{guard}mad.wide.{ty} {d}, {a}, {b}, {c};"),
    }
}

/// Between integer types; 8-bit values live in wider registers.
fn conversion(w: &mut Writer<'_>) -> String {
    let guard = w.guard();
    let from = w.dice.pick(&[8, 16, 32, 64]);
    let to = w.dice.pick(&[8, 16, 32, 64]);
    let register_bits = |w: &mut Writer<'_>, bits: u32| match bits {
        8 => w.dice.pick(&[16, 32]),
        16 => w.dice.pick(&[16, 16, 32]),
        bits => bits,
    };
    let (source_bits, result_bits) = (register_bits(w, from), register_bits(w, to));
    let (d, a) = (w.int(result_bits), w.int(source_bits));
    let sat = w.dice.pick(&["", "", ".sat"]);
    let (to_type, from_type) = (signed(w, to), signed(w, from));
    // ptxas reads the result of `cvt.s8.u8` as a `u8`.
    let to_type = if w.strict() && (from, to) == (8, 8) { from_type.clone() } else { to_type };
    // It is refused where no value needs it.
    let (to_signed, from_signed) = (to_type.starts_with('s'), from_type.starts_with('s'));
    let fits = match (from_signed, to_signed) {
        (true, false) => false,
        (false, true) => to > from,
        _ => to >= from,
    };
    // Of a negation, ptxas takes the smallest number for a positive one in `cvt.sat.u64.s32`.
    let wrong = w.strict() && (from, to) == (32, 64) && from_signed && !to_signed;
    let sat = if fits || wrong { "" } else { sat };
    format!("{guard}cvt{sat}.{to_type}.{from_type} {d}, {a};")
}

/// A chain of two to six instructions of any families that propagate the carry.
fn chain(w: &mut Writer<'_>) -> String {
    let length = w.dice.between(2, 6);
    let mut lines = Vec::new();
    for at in 0..length {
        let bits = w.dice.pick(&[32, 32, 32, 64]);
        let (d, a, b, c) =
            (w.int(bits), w.int_or_constant(bits), w.int_or_constant(bits), w.int_or_constant(bits));
        let carry = if at == 0 { "" } else { "c" };
        let hands_on = if at + 1 < length { ".cc" } else { "" };
        let ty = signed(w, bits);
        lines.push(match w.dice.below(4) {
            0 => format!("add{carry}{hands_on}.{ty} {d}, {a}, {b};"),
            1 => format!("sub{carry}{hands_on}.{ty} {d}, {a}, {b};"),
            _ => {
                let half = w.dice.pick(&["lo", "hi"]);
                // ptxas 13.5 multiplies with zero instead of a factor that it knows, and adds that in place of the addend.
                let half = if w.strict() && bits == 64 { "lo" } else { half };
                format!("mad{carry}.{half}{hands_on}.{ty} {d}, {a}, {b}, {c};")
            }
        });
        // Instructions that do not change the carry may be in between.
        if w.dice.chance(25) {
            lines.push(format!("xor.b32 {}, {}, {};", w.r(), w.r(), w.r()));
        }
    }
    lines.join("\n")
}

fn carries(w: &mut Writer<'_>) -> String {
    if w.dice.chance(40) {
        return chain(w);
    }
    let v: Vec<String> = (0..6).map(|_| w.int_or_constant(32)).collect();
    let (low, middle, high) = (w.r(), w.r(), w.r());
    let (a, b) = (w.r(), w.r());
    // For sm_120, ptxas computes the words of one product again behind a branch, from registers that have changed there.
    let form = match w.dice.below(5) {
        form @ (2 | 3) if w.strict() && w.has(120) => form - 2,
        form => form,
    };
    match form {
        0 => format!(
            "add.cc.u32 {low}, {}, {};\naddc.cc.u32 {middle}, {}, {};\naddc.u32 {high}, {}, {};",
            v[0], v[1], v[2], v[3], v[4], v[5]
        ),
        1 => format!(
            "sub.cc.u32 {low}, {}, {};\nsubc.cc.u32 {middle}, {}, {};\nsubc.u32 {high}, {}, {};",
            v[0], v[1], v[2], v[3], v[4], v[5]
        ),
        2 => format!(
            "mad.lo.cc.u32 {low}, {a}, {b}, {};\nmadc.hi.cc.u32 {middle}, {a}, {b}, {};\naddc.u32 {high}, {}, {};",
            v[0], v[1], v[2], v[3]
        ),
        3 => format!(
            "mad.lo.cc.u32 {low}, {a}, {b}, {};\nmadc.lo.cc.u32 {middle}, {}, {b}, {};\nmadc.hi.u32 {high}, {a}, {b}, {};",
            v[0], v[1], v[2], v[3]
        ),
        _ => {
            let (d, e) = (w.d(), w.d());
            let (a, b, c, f) = (w.d(), w.int_or_constant(64), w.d(), w.int_or_constant(64));
            let op = w.dice.pick(&["add", "sub"]);
            format!("{op}.cc.u64 {d}, {a}, {b};\n{op}c.u64 {e}, {c}, {f};")
        }
    }
}

/// Copies, packing, unpacking, and floats as bits with one NaN for all.
fn movement(w: &mut Writer<'_>) -> String {
    let guard = w.guard();
    let (d, r, h) = (w.d(), w.r(), w.h());
    match w.dice.below(9) {
        0 => format!("{guard}mov.b64 {d}, {{{r}, {}}};", w.int_or_constant(32)),
        1 => {
            let other = w.r();
            if other == r {
                return format!("{guard}mov.b64 {{{r}, _}}, {d};");
            }
            format!("{guard}mov.b64 {{{r}, {other}}}, {d};")
        }
        2 => format!("{guard}mov.b32 {r}, {{{h}, {}}};", w.h()),
        3 => {
            let other = w.h();
            if w.strict() {
                // Where only the upper half is read of what a load extended, ptxas gives the lower one.
                format!(
                    "{{\n.reg .b32 %t;\nmov.b32 %t, {r};\n{guard}cvt.u16.u32 {h}, %t;\nshr.u32 %t, %t, 16;\n\
                     {guard}cvt.u16.u32 {other}, %t;\n}}"
                )
            } else if other == h {
                format!("{guard}mov.b32 {{_, {h}}}, {r};")
            } else {
                format!("{guard}mov.b32 {{{h}, {other}}}, {r};")
            }
        }
        4 => format!("{guard}mov.u32 {r}, {};", w.int_or_constant(32)),
        5 => {
            let f = w.f();
            format!("{{\n.reg .pred %t;\nsetp.nan.f32 %t, {f}, {f};\nselp.b32 {r}, 0x7fffffff, {f}, %t;\n}}")
        }
        6 => {
            let g = w.g();
            format!(
                "{{\n.reg .pred %t;\nsetp.nan.f64 %t, {g}, {g};\nselp.b64 {d}, 0x7ff8000000000000, {g}, %t;\n}}"
            )
        }
        7 => format!("{guard}mov.b32 {}, {r};", w.f()),
        _ => format!("{guard}mov.b64 {}, {d};", w.g()),
    }
}

/// An instruction that writes predicates.
pub(super) fn predicate(w: &mut Writer<'_>) -> String {
    let guard = w.guard();
    let (p, q, c) = (w.p(), w.p(), w.condition());
    let bits = width(w);
    let (a, b) = (w.int(bits), w.int_or_constant(bits));
    match w.dice.below(12) {
        0..=6 => {
            let ty = signed(w, bits);
            let comparison = w.dice.pick(&["eq", "ne", "lt", "le", "gt", "ge"]);
            let both = if p != q && w.dice.chance(15) { format!("{p}|{q}") } else { p };
            if w.dice.chance(25) {
                let combine = w.dice.pick(&["and", "or", "xor"]);
                return format!("{guard}setp.{comparison}.{combine}.{ty} {both}, {a}, {b}, {c};");
            }
            format!("{guard}setp.{comparison}.{ty} {both}, {a}, {b};")
        }
        7 => {
            let comparison = w.dice.pick(&["lo", "ls", "hi", "hs"]);
            format!("{guard}setp.{comparison}.u{bits} {p}, {a}, {b};")
        }
        8 | 9 => {
            let (other, op) = (w.p(), w.dice.pick(&["and", "or", "xor"]));
            // ptxas takes the result for another name of the source, even where the source has changed since.
            if w.strict() && other == q && op != "xor" {
                return format!("{guard}mov.pred {p}, {q};");
            }
            format!("{guard}{op}.pred {p}, {q}, {other};")
        }
        10 => format!("{guard}{}.pred {p}, {q};", w.dice.pick(&["not", "mov"])),
        // ptxas takes the predicate for a comparison of the result with zero, whatever is combined with it; and for sm_75 the
        // complement of what is combined, where a branch tells it.
        11 if w.strict() => format!("{guard}not.pred {p}, {q};"),
        _ => {
            let (r, a, b, c) = (w.r(), w.r(), w.r(), w.r());
            format!(
                "{guard}lop3.{}.b32 {r}|{p}, {a}, {b}, {c}, {:#x}, {q};",
                w.dice.pick(&["or", "and"]),
                w.dice.below(256)
            )
        }
    }
}

/// An instruction on the halves or bytes of words: packed integers, half precision (whose only NaN is 0x7FFF),
/// dot products, video, packing conversions.
fn packed(w: &mut Writer<'_>) -> String {
    let guard = w.guard();
    let (d, a, b, c) = (w.r(), w.r(), w.r(), w.r());
    let signs = [w.dice.pick(&["u", "s"]), w.dice.pick(&["u", "s"])];
    let half = if w.has(80) { w.dice.pick(&["f16x2", "bf16x2"]) } else { "f16x2" };
    match w.dice.below(10) {
        0 if !w.has(90) => {
            let (order, number) =
                (w.dice.pick(&["lt", "geu", "num", "equ", "ne"]), w.dice.pick(&["", ".ftz"]));
            format!("{guard}set.{order}{number}.f16x2.f16x2 {d}, {a}, {b};")
        }
        5 if !w.has(90) && half == "bf16x2" => format!("{guard}fma.rn.{half} {d}, {a}, {b}, {c};"),
        9 if !w.has(80) => format!("{guard}mul.rn.ftz.f16x2 {d}, {a}, {b};"),
        0 => format!("{guard}{}.{}16x2 {d}, {a}, {b};", w.dice.pick(&["add", "min", "max"]), signs[0]),
        1 | 2 => format!("{guard}fma.rn{}.f16x2 {d}, {a}, {b}, {c};", w.dice.pick(&["", ".ftz", ".sat"])),
        3 => format!("{guard}fma.rn.{half} {d}, {a}, {b}, {c};"),
        4 => format!(
            "{guard}{}.f16x2 {d}, {a}, {b};",
            w.dice.pick(&["add.rn", "sub.rn", "mul.rn", "mul.rn.sat", "add.rn.ftz"])
        ),
        5 => format!(
            "{guard}set.{}.{half}.{half} {d}, {a}, {b};",
            w.dice.pick(&["lt", "geu", "num", "equ", "ne"])
        ),
        6 => format!("{guard}dp4a.{}32.{}32 {d}, {a}, {b}, {c};", signs[0], signs[1]),
        7 => format!(
            "{guard}dp2a.{}.{}32.{}32 {d}, {a}, {b}, {c};",
            w.dice.pick(&["lo", "hi"]),
            signs[0],
            signs[1]
        ),
        8 => {
            let (kind, lanes) =
                (w.dice.pick(&["vabsdiff", "vmin", "vmax", "vavrg"]), w.dice.pick(&["2", "4"]));
            let sums = if w.dice.chance(40) { ".add" } else { "" };
            format!("{guard}{kind}{lanes}.{0}32.{0}32.{0}32{sums} {d}, {a}, {b}, {c};", signs[0])
        }
        _ => {
            let (h, l) = (w.f(), w.f());
            // `.relu` of minus zero is either zero.
            let form = w.dice.pick(&["rn.f16x2", "rz.f16x2", "rn.bf16x2", "rz.bf16x2"]);
            format!("{guard}cvt.{form}.f32 {d}, {h}, {l};")
        }
    }
}
