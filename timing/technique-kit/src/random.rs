//! Numbers, rows, masks and kernels that follow from a seed.

use warplab_technique::Row;

/// Numbers that follow from a seed of the property tests, and the number of registers of the kernels that are made
/// from them.
pub struct Random {
    numbers: test_kit::Random,
    registers: u32,
}

impl Random {
    /// Numbers of a seed, for kernels of so many registers.
    #[must_use]
    pub fn new(seed: u64, registers: u32) -> Random {
        Random { numbers: test_kit::Random::new(seed), registers }
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u32) -> u32 {
        self.numbers.below(u64::from(bound.max(1))) as u32
    }

    /// No lane, all lanes, or some.
    pub fn mask(&mut self) -> u32 {
        match self.below(4) {
            0 => 0,
            1 => u32::MAX,
            _ => self.numbers.bits() as u32,
        }
    }

    /// A row of a random width.
    pub fn row(&mut self) -> Row {
        let drop = 32 - 8 * (1 + self.below(4));
        Row::from_fn(|_| (((self.numbers.bits() as u32) << drop) as i32 >> drop) as u32)
    }

    /// A random structured kernel: arithmetic, guarded writes, branches and loops, over few registers, of which
    /// most are live, or over many, of which most are not.
    pub fn listing(&mut self) -> String {
        let mut lines = Vec::new();
        self.registers = 4 + self.below(24);
        for reg in 0..4 {
            lines.push(format!("mov r{reg} {reg}"));
        }
        self.body(&mut lines, 3);
        lines.push("stg r0 r2".into());
        lines.push("exit".into());
        lines.join("\n")
    }

    fn body(&mut self, lines: &mut Vec<String>, depth: u32) {
        for _ in 0..1 + self.below(5) {
            match self.below(if depth == 0 { 4 } else { 7 }) {
                3 => lines.push("nop".into()),
                6 => {
                    // Lanes of p0 skip the first side.
                    let branch = lines.len();
                    lines.push(String::new());
                    self.body(lines, depth - 1);
                    let over = lines.len();
                    lines.push(String::new());
                    lines[branch] = format!("@p0 bra {}", lines.len());
                    self.body(lines, depth - 1);
                    lines[over] = format!("bra {}", lines.len());
                    lines.push("nop".into());
                }
                4 => {
                    let head = lines.len();
                    self.body(lines, depth - 1);
                    lines.push(format!("@p1 bra {head}"));
                }
                5 => {
                    let branch = lines.len();
                    lines.push(String::new());
                    self.body(lines, depth - 1);
                    lines[branch] = format!("@!p0 bra {}", lines.len());
                    lines.push(if self.below(6) == 0 { "@p2 exit".into() } else { "nop".into() });
                }
                _ => lines.push(self.operation()),
            }
        }
    }

    fn operation(&mut self) -> String {
        let guard = if self.below(4) == 0 { "@p3 " } else { "" };
        let pool = self.registers;
        let kind = self.below(8);
        let mut r = || self.below(pool);
        match (kind, r(), r(), r(), r()) {
            (0, a, ..) => format!("{guard}ldg r{a} r{}", a / 2 * 2),
            (1, a, b, c, _) => format!("{guard}wide r{} r{b} r{c} r{}", a / 2 * 2, b / 2 * 2),
            (2, a, b, ..) => format!("{guard}stg r{} r{b}", a / 2 * 2),
            (3 | 4, a, ..) => format!("{guard}mov r{a} 5"),
            (_, a, b, c, d) => format!("{guard}imad r{a} r{b} r{c} r{d}"),
        }
    }
}
