//! Options of lowering.

use crate::ptx::Module;

/// Options of lowering.
#[derive(Clone, Copy, Debug)]
pub struct LowerOptions {
    /// Registers per thread that instructions may name, at most 255.
    pub max_registers: u16,
    /// Proves the register allocation by symbolic execution (always in debug builds).
    pub check: bool,
    /// Bytes per thread for the frames of called functions if recursion or calls through registers leave
    /// their depth unknown, and for `alloca`.
    pub stack_bytes: u32,
    /// Maximum number of PTX instructions in all inlined copies of one function; above it, the function
    /// becomes a separate machine function. 0 inlines nothing.
    pub inline_limit: u64,
    /// Fuses products with the sums that use them if neither names a rounding, as ptxas does by default
    /// (`-fmad true`).
    pub fmad: bool,
    /// Keeps the loops and branches of the PTX: nothing is unrolled, and no branch becomes guarded instructions. Each
    /// instruction then runs as often as its PTX line, which is what comparisons of compilers count with.
    pub keep_branches: bool,
    /// Registers per thread of kernels without `.maxnreg`, `.maxntid` and `.reqntid`, with those that hardware
    /// allocates and no instruction names, as `ptxas -maxrregcount` limits them.
    pub maxregs: Option<u16>,
    /// The compute capability of the GPU for which registers are chosen, such as 75; by default that of the module's `.target`.
    /// It decides how many registers a kernel may have, and what they cost in resident warps.
    pub gpu: Option<u32>,
    /// The order of instructions in a block.
    pub schedule: Schedule,
}

impl LowerOptions {
    /// The compute capability of the GPU for which code is made.
    pub(super) fn sm(&self, module: &Module) -> u32 {
        self.gpu.unwrap_or(module.target.sm)
    }
}

/// The order of instructions in a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// Long latencies start early, as far as registers allow.
    #[default]
    Latency,
    /// The order of the PTX.
    Source,
    /// Instructions come soon after the last access of the registers that they read, whatever their latencies.
    Reuse,
}

impl Schedule {
    /// All orders, by name.
    pub const ALL: [(&'static str, Schedule); 3] =
        [("latency", Schedule::Latency), ("source", Schedule::Source), ("reuse", Schedule::Reuse)];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Schedule::ALL.iter().find(|(_, order)| *order == self).map_or("", |(name, _)| name)
    }
}

impl std::str::FromStr for Schedule {
    type Err = String;

    fn from_str(name: &str) -> Result<Schedule, String> {
        let found = Schedule::ALL.iter().find(|(known, _)| *known == name).map(|(_, order)| *order);
        found.ok_or_else(|| format!("there is no order `{name}`; known are latency, source and reuse"))
    }
}

/// Default of [`LowerOptions::inline_limit`].
pub const DEFAULT_INLINE_LIMIT: u64 = 6000;

/// Default of [`LowerOptions::stack_bytes`].
pub const DEFAULT_STACK_BYTES: u32 = 64 << 10;

impl Default for LowerOptions {
    fn default() -> Self {
        Self {
            max_registers: 255,
            check: cfg!(debug_assertions),
            stack_bytes: DEFAULT_STACK_BYTES,
            inline_limit: DEFAULT_INLINE_LIMIT,
            fmad: true,
            keep_branches: false,
            maxregs: None,
            gpu: None,
            schedule: Schedule::default(),
        }
    }
}
