//! What a warp's scout finds ahead of fetch: the next instruction, and whether its values are affine in the lanes.

use crate::Cx;
use std::sync::Arc;
use trace_format::isa::{Inst, Kind, MemOrder, RegSpan};
use warplab_technique::Row;

/// base + lane · stride, modulo 2^64 or, of one word, 2^32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tuple {
    base: u64,
    stride: u64,
}

impl Tuple {
    /// The tuple of a register, or of a pair of them, in some lanes.
    pub(super) fn of(low: &Row, high: Option<&Row>, lanes: u32) -> Option<Tuple> {
        let unused = if high.is_some() { 0 } else { 32 };
        let value = |lane: u32| {
            let upper = high.map_or(0, |row| u64::from(row.0[lane as usize]) << 32);
            u64::from(low.0[lane as usize]) | upper
        };
        let first = lanes.trailing_zeros() & 31;
        let rest = lanes & lanes.wrapping_sub(1);
        let stride = if rest == 0 {
            0
        } else {
            let second = rest.trailing_zeros();
            let apart = i64::from(second - first);
            let difference = (value(second).wrapping_sub(value(first)) << unused) as i64 >> unused;
            if difference % apart != 0 {
                return None;
            }
            (difference / apart) as u64
        };
        let tuple = Tuple { base: value(first).wrapping_sub(stride.wrapping_mul(u64::from(first))), stride };
        let fits = |lane: &u32| lanes >> lane & 1 == 0 || (tuple.at(*lane) ^ value(*lane)) << unused == 0;
        (0..32).all(|lane| fits(&lane)).then_some(tuple)
    }

    fn at(&self, lane: u32) -> u64 {
        self.base.wrapping_add(self.stride.wrapping_mul(u64::from(lane)))
    }

    /// The lower (0) or the upper word (1) in all lanes.
    pub(super) fn expand(&self, word: u32) -> Row {
        Row::from_fn(|lane| (self.at(lane as u32) >> (32 * (word & 1))) as u32)
    }

    /// Another tuple, for faults.
    #[cfg(test)]
    pub(super) fn shift(&mut self, base: u64, stride: u64) {
        self.base = self.base.wrapping_add(base);
        self.stride = self.stride.wrapping_add(stride);
    }

    fn is_uniform(&self) -> bool {
        self.stride == 0
    }
}

/// An affine instruction's results; of one without registers the tuple means nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub tuple: Tuple,
}

/// An instruction on a warp's recorded path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead {
    pub pc: u32,
    /// Lanes in which it takes effect.
    pub exec: u32,
    /// How often the warp has passed it before.
    pub number: u32,
    /// Set if it is affine.
    pub found: Option<Found>,
    /// Lanes in which the predicates that it gives are true, in its order.
    pub preds: [u32; 2],
}

/// Whether an instruction may be affine: it computes lane by lane, or is an unordered load, and has results of at most two
/// words.
pub(super) fn eligible(inst: &Inst, loads: bool) -> bool {
    let words = inst.dst_span().map_or(0, |span| span.iter().count());
    let results = words > 0 || inst.dst_preds().next().is_some();
    let kind = match inst.kind() {
        Kind::Pure => !inst.op.crosses_lanes(),
        Kind::Load(_) => {
            loads && words > 0 && inst.info().memory.is_some_and(|memory| memory.order == MemOrder::Weak)
        }
        _ => false,
    };
    // Of predicates alone it has to read registers: those of other predicates are not known ahead.
    let reads = words > 0 || inst.src_regs().next().is_some();
    kind && results && words <= 2 && reads
}

/// Reads scouts, one instruction after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Reader {
    insts: Arc<[Inst]>,
    /// Operands of the current instruction: words, and their number.
    sources: Vec<([Row; 2], usize)>,
}

impl Reader {
    pub(super) fn new(insts: &[Inst]) -> Reader {
        Reader { insts: insts.into(), sources: Vec::new() }
    }

