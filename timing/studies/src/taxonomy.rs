//! Study `taxonomy`: shapes of the operands of block-redundant instructions, in blocks of one and of more
//! dimensions (DARSIE, ASPLOS '20, Figure 2). The counts are those of [`super::redundancy`].

use super::define::{Figure, Marks, Mean, Share, Study};
use super::redundancy::{self, AFFINE, BLOCK_REDUNDANT, UNIFORM, UNSTRUCTURED, WARP_INSTRUCTIONS};

const ALL: &[usize] = &[WARP_INSTRUCTIONS];

/// The study.
pub(crate) const STUDY: Study = Study {
    name: "taxonomy",
    summary: "block-redundant instructions by the shape of their operands, in blocks of one and more dimensions",
    paper: "DARSIE (ASPLOS 2020), Figure 2",
    shares: &[
        Share::percent("block_uniform_share", "Uniform", &[UNIFORM], ALL)
            .figure("DARSIE, Figure 2")
            .meaning("block-redundant; every lane of every warp has the same operands"),
        Share::percent("block_affine_share", "Affine", &[AFFINE], ALL)
            .figure("DARSIE, Figure 2")
            .meaning("block-redundant; each operand is base + lane x stride, and not all are uniform"),
        Share::percent("block_unstructured_share", "Unstructured", &[UNSTRUCTURED], ALL)
            .figure("DARSIE, Figure 2")
            .meaning("block-redundant; some operand has no such pattern"),
        Share::percent("block_redundant_share", "Block-redundant", &[BLOCK_REDUNDANT], ALL)
            .meaning("the three together"),
        Share::percent("uniform_of_redundant", "Uniform of these", &[UNIFORM], &[BLOCK_REDUNDANT]),
        Share::percent("affine_of_redundant", "Affine of these", &[AFFINE], &[BLOCK_REDUNDANT]),
        Share::percent(
            "unstructured_of_redundant",
            "Unstructured of these",
            &[UNSTRUCTURED],
            &[BLOCK_REDUNDANT],
        ),
    ],
    figures: &[Figure {
        id: "taxonomy-by-dimensions",
        title: "Block-redundant instructions by shape and dimensions of blocks",
        caption: "After DARSIE, Figure 2: shares of all dynamic warp instructions of the trace's kernels with blocks \
                  of that many dimensions.",
        marks: Marks::StackByDimensions,
        shares: &[0, 1, 2],
    }],
    mean: Mean::Arithmetic,
    worst_by: 3,
    headline: None,
    ..redundancy::STUDY
};
