//! Twins of the studies of values and lanes.

use super::super::decode::{Counts, Event, Launch, Words, lanes, shape_of};
use std::collections::{BTreeMap, BTreeSet};
use trace_format::isa::space::Space;
use trace_format::isa::{Inst, Kind, LatencyClass, MachineKernel, Op, RegSpan};
use trace_format::semantics::Geometry;

fn transfers_control(inst: &Inst) -> bool {
    matches!(inst.kind(), Kind::Branch | Kind::Call | Kind::Return | Kind::Exit)
}

/// Predicates that are operands; the guard of a control transfer is one.
fn pred_operands(inst: &Inst) -> Vec<u8> {
    let count = usize::from(inst.info().pred_srcs);
    let guard = transfers_control(inst).then_some(inst.guard.pred.0);
    guard.into_iter().chain(inst.psrc[..count].iter().map(|p| p.pred.0)).filter(|p| *p != 7).collect()
}

fn same_in(mask: u32, lanes: u32) -> bool {
    mask & lanes == 0 || mask & lanes == lanes
}

fn across_lanes(inst: &Inst) -> bool {
    matches!(inst.info().latency, LatencyClass::Shuffle | LatencyClass::Tensor)
        || matches!(inst.op, Op::Vote { .. })
}

/// The definitions of `divergence`: lanes, branches, hidden redundancy.
pub(crate) fn divergence(launch: &Launch) -> Counts {
    let mut counts = Counts::of(launch);
    for event in launch.events() {
        let active = event.active.count_ones();
        let bucket = match active {
            0..=8 => "lanes_1_to_8",
            9..=16 => "lanes_9_to_16",
            17..=24 => "lanes_17_to_24",
            25..=31 => "lanes_25_to_31",
            _ => "lanes_32",
        };
        counts.add(event.pc, bucket, 1);
        counts.add(event.pc, "lane_slots", 32);
        counts.add(event.pc, "launched_lane_slots", u64::from(event.launched.count_ones()));
        counts.add(event.pc, "active_lane_operations", u64::from(active));
        counts.add(event.pc, "effective_lane_operations", u64::from(event.exec.count_ones()));
        if event.inst.kind() == Kind::Branch && !event.inst.is_unguarded() {
            counts.add(event.pc, "conditional_branches", 1);
            let both = event.exec != 0 && event.active & !event.exec != 0;
            counts.add(event.pc, "divergent_branches", u64::from(both));
        }
        let effective = if transfers_control(&event.inst) { event.active } else { event.exec };
        if effective == event.launched {
            continue;
        }
        counts.add(event.pc, "diverged_instructions", 1);
        let computes =
            matches!(event.inst.kind(), Kind::Pure | Kind::External | Kind::Load(_) | Kind::Store(_));
        if !computes || effective == 0 || event.reads().is_empty() {
            continue;
        }
        if !pred_operands(&event.inst).iter().all(|p| same_in(event.preds[usize::from(*p)], effective)) {
            continue;
        }
        match event.sources.iter().map(|words| shape_of(words, effective, event.launched)).max() {
            Some(0) => counts.add(event.pc, "hidden_uniform_instructions", 1),
            Some(1) => counts.add(event.pc, "hidden_affine_instructions", 1),
            _ => {}
        }
    }
    counts
}

/// Values of an intra-warp uniform instruction.
fn uniform_values(event: &Event) -> Option<Vec<u32>> {
    if event.inst.kind() != Kind::Pure || !event.whole() {
        return None;
    }
    let mut rows: Vec<_> = event.sources.iter().flatten().copied().collect();
    if matches!(event.inst.op, Op::S2r { .. }) {
        rows.extend(&event.results);
        if rows.is_empty() {
            return None;
        }
    }
    let lanes = lanes(event.launched);
    let mut values = Vec::new();
    for row in rows {
        if lanes.iter().any(|&lane| row[lane] != row[0]) {
            return None;
        }
        values.push(row[0]);
    }
    for pred in pred_operands(&event.inst) {
        let mask = event.preds[usize::from(pred)] & event.launched;
        if !same_in(mask, event.launched) {
            return None;
        }
        values.push(u32::from(mask != 0));
    }
    Some(values)
}

