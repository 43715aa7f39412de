//! Draws copies of every class of register: swaps, rotations, values that outlive their register, and loops whose
//! branch reads a copy of a predicate that the trip has already replaced, as compilers write loops of two trips.
//!
//! Over a back edge each of them is a parallel copy in which the order matters.

use super::Node;
use super::shape::SCRATCH_BYTES;
use super::writer::Writer;

/// A class of registers: its letter, its width (0 for predicates) and the types that `mov` may name.
const CLASSES: [(char, u32, &[&str]); 6] = [
    ('h', 16, &["b16", "u16", "s16"]),
    ('r', 32, &["b32", "u32", "s32"]),
    ('d', 64, &["b64", "u64", "s64"]),
    ('f', 32, &["f32", "b32"]),
    ('g', 64, &["f64", "b64"]),
    ('p', 0, &["pred"]),
];

/// Copies between registers of one class.
pub(super) fn copies(w: &mut Writer<'_>) -> String {
    match w.dice.below(12) {
        0..=4 => rotation(w),
        5..=7 => outlives(w),
        8 => select(w),
        9 if !w.in_function => vector(w),
        10 => wide(w),
        _ => movement(w),
    }
}

/// `mov` of any class, under a guard or not.
fn movement(w: &mut Writer<'_>) -> String {
    let (class, _, types) = w.dice.pick(&CLASSES);
    let (guard, ty) = (w.guard(), w.dice.pick(types));
    let (d, a) = (w.register(class), w.register(class));
    let a = if class == 'p' && w.dice.chance(40) { w.dice.pick(&["-1", "0", "1"]).to_owned() } else { a };
    format!("{guard}mov.{ty} {d}, {a};")
}

/// Each of two to four registers gets what the next one held; they need not be different.
fn rotation(w: &mut Writer<'_>) -> String {
    let (class, bits, types) = w.dice.pick(&CLASSES);
    let count = w.dice.between(2, 4);
    let list: Vec<String> = (0..count).map(|_| w.register(class)).collect();
    let declared = if class == 'p' { "pred".to_owned() } else { format!("b{bits}") };
    let mut text = format!("{{\n.reg .{declared} %t;\nmov.{} %t, {};\n", w.dice.pick(types), list[0]);
    for pair in list.windows(2) {
        text += &format!("mov.{} {}, {};\n", w.dice.pick(types), pair[0], pair[1]);
    }
    text + &format!("mov.{} {}, %t;\n}}", w.dice.pick(types), list[count - 1])
}

/// A register's old value is read after the register has been written.
fn outlives(w: &mut Writer<'_>) -> String {
    let (class, bits, types) = w.dice.pick(&CLASSES);
    let (a, b) = (w.register(class), w.register(class));
    let declared = if class == 'p' { "pred".to_owned() } else { format!("b{bits}") };
    let update = match class {
        'p' => format!("not.pred {a}, {a};"),
        'f' => format!("add.rn.f32 {a}, {a}, 0f3F800000;"),
        'g' => format!("add.rn.f64 {a}, {a}, 0d3FF0000000000000;"),
        _ => format!("add.u{bits} {a}, {a}, {};", w.dice.between(1, 9)),
    };
    let read = match class {
        'p' => format!("{}.pred {b}, {b}, %t;", w.dice.pick(&["and", "or", "xor"])),
        'f' => format!("sub.rn.f32 {b}, {b}, %t;"),
        'g' => format!("sub.rn.f64 {b}, {b}, %t;"),
        _ => format!("sub.u{bits} {b}, {b}, %t;"),
    };
    let read = if w.dice.chance(30) { format!("mov.{} {b}, %t;", w.dice.pick(types)) } else { read };
    format!("{{\n.reg .{declared} %t;\nmov.{} %t, {a};\n{update}\n{read}\n}}", w.dice.pick(types))
}

/// Two registers swapped where a predicate holds.
fn select(w: &mut Writer<'_>) -> String {
    let (class, bits, _) = w.dice.pick(&CLASSES[..5]);
    let (a, b, p) = (w.register(class), w.register(class), w.p());
    format!(
        "{{\n.reg .b{bits} %t;\nselp.b{bits} %t, {a}, {b}, {p};\nselp.b{bits} {b}, {b}, {a}, {p};\nmov.b{bits} {a}, %t;\n}}"
    )
}

/// A rotation through memory with a vector access.
fn vector(w: &mut Writer<'_>) -> String {
    let (letter, pool, bytes) = w.dice.pick(&[
        ('r', w.pools.word, 4),
        ('f', w.pools.single, 4),
        ('d', w.pools.long, 8),
        ('g', w.pools.double, 8),
    ]);
    let lanes = if bytes == 4 && pool >= 4 && w.dice.chance(60) { 4 } else { 2 };
    let first = w.dice.below(pool);
    let list: Vec<String> = (0..lanes).map(|i| format!("%{letter}{}", (first + i) % pool)).collect();
    let by = w.dice.below(lanes);
    let turned: Vec<String> = (0..lanes).map(|i| list[(i + by) % lanes].clone()).collect();
    let at = w.dice.below(SCRATCH_BYTES / 16) * 16;
    let ty =
        format!("{}{}", if matches!(letter, 'f' | 'g') { "f" } else { w.dice.pick(&["b", "u"]) }, bytes * 8);
    // The bits of a NaN are undefined: they are not kept in memory.
    let zeros = vec!["0"; lanes].join(", ");
    let clear = match letter {
        'f' | 'g' => format!("\nst.global.v{lanes}.b{} [%scratch+{at}], {{{zeros}}};", bytes * 8),
        _ => String::new(),
    };
    format!(
        "st.global.v{lanes}.{ty} [%scratch+{at}], {{{}}};\nld.global.v{lanes}.{ty} {{{}}}, [%scratch+{at}];{clear}",
        list.join(", "),
        turned.join(", ")
    )
}

/// Copies of 128 bits, between `%w0`, `%w1` and pairs.
fn wide(w: &mut Writer<'_>) -> String {
    let (a, b) = (w.d(), w.d());
    let (x, y) = w.dice.pick(&[("%w0", "%w1"), ("%w1", "%w0")]);
    match w.dice.below(4) {
        0 => format!("mov.b128 {x}, {{{a}, {b}}};"),
        1 if a != b => format!("mov.b128 {{{a}, {b}}}, {x};"),
        2 => format!("{}mov.b128 {x}, {y};", w.guard()),
        _ => format!("{{\n.reg .b128 %t;\nmov.b128 %t, {x};\nmov.b128 {x}, {y};\nmov.b128 {y}, %t;\n}}"),
    }
}

/// A loop that predicates count, which move on by one place in each trip.
pub(super) fn rolled(w: &mut Writer<'_>, id: usize, body: Vec<Node>) -> Node {
    let first = (0..w.dice.between(1, 3))
        .map(|at| match w.dice.below(3) {
            0 => format!("mov.pred %k{id}_{at}, {};", w.dice.pick(&["-1", "0"])),
            1 => format!("mov.pred %k{id}_{at}, {};", w.p()),
            _ => format!("setp.lt.s32 %k{id}_{at}, {}, {};", w.r(), w.int_or_constant(32)),
        })
        .collect();
    Node::Rolled { id, first, inverted: w.dice.chance(30), copied_late: w.dice.chance(40), body }
}
