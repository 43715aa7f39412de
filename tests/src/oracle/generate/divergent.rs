//! Draws warp-wide operations of lanes that have come apart: queues of a warp, votes in loops that lanes leave one after the
//! other, and operations that lanes of one mask reach at different places.

use super::Node;
use super::integer;
use super::writer::Writer;

/// Code in which the lanes of a warp come apart and act together. Only where all of them are together.
pub(super) fn node(w: &mut Writer<'_>) -> Node {
    if !w.uniform || w.left || w.in_function {
        return Node::Line(integer::line(w));
    }
    let id = w.id();
    let text = match w.dice.below(7) {
        0 | 1 => queue(w, id),
        2 => shrinking(w, id),
        3 => loop_of_two_places(w, id),
        4 => nested(w, id),
        _ => two_places(w, id),
    };
    Node::Line(format!("{{\n{text}}}"))
}

/// The first lane with something left takes its turn, and the others vote again.
fn queue(w: &mut Writer<'_>, id: usize) -> String {
    let (todo, each, own, taken) = (w.r(), w.r(), w.r(), w.r());
    let bits = w.dice.pick(&[1, 3, 6, 0x11]);
    // Where the vote leads: out of the loop, or around it again.
    let (by_others, by_own) = (integer::line(w), integer::line(w));
    let shuffled = if w.dice.chance(50) {
        format!("bfind.u32 %k{id}_2, %k{id}_0;\nshfl.sync.idx.b32 {taken}, {own}, %k{id}_2, 31, -1;\n")
    } else {
        String::new()
    };
    let back = if w.dice.chance(50) {
        // One way back.
        format!(
            "@%u{id}_1 bra $other{id};\n{by_own}\nsetp.ne.s32 %u{id}_0, %k{id}_1, %k{id}_1;\n$other{id}:\n{by_others}\nbra $head{id};\n"
        )
    } else {
        format!(
            "@%u{id}_1 bra $head{id};\n{by_own}\nsetp.ne.s32 %u{id}_0, %k{id}_1, %k{id}_1;\nbra $head{id};\n"
        )
    };
    format!(
        ".reg .b32 %k{id}_<4>;\n.reg .pred %u{id}_<3>;\nand.b32 %k{id}_3, {todo}, {bits};\nsetp.ne.s32 %u{id}_0, %k{id}_3, 0;\n\
         $head{id}:\nvote.sync.ballot.b32 %k{id}_0, %u{id}_0, -1;\nsetp.eq.s32 %u{id}_2, %k{id}_0, 0;\n@%u{id}_2 bra $end{id};\n\
         {shuffled}add.s32 {each}, {each}, %k{id}_0;\nneg.s32 %k{id}_1, %k{id}_0;\nand.b32 %k{id}_1, %k{id}_1, %k{id}_0;\n\
         mov.u32 %k{id}_2, %lanemask_eq;\nsetp.ne.s32 %u{id}_1, %k{id}_1, %k{id}_2;\n{back}$end{id}:\n"
    )
}

/// A mask that each round leaves the lanes out that end.
fn shrinking(w: &mut Writer<'_>, id: usize) -> String {
    let (from, sum) = (w.r(), w.r());
    let inside = integer::line(w);
    format!(
        ".reg .b32 %k{id}_<2>;\n.reg .pred %u{id};\nand.b32 %k{id}_0, {from}, 7;\nmov.b32 %k{id}_1, -1;\n$head{id}:\n\
         setp.gt.s32 %u{id}, %k{id}_0, 0;\nvote.sync.ballot.b32 %k{id}_1, %u{id}, %k{id}_1;\n@!%u{id} bra $end{id};\n\
         add.s32 {sum}, {sum}, %k{id}_1;\n{inside}\nadd.s32 %k{id}_0, %k{id}_0, -1;\nbra $head{id};\n$end{id}:\n"
    )
}

/// Two votes of one loop, at which lanes meet until none has anything left.
fn loop_of_two_places(w: &mut Writer<'_>, id: usize) -> String {
    let (from, sum) = (w.r(), w.r());
    let (odd, even) = (integer::line(w), integer::line(w));
    format!(
        ".reg .b32 %k{id}_<2>;\n.reg .pred %u{id}_<3>;\nand.b32 %k{id}_0, {from}, 255;\n$head{id}:\n\
         and.b32 %k{id}_1, %k{id}_0, 1;\nsetp.eq.s32 %u{id}_0, %k{id}_1, 0;\n@%u{id}_0 bra $even{id};\n{odd}\n\
         shr.u32 %k{id}_0, %k{id}_0, 1;\nsetp.ne.s32 %u{id}_1, %k{id}_0, 0;\nvote.sync.any.pred %u{id}_2, %u{id}_1, -1;\n\
         add.s32 {sum}, {sum}, 1;\n@%u{id}_2 bra $head{id};\nbra $end{id};\n$even{id}:\n{even}\n\
         shr.u32 %k{id}_0, %k{id}_0, 2;\nsetp.ne.s32 %u{id}_1, %k{id}_0, 0;\nvote.sync.any.pred %u{id}_2, %u{id}_1, -1;\n\
         @%u{id}_2 bra $head{id};\n$end{id}:\n"
    )
}

