//! Random kernels for differential tests: every one is valid PTX whose results PTX defines.
//!
//! A kernel is a tree of [`Node`]s, so that a failing one can be reduced: any node may be deleted, since all
//! registers are initialised beforehand and address arithmetic is in one node with its access. At the end
//! every thread stores all registers to its own slice of the output buffer. `plan` draws the shape of a
//! kernel, `code` its control flow, `definitions` its functions, the other files its instructions; `print`
//! makes PTX of it.

mod calls;
mod carried;
mod code;
mod definitions;
mod divergent;
mod drawn;
mod float;
mod functions;
mod integer;
mod matrix;
mod memory;
mod nodes;
mod plan;
mod print;
mod shape;
mod shrink;
mod signature;
mod writer;

pub use drawn::Drawn;
pub use plan::Kernel;
pub use print::{Output, OutputSlot};
pub use shape::Focus;
pub use shrink::shrink;
use test_kit::Random;

/// A part of a kernel's body.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// One or more instructions that belong together.
    Line(String),
    /// Two alternatives.
    If {
        /// Makes labels unique.
        id: usize,
        /// Instructions that set the condition, if it is the node's own `%q<id>`.
        setup: String,
        /// Condition of the first: a predicate, or one with `!`.
        condition: String,
        /// Executed if it holds.
        then: Vec<Node>,
        /// Executed otherwise.
        otherwise: Vec<Node>,
    },
    /// A loop of bounded trip count: its counter is no one else's.
    Loop {
        /// Makes labels and the counter unique.
        id: usize,
        /// The instruction that sets the counter `%c<id>` to the number of trips.
        trips: String,
        /// Tests before the first trip.
        tests_first: bool,
        /// Executed in every trip; may branch to `$next<id>` and `$end<id>`.
        body: Vec<Node>,
    },
    /// A loop that a row of predicates `%k<id>_0` … counts: each trip moves them on by one place, and the branch back
    /// reads a copy of what the first one was.
    Rolled {
        /// Makes labels and predicates unique.
        id: usize,
        /// The instructions that set the predicates, one each.
        first: Vec<String>,
        /// The loop ends where the predicate holds.
        inverted: bool,
        /// The copy comes after the body, not before it.
        copied_late: bool,
        /// Executed in every trip; may branch to `$next<id>` and `$end<id>`.
        body: Vec<Node>,
    },
    /// A loop with two entries.
    Irreducible {
        /// Makes labels and the counter unique.
        id: usize,
        /// The instruction that sets the counter `%c<id>`.
        trips: String,
        /// Enters in the middle if it holds.
        condition: String,
        /// From the first entry to the second.
        first: Vec<Node>,
        /// From the second entry to the jump back.
        second: Vec<Node>,
    },
    /// Blocks in a row, each of which may jump ahead.
    Forward {
        /// Makes labels unique.
        id: usize,
        /// Each with its code, then the condition and target (a later block, or one past the last) of its jump.
        blocks: Vec<ForwardBlock>,
    },
    /// A multi-way branch by table.
    Switch {
        /// Makes labels unique.
        id: usize,
        /// The instructions that set `%c<id>` to the case.
        selector: String,
        /// The cases.
        cases: Vec<Vec<Node>>,
        /// Whether the first case falls through into the second.
        falls_through: bool,
    },
}

/// Code, then condition and target of the jump behind it.
pub type ForwardBlock = (Vec<Node>, Option<(String, usize)>);

/// A seeded source of decisions.
pub struct Dice(Random);

impl Dice {
    /// The source of a seed.
    pub fn new(seed: u64) -> Self {
        Self(Random::new(seed))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.0.below(n as u64) as usize
    }

    /// A number of a range, both ends included.
    pub fn between(&mut self, least: usize, greatest: usize) -> usize {
        least + self.below(greatest - least + 1)
    }

    /// True in `percent` of the cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of a list.
    pub fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
}

