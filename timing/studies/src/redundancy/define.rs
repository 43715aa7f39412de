//! Definitions of the study `redundancy`.

use crate::define::{Figure, Headline, Marks, Mean, Share, Study, counters};

counters! {
    WARP_INSTRUCTIONS = "warp_instructions", "warp instructions", "dynamic warp instructions";
    DIVERGED = "diverged_instructions", "warp instructions", "those that did not take effect in every launched lane";
    NOT_COUNTED = "not_counted_instructions", "warp instructions", "those without operands, and atomics; none of the diverged";
    WARP_REDUNDANT = "warp_redundant_instructions", "warp instructions", "redundant at warp level (Figure 1, Warp)";
    BLOCK_REDUNDANT = "block_redundant_instructions", "warp instructions", "redundant at thread-block level (Figure 1, TB)";
    GRID_REDUNDANT = "grid_redundant_instructions", "warp instructions", "redundant at grid level (Figure 1, Grid)";
    UNIFORM = "block_uniform_instructions", "warp instructions", "block-redundant with uniform operands (Figure 2)";
    AFFINE = "block_affine_instructions", "warp instructions", "block-redundant with affine operands (Figure 2)";
    UNSTRUCTURED = "block_unstructured_instructions", "warp instructions", "block-redundant with unstructured operands (Figure 2)";
    GIVEN_UP = "given_up_instructions", "warp instructions", "perhaps block-redundant, given up to bound memory";
    GRID_GIVEN_UP = "grid_given_up_instructions", "warp instructions", "perhaps grid-redundant, given up to bound memory";
}

const ALL: &[usize] = &[WARP_INSTRUCTIONS];

/// The study.
pub(crate) const STUDY: Study = Study {
    name: "redundancy",
    summary: "warp instructions redundant within a warp, a thread block, the grid",
    paper: "DARSIE (ASPLOS 2020), Figure 1",
    text: &[
        "An instance is the k-th execution of one program counter; the k-th execution in one warp corresponds to \
         the k-th in every other warp of the launch. Every share is a fraction of all dynamic warp instructions, \
         diverged ones included. An average over traces is the arithmetic mean of their shares, as in the paper.",
        "Operands are the source registers in every launched lane, predicates, and for a conditional branch, call, \
         return or exit its guard. Immediates and constants are the same in all warps of a launch. A special \
         register is its own operand. Loads must also have returned the same values. Values are compared as \
         32-bit words, by 128-bit digests.",
        "Warp level: every lane of the warp has the same operands (warps with a single thread are never \
         redundant). Block level: every warp of the block executes the instance, with the same operands lane by \
         lane. Grid level: every warp of the grid does. Blocks and grids of one warp are never redundant. A \
         partial last warp is compared in the lanes that it has.",
        "Never redundant at any level: diverged instructions, i.e. those that do not take effect in every \
         launched lane of their warp, because of control flow or of a false guard (a conditional transfer of \
         control counts as taking effect in all lanes on its path); instructions that operate on no value \
         (unconditional transfers, barriers, fences); atomics, which executed once would do something else.",
        "The shape of a block-redundant instance is that of its operands: uniform when every lane of every warp \
         has the same value in each; affine when each is base + lane x stride (modulo 2^32, or modulo 2^64 for \
         a register pair) and not all are uniform; unstructured otherwise. A predicate that is not the same in \
         all lanes is unstructured. A load is classified by its address, as the paper does, and not by what it \
         returns.",
        "Memory is bounded: when a block has more than 2^20 instances open because its warps are that far apart, \
         or more than 2^22 instances of the first block would have to be remembered for the grid level, those \
         are given up, counted as not redundant, and reported.",
    ],
    counters: COUNTERS,
    shares: &[
        Share::percent("grid_redundant_share", "Grid", &[GRID_REDUNDANT], ALL)
            .figure("DARSIE, Figure 1")
            .meaning("every warp of the grid executes it with the same operands"),
        Share::percent("block_redundant_share", "Thread block", &[BLOCK_REDUNDANT], ALL)
            .figure("DARSIE, Figure 1")
            .meaning("every warp of the block executes it with the same operands"),
        Share::percent("warp_redundant_share", "Warp", &[WARP_REDUNDANT], ALL)
            .figure("DARSIE, Figure 1")
            .meaning("every lane of the warp has the same operands"),
        Share::percent("diverged_share", "Diverged", &[DIVERGED], ALL)
            .meaning("not in effect in every launched lane: never redundant"),
        Share::percent("not_counted_share", "No operands", &[NOT_COUNTED], ALL)
            .meaning("barriers, unconditional branches, atomics: never redundant"),
        Share::percent("block_uniform_share", "Uniform", &[UNIFORM], ALL).figure("DARSIE, Figure 2").hidden(),
        Share::percent("block_affine_share", "Affine", &[AFFINE], ALL).figure("DARSIE, Figure 2").hidden(),
        Share::percent("block_unstructured_share", "Unstructured", &[UNSTRUCTURED], ALL)
            .figure("DARSIE, Figure 2")
            .hidden(),
        Share::percent("given_up_share", "Given up", &[GIVEN_UP], ALL).hidden(),
        Share::percent("grid_given_up_share", "Given up for the grid", &[GRID_GIVEN_UP], ALL).hidden(),
    ],
    figures: &[
        Figure {
            id: "redundancy-by-level",
            title: "Redundant warp instructions by level",
            caption: "After DARSIE, Figure 1.",
            marks: Marks::Bars,
            shares: &[0, 1, 2],
        },
        Figure {
            id: "redundancy-by-shape",
            title: "What thread-block redundancy is made of",
            caption: "After DARSIE, Figure 2: block-redundant warp instructions by the shape of their operands.",
            marks: Marks::StackByDimensions,
            shares: &[5, 6, 7],
        },
    ],
    course: None,
    mean: Mean::Arithmetic,
    worst_by: 1,
    headline: Headline::share(
        1,
        "of the warp instructions are executed by every warp of their block on the same operands",
    ),
    note: given_up,
};

/// Instances that were dropped to bound memory.
pub(crate) fn given_up(counts: &[u64]) -> Option<String> {
    let (block, grid) = (counts[GIVEN_UP], counts[GRID_GIVEN_UP]);
    (block + grid > 0).then(|| {
        format!(
            "{block} instructions were not compared within their block and {grid} not across blocks, to bound \
             memory; the shares are lower bounds."
        )
    })
}
