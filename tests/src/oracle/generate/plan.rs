//! The shape of a kernel: how many registers of each kind, how long, how it is launched, what it may contain.

use super::functions::Function;
use super::shape::{ACCUMULATOR_BYTES, Focus, INPUT_WORDS, Pools, SCRATCH_BYTES};
use super::writer::Writer;
use super::{Dice, Node, definitions, interesting_bits, interesting_f64, literal_f32};

/// A random kernel with its launch.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Where it came from.
    pub seed: u64,
    /// Its weight.
    pub focus: Focus,
    /// The number of the target for which ptxas takes it; none if it may hold every form that our front end takes.
    pub target: Option<u32>,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads per block.
    pub block: [u32; 3],
    /// Registers by kind: 16, 32, 64 bits, single, double, predicates.
    pub pools: Pools,
    /// Registers declared by what they hold (`.f32`) instead of their width (`.b32`).
    pub typed: bool,
    /// The instructions that give every register its first value, by register name.
    pub inits: Vec<(String, String)>,
    /// The code between initialisation and output.
    pub body: Vec<Node>,
    /// The device functions that it may call.
    pub functions: Vec<Function>,
    /// The local array exists.
    pub uses_local: bool,
    /// Shared memory exists.
    pub uses_shared: bool,
    /// `.maxntid` and `.minnctapersm`, or nothing.
    pub directives: String,
}

impl Kernel {
    /// The kernel of a seed. With a target, ptxas takes it for that target.
    pub fn random(seed: u64, focus: Focus, target: Option<u32>) -> Self {
        let mut dice = Dice::new(seed ^ (focus as u64) << 56);
        let block = pick_block(&mut dice, focus);
        let grid = dice.pick(&[[1, 1, 1], [1, 1, 1], [2, 1, 1], [3, 1, 1], [2, 2, 1], [1, 1, 2]]);
        let pools = pick_pools(&mut dice, focus);
        let inits = initial_values(&mut dice, pools, target.is_some());
        let uses_local = dice.chance(50);
        let uses_shared = dice.chance(60);
        let size = match (focus, dice.below(10)) {
            (Focus::Pressure, 0..=6) => dice.between(80, 400),
            (_, 0..=4) => dice.between(8, 60),
            (_, 5..=8) => dice.between(60, 200),
            _ => dice.between(200, 900),
        };
        let threads: u32 = block.iter().product();
        let calls = dice.chance(30);
        let functions = if calls { definitions::draw(&mut dice, focus, target) } else { Vec::new() };
        let mut writer =
            Writer::new(&mut dice, focus, pools, threads, threads * grid.iter().product::<u32>());
        writer.target = target;
        writer.uses_local = uses_local;
        writer.uses_shared = uses_shared;
        writer.calls = calls;
        writer.functions = functions;
        let body = writer.body(size);
        let functions = writer.functions;
        let directives = match dice.below(8) {
            0 => format!(".maxntid {threads}, 1, 1"),
            1 => format!(".reqntid {}, {}, {}", block[0], block[1], block[2]),
            _ => String::new(),
        };
        let directives = if block[1] * block[2] == 1 { directives } else { String::new() };
        let typed = dice.chance(50);
        Self {
            seed,
            focus,
            target,
            grid,
            block,
            pools,
            typed,
            inits,
            body,
            functions,
            uses_local,
            uses_shared,
            directives,
        }
    }

    /// Threads of the whole launch.
    pub fn threads(&self) -> usize {
        (self.block.iter().product::<u32>() * self.grid.iter().product::<u32>()) as usize
    }
}

fn pick_block(dice: &mut Dice, focus: Focus) -> [u32; 3] {
    if focus == Focus::Memory && dice.chance(30) {
        return [1, 1, 1];
    }
    dice.pick(&[
        [1, 1, 1],
        [32, 1, 1],
        [32, 1, 1],
        [64, 1, 1],
        [16, 4, 1],
        [8, 4, 2],
        [7, 1, 1],
        [33, 1, 1],
        [5, 3, 3],
        [96, 1, 1],
    ])
}