/// Integers at which something happens: edges of types, powers of two and their neighbours, small numbers.
pub fn interesting_bits(dice: &mut Dice) -> u64 {
    match dice.below(10) {
        0 => dice.bits(),
        1 => dice.bits() >> dice.below(64),
        2 => dice.below(8) as u64,
        3 => (dice.below(40) as u64).wrapping_neg(),
        4 => 1u64.rotate_left(dice.below(64) as u32),
        5 => (1u64 << dice.below(64)).wrapping_sub(1),
        6 => !(1u64 << dice.below(64)),
        7 => dice.pick(&[0x8000_0000, 0x7FFF_FFFF, 0xFFFF_FFFF, 1 << 63, u64::MAX, u64::MAX >> 1, 0]),
        8 => dice.pick(&[0x8000, 0x7FFF, 0xFFFF, 0x80, 0x7F, 0xFF, 0xFFFF_8000, 0xFFFF_FFFF_8000_0000]),
        _ => u64::from(dice.bits() as u32),
    }
}

/// Bits of single-precision numbers: zeros, subnormals, extremes, infinities, NaN, small integers, noise.
pub fn interesting_f32(dice: &mut Dice) -> u32 {
    let sign = (dice.bits() as u32) & 0x8000_0000;
    let noise = dice.bits() as u32;
    match dice.below(12) {
        0 => noise,
        1 => sign | dice.pick(&[0, 1, 0x007F_FFFF, 0x0080_0000, 0x7F7F_FFFF, 0x7F80_0000, 0x0080_0001]),
        2 => sign | (noise & 0x007F_FFFF),
        3 => sign | 0x0080_0000 | (noise & 0x01FF_FFFF),
        4 => sign | 0x7E00_0000 | (noise & 0x017F_FFFF),
        5 => sign | dice.pick(&[0x7FC0_0000, 0x7F80_0001, 0x7FFF_FFFF]),
        6 => (dice.below(64) as f32 - 32.0).to_bits(),
        7 => ((dice.bits() as i32) as f32).to_bits(),
        8 => (dice.below(64) as f32 * 0.5 - 8.0).to_bits(),
        9 => dice
            .pick(&[2147483648f32, 4294967296.0, -2147483648.0, 255.5, 65535.5, -128.5, 9.223372e18])
            .to_bits(),
        // Around one.
        _ => sign | 0x3F00_0000 | (noise & 0x01FF_FFFF),
    }
}

/// Bits of a literal. Where ptxas compiles it as well (`strict`), its mantissa is short: ptxas rounds the sum of two literals
/// down where it lies in the middle between two numbers.
pub fn literal_f32(dice: &mut Dice, strict: bool) -> u32 {
    let bits = interesting_f32(dice);
    if strict { bits & !0xFFF } else { bits }
}

/// Bits of double-precision numbers of the same kinds.
pub fn interesting_f64(dice: &mut Dice) -> u64 {
    let sign = dice.bits() & 1 << 63;
    let noise = dice.bits();
    match dice.below(12) {
        0 => noise,
        1 => {
            let edges = [0, 1, (1 << 52) - 1, 1 << 52, 0x7FEF_FFFF_FFFF_FFFF, 0x7FF0_0000_0000_0000];
            sign | dice.pick(&edges)
        }
        2 => sign | noise >> 12,
        3 => sign | (noise & 0x03FF_FFFF_FFFF_FFFF),
        4 => sign | 0x7C00_0000_0000_0000 | (noise & 0x03EF_FFFF_FFFF_FFFF),
        5 => sign | 0x7FF8_0000_0000_0000,
        6 => (dice.below(64) as f64 - 32.0).to_bits(),
        7 => ((dice.bits() as i64) as f64).to_bits(),
        8 => f64::from(f32::from_bits(interesting_f32(dice))).to_bits(),
        9 => {
            let edges =
                [2147483647.5f64, 4294967295.5, -2147483648.5, 9.223372036854775e18, 1.8446744073709552e19];
            dice.pick(&edges).to_bits()
        }
        _ => sign | 0x3FE0_0000_0000_0000 | (noise & 0x003F_FFFF_FFFF_FFFF),
    }
}
