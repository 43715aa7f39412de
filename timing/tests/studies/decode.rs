//! A launch decoded to values: every executed instruction with what it read, wrote and accessed, for twins.

use std::collections::{BTreeMap, BTreeSet};
use timing::internals::{LaunchPaths, WarpPath};
use trace_format::isa::space::Space;
use trace_format::isa::{BarMode, Inst, MachineKernel, Op};
use trace_format::semantics::Geometry;

/// A register of all lanes.
pub(crate) type Words = [u32; 32];

/// A memory access.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub space: Space,
    pub bytes: u64,
    /// Address of each lane that accesses memory; generic addresses are not converted.
    pub lanes: BTreeMap<usize, u64>,
}

/// One executed instruction.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub pc: usize,
    pub inst: Inst,
    pub active: u32,
    pub exec: u32,
    pub launched: u32,
    /// Values of the registers of each operand.
    pub sources: [Vec<Words>; 3],
    /// Predicates before and after.
    pub preds: [u32; 8],
    pub preds_after: [u32; 8],
    /// Values that destination registers have afterwards.
    pub results: Vec<Words>,
    pub access: Option<Access>,
}

impl Event {
    /// Different registers read.
    pub(crate) fn reads(&self) -> BTreeSet<u8> {
        self.inst.src_regs().map(|reg| reg.0).collect()
    }

    /// Registers written.
    pub(crate) fn writes(&self) -> Vec<u8> {
        self.inst.dst_regs().map(|reg| reg.0).collect()
    }

    /// Value of a register read.
    pub(crate) fn value(&self, reg: u8) -> Words {
        for (i, words) in self.sources.iter().enumerate() {
            if let Some(span) = self.inst.src_span(i)
                && let Some(k) = span.iter().position(|r| r.0 == reg)
            {
                return words[k];
            }
        }
        panic!("R{reg} is not read by {}", self.inst)
    }

    /// Lanes in which it takes effect, as numbers.
    pub(crate) fn lanes(&self) -> Vec<usize> {
        lanes(self.exec)
    }

    /// Whether it takes effect in all launched lanes.
    pub(crate) fn whole(&self) -> bool {
        self.exec == self.launched
    }
}

/// Lanes of a mask.
pub(crate) fn lanes(mask: u32) -> Vec<usize> {
    (0..32).filter(|lane| mask >> lane & 1 == 1).collect()
}

/// A block: events by warp.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub warps: Vec<Vec<Event>>,
}

impl Block {
    /// The block's events in the order in which warps execute `chunk` instructions each in turn and wait at barriers.
    pub(crate) fn order(&self, chunk: usize) -> Vec<(usize, &Event)> {
        self.rounds(chunk).into_iter().flatten().collect()
    }

    /// The same, in rounds of one turn of each warp that does not wait.
    pub(crate) fn rounds(&self, chunk: usize) -> Vec<Vec<(usize, &Event)>> {
        let mut rounds = Vec::new();
        let mut at = vec![0; self.warps.len()];
        let mut waits = vec![false; self.warps.len()];
        let ended = |at: &[usize], warp: usize| at[warp] == self.warps[warp].len();
        while (0..at.len()).any(|warp| !ended(&at, warp)) {
            if (0..at.len()).all(|warp| ended(&at, warp) || waits[warp]) {
                waits.fill(false);
            }
            let mut round = Vec::new();
            for warp in 0..at.len() {
                for _ in 0..chunk {
                    if ended(&at, warp) || waits[warp] {
                        break;
                    }
                    let event = &self.warps[warp][at[warp]];
                    round.push((warp, event));
                    at[warp] += 1;
                    let blocking = matches!(event.inst.op, Op::Bar { mode } if mode != BarMode::Arrive);
                    waits[warp] = blocking && event.exec != 0;
                }
            }
            rounds.push(round);
        }
        rounds
    }
}

/// A launch.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub kernel: MachineKernel,
    pub geometry: Geometry,
    pub blocks: Vec<Block>,
}

impl Launch {
    /// Every warp of every block.
    pub(crate) fn warps(&self) -> impl Iterator<Item = &Vec<Event>> {
        self.blocks.iter().flat_map(|block| &block.warps)
    }

    /// Every event.
    pub(crate) fn events(&self) -> impl Iterator<Item = &Event> {
        self.warps().flatten()
    }
}

