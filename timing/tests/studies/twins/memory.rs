//! Twins of the studies of memory and dead values.

use super::super::decode::{Access, Counts, Event, Launch};
use std::collections::{BTreeMap, BTreeSet};
use trace_format::isa::space::Space;
use trace_format::isa::{Kind, LatencyClass, Op};

/// Instructions of a warp's turn in the pass of the studies.
const TURN: usize = 1024;

/// Memory space and address of a lane.
fn resolve(access: &Access, address: u64) -> (Space, u64) {
    match access.space {
        Space::Generic => match address >> 32 {
            0xFFFF_0001 => (Space::Shared, address & 0xFFFF_FFFF),
            0xFFFF_0002 => (Space::Local, address & 0xFFFF_FFFF),
            _ => (Space::Global, address),
        },
        space => (space, address),
    }
}

/// Lanes that access global memory.
fn global(event: &Event) -> BTreeMap<usize, u64> {
    let Some(access) = &event.access else { return BTreeMap::new() };
    let in_global = |&(_, address): &(&usize, &u64)| resolve(access, *address).0 == Space::Global;
    access.lanes.iter().filter(in_global).map(|(lane, address)| (*lane, *address)).collect()
}

/// The definitions of `dead`: dead values by lane, dead stores by byte.
pub(crate) fn dead(launch: &Launch) -> Counts {
    let mut counts = Counts::of(launch);
    for warp in launch.warps() {
        // The writer of each unread value.
        let mut unread: BTreeMap<(u8, usize), usize> = BTreeMap::new();
        for event in warp.iter().filter(|event| event.exec != 0) {
            let all = matches!(event.inst.info().latency, LatencyClass::Shuffle | LatencyClass::Tensor)
                || matches!(event.inst.op, Op::Vote { .. });
            let lanes = if all { (0..32).collect() } else { event.lanes() };
            for reg in event.reads() {
                for &lane in &lanes {
                    unread.remove(&(reg, lane));
                }
            }
            for reg in event.writes() {
                for lane in event.lanes() {
                    counts.add(event.pc, "register_values", 1);
                    if let Some(writer) = unread.insert((reg, lane), event.pc) {
                        counts.add(writer, "dead_values", 1);
                    }
                }
            }
        }
        for writer in unread.into_values() {
            counts.add(writer, "dead_values", 1);
        }
    }
    for block in &launch.blocks {
        let mut unread: BTreeMap<(u8, u64, u64), usize> = BTreeMap::new();
        for (warp, event) in block.order(TURN) {
            let Some(access) = &event.access else { continue };
            for (lane, address) in &access.lanes {
                let (space, address) = resolve(access, *address);
                let (space, owner) = match space {
                    Space::Global => (0, 0),
                    Space::Shared => (1, 0),
                    Space::Local => (2, (warp * 32 + lane) as u64),
                    _ => continue,
                };
                for byte in 0..access.bytes {
                    let key = (space, owner, address.wrapping_add(byte));
                    if !matches!(event.inst.kind(), Kind::Store(_)) {
                        unread.remove(&key);
                        continue;
                    }
                    counts.add(event.pc, "stored_bytes", 1);
                    if let Some(writer) = unread.insert(key, event.pc) {
                        counts.add(writer, "overwritten_bytes", 1);
                    }
                }
            }
        }
        for ((space, ..), writer) in unread {
            counts.add(writer, "lost_bytes", u64::from(space != 0));
        }
    }
    counts
}

/// The definitions of `memory`: sectors, distances, footprint.
pub(crate) fn memory(launch: &Launch) -> Counts {
    let mut counts = Counts::of(launch);
    let mut first: BTreeMap<u64, usize> = BTreeMap::new();
    for block in &launch.blocks {
        // Lines in the order of their last access.
        let mut stack: Vec<u64> = Vec::new();
        for (_, event) in block.order(1) {
            let lanes = global(event);
            if lanes.is_empty() {
                continue;
            }
            let bytes = event.access.as_ref().map_or(0, |access| access.bytes);
            let kind = match event.inst.kind() {
                Kind::Load(_) => "load_requests",
                Kind::Store(_) => "store_requests",
                _ => "atomic_requests",
            };
            counts.add(event.pc, kind, 1);
            counts.add(event.pc, "lane_bytes", bytes * lanes.len() as u64);
            let mut lines: Vec<u64> = Vec::new();
            let mut sectors: BTreeSet<u64> = BTreeSet::new();
            for address in lanes.values() {
                let line = address / 128;
                if !lines.contains(&line) {
                    lines.push(line);
                }
                // Accesses are aligned and lie in one line.
                let last = address.saturating_add(bytes - 1).min(line * 128 + 127);
                sectors.extend([address / 32, last / 32]);
            }
            counts.add(event.pc, "lines", lines.len() as u64);
            counts.add(event.pc, "sectors", sectors.len() as u64);
            for line in lines {
                let distance = stack.iter().rev().position(|other| *other == line);
                let key = match distance {
                    None => "first_accesses",
                    Some(0) => "distance_0",
                    Some(1..=3) => "distance_1_to_3",
                    Some(4..=15) => "distance_4_to_15",
                    Some(16..=63) => "distance_16_to_63",
                    Some(64..=255) => "distance_64_to_255",
                    Some(256..=1023) => "distance_256_to_1023",
                    Some(_) => "distance_1024_or_more",
                };
                counts.add(event.pc, key, 1);
                stack.retain(|other| *other != line);
                stack.push(line);
                let pc = first.entry(line).or_insert(event.pc);
                *pc = event.pc.min(*pc);
            }
        }
    }
    for pc in first.into_values() {
        counts.add(pc, "footprint_lines", 1);
    }
    counts
}