/// UV's definitions.
pub(crate) fn uniform(launch: &Launch) -> Counts {
    let mut counts = Counts::of(launch);
    for event in launch.events() {
        counts.add(event.pc, "scalar_operations", u64::from(event.active.count_ones()));
    }
    for block in &launch.blocks {
        // An instruction and the values that it was executed on, by size of the buffer.
        type Entries = Vec<(usize, Vec<u32>)>;
        let mut buffers: [(usize, Entries); 5] = [2, 4, 8, 16, 32].map(|size| (size, Vec::new()));
        let mut all = BTreeSet::new();
        for (_, event) in block.order(1) {
            let Some(values) = uniform_values(event) else { continue };
            let lanes = u64::from(event.launched.count_ones());
            counts.add(event.pc, "uniform_instructions", 1);
            counts.add(event.pc, "uniform_redundant", lanes - 1);
            let key = (event.pc, values);
            for (size, buffer) in &mut buffers {
                if let Some(place) = buffer.iter().position(|entry| *entry == key) {
                    counts.add(event.pc, format!("hits_{size}"), 1);
                    counts.add(event.pc, format!("hit_lanes_{size}"), lanes);
                    buffer.remove(place);
                } else if buffer.len() == *size {
                    buffer.remove(0);
                }
                buffer.push(key.clone());
            }
            if !all.insert(key) {
                counts.add(event.pc, "hits_infinite", 1);
                counts.add(event.pc, "hit_lanes_infinite", lanes);
            }
        }
    }
    counts
}

/// Instructions whose operands all come from constants and indices: the possible contents of each register and
/// predicate are propagated along every edge until nothing changes.
fn potentially_affine(kernel: &MachineKernel) -> Vec<bool> {
    let count = kernel.insts.len();
    let foreign = |inst: &Inst| match inst.kind() {
        Kind::Load(space) => space != Space::Const,
        Kind::Atomic(_) | Kind::External | Kind::Barrier => true,
        _ => across_lanes(inst),
    };
    let reads = |inst: &Inst, operands: usize| -> Vec<String> {
        let regs = (0..operands).filter_map(|i| inst.src_span(i)).flat_map(RegSpan::iter);
        regs.map(|reg| reg.to_string()).chain(inst.src_preds().map(|pred| pred.to_string())).collect()
    };
    let mut before: Vec<Option<BTreeSet<String>>> = vec![None; count];
    before[0] = Some(BTreeSet::new());
    loop {
        let old = before.clone();
        for pc in 0..count {
            let (inst, Some(mut held)) = (&kernel.insts[pc], before[pc].clone()) else { continue };
            let bad = foreign(inst) || reads(inst, 3).iter().any(|name| held.contains(name));
            let writes =
                inst.dst_regs().map(|reg| reg.to_string()).chain(inst.dst_preds().map(|p| p.to_string()));
            for name in writes {
                if bad {
                    held.insert(name);
                } else if inst.is_unguarded() {
                    held.remove(&name);
                }
            }
            let mut next: Vec<usize> = match inst.kind() {
                Kind::Branch => vec![inst.target.index()],
                Kind::Call => match inst.jumps_to() {
                    Some(target) => vec![target.index()],
                    None => kernel.entries.iter().map(|(_, pc)| pc.index()).collect(),
                },
                Kind::Return => {
                    (0..count).filter(|&pc| kernel.insts[pc].kind() == Kind::Call).map(|pc| pc + 1).collect()
                }
                Kind::Exit | Kind::Trap => vec![],
                _ => vec![pc + 1],
            };
            if !inst.is_unguarded() {
                next.push(pc + 1);
            }
            for to in next.into_iter().filter(|to| *to < count) {
                before[to].get_or_insert_default().extend(held.iter().cloned());
            }
        }
        if old == before {
            break;
        }
    }
    let of = |(inst, before): (&Inst, &Option<BTreeSet<String>>)| {
        let (candidate, operands) = match inst.kind() {
            Kind::Pure => (!across_lanes(inst), 3),
            Kind::Load(_) | Kind::Store(_) => (true, 1),
            _ => (transfers_control(inst) && !inst.is_unguarded(), 3),
        };
        let held = before.clone().unwrap_or_default();
        candidate && !reads(inst, operands).iter().any(|name| held.contains(name))
    };
    kernel.insts.iter().zip(&before).map(of).collect()
}