/// Decodes a launch.
pub(crate) fn decode<S: LaunchPaths>(source: &S) -> Launch {
    let geometry = source.geometry();
    let warp = |block: u64, warp: u32| {
        let mut path = source.open(block, warp).expect("the warp is there");
        let mut events = Vec::new();
        while let Some(next) = path.peek() {
            let inst = source.kernel().insts[next.pc as usize];
            let row = |state: &trace_format::semantics::Warp, reg: u8| state.row(u16::from(reg)).0;
            let state = path.state();
            let sources = std::array::from_fn(|i| {
                inst.src_span(i).map_or(Vec::new(), |span| span.iter().map(|reg| row(state, reg.0)).collect())
            });
            let preds = std::array::from_fn(|i| state.pred(i as u8));
            let step = path.step().expect("the step works").expect("peek saw it");
            let state = path.state();
            let access = path.mem().map(|mem| Access {
                space: mem.space,
                bytes: u64::from(mem.bytes),
                lanes: lanes(mem.mask).into_iter().map(|lane| (lane, mem.addresses[lane])).collect(),
            });
            events.push(Event {
                pc: next.pc as usize,
                inst,
                active: step.active,
                exec: step.exec,
                launched: geometry.launched_mask(warp),
                sources,
                preds,
                preds_after: std::array::from_fn(|i| state.pred(i as u8)),
                results: inst.dst_regs().map(|reg| row(state, reg.0)).collect(),
                access,
            });
        }
        events
    };
    let block = |number| Block { warps: (0..geometry.warps_per_block()).map(|w| warp(number, w)).collect() };
    let blocks = (0..source.blocks()).map(block).collect();
    Launch { kernel: source.kernel().clone(), geometry, blocks }
}

/// Counts by instruction and key; a missing key stands for 0.
#[derive(Clone, Debug)]
pub(crate) struct Counts(pub Vec<BTreeMap<String, u64>>);

impl Counts {
    /// Counts that hold only the numbers of executions.
    pub(crate) fn of(launch: &Launch) -> Counts {
        let mut counts = Counts(vec![BTreeMap::new(); launch.kernel.insts.len()]);
        for event in launch.events() {
            counts.add(event.pc, "warp_instructions", 1);
        }
        counts
    }

    /// Adds to a count.
    pub(crate) fn add(&mut self, pc: usize, key: impl Into<String>, count: u64) {
        *self.0[pc].entry(key.into()).or_insert(0) += count;
    }

    /// Sets a count.
    pub(crate) fn set(&mut self, pc: usize, key: &str, count: u64) {
        self.0[pc].insert(key.into(), count);
    }
}

/// 0 uniform, 1 affine, 2 neither: values modulo 2^`bits` in lanes 0, 1, 2, ….
pub(crate) fn shape_modulo(values: &[u64], bits: u32) -> usize {
    let modulus = 1u128 << bits;
    let difference = |w: &[u64]| (u128::from(w[1]) + modulus - u128::from(w[0])) % modulus;
    let mut strides: Vec<u128> = values.windows(2).map(difference).collect();
    strides.dedup();
    match strides[..] {
        [] | [0] => 0,
        [_] => 1,
        _ => 2,
    }
}

/// 0 uniform, 1 affine with a whole stride, 2 neither: signed values in some lanes.
pub(crate) fn shape_in_lanes(values: &[(usize, i64)]) -> usize {
    let [(first, base), (second, next), rest @ ..] = values else { return 0 };
    let (distance, difference) = ((second - first) as i128, i128::from(*next) - i128::from(*base));
    if difference % distance != 0 {
        return 2;
    }
    let fits = |(lane, value): &(usize, i64)| {
        (i128::from(*value) - i128::from(*base)) * distance == difference * (lane - first) as i128
    };
    if !rest.iter().all(fits) { 2 } else { usize::from(difference != 0) }
}

/// Shape of an operand's words, pairs of them taken as 64-bit numbers if that gives a better shape, in the lanes of
/// a mask: modulo where these are all launched lanes, with whole strides otherwise.
pub(crate) fn shape_of(words: &[Words], mask: u32, launched: u32) -> usize {
    let of = |values: &dyn Fn(usize) -> u64, bits: u32| {
        if mask == launched {
            return shape_modulo(&lanes(mask).into_iter().map(values).collect::<Vec<_>>(), bits);
        }
        let signed = |lane| if bits == 32 { i64::from(values(lane) as i32) } else { values(lane) as i64 };
        shape_in_lanes(&lanes(mask).into_iter().map(|lane| (lane, signed(lane))).collect::<Vec<_>>())
    };
    let word = |w: &Words| of(&|lane| u64::from(w[lane]), 32);
    let chunk = |pair: &[Words]| {
        let each = pair.iter().map(word).max().unwrap_or(0);
        match pair {
            [low, high] => each.min(of(&|lane| u64::from(low[lane]) | u64::from(high[lane]) << 32, 64)),
            _ => each,
        }
    };
    words.chunks(2).map(chunk).max().unwrap_or(0)
}
