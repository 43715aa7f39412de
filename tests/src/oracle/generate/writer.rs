//! The state of drawing a kernel or function, and the operands of its instructions.

use super::functions::Function;
use super::shape::{Focus, Pools};
use super::{Dice, interesting_bits, interesting_f64, literal_f32};

/// Draws what a kernel consists of. Knows where it stands: whether all threads of a block come here together, and whether all
/// threads are still there.
pub(crate) struct Writer<'d> {
    pub(super) dice: &'d mut Dice,
    pub(super) focus: Focus,
    pub(super) pools: Pools,
    /// The number of the target for which ptxas has to take what is drawn; none if every form is wanted.
    pub(super) target: Option<u32>,
    /// Threads of a block.
    pub(super) block_threads: u32,
    /// Threads of the launch.
    pub(super) threads: u32,
    pub(super) uses_local: bool,
    pub(super) uses_shared: bool,
    /// Functions may be called.
    pub(super) calls: bool,
    /// Those that were drawn.
    pub(super) functions: Vec<Function>,
    /// It writes a function, which has no buffers.
    pub(super) in_function: bool,
    /// A function may return early, for its results are there.
    pub(super) returns: bool,
    pub(super) next_id: usize,
    /// All threads of the block execute this together, the same number of times.
    pub(super) uniform: bool,
    /// Inside a loop that all threads execute together.
    pub(super) in_uniform_loop: bool,
    /// Some thread may have left early.
    pub(super) left: bool,
    /// The innermost loop, if threads may leave it at different times.
    pub(super) breakable: Option<usize>,
    /// Statements still to be drawn.
    pub(super) budget: usize,
}

impl<'d> Writer<'d> {
    pub(super) fn new(
        dice: &'d mut Dice,
        focus: Focus,
        pools: Pools,
        block_threads: u32,
        threads: u32,
    ) -> Self {
        Self {
            dice,
            focus,
            pools,
            target: None,
            block_threads,
            threads,
            uses_local: false,
            uses_shared: false,
            calls: false,
            functions: Vec::new(),
            in_function: false,
            returns: false,
            next_id: 0,
            uniform: true,
            in_uniform_loop: false,
            left: false,
            breakable: None,
            budget: 0,
        }
    }

    /// Whether an instruction may be drawn that exists from this target on.
    pub(super) fn has(&self, target: u32) -> bool {
        self.target.is_none_or(|number| number >= target)
    }

    /// Only what ptxas takes may be drawn: fewer forms than our front end takes.
    pub(super) fn strict(&self) -> bool {
        self.target.is_some()
    }

    pub(super) fn id(&mut self) -> usize {
        self.next_id += 1;
        self.next_id
    }

    /// A predicate, perhaps negated.
    pub(super) fn condition(&mut self) -> String {
        let p = self.p();
        if self.dice.chance(40) { format!("!{p}") } else { p }
    }

    /// A guard for one instruction, mostly none.
    pub(super) fn guard(&mut self) -> String {
        if self.dice.chance(12) { format!("@{} ", self.condition()) } else { String::new() }
    }

    pub(super) fn p(&mut self) -> String {
        format!("%p{}", self.dice.below(self.pools.pred))
    }

    pub(super) fn r(&mut self) -> String {
        format!("%r{}", self.dice.below(self.pools.word))
    }

    pub(super) fn h(&mut self) -> String {
        format!("%h{}", self.dice.below(self.pools.half))
    }

    pub(super) fn d(&mut self) -> String {
        format!("%d{}", self.dice.below(self.pools.long))
    }

    pub(super) fn f(&mut self) -> String {
        format!("%f{}", self.dice.below(self.pools.single))
    }

    pub(super) fn g(&mut self) -> String {
        format!("%g{}", self.dice.below(self.pools.double))
    }

    /// A register of a class.
    pub(super) fn register(&mut self, letter: char) -> String {
        match letter {
            'h' => self.h(),
            'r' => self.r(),
            'd' => self.d(),
            'f' => self.f(),
            'g' => self.g(),
            _ => self.p(),
        }
    }

    /// A register of an integer width.
    pub(super) fn int(&mut self, bits: u32) -> String {
        match bits {
            16 => self.h(),
            32 => self.r(),
            _ => self.d(),
        }
    }

    /// A register or, now and then, a constant of an integer width.
    pub(super) fn int_or_constant(&mut self, bits: u32) -> String {
        if self.dice.chance(70) {
            return self.int(bits);
        }
        let value = interesting_bits(self.dice);
        match (bits, self.dice.chance(50)) {
            (16, true) => format!("{}", value as i16),
            (16, false) => format!("{:#x}", value as u16),
            (32, true) => format!("{}", value as i32),
            (32, false) => format!("{:#x}", value as u32),
            (_, true) => format!("{}", value as i64),
            (_, false) => format!("{value:#x}"),
        }
    }

    /// A small amount, around and beyond the widths of types.
    pub(super) fn amount(&mut self) -> String {
        match self.dice.below(4) {
            0 => self.r(),
            1 if self.strict() => {
                format!("{}", self.dice.pick(&[0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255]))
            }
            1 => format!(
                "{}",
                self.dice.pick(&[0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 4_294_967_295u64])
            ),
            _ => format!("{}", self.dice.below(40)),
        }
    }

    pub(super) fn f_or_constant(&mut self) -> String {
        if self.dice.chance(75) {
            return self.f();
        }
        let strict = self.strict();
        format!("0f{:08X}", literal_f32(self.dice, strict))
    }

    pub(super) fn g_or_constant(&mut self) -> String {
        if self.dice.chance(75) { self.g() } else { format!("0d{:016X}", interesting_f64(self.dice)) }
    }
}
