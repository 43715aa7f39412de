//! Draws matrix products of a whole warp, moves of matrices, and copies without a wait.
//!
//! Results come back through registers of the statement's own, since a destination may be named only once.

use super::shape::{INPUT_WORDS, SCRATCH_BYTES, SHARED_SLICE_BYTES};
use super::writer::Writer;

/// Bytes of one row of a matrix that `ldmatrix` reads.
const ROW_BYTES: usize = 16;

/// One group. All lanes of all warps execute it together.
pub(super) fn line(w: &mut Writer<'_>) -> String {
    match w.dice.below(8) {
        0..=2 => product(w),
        3 => tile(w),
        4 if w.uses_shared => load(w),
        5 => {
            let (d, a) = (w.r(), w.r());
            if w.strict() {
                // ptxas takes the result for the same in all lanes where the source is, although every other row differs.
                return format!(
                    "{{\n.reg .b32 %row;\nxor.b32 %row, {a}, %tid_linear;\n\
                     movmatrix.sync.aligned.m8n8.trans.b16 {d}, %row;\n}}"
                );
            }
            format!("movmatrix.sync.aligned.m8n8.trans.b16 {d}, {a};")
        }
        6 if w.has(80) => {
            let (d, a, p) = (w.r(), w.r(), w.p());
            match w.dice.below(3) {
                0 if w.has(90) => format!("elect.sync {d}|{p}, -1;"),
                0 | 1 => format!("redux.sync.{}.b32 {d}, {a}, -1;", w.dice.pick(&["and", "or", "xor"])),
                _ => {
                    let (op, ty) = (w.dice.pick(&["add", "min", "max"]), w.dice.pick(&["u32", "s32"]));
                    format!("redux.sync.{op}.{ty} {d}, {a}, -1;")
                }
            }
        }
        _ => product(w),
    }
}

/// The products of these that sm_75 has.
const TURING_PRODUCTS: [usize; 2] = [1, 7];

/// A product of fragments: shape, layouts and types; registers of A, B and C.
const PRODUCTS: [(&str, &str, [usize; 3], bool); 8] = [
    ("m16n8k16.row.col", "f32.f16.f16.f32", [4, 2, 4], true),
    ("m16n8k8.row.col", "f32.f16.f16.f32", [2, 1, 4], true),
    ("m16n8k16.row.col", "f16.f16.f16.f16", [4, 2, 2], false),
    ("m16n8k16.row.col", "f32.bf16.bf16.f32", [4, 2, 4], true),
    ("m16n8k8.row.col", "f32.tf32.tf32.f32", [4, 2, 4], true),
    ("m16n8k32.row.col", "s32.s8.u8.s32", [4, 2, 4], false),
    ("m16n8k16.row.col.satfinite", "s32.s8.s8.s32", [2, 1, 4], false),
    ("m8n8k16.row.col", "s32.u8.u8.s32", [1, 1, 2], false),
];

fn product(w: &mut Writer<'_>) -> String {
    if w.has(80) && w.dice.chance(12) {
        let (a, b, c, d) = (w.g(), w.g(), w.g(), w.g());
        return format!(
            "{{\n.reg .f64 %v<2>;\nmma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {{%v0, %v1}}, {{{a}}}, {{{b}}}, {{{c}, {d}}};\nmov.f64 {d}, %v0;\nmax.f64 {a}, %v1, {a};\n}}"
        );
    }
    let of = if w.has(80) { w.dice.below(PRODUCTS.len()) } else { w.dice.pick(&TURING_PRODUCTS) };
    let (shape, types, [a, b, c], single) = PRODUCTS[of];
    let words = |w: &mut Writer<'_>, n: usize| (0..n).map(|_| w.r()).collect::<Vec<_>>().join(", ");
    let (a, b) = (words(w, a), words(w, b));
    let sums = if single { (0..c).map(|_| w.f()).collect::<Vec<_>>().join(", ") } else { words(w, c) };
    let ty = if single { "f32" } else { "b32" };
    let fresh = (0..c).map(|i| format!("%v{i}")).collect::<Vec<_>>().join(", ");
    let mut text = format!(
        "{{\n.reg .{ty} %v<{c}>;\nmma.sync.aligned.{shape}.{types} {{{fresh}}}, {{{a}}}, {{{b}}}, {{{sums}}};\n"
    );
    for i in 0..c {
        text += &if single {
            format!("mov.f32 {}, %v{i};\n", w.f())
        } else {
            format!("mov.b32 {}, %v{i};\n", w.r())
        };
    }
    text + "}"
}

