//! Reference of matmul_tiled. Tiles change neither the order of the sums nor, since they are padded with
//! zeros, their values: it is the reference of the naive kernel.

pub(crate) use super::matmul_naive::expected;
