//! Random structured kernels: warps of 32 compute what every thread computes alone in a block of its own, and
//! their recordings pass the validator and have the same bytes for every number of threads.

use crate::exec_kit;

use exec_kit::*;
use proptest::prelude::*;
use test_kit::Random;
use trace_format::isa::*;

const VARIABLES: u8 = 6;
const FIRST_VARIABLE: u8 = 10;
const OUT: u8 = 40;
const FUNCTIONS: usize = 3;

/// Writes random code: assignments, branches, loops, calls, early returns and exits.
struct Writer {
    asm: Asm,
    random: Random,
    functions: Vec<Label>,
    /// Statements that may still be written.
    budget: u32,
}

impl Writer {
    fn draw(&mut self, below: u64) -> u64 {
        self.random.below(below)
    }

    fn variable(&mut self) -> u8 {
        FIRST_VARIABLE + self.draw(u64::from(VARIABLES)) as u8
    }

    /// Sets P0 from a comparison of a few bits of a variable.
    fn condition(&mut self) {
        let (v, bits, with) = (self.variable(), [1, 3, 7, 0x13][self.draw(4) as usize], self.draw(4) as u32);
        let cmp = ICmp::ALL[self.draw(6) as usize];
        self.asm.and(50, v, imm(bits)).setp(0, cmp, 50, imm(with));
    }

    /// `function` is the number of the function that is written, `FUNCTIONS` for the kernel itself.
    fn statements(&mut self, function: usize, depth: u8) {
        for _ in 0..=self.draw(4) {
            if self.budget == 0 {
                return;
            }
            self.budget -= 1;
            self.statement(function, depth);
        }
    }

    fn statement(&mut self, function: usize, depth: u8) {
        match self.draw(if depth < 4 { 14 } else { 6 }) {
            0..=3 => self.assignment(PredSrc::TRUE),
            4 => {
                self.condition();
                self.assignment(PredSrc::of(Pred(0)));
            }
            5 => {
                self.condition();
                if self.draw(3) == 0 {
                    self.asm.push(Inst::new(store_out()).srcs([reg(OUT), reg(FIRST_VARIABLE)]).guarded(p(0)));
                    self.asm.exit(p(0));
                } else if function < FUNCTIONS {
                    self.asm.ret(p(0));
                }
            }
            6..=9 => self.branch(function, depth),
            10..=11 => self.repetition(function, depth),
            _ if function > 0 => {
                let callee = self.draw(function as u64) as usize;
                let guard = if self.draw(2) == 0 {
                    self.condition();
                    p(0)
                } else {
                    PredSrc::TRUE
                };
                self.asm.call(self.functions[callee], guard);
            }
            _ => self.assignment(PredSrc::TRUE),
        }
    }

    fn assignment(&mut self, guard: Guard) {
        let (dst, a, b) = (self.variable(), self.variable(), self.variable());
        let literal = imm(self.draw(9) as u32);
        let inst = match self.draw(3) {
            0 => Inst::new(Op::Iadd3 { x: Extended(false) }).srcs([reg(a), reg(b), literal]),
            1 => Inst::new(Op::Imad {}).srcs([reg(a), literal, reg(b)]),
            _ => Inst::new(Op::Lop3 { lut: Lut(Lut::A ^ Lut::B) }).srcs([reg(a), reg(b), Src::RZ]),
        };
        self.asm.push(inst.dst(r(dst)).guarded(guard));
    }

    fn branch(&mut self, function: usize, depth: u8) {
        let (other, join) = (self.asm.label(), self.asm.label());
        self.condition();
        let with_else = self.draw(2) == 0;
        self.asm.bra(if with_else { other } else { join }, p(0));
        self.statements(function, depth + 1);
        if with_else {
            self.asm.bra(join, PredSrc::TRUE).bind(other);
            self.statements(function, depth + 1);
        }
        self.asm.bind(join).mov(51, imm(0));
    }

    /// Repeats up to seven times, by a variable that differs between lanes; may break off early.
    fn repetition(&mut self, function: usize, depth: u8) {
        let counter = 60 + 8 * function as u8 + depth;
        let (head, done) = (self.asm.label(), self.asm.label());
        let v = self.variable();
        self.asm.and(counter, v, imm(7)).bind(head).setp(0, ICmp::Le, counter, imm(0)).bra(done, p(0));
        self.statements(function, depth + 1);
        if self.draw(3) == 0 {
            self.condition();
            self.asm.bra(done, p(0));
        }
        self.asm.add(counter, counter, imm(u32::MAX)).bra(head, PredSrc::TRUE);
        self.asm.bind(done).mov(51, imm(0));
    }
}

fn store_out() -> Op {
    Op::Stg { width: MemWidth::B32, order: MemOrder::Weak }
}

/// A kernel that starts from the thread's index and a word of buffer 1 and leaves a word in buffer 0.
fn random_kernel(seed: u64) -> MachineKernel {
    let mut asm = Asm::new();
    let functions: Vec<Label> = (0..FUNCTIONS).map(|_| asm.label()).collect();
    let mut w = Writer { asm, random: Random::new(seed), functions: functions.clone(), budget: 60 };
    w.asm.thread(0).address(OUT, 0, 0).address(42, 0, 1).ldg(FIRST_VARIABLE, 42);
    for v in 1..VARIABLES {
        w.asm.mad(FIRST_VARIABLE + v, 0, imm(u32::from(v) * 3 + 1), FIRST_VARIABLE);
    }
    w.statements(FUNCTIONS, 0);
    w.statements(FUNCTIONS, 0);
    for v in 1..VARIABLES {
        w.asm.mad(FIRST_VARIABLE, FIRST_VARIABLE, imm(31), FIRST_VARIABLE + v);
    }
    w.asm.stg(OUT, reg(FIRST_VARIABLE)).exit(PredSrc::TRUE);
    for (f, label) in functions.iter().enumerate() {
        w.asm.function(*label, &format!("f{f}"));
        w.budget = w.budget.max(15);
        w.statements(f, 0);
        w.asm.ret(PredSrc::TRUE);
    }
    w.asm.build()
}

const THREADS: u32 = 32 * 6 + 9;

fn device() -> Device {
    let input: Vec<u32> = (0..THREADS).map(|t| t.wrapping_mul(0x9E37_79B9) >> 7).collect();
    Device::new(&[&vec![0; THREADS as usize], &input])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn warps_compute_what_threads_compute_alone(seed in any::<u64>()) {
        let kernel = random_kernel(seed);
        let mut alone = device();
        alone.run(&kernel, THREADS, 1).unwrap_or_else(|e| panic!("{e}"));
        let mut together = device();
        together.run(&kernel, 1, THREADS).unwrap_or_else(|e| panic!("{e}"));
        prop_assert_eq!(alone.words(0), together.words(0));
    }

    #[test]
    fn recordings_hold_and_do_not_depend_on_threads(seed in any::<u64>()) {
        let kernel = random_kernel(seed);
        let (stats, one) = device().record(&kernel, 3, 67, 1);
        let (_, three) = device().record(&kernel, 3, 67, 3);
        prop_assert!(one == three);
        let report = verify(&one);
        prop_assert_eq!(&report.problems, &[]);
        prop_assert_eq!(report.warp_instructions, stats.warp_instructions);
        prop_assert_eq!(report.thread_instructions, stats.thread_instructions);
    }
}