/// Whether values are base + x · a + y · b + z · c over the indices of the warp's threads, words two by two as one
/// number of 64 bits: the strides are the differences at the first lanes whose index differs from the previous lane's.
fn affine_by_index(words: &[Words], geometry: Geometry, warp: usize, launched: u32) -> bool {
    let [bx, by, _] = geometry.block.map(u64::from);
    let index = |lane: usize| {
        let thread = (32 * warp + lane) as u64;
        [thread % bx, thread / bx % by, thread / bx / by]
    };
    let lanes: Vec<usize> = (0..32).filter(|lane| launched >> lane & 1 != 0).collect();
    words.chunks(2).all(|words| {
        let mask = if words.len() == 2 { u64::MAX } else { u64::from(u32::MAX) };
        let value = |lane: usize| {
            u64::from(words[0][lane]) | words.get(1).map_or(0, |high| u64::from(high[lane]) << 32)
        };
        let mut offsets = [0u64; 3];
        let at = |offsets: [u64; 3], lane: usize| {
            (0..3).fold(0u64, |sum, i| sum.wrapping_add(offsets[i].wrapping_mul(index(lane)[i])))
        };
        for i in 0..3 {
            // The first step at which this index increases and no later index does.
            let goes_up = |lane: &&usize| {
                **lane > 0
                    && index(**lane)[i] > index(**lane - 1)[i]
                    && index(**lane)[i + 1..] == index(**lane - 1)[i + 1..]
            };
            if let Some(&lane) = lanes.iter().find(goes_up) {
                let step = value(lane).wrapping_sub(value(lane - 1));
                let known = at(offsets, lane).wrapping_sub(at(offsets, lane - 1));
                offsets[i] = step.wrapping_sub(known);
            }
        }
        let base = value(0).wrapping_sub(at(offsets, 0));
        lanes.iter().all(|&lane| base.wrapping_add(at(offsets, lane)) & mask == value(lane))
    })
}

/// DAC's definitions.
pub(crate) fn affine(launch: &Launch) -> Counts {
    let mut counts = Counts::of(launch);
    for (pc, potential) in potentially_affine(&launch.kernel).into_iter().enumerate() {
        let executed = counts.0[pc].get("warp_instructions").copied().unwrap_or(0);
        counts.set(pc, "static_instructions", 1);
        counts.set(pc, "potentially_affine_static", u64::from(potential));
        counts.set(pc, "potentially_affine", if potential { executed } else { 0 });
    }
    let warps = launch.blocks.iter().flat_map(|block| block.warps.iter().enumerate());
    let events = warps.flat_map(|(warp, events)| events.iter().map(move |event| (warp, event)));
    for (warp, event) in events.filter(|(_, event)| event.exec != 0) {
        let inst = &event.inst;
        let by_index =
            |words: &[Words]| event.whole() && affine_by_index(words, launch.geometry, warp, event.launched);
        let mut any_by_index = false;
        let mut shape = |words: &[Words]| match shape_of(words, event.exec, event.launched) {
            2 if by_index(words) => {
                any_by_index = true;
                1
            }
            shape => shape,
        };
        let shapes = event.sources.each_ref().map(|words| shape(words));
        if let Kind::Load(Space::Global | Space::Generic | Space::Local) = inst.kind() {
            counts.add(event.pc, "loads", 1);
            if shapes[0] < 2 {
                let key = match (by_index(&event.sources[0]), event.whole()) {
                    (true, _) if shape_of(&event.sources[0], event.exec, event.launched) == 2 => {
                        "affine_loads_by_index"
                    }
                    (_, true) => "affine_loads",
                    (_, false) => "affine_loads_diverged",
                };
                counts.add(event.pc, key, 1);
            }
            continue;
        }
        let decides = inst.dst_span().is_none();
        if inst.kind() != Kind::Pure || across_lanes(inst) || (decides && inst.dst_preds().count() == 0) {
            continue;
        }
        let even = pred_operands(inst).iter().all(|p| same_in(event.preds[usize::from(*p)], event.exec));
        let results = shape(&event.results);
        if !even || shapes.contains(&2) || results == 2 {
            continue;
        }
        let affine = shapes.iter().filter(|shape| **shape == 1).count();
        let compares = matches!(inst.op, Op::Isetp { .. });
        if decides && affine > usize::from(compares) {
            continue;
        }
        let key = match (any_by_index, event.whole()) {
            (true, _) => "affine_by_index",
            (_, true) => "affine_instructions",
            (_, false) => "affine_diverged",
        };
        counts.add(event.pc, key, 1);
        if decides && compares && event.whole() {
            let pred = inst.dst_preds().next().expect("it sets a predicate");
            let key = match (affine, same_in(event.preds_after[pred.index()], event.exec)) {
                (0, _) => "predicates_scalar",
                (_, true) => "predicates_end_points",
                (_, false) => "predicates_all_lanes",
            };
            counts.add(event.pc, key, 1);
        }
    }
    counts
}

