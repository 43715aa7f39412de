//! The special registers of PTX (`%tid.x`, `%clock64`, `%lanemask_lt` …).
//!
//! This file has only names and widths; lowering and execution define their values.

/// A component of a three-dimensional special register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Axis {
    /// First dimension.
    X,
    /// Second dimension.
    Y,
    /// Third dimension.
    Z,
}

impl Axis {
    /// 0, 1 or 2.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// Splits the table of special registers into those with axes, plain ones and numbered ones.
macro_rules! special_registers {
    (
        axes { $($axes:ident = $axes_text:literal,)* }
        plain { $($plain:ident = $plain_text:literal: $bits:literal,)* }
        numbered { $($numbered:ident = $numbered_text:literal n $suffix:literal < $count:literal: $numbered_bits:literal,)* }
    ) => {
        /// A special register, read-only, with its component or number.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum SpecialRegister {
            $(#[doc = concat!("`%", $axes_text, ".{x,y,z}`, 32 bits")] $axes(Axis),)*
            $(#[doc = concat!("`%", $plain_text, "`, ", stringify!($bits), " bits")] $plain,)*
            $(#[doc = concat!("`%", $numbered_text, "n", $suffix, "`, ", stringify!($numbered_bits), " bits")] $numbered(u8),)*
        }

        impl SpecialRegister {
            /// Finds a register by its name without `%`, and for those with axes the chosen component.
            /// `None` where the name is unknown, a component is missing, or there is one too many.
            #[must_use]
            pub fn from_name(name: &str, axis: Option<Axis>) -> Option<Self> {
                match (name, axis) {
                    $(($axes_text, Some(axis)) => return Some(Self::$axes(axis)),)*
                    $(($plain_text, None) => return Some(Self::$plain),)*
                    _ => {}
                }
                $({
                    let digits = name.strip_prefix($numbered_text).and_then(|rest| rest.strip_suffix($suffix));
                    if let Some(number) = digits.and_then(canonical_number) {
                        return (axis.is_none() && number < $count).then_some(Self::$numbered(number));
                    }
                })*
                None
            }

            /// Whether the name, without `%`, is one of those that need a component.
            #[must_use]
            pub fn has_axes(name: &str) -> bool {
                matches!(name, $($axes_text)|*)
            }

            /// Native width in bits; an instruction of another width reads the low bits or zero-extends.
            #[must_use]
            pub const fn bits(self) -> u32 {
                match self {
                    $(Self::$axes(_) => 32,)*
                    $(Self::$plain => $bits,)*
                    $(Self::$numbered(_) => $numbered_bits,)*
                }
            }
        }

        impl std::fmt::Display for SpecialRegister {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match *self {
                    $(Self::$axes(axis) => write!(f, "%{}.{}", $axes_text, ["x", "y", "z"][axis.index()]),)*
                    $(Self::$plain => write!(f, "%{}", $plain_text),)*
                    $(Self::$numbered(number) => write!(f, "%{}{number}{}", $numbered_text, $suffix),)*
                }
            }
        }
    };
}

special_registers! {
    axes {
        Tid = "tid",
        Ntid = "ntid",
        Ctaid = "ctaid",
        Nctaid = "nctaid",
        Clusterid = "clusterid",
        Nclusterid = "nclusterid",
        ClusterCtaid = "cluster_ctaid",
        ClusterNctaid = "cluster_nctaid",
    }
    plain {
        Laneid = "laneid": 32,
        Warpid = "warpid": 32,
        Nwarpid = "nwarpid": 32,
        Smid = "smid": 32,
        Nsmid = "nsmid": 32,
        Gridid = "gridid": 64,
        IsExplicitCluster = "is_explicit_cluster": 1,
        ClusterCtarank = "cluster_ctarank": 32,
        ClusterNctarank = "cluster_nctarank": 32,
        LanemaskEq = "lanemask_eq": 32,
        LanemaskLe = "lanemask_le": 32,
        LanemaskLt = "lanemask_lt": 32,
        LanemaskGe = "lanemask_ge": 32,
        LanemaskGt = "lanemask_gt": 32,
        Clock = "clock": 32,
        ClockHi = "clock_hi": 32,
        Clock64 = "clock64": 64,
        Globaltimer = "globaltimer": 64,
        GlobaltimerLo = "globaltimer_lo": 32,
        GlobaltimerHi = "globaltimer_hi": 32,
        ReservedSmemOffsetBegin = "reserved_smem_offset_begin": 32,
        ReservedSmemOffsetEnd = "reserved_smem_offset_end": 32,
        ReservedSmemOffsetCap = "reserved_smem_offset_cap": 32,
        TotalSmemSize = "total_smem_size": 32,
        AggrSmemSize = "aggr_smem_size": 32,
        DynamicSmemSize = "dynamic_smem_size": 32,
        CurrentGraphExec = "current_graph_exec": 64,
    }
    numbered {
        ReservedSmemOffset = "reserved_smem_offset_" n "" < 2: 32,
        Envreg = "envreg" n "" < 32: 32,
        Pm = "pm" n "" < 8: 32,
        Pm64 = "pm" n "_64" < 8: 64,
    }
}

/// Parses a number written without leading zeros, so that `%pm01` is not taken for `%pm1`.
fn canonical_number(digits: &str) -> Option<u8> {
    let canonical = digits == "0" || !digits.starts_with(['0', '+']);
    canonical.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_agree() {
        let tid = SpecialRegister::from_name("tid", Some(Axis::Y));
        assert_eq!(tid, Some(SpecialRegister::Tid(Axis::Y)));
        assert_eq!(tid.map(|reg| reg.to_string()).as_deref(), Some("%tid.y"));
        assert_eq!(SpecialRegister::from_name("tid", None), None);
        assert_eq!(SpecialRegister::from_name("clock64", None), Some(SpecialRegister::Clock64));
        assert_eq!(SpecialRegister::from_name("clock64", Some(Axis::X)), None);
        assert_eq!(SpecialRegister::from_name("envreg31", None), Some(SpecialRegister::Envreg(31)));
        for wrong in ["envreg32", "envreg01", "envreg", "envreg+1", "pm8", "tidx", ""] {
            assert_eq!(SpecialRegister::from_name(wrong, None), None, "{wrong}");
        }
        assert_eq!(SpecialRegister::Gridid.bits(), 64);
    }
}
