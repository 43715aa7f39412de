//! Draws the body of a kernel: straight code between branches, loops, switches and worse.

use super::functions::Function;
use super::plan::{Focus, Pools};
use super::{
    Dice, Node, carried, float, functions, integer, interesting_bits, interesting_f32, interesting_f64,
    memory,
};

/// How deep structures are nested.
const MAX_DEPTH: usize = 4;

/// Draws nodes. Knows where it stands: whether all threads of a block come here together, and whether all
/// threads are still there.
pub(super) struct Writer<'d> {
    pub(super) dice: &'d mut Dice,
    pub(super) focus: Focus,
    pub(super) pools: Pools,
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
    next_id: usize,
    /// All threads of the block execute this together, the same number of times.
    pub(super) uniform: bool,
    /// Inside a loop that all threads execute together.
    in_uniform_loop: bool,
    /// Some thread may have left early.
    pub(super) left: bool,
    /// The innermost loop, if threads may leave it at different times.
    breakable: Option<usize>,
    /// Statements still to be drawn.
    budget: usize,
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

    /// A body of about `size` statements.
    pub(super) fn body(&mut self, size: usize) -> Vec<Node> {
        self.budget = size;
        let mut nodes = Vec::new();
        while self.budget > 0 {
            nodes.push(self.node(0));
        }
        nodes
    }

    /// The body of a function, whose loops hold no loops: kernels call it in loops.
    pub(super) fn function_body(&mut self, size: usize) -> Vec<Node> {
        (0..size).map(|_| self.node(MAX_DEPTH - 1)).collect()
    }

    pub(super) fn id(&mut self) -> usize {
        self.next_id += 1;
        self.next_id
    }

    fn nodes(&mut self, depth: usize) -> Vec<Node> {
        let count = self.dice.between(0, 7);
        (0..count).map(|_| self.node(depth)).collect()
    }

    fn node(&mut self, depth: usize) -> Node {
        self.budget = self.budget.saturating_sub(1);
        let flow = match self.focus {
            Focus::Flow => 35,
            Focus::Pressure => 6,
            _ => 12,
        };
        if depth < MAX_DEPTH && self.dice.chance(flow) {
            return self.structure(depth);
        }
        if let (Some(id), true) = (self.breakable, self.dice.chance(4)) {
            let to = self.dice.pick(&["next", "end"]);
            return Node::Line(format!("@{} bra ${to}{id};", self.condition()));
        }
        let leaving = if self.in_function { 40 } else { 8 };
        if !self.in_uniform_loop && self.dice.below(1000) < leaving {
            self.left = true;
            let condition = self.condition();
            return Node::Line(match self.dice.below(2) {
                0 => format!("@{condition} bra $exit;"),
                _ if self.in_function && self.returns => format!("@{condition} ret;"),
                _ if self.in_function => format!("@{condition} bra $exit;"),
                _ => {
                    let value = self.r();
                    format!("@{condition} st.global.u32 [%out+@EARLY@], {value};\n@{condition} ret;")
                }
            });
        }
        if self.calls && self.dice.chance(4) {
            return Node::Line(functions::call(self));
        }
        Node::Line(self.line())
    }

    fn line(&mut self) -> String {
        let looping = self.in_uniform_loop || self.breakable.is_some();
        if self.dice.chance(if looping { 12 } else { 3 }) {
            return carried::copies(self);
        }
        let weights = match self.focus {
            Focus::Integer => [80, 5, 10],
            Focus::Float => [10, 80, 5],
            Focus::Memory => [30, 5, 60],
            Focus::Flow => [70, 10, 10],
            Focus::Mixed | Focus::Pressure => [45, 30, 20],
        };
        if self.in_function && self.dice.chance(15) {
            return memory::of_function(self);
        }
        let at = self.dice.below(100);
        if at < weights[0] {
            integer::line(self)
        } else if at < weights[0] + weights[1] {
            float::line(self)
        } else if at < weights[0] + weights[1] + weights[2] && !self.in_function {
            memory::line(self)
        } else {
            integer::predicate(self)
        }
    }

    fn structure(&mut self, depth: usize) -> Node {
        match self.dice.below(23) {
            0..=6 => self.alternative(depth),
            20..=22 => self.rolled(depth),
            7..=10 => self.repetition(depth),
            11 | 12 => self.diverged(|w| w.irreducible(depth)),
            13..=16 => self.diverged(|w| w.forward(depth)),
            17 if !self.in_function => memory::masked(self),
            _ => self.diverged(|w| w.switch(depth)),
        }
    }

    /// Draws something whose parts are not executed by all threads together.
    fn diverged<T>(&mut self, draw: impl FnOnce(&mut Self) -> T) -> T {
        let (uniform, breakable) = (self.uniform, self.breakable);
        self.uniform = false;
        let drawn = draw(self);
        (self.uniform, self.breakable) = (uniform, breakable);
        drawn
    }

    /// Instructions that set the counter of `id` to the same small number in all threads of a block.
    fn uniform_count(&mut self, id: usize, most: usize) -> String {
        match self.dice.below(3) {
            0 => format!("mov.u32 %c{id}, {};", self.dice.between(1, most)),
            1 => format!("mov.u32 %c{id}, %ctaid.x;\nand.b32 %c{id}, %c{id}, 3;\nadd.s32 %c{id}, %c{id}, 1;"),
            _ => format!("ld.param.u32 %c{id}, [p_word];\nand.b32 %c{id}, %c{id}, 3;"),
        }
    }

    fn alternative(&mut self, depth: usize) -> Node {
        let id = self.id();
        if self.uniform && !self.left && self.dice.chance(25) {
            let count = self.uniform_count(id, 3);
            let setup = format!("{count}\nsetp.ne.s32 %q{id}, %c{id}, {};", self.dice.below(4));
            let then = self.nodes(depth + 1);
            let otherwise = if self.dice.chance(50) { self.nodes(depth + 1) } else { Vec::new() };
            return Node::If { id, setup, condition: format!("%q{id}"), then, otherwise };
        }
        let condition = self.condition();
        let breakable = self.breakable;
        self.diverged(|w| {
            w.breakable = breakable;
            let then = w.nodes(depth + 1);
            let otherwise = if w.dice.chance(50) { w.nodes(depth + 1) } else { Vec::new() };
            Node::If { id, setup: String::new(), condition, then, otherwise }
        })
    }

    fn repetition(&mut self, depth: usize) -> Node {
        let id = self.id();
        let tests_first = self.dice.chance(40);
        if self.uniform && !self.left && self.dice.chance(40) {
            let trips = self.uniform_count(id, 4);
            let outside = (self.in_uniform_loop, self.breakable.take());
            self.in_uniform_loop = true;
            let body = self.nodes(depth + 1);
            (self.in_uniform_loop, self.breakable) = outside;
            return Node::Loop { id, trips, tests_first, body };
        }
        let trips = self.count(id);
        self.diverged(|w| {
            w.breakable = Some(id);
            let body = w.nodes(depth + 1);
            Node::Loop { id, trips, tests_first, body }
        })
    }

    fn rolled(&mut self, depth: usize) -> Node {
        let id = self.id();
        self.diverged(|w| {
            w.breakable = Some(id);
            let body = w.nodes(depth + 1);
            carried::rolled(w, id, body)
        })
    }

    /// Instructions that set the counter of `id` to a small number of the thread's own.
    fn count(&mut self, id: usize) -> String {
        match self.dice.below(3) {
            0 => format!("mov.u32 %c{id}, {};", self.dice.between(1, 4)),
            1 => format!("and.b32 %c{id}, {}, 3;", self.r()),
            _ => format!("and.b32 %c{id}, %gtid, {};", self.dice.pick(&[1, 3, 5])),
        }
    }

    fn irreducible(&mut self, depth: usize) -> Node {
        let id = self.id();
        let (trips, condition) = (self.count(id), self.condition());
        self.breakable = None;
        let (first, second) = (self.nodes(depth + 1), self.nodes(depth + 1));
        Node::Irreducible { id, trips, condition, first, second }
    }

    fn forward(&mut self, depth: usize) -> Node {
        let id = self.id();
        let count = self.dice.between(2, 6);
        let blocks = (0..count)
            .map(|at| {
                let code = self.nodes(depth + 2);
                let jump = self.dice.chance(75).then(|| (self.condition(), self.dice.between(at + 1, count)));
                (code, jump)
            })
            .collect();
        Node::Forward { id, blocks }
    }

    fn switch(&mut self, depth: usize) -> Node {
        let id = self.id();
        let count = self.dice.between(2, 6);
        let source = self.r();
        let selector = format!("and.b32 %c{id}, {source}, 15;\nmin.u32 %c{id}, %c{id}, {};", count - 1);
        let cases = (0..count).map(|_| self.nodes(depth + 1)).collect();
        Node::Switch { id, selector, cases, falls_through: self.dice.chance(30) }
    }

    // ---- operands

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
            1 => format!(
                "{}",
                self.dice.pick(&[0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 4_294_967_295u64])
            ),
            _ => format!("{}", self.dice.below(40)),
        }
    }

    pub(super) fn f_or_constant(&mut self) -> String {
        if self.dice.chance(75) { self.f() } else { format!("0f{:08X}", interesting_f32(self.dice)) }
    }

    pub(super) fn g_or_constant(&mut self) -> String {
        if self.dice.chance(75) { self.g() } else { format!("0d{:016X}", interesting_f64(self.dice)) }
    }
}
