//! The shape of a kernel: the focus of its instructions, its registers and its buffers.

/// What kernels of a run put their weight on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Focus {
    /// Everything.
    Mixed,
    /// Integer arithmetic.
    Integer,
    /// Floating point.
    Float,
    /// Loads, stores, atomics, address arithmetic.
    Memory,
    /// Branches and loops with little in them.
    Flow,
    /// Many live values.
    Pressure,
}

impl Focus {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Mixed, Self::Integer, Self::Float, Self::Memory, Self::Flow, Self::Pressure];
}

/// Words of the input buffer, which kernels only read.
pub(crate) const INPUT_WORDS: usize = 2048;
/// Bytes of a thread's slice of the scratch buffer.
pub(crate) const SCRATCH_BYTES: usize = 128;
/// Bytes of a thread's slice of shared memory.
pub(crate) const SHARED_SLICE_BYTES: usize = 64;
/// Bytes of a thread's local array.
pub(crate) const LOCAL_BYTES: usize = 128;
/// Bytes of the accumulators that atomics work on, global and shared.
pub(crate) const ACCUMULATOR_BYTES: usize = 256;

/// How many registers there are of each kind.
#[derive(Clone, Copy, Debug)]
pub struct Pools {
    /// `%h`, 16 bits.
    pub half: usize,
    /// `%r`, 32 bits.
    pub word: usize,
    /// `%d`, 64 bits.
    pub long: usize,
    /// `%f`, single precision.
    pub single: usize,
    /// `%g`, double precision.
    pub double: usize,
    /// `%p`, predicates.
    pub pred: usize,
}

impl Pools {
    /// Registers of a letter.
    #[must_use]
    pub fn of(mut self, letter: char) -> usize {
        *self.of_mut(letter)
    }

    /// Registers of a letter, to be changed.
    pub fn of_mut(&mut self, letter: char) -> &mut usize {
        match letter {
            'h' => &mut self.half,
            'r' => &mut self.word,
            'd' => &mut self.long,
            'f' => &mut self.single,
            'g' => &mut self.double,
            _ => &mut self.pred,
        }
    }
}