/// A tile from loads to store, whose result the lanes find in their slices of global memory.
fn tile(w: &mut Writer<'_>) -> String {
    let at = |w: &mut Writer<'_>| w.dice.below(INPUT_WORDS / 2 / 4) * ROW_BYTES;
    let (first, second, third) = (at(w), at(w), at(w));
    let (rows, columns) = (w.dice.pick(&["row", "col"]), w.dice.pick(&["row", "col"]));
    let list = |name: &str| (0..8).map(|i| format!("%{name}{i}")).collect::<Vec<_>>().join(", ");
    let (a, b, c, d) = (list("a"), list("b"), list("c"), list("d"));
    let target = w.r();
    let read = w.dice.below(32) * 4;
    // The warp's slices lie side by side: 32 of them hold the tile of 1 KiB, which its lanes share.
    format!(
        "{{\n.reg .b32 %l, %a<8>, %b<8>;\n.reg .f32 %c<8>, %d<8>;\n.reg .b64 %w;\n\
         mov.u32 %l, %laneid;\nmul.wide.u32 %w, %l, {SCRATCH_BYTES};\nsub.s64 %w, %scratch, %w;\n\
         wmma.load.a.sync.aligned.{rows}.m16n16k16.global.f16 {{{a}}}, [%in+{first}], 16;\n\
         wmma.load.b.sync.aligned.{columns}.m16n16k16.global.f16 {{{b}}}, [%in+{second}], 24;\n\
         wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {{{c}}}, [%inf+{third}], 16;\n\
         wmma.mma.sync.aligned.{rows}.{columns}.m16n16k16.f32.f32 {{{d}}}, {{{a}}}, {{{b}}}, {{{c}}};\n\
         bar.warp.sync -1;\nwmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%w], {{{d}}}, 16;\n\
         bar.warp.sync -1;\nld.global.u32 {target}, [%scratch+{read}];\n}}"
    )
}

/// Rows that lie in the lanes' slices of shared memory.
fn load(w: &mut Writer<'_>) -> String {
    let count = w.dice.pick(&[1, 2, 4]);
    let transposed = w.dice.pick(&["", ".trans"]);
    let at = w.dice.below(SHARED_SLICE_BYTES / ROW_BYTES) * ROW_BYTES;
    let fresh = (0..count).map(|i| format!("%v{i}")).collect::<Vec<_>>().join(", ");
    let mut text = format!(
        "{{\n.reg .b32 %i, %b, %v<4>;\nmov.u32 %b, s_slices;\nmad.lo.s32 %i, %tid_linear, 64, %b;\nbar.sync 0;\n\
         ldmatrix.sync.aligned.m8n8.x{count}{transposed}.shared.b16 {{{fresh}}}, [%i+{at}];\nbar.sync 0;\n"
    );
    for i in 0..count {
        text += &format!("mov.b32 {}, %v{i};\n", w.r());
    }
    text + "}"
}

/// A copy from the input to the thread's slice of shared memory, and a load of the copied bytes.
pub(super) fn copy(w: &mut Writer<'_>) -> String {
    let size = w.dice.pick(&[4, 8, 16]);
    let from = w.dice.below(INPUT_WORDS * 4 / ROW_BYTES) * ROW_BYTES;
    let to = w.dice.below(SHARED_SLICE_BYTES / ROW_BYTES) * ROW_BYTES;
    let (cached, tail) = match (size, w.dice.below(3)) {
        (16, 0) => ("cg", String::new()),
        // What is not copied is zeros.
        (_, 1) => ("ca", format!(", {}", w.dice.below(size + 1))),
        _ => ("ca", String::new()),
    };
    let wait = w.dice.pick(&["cp.async.wait_all;", "cp.async.commit_group;\ncp.async.wait_group 0;"]);
    let r = w.r();
    format!(
        "{{\n.reg .b32 %i, %b;\nmov.u32 %b, s_slices;\nmad.lo.s32 %i, %tid_linear, 64, %b;\n\
         cp.async.{cached}.shared.global [%i+{to}], [%in+{from}], {size}{tail};\n{wait}\n\
         ld.shared.u32 {r}, [%i+{to}];\n}}"
    )
}