fn pick_pools(dice: &mut Dice, focus: Focus) -> Pools {
    let mut pools = Pools {
        half: dice.between(2, 5),
        word: dice.between(4, 12),
        long: dice.between(2, 7),
        single: dice.between(2, 9),
        double: dice.between(2, 5),
        pred: dice.between(2, 4),
    };
    match focus {
        Focus::Pressure => {
            pools.word = dice.between(20, 150);
            pools.long = dice.between(5, 50);
            pools.single = dice.between(5, 60);
            pools.double = dice.between(4, 30);
            pools.half = dice.between(3, 12);
            pools.pred = if dice.chance(25) { dice.between(5, 14) } else { dice.between(2, 4) };
        }
        Focus::Flow if dice.chance(25) => pools.pred = dice.between(3, 12),
        Focus::Integer => pools.word += 6,
        Focus::Float => pools.single += 6,
        _ => {}
    }
    pools
}

/// Loads from the input at a place of the thread's own, constants, and the thread's indices.
fn initial_values(dice: &mut Dice, pools: Pools, strict: bool) -> Vec<(String, String)> {
    let mut inits = Vec::new();
    let mut add = |name: String, text: String| inits.push((name, text));
    let offset = |dice: &mut Dice, size: usize| dice.below(INPUT_WORDS / 4) * 4 / size * size;
    for i in 0..pools.word {
        let name = format!("%r{i}");
        let text = match dice.below(6) {
            0 => format!("mov.u32 {name}, {};", interesting_bits(dice) as u32),
            1 => {
                let special =
                    ["tid.x", "tid.y", "ctaid.x", "ntid.x", "laneid", "nctaid.x", "tid.z", "ctaid.y"];
                format!("mov.u32 {name}, %{};", dice.pick(&special))
            }
            2 => format!("ld.param.u32 {name}, [p_word];"),
            _ => format!("ld.global.u32 {name}, [%own+{}];", offset(dice, 4)),
        };
        add(name, text);
    }
    for i in 0..pools.half {
        let name = format!("%h{i}");
        let text = match dice.below(4) {
            0 => format!("mov.u16 {name}, {};", interesting_bits(dice) as u16),
            1 => format!("ld.param.u16 {name}, [p_half];"),
            _ => format!("ld.global.u16 {name}, [%own+{}];", offset(dice, 2)),
        };
        add(name, text);
    }
    for i in 0..pools.long {
        let name = format!("%d{i}");
        let text = match dice.below(4) {
            0 => format!("mov.u64 {name}, {:#x};", interesting_bits(dice)),
            1 => format!("ld.param.u64 {name}, [p_long];"),
            _ => format!("ld.global.u64 {name}, [%own+{}];", offset(dice, 8)),
        };
        add(name, text);
    }
    for i in 0..pools.single {
        let name = format!("%f{i}");
        let text = match dice.below(4) {
            0 => format!("mov.f32 {name}, 0f{:08X};", literal_f32(dice, strict)),
            1 => format!("ld.param.f32 {name}, [p_single];"),
            _ => format!("ld.global.f32 {name}, [%ownf+{}];", offset(dice, 4)),
        };
        add(name, text);
    }
    for i in 0..pools.double {
        let name = format!("%g{i}");
        let text = match dice.below(4) {
            0 => format!("mov.f64 {name}, 0d{:016X};", interesting_f64(dice)),
            1 => format!("ld.param.f64 {name}, [p_double];"),
            _ => format!("ld.global.f64 {name}, [%owng+{}];", offset(dice, 8)),
        };
        add(name, text);
    }
    for i in 0..pools.pred {
        let name = format!("%p{i}");
        let other = dice.below(pools.word);
        let text = match dice.below(3) {
            0 => format!("setp.ne.s32 {name}, %r{other}, 0;"),
            1 => format!("setp.lt.s32 {name}, %r{other}, {};", interesting_bits(dice) as i32),
            _ => format!("setp.gt.u32 {name}, %r{other}, %r{};", dice.below(pools.word)),
        };
        add(name, text);
    }
    inits
}

impl Kernel {
    /// Bytes of the accumulators: the global ones, then those of each block's shared memory.
    pub fn accumulator_bytes(blocks: usize) -> usize {
        ACCUMULATOR_BYTES * (1 + blocks)
    }

    /// Bytes of the scratch buffer.
    pub fn scratch_bytes(threads: usize) -> usize {
        SCRATCH_BYTES * threads
    }
}