    /// The next instruction of a warp's scout.
    pub(super) fn next(&mut self, cx: &mut Cx<'_>, slot: usize, eligible: &[bool]) -> Option<Ahead> {
        let scouts = cx.scouts()?;
        let (pc, _) = scouts.next(slot)?;
        let inst = &self.insts[pc as usize];
        let may_be_affine = eligible[pc as usize];
        self.sources.clear();
        if may_be_affine {
            let rows = scouts.rows(slot);
            let spans = (0..3).filter_map(|i| inst.src_span(i));
            self.sources.extend(spans.map(|span| words(rows, span)));
        }
        let step = scouts.step(slot)?;
        let found = (may_be_affine && step.exec != 0)
            .then(|| self.affine(inst, scouts.rows(slot), step.exec))
            .flatten();
        let (after, mut preds) = (scouts.preds(slot), [0; 2]);
        for (lanes, pred) in preds.iter_mut().zip(inst.dst_preds()) {
            *lanes = after[usize::from(pred.0 & 7)];
        }
        Some(Ahead { pc, exec: step.exec, number: 0, found, preds })
    }

    fn affine(&self, inst: &Inst, rows: &[Row], lanes: u32) -> Option<Found> {
        let mut strided = 0;
        for (words, count) in &self.sources {
            let tuple = match count {
                0 => continue,
                1 => Tuple::of(&words[0], None, lanes)?,
                2 => Tuple::of(&words[0], Some(&words[1]), lanes)?,
                _ => return None,
            };
            strided += usize::from(!tuple.is_uniform());
        }
        match inst.dst_span() {
            Some(span) => {
                let (words, count) = words(rows, span);
                let tuple = Tuple::of(&words[0], (count > 1).then_some(&words[1]), lanes)?;
                Some(Found { tuple })
            }
            // A comparison needs one scalar.
            None => (strided <= 1).then_some(Found { tuple: Tuple::default() }),
        }
    }
}

/// The words of a span of registers, and how many there are.
fn words(rows: &[Row], span: RegSpan) -> ([Row; 2], usize) {
    let mut words = [Row::ZERO; 2];
    let mut count = 0;
    for reg in span.iter() {
        if let Some(word) = words.get_mut(count) {
            *word = rows.get(reg.index()).copied().unwrap_or(Row::ZERO);
        }
        count += 1;
    }
    (words, count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn strides_are_whole_and_the_same_in_every_lane() {
        let row = |f: fn(u32) -> u32| Row::from_fn(|lane| f(lane as u32));
        assert_eq!(Tuple::of(&row(|lane| 7 + 4 * lane), None, u32::MAX), Some(Tuple { base: 7, stride: 4 }));
        assert!(Tuple::of(&row(|lane| lane % 16), None, u32::MAX).is_none(), "a block of 16");
        assert!(Tuple::of(&row(|lane| lane % 16), None, 0xFFFF).is_some());
        assert!(Tuple::of(&row(|lane| lane / 2), None, 0x5555_5555).is_none(), "half a step per lane");
        assert!(Tuple::of(&row(|lane| lane * lane), None, 1 << 9).is_some(), "one lane alone");
    }

    #[test]
    fn a_pair_is_one_number() {
        // Lane 1 carries into the upper word.
        let low = Row::from_fn(|lane| 0xFFFF_FFFEu32.wrapping_add(2 * lane as u32));
        let high = Row::from_fn(|lane| u32::from(lane > 0));
        let pair = Tuple::of(&low, Some(&high), u32::MAX).expect("affine");
        assert_eq!((pair.expand(0), pair.expand(1)), (low, high));
        assert!(Tuple::of(&high, None, u32::MAX).is_none());
    }

    proptest! {
        #[test]
        fn a_tuple_gives_back_its_values(base in any::<u64>(), stride in any::<i32>(), lanes in 1u32..) {
            let value = |lane: usize| base.wrapping_add((i64::from(stride) as u64).wrapping_mul(lane as u64));
            let low = Row::from_fn(|lane| value(lane) as u32);
            let high = Row::from_fn(|lane| (value(lane) >> 32) as u32);
            let pair = Tuple::of(&low, Some(&high), lanes).expect("affine");
            for lane in (0..32).filter(|lane| lanes >> lane & 1 != 0) {
                prop_assert_eq!(pair.expand(0).0[lane], low.0[lane]);
                prop_assert_eq!(pair.expand(1).0[lane], high.0[lane]);
            }
        }
    }
}
