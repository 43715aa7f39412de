//! Draws memory accesses with the address arithmetic in front of them, atomics, and warp-wide operations.
//!
//! Indices are reduced to the size of their array. Threads write only their own elements, elements assigned
//! to them by a barrier, or accumulators of which each word has one commutative operation.

use super::Node;
use super::matrix;
use super::shape::{INPUT_WORDS, LOCAL_BYTES, SCRATCH_BYTES, SHARED_SLICE_BYTES};
use super::writer::Writer;

/// One access or group.
pub(super) fn line(w: &mut Writer<'_>) -> String {
    match w.dice.below(16) {
        0..=3 => input(w),
        4 | 5 => scratch(w),
        6 | 7 if w.uses_local => local(w),
        8 | 9 if w.uses_shared => shared(w),
        10 | 11 => accumulate(w),
        12 => table(w),
        13 if w.threads == 1 => alone(w),
        13 | 14 if w.uniform && !w.left => together(w),
        14 if w.uses_shared && w.has(80) => matrix::copy(w),
        15 => format!("{};", w.dice.pick(&["membar.gl", "membar.cta", "fence.acq_rel.gpu", "fence.sc.cta"])),
        _ => input(w),
    }
}

/// An access that a function may make: to its own local memory, or to variables of the module.
pub(super) fn of_function(w: &mut Writer<'_>) -> String {
    if w.uses_local && w.dice.chance(75) { local(w) } else { table(w) }
}

/// A type to access with: letter and width, register kind.
fn element(w: &mut Writer<'_>) -> (&'static str, usize, String) {
    match w.dice.below(9) {
        0 | 1 => ("u32", 4, w.r()),
        2 => (w.dice.pick(&["u8", "s8"]), 1, w.r()),
        3 => (w.dice.pick(&["u16", "s16", "b16"]), 2, w.h()),
        4 => (w.dice.pick(&["u16", "s16"]), 2, w.r()),
        5 => (w.dice.pick(&["s32", "u32"]), 4, w.d()),
        6 => (w.dice.pick(&["u8", "s8"]), 1, w.h()),
        7 => ("s32", 4, w.r()),
        _ => (w.dice.pick(&["u64", "b64", "s64"]), 8, w.d()),
    }
}

/// Address arithmetic from an index register to `%y`: several shapes of base + index * size.
fn indexed(w: &mut Writer<'_>, base: &str, size: usize, entries: usize) -> (String, i64) {
    let (r, shift) = (w.r(), size.trailing_zeros());
    let mask = entries - 1;
    let offset = if w.dice.chance(40) { (w.dice.below(4) * size) as i64 } else { 0 };
    let cut = format!("and.b32 %i, {r}, {};\n", mask & !3);
    let scope = "{\n.reg .b32 %i;\n.reg .b64 %y, %z;\n";
    let text = match w.dice.below(8) {
        0 | 1 => format!("mul.wide.u32 %y, %i, {size};\nadd.s64 %y, {base}, %y;\n"),
        2 => format!("mad.wide.u32 %y, %i, {size}, {base};\n"),
        3 => format!("cvt.u64.u32 %y, %i;\nshl.b64 %y, %y, {shift};\nadd.s64 %y, %y, {base};\n"),
        4 => format!("shl.b32 %i, %i, {shift};\ncvt.s64.s32 %y, %i;\nadd.u64 %y, {base}, %y;\n"),
        5 => {
            // A negative index from the end.
            let end = entries * size;
            let text = format!(
                "sub.s32 %i, %i, {entries};\nmul.wide.s32 %y, %i, {size};\nadd.s64 %y, %y, {base};\n"
            );
            return (format!("{scope}{cut}{text}"), end as i64 + offset);
        }
        6 => {
            let text = format!(
                "mul.wide.s32 %y, %i, {size};\nadd.s64 %z, {base}, 64;\nadd.s64 %y, %z, %y;\nadd.s64 %y, %y, -48;\n"
            );
            return (format!("{scope}{cut}{text}"), offset - 16);
        }
        _ => format!(
            "mul.lo.s32 %i, %i, {size};\ncvt.u64.u32 %z, %i;\nsub.s64 %y, {base}, 0;\nadd.s64 %y, %y, %z;\n"
        ),
    };
    (format!("{scope}{cut}{text}"), offset)
}

