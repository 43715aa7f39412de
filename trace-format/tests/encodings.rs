//! Tests of encodings: any rows and paths can be decoded again; regular rows cost little; damaged streams are
//! refused.

use crate::common;

use common::{Random, random_kernel};
use proptest::prelude::*;
use trace_format::internals::PathState;
use trace_format::internals::StreamLayout;
use trace_format::internals::ValueDecoder;
use trace_format::internals::Words;
use trace_format::internals::{ValueEncoder, ValueStreams};
use trace_format::isa::BlockId;

struct Runs<'a>(&'a [ValueStreams]);

impl Words for Runs<'_> {
    fn of_warp(&self, warp: usize) -> &[u32] {
        self.0.get(warp).map_or(&[], |s| &s.words)
    }
}

#[derive(Clone, Debug)]
struct RecordedRow {
    warp: usize,
    slot: usize,
    row: [u32; 32],
    mask: u32,
}

const WARPS: usize = 4;
const SLOTS: usize = 3;

fn encode(rows: &[RecordedRow]) -> Vec<ValueStreams> {
    let mut streams = vec![ValueStreams::default(); WARPS];
    let mut encoder = ValueEncoder::default();
    encoder.begin(WARPS, SLOTS);
    for r in rows {
        encoder.encode(&mut streams, r.warp, r.slot, &r.row, r.mask);
    }
    streams
}

fn check(rows: &[RecordedRow], streams: &[ValueStreams]) {
    for (warp, s) in streams.iter().enumerate() {
        let mut decoder = ValueDecoder::default();
        decoder.begin(warp as u32, SLOTS);
        for r in rows.iter().filter(|r| r.warp == warp) {
            let mut out = [0; 32];
            decoder.decode(&Runs(streams), &s.tokens, &s.params, r.slot, r.mask, &mut out).unwrap();
            for lane in (0..32).filter(|l| r.mask >> l & 1 != 0) {
                assert_eq!(out[lane], r.row[lane], "warp {warp}, lane {lane}");
            }
        }
        assert!(decoder.is_at_end(&s.tokens, &s.params));
        assert_eq!(decoder.fresh_words() as usize, s.words.len());
    }
}

fn bytes(streams: &[ValueStreams]) -> usize {
    streams.iter().map(|s| s.tokens.len() + s.params.len() + 4 * s.words.len()).sum()
}

/// Rows of the kinds that programs load, some of them derived from rows before.
fn random_rows(seed: u64, count: usize) -> Vec<RecordedRow> {
    let mut rng = Random::new(seed);
    let mut rows: Vec<RecordedRow> = Vec::new();
    for _ in 0..count {
        let mask = match rng.below(6) {
            0 => rng.bits() as u32,
            1 => 1 << rng.below(32),
            2 => (1u32 << (1 + rng.below(31))) - 1,
            _ => u32::MAX,
        };
        let mask = if mask == 0 { 1 } else { mask };
        let x = rng.bits() as u32;
        let y = rng.below(9) as u32;
        let from: Vec<u32> = rows.iter().rev().take(8).flat_map(|r| r.row).collect();
        let mut pick = |n: usize| from.get(n).copied().unwrap_or(x);
        let row: [u32; 32] = match rng.below(10) {
            0 => [x; 32],
            1 => [y; 32],
            2 => std::array::from_fn(|l| x.wrapping_add(y.wrapping_mul(l as u32))),
            3 => std::array::from_fn(|l| x.wrapping_mul((l as u32 >> (y & 3)) | 1)),
            4 => std::array::from_fn(|l| x.wrapping_mul((l as u32 & 7) + 1)),
            5 => std::array::from_fn(&mut pick),
            6 => std::array::from_fn(|l| pick(l + y as usize)),
            7 => std::array::from_fn(|l| pick((l & 7) * 8 + (l >> 3))),
            8 => std::array::from_fn(|l| pick(l * 32 % 250 + y as usize)),
            _ => std::array::from_fn(|_| rng.bits() as u32),
        };
        rows.push(RecordedRow {
            warp: rng.below(WARPS as u64) as usize,
            slot: rng.below(SLOTS as u64) as usize,
            row,
            mask,
        });
    }
    rows
}

