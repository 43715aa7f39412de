//! What may be varied about lowering.

/// What may be varied about lowering.
#[derive(Clone, Copy, Debug)]
pub struct LowerOptions {
    /// Registers per thread that may be used, at most 255.
    pub max_registers: u16,
    /// Proves the register allocation by symbolic execution (always in debug builds).
    pub check: bool,
    /// Bytes per thread for the frames of called functions where recursion or calls through registers leave
    /// their depth open, and for `alloca`.
    pub stack_bytes: u32,
    /// PTX instructions that the copies of one function may amount to before it gets machine code of its own;
    /// 0 inlines nothing.
    pub inline_limit: u64,
    /// Fuses products with the sums that take them where neither names a rounding, as ptxas does by default
    /// (`-fmad true`).
    pub fmad: bool,
}

/// What [`LowerOptions::inline_limit`] is unless told otherwise.
pub const DEFAULT_INLINE_LIMIT: u64 = 6000;

/// What [`LowerOptions::stack_bytes`] is unless told otherwise.
pub const DEFAULT_STACK_BYTES: u32 = 64 << 10;

impl Default for LowerOptions {
    fn default() -> Self {
        Self {
            max_registers: 255,
            check: cfg!(debug_assertions),
            stack_bytes: DEFAULT_STACK_BYTES,
            inline_limit: DEFAULT_INLINE_LIMIT,
            fmad: true,
        }
    }
}
