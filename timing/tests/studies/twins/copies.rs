//! Twin of the study of copies: every round of every value, beside all values of the block.

use super::super::decode::{Block, Counts, Launch, lanes};
use std::collections::BTreeMap;

/// A value in a register of a warp, from the round in which it was written to that in which it is read last.
struct Value {
    from: usize,
    warp: usize,
    reg: u8,
    to: usize,
    words: Vec<u32>,
    pc: usize,
}

impl Value {
    fn is_held(&self, round: usize) -> bool {
        (self.from..self.to).contains(&round)
    }

    fn is_older(&self, other: &Value) -> bool {
        (self.from, self.warp, self.reg) < (other.from, other.warp, other.reg)
    }
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

/// The definitions of `copies`.
pub(crate) fn copies(launch: &Launch) -> Counts {
    let mut counts = Counts::of(launch);
    for block in &launch.blocks {
        let values = values(block);
        for value in &values {
            counts.add(value.pc, "needed_rounds", (value.to - value.from) as u64);
            for round in value.from..value.to {
                let same = |other: &&Value| {
                    other.is_held(round) && other.is_older(value) && other.words == value.words
                };
                let older: Vec<&Value> = values.iter().filter(same).collect();
                let in_warp = older.iter().any(|other| other.warp == value.warp);
                counts.add(value.pc, "copies_in_warp", u64::from(in_warp));
                counts.add(value.pc, "copies_in_block", u64::from(!older.is_empty()));
            }
        }
    }
    counts
}