fn cached(w: &mut Writer<'_>) -> &'static str {
    w.dice.pick(&["", "", "", ".nc", ".ca", ".cg"])
}

fn input(w: &mut Writer<'_>) -> String {
    let bytes = INPUT_WORDS * 4;
    match w.dice.below(10) {
        0 | 1 => {
            let (start, offset) = indexed(w, "%inf", 4, INPUT_WORDS);
            format!("{start}ld.global{}.f32 {}, [%y+{offset}];\n}}", cached(w), w.f())
        }
        2 => {
            let (start, offset) = indexed(w, "%ing", 8, INPUT_WORDS / 2);
            format!("{start}ld.global{}.f64 {}, [%y+{offset}];\n}}", cached(w), w.g())
        }
        3 => {
            // A vector, of which a part may be thrown away.
            let (start, offset) = indexed(w, "%in", 16, bytes / 16);
            let (a, b) = (w.r(), w.r());
            let b = if a == b { "_".to_owned() } else { b };
            let offset = offset / 16 * 16;
            match w.dice.below(2) {
                0 => format!("{start}ld.global.v4.u32 {{{a}, _, {b}, _}}, [%y+{offset}];\n}}"),
                _ => format!("{start}ld.global.v2.u32 {{{a}, {b}}}, [%y+{offset}];\n}}"),
            }
        }
        4 => {
            let (start, offset) = indexed(w, "%inf", 16, bytes / 16);
            let offset = offset / 16 * 16;
            let f = w.f();
            format!(
                "{start}.reg .f32 %v0, %v1, %v2;\nld.global.v4.f32 {{%v0, %v1, {f}, %v2}}, [%y+{offset}];\nmin.f32 {f}, {f}, %v1;\n}}"
            )
        }
        5 => {
            // Generic: the buffer's address as the host knows it.
            let (ty, size, register) = element(w);
            let (start, offset) = indexed(w, "%in", size, bytes / size);
            format!("{start}ld.{ty} {register}, [%y+{offset}];\n}}")
        }
        _ => {
            let (ty, size, register) = element(w);
            let (start, offset) = indexed(w, "%in", size, bytes / size);
            format!("{start}ld.global{}.{ty} {register}, [%y+{offset}];\n}}", cached(w))
        }
    }
}

/// Stores and loads in the thread's slice of global memory.
fn scratch(w: &mut Writer<'_>) -> String {
    let (ty, size, register) = element(w);
    let entries = SCRATCH_BYTES / size;
    let volatile = w.dice.pick(&["", "", "", ".volatile"]);
    if w.dice.chance(40) {
        let at = w.dice.below(entries) * size;
        return match w.dice.below(2) {
            0 => format!("{}st{volatile}.global.{ty} [%scratch+{at}], {register};", w.guard()),
            _ => format!("{}ld{volatile}.global.{ty} {register}, [%scratch+{at}];", w.guard()),
        };
    }
    if w.dice.chance(20) {
        let at = w.dice.below(SCRATCH_BYTES / 8) * 8;
        return match w.dice.below(2) {
            0 => format!("st.global.v2.u32 [%scratch+{at}], {{{}, {}}};", w.r(), w.int_or_constant(32)),
            _ => {
                let second = if w.strict() { w.r() } else { w.h() };
                format!("st.global.v4.u8 [%scratch+{at}], {{{}, {second}, {}, {}}};", w.r(), w.r(), w.r())
            }
        };
    }
    let (start, offset) = indexed(w, "%scratch", size, entries);
    match w.dice.below(2) {
        0 => format!("{start}st{volatile}.global.{ty} [%y+{offset}], {register};\n}}"),
        _ => format!("{start}ld{volatile}.global.{ty} {register}, [%y+{offset}];\n}}"),
    }
}

fn local(w: &mut Writer<'_>) -> String {
    let (ty, size, register) = element(w);
    let entries = LOCAL_BYTES / size;
    let at = w.dice.below(entries) * size;
    let r = w.r();
    let index = format!("{{\n.reg .b32 %i;\n.reg .b64 %y, %z;\nand.b32 %i, {r}, {};\n", entries - 1);
    match w.dice.below(7) {
        0 => format!("st.local.{ty} [l_array+{at}], {register};"),
        1 => format!("ld.local.{ty} {register}, [l_array+{at}];"),
        2 | 3 => {
            let access = match w.dice.below(2) {
                0 => format!("st.local.{ty} [%y], {register};"),
                _ => format!("ld.local.{ty} {register}, [%y];"),
            };
            format!(
                "{index}mov.u64 %z, l_array;\nmul.wide.u32 %y, %i, {size};\nadd.s64 %y, %z, %y;\n{access}\n}}"
            )
        }
        4 => {
            let access = match w.dice.below(2) {
                0 => format!("st.{ty} [%y], {register};"),
                _ => format!("ld.{ty} {register}, [%y];"),
            };
            format!(
                "{index}mov.u64 %z, l_array;\ncvta.local.u64 %z, %z;\nmad.wide.u32 %y, %i, {size}, %z;\n{access}\n}}"
            )
        }
        5 => {
            let at = w.dice.below(LOCAL_BYTES / 16) * 16;
            let (a, b) = (w.r(), w.r());
            let b = if a == b { "_".to_owned() } else { b };
            format!("ld.local.v4.u32 {{_, {a}, {b}, _}}, [l_array+{at}];")
        }
        _ => {
            let at = w.dice.below(LOCAL_BYTES / 8) * 8;
            format!("st.local.v2.u32 [l_array+{at}], {{{}, {}}};", w.r(), w.r())
        }
    }
}

/// Address of the thread's slice of shared memory plus an index.
fn shared_address(w: &mut Writer<'_>, size: usize) -> (String, String) {
    let entries = SHARED_SLICE_BYTES / size;
    let shift = size.trailing_zeros();
    let r = w.r();
    let start = format!(
        "{{\n.reg .b32 %i, %b;\n.reg .b64 %y, %z;\nand.b32 %i, {r}, {};\nmov.u32 %b, s_slices;\n",
        entries - 1
    );
    let words = SHARED_SLICE_BYTES / size;
    match w.dice.below(5) {
        0 => (
            format!("{start}mad.lo.s32 %b, %tid_linear, 64, %b;\nmad.lo.s32 %b, %i, {size}, %b;\n"),
            "%b".into(),
        ),
        1 => (
            format!(
                "{start}shl.b32 %i, %i, {shift};\nshl.b32 %x3, %tid_linear, 6;\nadd.s32 %i, %i, %x3;\nadd.s32 %b, %b, %i;\n"
            ),
            "%b".into(),
        ),
        2 => (
            format!(
                "{start}mad.lo.s32 %i, %tid_linear, {words}, %i;\nshl.b32 %i, %i, {shift};\nadd.s32 %b, %i, %b;\nadd.s32 %b, %b, 32;\n"
            ),
            "%b+-32".into(),
        ),
        3 => (
            format!(
                "{start}mad.lo.s32 %i, %tid_linear, {words}, %i;\nmul.wide.u32 %y, %i, {size};\nmov.u64 %z, s_slices;\nadd.s64 %y, %z, %y;\n"
            ),
            "%y".into(),
        ),
        _ => (
            format!(
                "{start}mov.u64 %z, s_slices;\ncvta.shared.u64 %z, %z;\nmad.lo.s32 %i, %tid_linear, {words}, %i;\nmad.wide.u32 %y, %i, {size}, %z;\n"
            ),
            "generic".into(),
        ),
    }
}

fn shared(w: &mut Writer<'_>) -> String {
    let (ty, size, register) = element(w);
    let (start, address) = shared_address(w, size);
    let (space, address) = match address.as_str() {
        "generic" => ("", "%y".to_owned()),
        _ => (w.dice.pick(&[".shared", ".shared", ".volatile.shared"]), address),
    };
    match w.dice.below(2) {
        0 => format!("{start}st{space}.{ty} [{address}], {register};\n}}"),
        _ => format!("{start}ld{space}.{ty} {register}, [{address}];\n}}"),
    }
}

/// Offset in the accumulators, operation and type: one operation per word.
const ACCUMULATORS: [(usize, &str, &str, u32); 20] = [
    (0, "add", "u32", 32),
    (4, "min", "u32", 32),
    (8, "max", "u32", 32),
    (12, "min", "s32", 32),
    (16, "max", "s32", 32),
    (20, "and", "b32", 32),
    (24, "or", "b32", 32),
    (28, "xor", "b32", 32),
    (32, "add", "s32", 32),
    (36, "inc", "u32", 32),
    (40, "dec", "u32", 32),
    (64, "add", "u64", 64),
    (72, "min", "u64", 64),
    (80, "max", "u64", 64),
    (88, "min", "s64", 64),
    (96, "max", "s64", 64),
    (104, "and", "b64", 64),
    (112, "or", "b64", 64),
    (120, "xor", "b64", 64),
    (128, "add", "u32", 32),
];

/// An atomic whose order does not matter and whose result is not read.
fn accumulate(w: &mut Writer<'_>) -> String {
    let (at, op, ty, bits) = w.dice.pick(&ACCUMULATORS);
    let value = match op {
        // The same bound everywhere, or the order would matter.
        "inc" | "dec" => "29".to_owned(),
        _ => w.int_or_constant(bits),
    };
    let guard = w.guard();
    let shared = w.uses_shared && w.dice.chance(40);
    let address = if shared { format!("s_acc+{at}") } else { format!("%acc+{at}") };
    let space = if shared { "shared" } else { "global" };
    match w.dice.below(4) {
        0 => format!("{guard}red.{space}.{op}.{ty} [{address}], {value};"),
        1 if !shared => format!("{{\n.reg .b{bits} %t;\natom.{op}.{ty} %t, [{address}], {value};\n}}"),
        2 if !shared && at == 0 => {
            // To a word chosen at run time.
            let r = w.r();
            format!(
                "{{\n.reg .b32 %i, %t;\n.reg .b64 %y;\nand.b32 %i, {r}, 15;\nmul.wide.u32 %y, %i, 4;\nadd.s64 %y, %acc, %y;\natom.global.add.u32 %t, [%y+128], {value};\n}}"
            )
        }
        _ => format!("{{\n.reg .b{bits} %t;\n{guard}atom.{space}.{op}.{ty} %t, [{address}], {value};\n}}"),
    }
}

/// Atomics whose results are used, in a launch of one thread.
fn alone(w: &mut Writer<'_>) -> String {
    let bits = w.dice.pick(&[32, 32, 64]);
    let (d, b, c) = (w.int(bits), w.int_or_constant(bits), w.int_or_constant(bits));
    let at = 192 + w.dice.below(4) * 8;
    let shared = w.uses_shared && w.dice.chance(30);
    let (space, address) =
        if shared { ("shared", format!("s_acc+{at}")) } else { ("global", format!("%acc+{at}")) };
    let guard = w.guard();
    match w.dice.below(7) {
        0 => format!("{guard}atom.{space}.cas.b{bits} {d}, [{address}], {b}, {c};"),
        1 => format!("{guard}atom.{space}.exch.b{bits} {d}, [{address}], {b};"),
        2 => format!("{guard}atom.{space}.add.u{bits} {d}, [{address}], {b};"),
        3 => {
            let op = w.dice.pick(&["min", "max"]);
            format!("{guard}atom.{space}.{op}.{}{bits} {d}, [{address}], {b};", w.dice.pick(&["s", "u"]))
        }
        4 => format!(
            "{guard}atom.{space}.{}.b{bits} {d}, [{address}], {b};",
            w.dice.pick(&["and", "or", "xor"])
        ),
        5 => {
            let (r, b) = (w.r(), w.int_or_constant(32));
            format!("{guard}atom.{space}.{}.u32 {r}, [{address}], {b};", w.dice.pick(&["inc", "dec"]))
        }
        _ => {
            let (f, a) = (w.f(), w.f());
            format!(
                "{{\n.reg .pred %t;\n.reg .f32 %u;\nsetp.nan.f32 %t, {a}, {a};\nselp.f32 %u, 0f7fffffff, {a}, %t;\natom.{space}.add.f32 {f}, [{address}], %u;\n}}"
            )
        }
    }
}

/// Module variables.
fn table(w: &mut Writer<'_>) -> String {
    let (r, target) = (w.r(), w.r());
    let at = w.dice.below(16) * 4;
    let index = format!("{{\n.reg .b32 %i;\n.reg .b64 %y, %z;\nand.b32 %i, {r}, 15;\n");
    match w.dice.below(6) {
        0 => format!("ld.const.u32 {target}, [c_table+{at}];"),
        1 => format!(
            "{index}mov.u64 %z, c_table;\nmul.wide.u32 %y, %i, 4;\nadd.s64 %y, %z, %y;\nld.const.u32 {target}, [%y];\n}}"
        ),
        2 => format!("ld.global.u8 {target}, [g_table+{}];", w.dice.below(64)),
        3 => format!(
            "{index}mov.u64 %z, g_table;\ncvt.u64.u32 %y, %i;\nadd.s64 %y, %z, %y;\nld.global.u8 {target}, [%y+3];\n}}"
        ),
        4 => format!("ld.const.v2.u32 {{{target}, _}}, [c_table+{}];", w.dice.below(8) * 8),
        _ => format!(
            "{index}mov.u64 %z, g_table;\ncvta.global.u64 %z, %z;\nmad.wide.u32 %y, %i, 4, %z;\nld.u32 {target}, [%y];\n}}"
        ),
    }
}

/// What all threads of the block do together: exchange through shared memory, shuffles, votes, barriers.
fn together(w: &mut Writer<'_>) -> String {
    let whole_warps = w.block_threads.is_multiple_of(32);
    if whole_warps && w.dice.chance(30) {
        return matrix::line(w);
    }
    let (d, a, p, q) = (w.r(), w.r(), w.p(), w.p());
    match w.dice.below(8) {
        0 | 1 if w.uses_shared => {
            let (at, step) = (w.dice.below(16) * 4, w.dice.below(w.block_threads as usize));
            let n = w.block_threads;
            format!(
                "{{\n.reg .b32 %i, %b;\nmov.u32 %b, s_slices;\nmad.lo.s32 %i, %tid_linear, 64, %b;\nst.shared.u32 [%i+{at}], {a};\nbar.sync 0;\nadd.s32 %i, %tid_linear, {step};\nrem.u32 %i, %i, {n};\nmad.lo.s32 %i, %i, 64, %b;\nld.shared.u32 {d}, [%i+{at}];\nbar.sync 0;\n}}"
            )
        }
        2 | 3 if whole_warps => {
            let mode = w.dice.pick(&["up", "down", "bfly", "idx"]);
            let b = w.amount();
            let clamp = match (mode, w.dice.below(3)) {
                ("up", 0) => "0x1800",
                ("up", _) => "0",
                (_, 0) => "0x181f",
                (_, 1) => "0x1c1f",
                _ => "31",
            };
            let dst = if w.dice.chance(50) { format!("{d}|{p}") } else { d };
            format!("shfl.sync.{mode}.b32 {dst}, {a}, {b}, {clamp}, -1;")
        }
        4 => format!("vote.sync.ballot.b32 {d}, {}, -1;", condition(w, &q)),
        5 => format!("vote.sync.{}.pred {p}, {}, -1;", w.dice.pick(&["all", "any", "uni"]), condition(w, &q)),
        6 => {
            let (op, result) = w.dice.pick(&[("popc.u32", true), ("and.pred", false), ("or.pred", false)]);
            let dst = if result { d } else { p };
            format!("barrier.red.{op} {dst}, 0, {};", condition(w, &q))
                .replace("barrier.red", w.dice.pick(&["bar.red", "barrier.red"]))
        }
        _ => match w.dice.below(4) {
            0 => "bar.sync 0;".to_owned(),
            1 => format!("match.any.sync.b32 {d}, {a}, -1;"),
            2 => format!("match.all.sync.b32 {d}|{p}, {a}, -1;"),
            _ => "bar.warp.sync -1;".to_owned(),
        },
    }
}

fn condition(w: &mut Writer<'_>, p: &str) -> String {
    if w.dice.chance(30) { format!("!{p}") } else { p.to_owned() }
}

/// Warp operations among the lanes that took a branch, by a mask that they voted for before.
pub(super) fn masked(w: &mut Writer<'_>) -> Node {
    if !w.uniform || w.left {
        return Node::Line(line(w));
    }
    let id = w.id();
    let (r, d, p) = (w.r(), w.r(), w.p());
    let comparison = w.dice.pick(&["lt", "gt", "ne"]);
    let setup = format!(
        "setp.{comparison}.s32 %q{id}, {r}, {};\nvote.sync.ballot.b32 %c{id}, %q{id}, -1;",
        w.int_or_constant(32)
    );
    let inside = match w.dice.below(4) {
        0 => format!(
            "{{\n.reg .b32 %i;\nbfind.u32 %i, %c{id};\nshfl.sync.idx.b32 {d}, {r}, %i, 31, %c{id};\n}}"
        ),
        // ptxas may move what this predicate guards from before the branch to behind the vote.
        1 if w.strict() => {
            let other = w.p();
            let other = if other == p { format!("%q{id}") } else { other };
            format!("vote.sync.{}.pred {other}, {p}, %c{id};", w.dice.pick(&["all", "any"]))
        }
        1 => format!("vote.sync.{}.pred {p}, {p}, %c{id};", w.dice.pick(&["all", "any"])),
        2 => format!("match.any.sync.b32 {d}, {d}, %c{id};"),
        _ => format!("vote.sync.ballot.b32 {d}, {p}, %c{id};\nbar.warp.sync %c{id};"),
    };
    let then = vec![Node::Line(integer_line(w)), Node::Line(inside), Node::Line(integer_line(w))];
    let otherwise = vec![Node::Line(integer_line(w))];
    Node::If { id, setup, condition: format!("%q{id}"), then, otherwise }
}

fn integer_line(w: &mut Writer<'_>) -> String {
    super::integer::line(w)
}