/// An entry of the address mapping table.
#[derive(Clone, PartialEq, Debug)]
struct Entry {
    lanes: BTreeMap<usize, u64>,
    stride: i64,
    bytes: u64,
}

/// The entry of a regular load; differences of addresses are signed, modulo 2^64.
fn entry(lanes: &BTreeMap<usize, u64>, bytes: u64) -> Option<Entry> {
    let list: Vec<(usize, u64)> = lanes.iter().map(|(lane, at)| (*lane, *at)).collect();
    let stride = match list[..] {
        [(first, base), (second, next), ..] => {
            let (distance, difference) = ((second - first) as i64, next.wrapping_sub(base) as i64);
            if difference % distance != 0 {
                return None;
            }
            difference / distance
        }
        _ => bytes as i64,
    };
    let (first, base) = list[0];
    let expected = |lane: usize| base.wrapping_add((stride as u64).wrapping_mul((lane - first) as u64));
    list.iter().all(|(lane, at)| *at == expected(*lane)).then(|| Entry {
        lanes: lanes.clone(),
        stride,
        bytes,
    })
}

fn lines(addresses: impl Iterator<Item = u64>, bytes: u64) -> BTreeSet<u64> {
    addresses.flat_map(|at| at / 128..=at.wrapping_add(bytes - 1) / 128).collect()
}

/// One table under one order of the warps.
fn share(counts: &mut Counts, events: &[(usize, &Event)], size: usize, key: &[String; 2]) {
    let mut queue: Vec<Option<(Entry, usize, BTreeSet<u64>)>> = Vec::new();
    let mut changed: BTreeMap<u64, usize> = BTreeMap::new();
    for (now, (_, event)) in events.iter().enumerate() {
        let lanes = global(event);
        let Some(access) = event.access.as_ref().filter(|_| !lanes.is_empty()) else { continue };
        if !matches!(event.inst.kind(), Kind::Load(_)) {
            for line in lines(lanes.values().copied(), access.bytes) {
                changed.insert(line, now);
            }
            continue;
        }
        let Some(wanted) = entry(&lanes, access.bytes).filter(|_| lanes.len() == access.lanes.len()) else {
            continue;
        };
        let unchanged = |since: usize, lines: &BTreeSet<u64>| {
            lines.iter().all(|line| changed.get(line).is_none_or(|at| *at < since))
        };
        let useful: Vec<&Entry> = queue
            .iter()
            .flatten()
            .filter(|(_, since, lines)| unchanged(*since, lines))
            .map(|(entry, ..)| entry)
            .collect();
        if useful.iter().any(|entry| **entry == wanted) {
            counts.add(event.pc, key[0].clone(), 1);
            continue;
        }
        let asked: BTreeSet<u64> = wanted.lanes.values().copied().collect();
        let shared: Vec<BTreeSet<u64>> = useful
            .iter()
            .filter(|e| e.stride == wanted.stride && e.bytes == wanted.bytes && e.stride != 0)
            .map(|e| e.lanes.values().copied().filter(|at| asked.contains(at)).collect())
            .filter(|shared: &BTreeSet<u64>| !shared.is_empty())
            .collect();
        if shared.iter().any(|a| shared.iter().any(|b| a.union(b).count() == asked.len())) {
            counts.add(event.pc, key[1].clone(), 1);
            continue;
        }
        for place in &mut queue {
            if place.as_ref().is_some_and(|(entry, ..)| *entry == wanted) {
                *place = None;
            }
        }
        if queue.len() == size {
            queue.remove(0);
        }
        let touched = lines(lanes.values().copied(), access.bytes);
        queue.push(Some((wanted, now, touched)));
    }
}

/// LARF's definitions.
pub(crate) fn sharing(launch: &Launch) -> Counts {
    let mut counts = Counts::of(launch);
    for event in launch.events().filter(|event| matches!(event.inst.kind(), Kind::Load(_))) {
        let lanes = global(event);
        let Some(access) = event.access.as_ref().filter(|_| !lanes.is_empty()) else { continue };
        if lanes.len() == access.lanes.len() {
            counts.add(event.pc, "global_loads", 1);
            counts.add(event.pc, "irregular_loads", u64::from(entry(&lanes, access.bytes).is_none()));
        }
    }
    for block in &launch.blocks {
        for (prefix, chunk) in [("", 1), ("greedy_", TURN)] {
            let events = block.order(chunk);
            for (size, name) in [(200, "200"), (400, "400"), (usize::MAX, "infinite")] {
                let keys = ["perfect", "partial"].map(|kind| format!("{prefix}{kind}_{name}"));
                share(&mut counts, &events, size, &keys);
            }
        }
    }
    counts
}