/// Votes within votes: each side of a branch votes with the lanes that took it, and one of them once more.
fn nested(w: &mut Writer<'_>, id: usize) -> String {
    let (a, b, d, e) = (w.r(), w.r(), w.r(), w.r());
    let (first, second) = (integer::line(w), integer::line(w));
    format!(
        ".reg .b32 %k{id}_<3>;\n.reg .pred %u{id}_<2>;\nsetp.lt.s32 %u{id}_0, {a}, {b};\n\
         vote.sync.ballot.b32 %k{id}_0, %u{id}_0, -1;\nnot.b32 %k{id}_1, %k{id}_0;\n@!%u{id}_0 bra $else{id};\n{first}\n\
         setp.gt.s32 %u{id}_1, {d}, {e};\nvote.sync.ballot.b32 %k{id}_2, %u{id}_1, %k{id}_0;\n@!%u{id}_1 bra $end{id};\n\
         match.any.sync.b32 {d}, {e}, %k{id}_2;\nbra $end{id};\n$else{id}:\n{second}\n\
         vote.sync.ballot.b32 {e}, %u{id}_1, %k{id}_1;\n$end{id}:\n"
    )
    .replacen("setp.lt", &format!("setp.ne.s32 %u{id}_1, {e}, 0;\nsetp.lt"), 1)
}

/// One operation at two places, with one mask. Each result is stored: an operation whose result nobody reads may be removed,
/// and the other place would then wait for lanes that never come.
fn two_places(w: &mut Writer<'_>, id: usize) -> String {
    let condition = w.condition();
    // The mask of all lanes, or of those on its side of an even and an odd half.
    let halves = w.dice.chance(30);
    let mask = if halves { format!("%k{id}") } else { "-1".to_owned() };
    let kind = w.dice.below(if w.has(80) { 5 } else { 4 });
    let mode = w.dice.pick(&["all", "any", "uni"]);
    let shuffle = w.dice.pick(&["bfly", "idx"]);
    let step = if halves { 2 } else { w.dice.below(32) };
    let whole_warps = w.block_threads.is_multiple_of(32);
    let reduction = w.dice.pick(&["add.u32", "max.s32", "min.u32", "or.b32", "xor.b32"]);
    let operation = |w: &mut Writer<'_>| {
        let (d, a, p, q) = (w.r(), w.r(), w.p(), w.p());
        let text = match kind {
            0 => format!("vote.sync.ballot.b32 {d}, {q}, {mask};"),
            1 => format!("vote.sync.{mode}.pred {p}, {q}, {mask};\nselp.b32 {d}, 1, 0, {p};"),
            // The lane is there if the one that asks is: nothing says what comes from lanes that a block lacks.
            2 if !whole_warps && halves => {
                format!(
                    "{{\n.reg .b32 %i;\nmov.u32 %i, %laneid;\nand.b32 %i, %i, 1;\nshfl.sync.idx.b32 {d}, {a}, %i, 31, {mask};\n}}"
                )
            }
            2 if !whole_warps => format!("shfl.sync.idx.b32 {d}|{p}, {a}, 0, 31, {mask};"),
            2 if shuffle == "bfly" => format!("shfl.sync.bfly.b32 {d}|{p}, {a}, {step}, 31, {mask};"),
            2 if halves => format!("shfl.sync.bfly.b32 {d}, {a}, 4, 31, {mask};"),
            2 => format!("shfl.sync.idx.b32 {d}, {a}, {step}, 31, {mask};"),
            3 => format!("match.any.sync.b32 {d}, {a}, {mask};"),
            _ => format!("redux.sync.{reduction} {d}, {a}, {mask};"),
        };
        format!("{text}\nst.volatile.global.u32 [%scratch+124], {d};")
    };
    let (first, second) = (operation(w), operation(w));
    let (before, after, between) = (integer::line(w), integer::line(w), integer::line(w));
    format!(
        ".reg .b32 %k{id};\n.reg .pred %u{id};\nmov.u32 %k{id}, %laneid;\nand.b32 %k{id}, %k{id}, 1;\nsetp.eq.s32 %u{id}, %k{id}, 1;\n\
         selp.b32 %k{id}, 0xaaaaaaaa, 0x55555555, %u{id};\n@{condition} bra $else{id};\n{before}\n{first}\n{after}\nbra $end{id};\n\
         $else{id}:\n{second}\n{between}\n$end{id}:\n"
    )
}