/// The definition of `entropy`: distributions of values.
pub(crate) fn entropy(launch: &Launch) -> Counts {
    let mut counts = Counts::of(launch);
    let mut values: BTreeMap<(usize, usize), BTreeMap<u32, u64>> = BTreeMap::new();
    for event in launch.events().filter(|event| event.exec != 0) {
        for (i, words) in event.results.iter().enumerate() {
            let lanes = event.lanes();
            for &lane in &lanes {
                *values.entry((event.pc, i)).or_default().entry(words[lane]).or_default() += 1;
            }
            let sign_extends = |n: u32| {
                words
                    .iter()
                    .all(|&w| (i64::from(w as i32)) << (64 - 8 * n) >> (64 - 8 * n) == i64::from(w as i32))
            };
            let bytes = u64::from((1..=4).find(|n| sign_extends(*n)).expect("four bytes are the word"));
            let narrow = 8 * bytes * lanes.len() as u64;
            let launched: Vec<u64> = lanes.iter().map(|&lane| u64::from(words[lane])).collect();
            let pattern = match super::super::decode::shape_modulo(&launched, 32) {
                0 if event.whole() => narrow.min(32),
                1 if event.whole() => narrow.min(64),
                _ => narrow,
            };
            counts.add(event.pc, "register_values", lanes.len() as u64);
            counts.add(event.pc, "sampled_values", lanes.len() as u64);
            counts.add(event.pc, "stored_bits", 32 * lanes.len() as u64);
            counts.add(event.pc, "narrow_bits", narrow);
            counts.add(event.pc, "pattern_bits", pattern);
        }
    }
    let mut bits = vec![0.0; launch.kernel.insts.len()];
    for ((pc, _), times) in &values {
        let all: u64 = times.values().sum();
        let p = |n: &u64| *n as f64 / all as f64;
        bits[*pc] += all as f64 * times.values().map(|n| -p(n) * p(n).log2()).sum::<f64>();
    }
    for (pc, bits) in bits.into_iter().enumerate() {
        counts.set(pc, "information_bits", bits.round() as u64);
    }
    counts
}

/// Instruction, lanes, and the values of its registers and predicates in these lanes.
pub(crate) type Operands = (usize, u32, Vec<Vec<u32>>, Vec<u32>);

/// The operands of a candidate.
pub(crate) fn memo_operands(event: &Event) -> Option<Operands> {
    let inst = &event.inst;
    let operands = !event.reads().is_empty() || !pred_operands(inst).is_empty();
    let special = matches!(inst.op, Op::S2r { .. });
    if inst.kind() != Kind::Pure || special || !operands || event.exec == 0 {
        return None;
    }
    let lanes = event.lanes();
    let values = event.sources.iter().flatten().map(|row| lanes.iter().map(|&l| row[l]).collect()).collect();
    let preds = pred_operands(inst).iter().map(|p| event.preds[usize::from(*p)] & event.exec).collect();
    Some((event.pc, event.exec, values, preds))
}

/// The definition of `memo`: lists of operands that occurred before.
pub(crate) fn memo(launch: &Launch) -> Counts {
    let mut counts = Counts::of(launch);
    let mut launch_seen: BTreeSet<Operands> = BTreeSet::new();
    for block in &launch.blocks {
        let mut block_seen: BTreeSet<Operands> = BTreeSet::new();
        for event in block.warps.iter().flatten() {
            let Some(key) = memo_operands(event) else { continue };
            counts.add(event.pc, "candidates", 1);
            counts.add(event.pc, "repeated_in_block", u64::from(!block_seen.insert(key.clone())));
            let repeated = u64::from(!launch_seen.insert(key));
            counts.add(event.pc, "repeated_in_launch", repeated);
            counts.add(event.pc, "repeated_in_program", repeated);
            counts.add(event.pc, "distinct_operands", 1 - repeated);
        }
    }
    counts
}
