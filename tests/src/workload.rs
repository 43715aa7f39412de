//! The list of bundled workloads: name, files and reference of each. A new workload is a folder under
//! workloads/, a file under reference/ and one row here.

use crate::reference::{self, Case};
use crate::{Buffers, Manifest, ManifestError, Outputs, Scalars};
use std::path::{Path, PathBuf};

/// A bundled workload.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// Its name, which is that of its folder, its sources and its default manifest.
    pub name: &'static str,
    /// The suite, or other source, that the idea comes from; it is a folder.
    pub suite: &'static str,
    /// Names of its manifests without extension, the default one first.
    variants: &'static [&'static str],
    reference: fn(&Case) -> Outputs,
}

impl Workload {
    /// Folder of the workload, relative to the crate's manifest directory.
    pub fn folder(&self) -> PathBuf {
        Path::new("workloads").join(self.suite).join(self.name)
    }

    /// The CUDA C++ source, relative to the crate's manifest directory.
    pub fn source(&self) -> PathBuf {
        self.folder().join(self.name).with_extension("cu")
    }

    /// The PTX that nvcc compiled from the source, relative to the crate's manifest directory.
    pub fn ptx(&self) -> PathBuf {
        self.folder().join(self.name).with_extension("ptx")
    }

    /// The launch manifests, relative to the crate's manifest directory, the default one first.
    pub fn manifests(&self) -> Vec<PathBuf> {
        self.variants.iter().map(|name| self.folder().join(name).with_extension("toml")).collect()
    }

    /// Reads the launch manifests in the order of [`Workload::manifests`].
    ///
    /// # Errors
    /// If one of them cannot be read.
    pub fn load_manifests(&self) -> Result<Vec<Manifest>, ManifestError> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        self.manifests().iter().map(|path| Manifest::load(&root.join(path))).collect()
    }

    /// Contents of the output buffers after all launches of a manifest, from the initial contents of all
    /// buffers and the values of the scalars. Scalar arguments that are literals in the manifest are
    /// constants here.
    ///
    /// # Panics
    /// If a buffer or scalar of the workload's manifest is missing or shorter than the manifest makes it.
    pub fn expected(&self, inputs: &Buffers, scalars: &Scalars) -> Outputs {
        (self.reference)(&Case::new(inputs, scalars))
    }
}

/// All bundled workloads, in alphabetical order.
pub fn workloads() -> Vec<Workload> {
    macro_rules! list {
        ($($suite:literal: $($name:ident [$($variant:ident),*]),+;)+) => {
            vec![$($(Workload {
                name: stringify!($name),
                suite: $suite,
                variants: &[stringify!($name) $(, stringify!($variant))*],
                reference: reference::$name::expected,
            }),+),+]
        };
    }
    let mut all = list! {
        "cub":
            onesweep [];
        "cuda-samples":
            aes [],
            binomial [],
            blackscholes [],
            convolutiontexture [],
            dct8x8 [],
            dxt [],
            fft [],
            imagehistogram [],
            mergesort [],
            mersenne [],
            montecarlo [],
            nlm [],
            nqueens [],
            radixsort [],
            scalarproduct [],
            walsh [];
        "hecbench":
            bezier [],
            minibude [],
            sph [],
            wsm5 [];
        "ispass":
            laplace3d [],
            libor [],
            mummer [],
            storegpu [],
            wp [];
        "networks":
            alexnet [alexnet_inference],
            cifarnet [cifarnet_inference],
            lenet [lenet_inference],
            mobilenet [mobilenet_inference],
            squeezenet [squeezenet_inference];
        "parboil":
            cp [],
            cutcp [],
            lbm [],
            mriq [],
            sad [],
            sgemm [],
            stencil [],
            tpacf [];
        "polybench":
            conv3d [],
            mm2 [],
            mm3 [];
        "rodinia":
            backprop [],
            bfs [],
            btree [],
            cfd [],
            dwt2d [],
            gaussian [],
            heartwall [],
            hotspot [],
            hotspot3d [],
            kmeans [],
            lavamd [],
            lud [],
            needle [],
            particlefilter [],
            pathfinder [pathfinder_1024],
            srad_v1 [],
            srad_v2 [],
            streamcluster [];
        "textbook":
            bitonic [],
            compact [],
            convolution [],
            floydwarshall [],
            hash64 [],
            histogram [],
            jacobi [],
            mandelbrot [],
            matmul_naive [matmul_naive_32],
            matmul_tiled [matmul_tiled_16],
            median [],
            nbody [],
            raytrace [],
            reduction [],
            scan [],
            spmv [],
            tensor_gemm [],
            transpose [],
            vectoradd [];
    };
    all.sort_by_key(|workload| workload.name);
    all
}

/// Workloads of the tables under `tests/tables`, and of tests that replay every workload on several machines or
/// with every technique: one or two for each pattern, so that these stay short.
const TABLED: &[&str] = &[
    "backprop",
    "bfs",
    "bitonic",
    "blackscholes",
    "compact",
    "convolution",
    "dct8x8",
    "gaussian",
    "hash64",
    "histogram",
    "hotspot",
    "jacobi",
    "mandelbrot",
    "matmul_naive",
    "matmul_tiled",
    "median",
    "nbody",
    "pathfinder",
    "reduction",
    "sad",
    "scan",
    "spmv",
    "tensor_gemm",
    "transpose",
    "vectoradd",
];

/// The workloads that tables hold, in alphabetical order.
pub fn tabled_workloads() -> Vec<Workload> {
    workloads().into_iter().filter(|workload| TABLED.contains(&workload.name)).collect()
}
