//! Twin of the study of copies: every round of every value, beside all older values that are equal.

use super::super::decode::{Block, Counts, Launch, lanes};
use std::collections::{BTreeMap, BTreeSet};

/// A value in a register of a warp, from the round in which it was written to that in which it is read last.
struct Value {
    from: usize,
    warp: usize,
    reg: u8,
    to: usize,
    words: Vec<u32>,
    pc: usize,
}

fn values(block: &Block) -> Vec<Value> {
    let mut values: Vec<Value> = Vec::new();
    let mut current: BTreeMap<(usize, u8), usize> = BTreeMap::new();
    for (round, events) in block.rounds(1).into_iter().enumerate() {
        for (warp, event) in events.into_iter().filter(|(_, event)| event.exec != 0) {
            for reg in event.reads() {
                if let Some(at) = current.get(&(warp, reg)) {
                    values[*at].to = round;
                }
            }
            for (reg, words) in event.writes().into_iter().zip(&event.results) {
                if let (false, Some(at)) = (event.whole(), current.get(&(warp, reg))) {
                    values[*at].to = round;
                }
                current.insert((warp, reg), values.len());
                let words = lanes(event.launched).into_iter().map(|lane| words[lane]).collect();
                values.push(Value { from: round, warp, reg, to: round, words, pc: event.pc });
            }
        }
    }
    values
}

/// The definitions of `copies`: of equal values, from the oldest on, a value is a copy in the rounds in which one before it is held.
pub(crate) fn copies(launch: &Launch) -> Counts {
    let mut counts = Counts::of(launch);
    for block in &launch.blocks {
        let mut same: BTreeMap<Vec<u32>, Vec<Value>> = BTreeMap::new();
        for value in values(block) {
            counts.add(value.pc, "needed_rounds", (value.to - value.from) as u64);
            same.entry(value.words.clone()).or_default().push(value);
        }
        for mut values in same.into_values() {
            values.sort_by_key(|value| (value.from, value.warp, value.reg));
            let (mut in_block, mut in_warp) = (BTreeSet::new(), BTreeSet::new());
            for value in &values {
                for round in value.from..value.to {
                    counts.add(value.pc, "copies_in_warp", u64::from(!in_warp.insert((value.warp, round))));
                    counts.add(value.pc, "copies_in_block", u64::from(!in_block.insert(round)));
                }
            }
        }
    }
    counts
}
