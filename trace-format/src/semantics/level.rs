//! Vector instruction sets of the host.

/// Vector instruction sets that the semantics are compiled for. Results are the same at every level.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum VectorLevel {
    /// Whatever the target guarantees.
    Portable,
    /// x86-64 with AVX2 and FMA.
    Avx2,
    /// x86-64 with AVX-512 F, BW, DQ and VL.
    Avx512,
}

impl VectorLevel {
    /// The highest level that this host supports.
    #[must_use]
    pub fn detect() -> VectorLevel {
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt");
            let avx512 = avx2
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl");
            if avx512 {
                return VectorLevel::Avx512;
            }
            if avx2 {
                return VectorLevel::Avx2;
            }
        }
        VectorLevel::Portable
    }
}