proptest! {
    #[test]
    fn rows_survive(seed in any::<u64>(), count in 0usize..200) {
        let rows = random_rows(seed, count);
        check(&rows, &encode(&rows));
    }

    #[test]
    fn arbitrary_rows_survive(rows in prop::collection::vec((any::<[u32; 32]>(), 1u32.., 0..WARPS, 0..SLOTS), 0..20)) {
        let rows: Vec<_> = rows.into_iter().map(|(row, mask, warp, slot)| RecordedRow { warp, slot, row, mask }).collect();
        check(&rows, &encode(&rows));
    }

    #[test]
    fn damaged_rows_are_read_or_refused(seed in any::<u64>(), at in any::<usize>(), value in any::<u8>()) {
        let rows = random_rows(seed, 60);
        let mut streams = encode(&rows);
        let s = &mut streams[0];
        let total = s.tokens.len() + s.params.len();
        if total > 0 {
            let at = at % total;
            if at < s.tokens.len() { s.tokens[at] = value } else { s.params[at - s.tokens.len()] = value }
        }
        s.words.truncate(value as usize);
        let mut decoder = ValueDecoder::default();
        decoder.begin(0, SLOTS);
        for r in rows.iter().filter(|r| r.warp == 0) {
            let s = &streams[0];
            let _ = decoder.decode(&Runs(&streams), &s.tokens, &s.params, r.slot, r.mask, &mut [0; 32]);
        }
    }

    #[test]
    fn paths_survive(seed in any::<u64>(), steps in prop::collection::vec((any::<u32>(), any::<u8>()), 0..100)) {
        let layout = StreamLayout::of(&random_kernel(seed));
        let blocks = layout.blocks.len() as u32;
        let (mut last, mut masks) = (u32::MAX, vec![u32::MAX]);
        let path: Vec<(BlockId, u32)> = steps.iter().map(|&(x, how)| {
            let next = last.wrapping_add(1);
            last = match how & 3 {
                0 | 1 if next < blocks => next,
                2 if last < blocks && layout.blocks[last as usize].target < blocks => layout.blocks[last as usize].target,
                _ => x % blocks,
            };
            let current = *masks.last().unwrap();
            let mask = match how >> 2 & 7 {
                0 => (x & current).max(1),
                1 => masks[x as usize % masks.len()],
                2 => (masks[x as usize % masks.len()] & !current).max(1),
                _ => current,
            };
            masks.push(mask);
            (BlockId(last), mask)
        }).collect();
        let (mut tokens, mut params) = (Vec::new(), Vec::new());
        let mut state = PathState::start(u32::MAX);
        path.iter().for_each(|&(b, m)| state.encode(&layout, b, m, &mut tokens, &mut params));
        let (mut state, mut t, mut p) = (PathState::start(u32::MAX), 0, 0);
        for entry in &path {
            prop_assert_eq!(&state.decode(&layout, &tokens, &params, &mut t, &mut p).unwrap(), entry);
        }
        prop_assert_eq!((t, p), (tokens.len(), params.len()));
    }

    #[test]
    fn damaged_paths_are_read_or_refused(seed in 0u64..50, tokens in prop::collection::vec(any::<u8>(), 0..50), params in prop::collection::vec(any::<u8>(), 0..50)) {
        let layout = StreamLayout::of(&random_kernel(seed));
        let (mut state, mut t, mut p) = (PathState::start(u32::MAX), 0, 0);
        while let Ok((block, _)) = state.decode(&layout, &tokens, &params, &mut t, &mut p) {
            prop_assert!((block.0 as usize) < layout.blocks.len());
        }
    }
}

fn row(warp: usize, slot: usize, row: [u32; 32]) -> RecordedRow {
    RecordedRow { warp, slot, row, mask: u32::MAX }
}

fn noise(rng: &mut Random) -> [u32; 32] {
    std::array::from_fn(|_| rng.bits() as u32)
}

/// A 32x32 tile that four warps load line by line and read back by lines, columns and single words costs
/// hardly more than its words.
#[test]
fn what_the_block_has_loaded_costs_no_words() {
    let mut rng = Random::new(1);
    let tile: Vec<[u32; 32]> = (0..32).map(|_| noise(&mut rng)).collect();
    let mut rows: Vec<_> = tile.iter().enumerate().map(|(y, line)| row(y % WARPS, 0, *line)).collect();
    let loads = encode(&rows);
    assert_eq!(bytes(&loads), 32 * 129);
    for warp in 0..WARPS {
        for (line, word) in tile.iter().zip(tile[warp]) {
            rows.push(row(warp, 1, *line));
            rows.push(row(warp, 2, [word; 32]));
        }
    }
    let shared = encode(&rows);
    check(&rows, &shared);
    assert!(bytes(&shared) < bytes(&loads) + 800, "{} bytes", bytes(&shared));
    assert_eq!(shared.iter().map(|s| s.words.len()).sum::<usize>(), 1024);
    // Columns go across the runs of four warps: a lattice, eight lines long.
    let mut columns = rows.clone();
    columns.extend((0..32).map(|x| row(0, 1, std::array::from_fn(|l| tile[(l * 4) % 32 + l / 8][x]))));
    let transposed = encode(&columns);
    check(&columns, &transposed);
    assert_eq!(transposed.iter().map(|s| s.words.len()).sum::<usize>(), 1024);
}

#[test]
fn shifted_rows_cost_the_words_that_are_new() {
    let mut rng = Random::new(2);
    let line: Vec<u32> = (0..40).map(|_| rng.bits() as u32).collect();
    let rows: Vec<_> = (0..3).map(|d| row(0, d, std::array::from_fn(|l| line[l + d]))).collect();
    let streams = encode(&rows);
    check(&rows, &streams);
    assert_eq!(streams[0].words.len(), 34);
}

#[test]
fn grouped_rows_cost_their_groups() {
    let mut rng = Random::new(3);
    let v = noise(&mut rng);
    for (words, f) in [
        (1usize, Box::new(|l: usize| l / 32) as Box<dyn Fn(usize) -> usize>),
        (2, Box::new(|l: usize| l / 16)),
        (16, Box::new(|l: usize| l / 2)),
        (16, Box::new(|l: usize| l % 16)),
        (4, Box::new(|l: usize| l % 4)),
    ] {
        let rows = [row(1, 0, std::array::from_fn(|l| v[f(l)]))];
        let streams = encode(&rows);
        check(&rows, &streams);
        assert_eq!(streams[1].words.len(), words);
    }
}

#[test]
fn a_warp_whose_run_is_full_goes_on() {
    let mut rng = Random::new(4);
    let rows: Vec<_> = (0..(1 << 15) + 40).map(|_| row(2, 0, noise(&mut rng))).collect();
    let streams = encode(&rows);
    check(&rows, &streams);
}
