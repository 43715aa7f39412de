//! References: what each workload's output buffers must hold, computed on the CPU in the plainest way. Where a
//! kernel's rounding is reproducible, a reference keeps its order of operations and its fused multiply-adds;
//! where it is not, it calculates in double precision and states a bound.

use crate::element::{Element, decode};
use crate::{Buffers, Scalars};

pub(crate) mod aes;
pub(crate) mod alexnet;
pub(crate) mod backprop;
pub(crate) mod bezier;
pub(crate) mod bfs;
pub(crate) mod binomial;
pub(crate) mod bitonic;
pub(crate) mod blackscholes;
pub(crate) mod btree;
pub(crate) mod cfd;
pub(crate) mod cifarnet;
pub(crate) mod compact;
pub(crate) mod conv3d;
pub(crate) mod convolution;
pub(crate) mod convolutiontexture;
pub(crate) mod cp;
pub(crate) mod cutcp;
pub(crate) mod dct8x8;
pub(crate) mod dwt2d;
pub(crate) mod dxt;
pub(crate) mod fft;
pub(crate) mod floydwarshall;
pub(crate) mod gaussian;
pub(crate) mod hash64;
pub(crate) mod heartwall;
pub(crate) mod histogram;
pub(crate) mod hotspot;
pub(crate) mod hotspot3d;
pub(crate) mod imagehistogram;
pub(crate) mod jacobi;
pub(crate) mod kmeans;
pub(crate) mod laplace3d;
pub(crate) mod lavamd;
pub(crate) mod lbm;
pub(crate) mod lenet;
pub(crate) mod libor;
pub(crate) mod lud;
pub(crate) mod mandelbrot;
pub(crate) mod matmul_naive;
pub(crate) mod matmul_tiled;
pub(crate) mod median;
pub(crate) mod mergesort;
pub(crate) mod mersenne;
pub(crate) mod minibude;
pub(crate) mod mm2;
pub(crate) mod mm3;
pub(crate) mod mobilenet;
pub(crate) mod montecarlo;
pub(crate) mod mriq;
pub(crate) mod mummer;
pub(crate) mod nbody;
pub(crate) mod needle;
pub(crate) mod nlm;
pub(crate) mod nqueens;
pub(crate) mod onesweep;
pub(crate) mod particlefilter;
pub(crate) mod pathfinder;
pub(crate) mod radixsort;
pub(crate) mod raytrace;
pub(crate) mod reduction;
pub(crate) mod sad;
pub(crate) mod scalarproduct;
pub(crate) mod scan;
pub(crate) mod sgemm;
pub(crate) mod sph;
pub(crate) mod spmv;
pub(crate) mod squeezenet;
pub(crate) mod srad_v1;
pub(crate) mod srad_v2;
pub(crate) mod stencil;
pub(crate) mod storegpu;
pub(crate) mod streamcluster;
pub(crate) mod tensor_gemm;
pub(crate) mod tpacf;
pub(crate) mod transpose;
pub(crate) mod vectoradd;
pub(crate) mod walsh;
pub(crate) mod wp;
pub(crate) mod wsm5;

/// What a run starts from: contents of all buffers and values of all scalars.
pub(crate) struct Case<'a> {
    buffers: &'a Buffers,
    scalars: &'a Scalars,
}

impl<'a> Case<'a> {
    /// A run that starts from `buffers` with `scalars`.
    pub(crate) fn new(buffers: &'a Buffers, scalars: &'a Scalars) -> Self {
        Self { buffers, scalars }
    }

    /// The elements of a buffer before the run.
    ///
    /// # Panics
    /// If there is no such buffer.
    pub(crate) fn buffer<T: Element>(&self, name: &str) -> Vec<T> {
        decode(self.buffers.get(name).unwrap_or_else(|| panic!("the workload has a buffer `{name}`")))
    }

    /// Whether there is such a buffer; the manifests of a workload may differ in them.
    pub(crate) fn has_buffer(&self, name: &str) -> bool {
        self.buffers.contains_key(name)
    }

    /// The value of a scalar.
    ///
    /// # Panics
    /// If there is no such scalar.
    pub(crate) fn scalar(&self, name: &str) -> i64 {
        *self.scalars.get(name).unwrap_or_else(|| panic!("the workload has a scalar `{name}`"))
    }

    /// The value of a scalar that is a size.
    ///
    /// # Panics
    /// If there is no such scalar or it is negative.
    pub(crate) fn size(&self, name: &str) -> usize {
        let value = self.scalar(name);
        usize::try_from(value).unwrap_or_else(|_| panic!("scalar `{name}` is a size, not {value}"))
    }
}

/// Sum of a power-of-two number of values as a tree that folds the upper half onto the lower, down to one.
fn fold_halves(mut values: Vec<f32>) -> f32 {
    assert!(values.len().is_power_of_two(), "{} values cannot be folded in halves", values.len());
    while values.len() > 1 {
        let upper = values.split_off(values.len() / 2);
        values.iter_mut().zip(upper).for_each(|(low, high)| *low += high);
    }
    values[0]
}

mod inference;
mod layers;
#[cfg(test)]
mod testing;
