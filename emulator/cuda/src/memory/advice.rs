//! Advice of programs about managed memory (`cuMemAdvise`, `cuMemPrefetchAsync`), by ranges of addresses.
//!
//! Managed memory has only one location here, so advice has no effect; programs can query it
//! (`cuMemRangeGetAttribute`).

use crate::error::{Outcome, Status};
use crate::memory::location::{HOST, Location, NOWHERE};
use std::collections::BTreeMap;

/// Advice about bytes; none at first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Advice {
    mostly_read: bool,
    preferred: Option<Location>,
    /// Whether the device and the host will access them.
    accessed_by: [bool; 2],
    prefetched: Option<Location>,
}

impl Advice {
    /// Adds one of `CUmem_advise`.
    ///
    /// # Errors
    /// `INVALID_VALUE` when there is no such advice, and `INVALID_DEVICE` where it names no device of ours.
    pub fn add(&mut self, number: u32, location: Location) -> Outcome {
        // The location matters only for advice that sets one, or that removes an accessor.
        if matches!(number, 3 | 5 | 6) {
            location.is_there()?;
        }
        match number {
            1 | 2 => self.mostly_read = number == 1,
            3 => self.preferred = Some(location),
            4 => self.preferred = None,
            5 | 6 => self.accessed_by[usize::from(!location.is_device())] = number == 5,
            _ => return Err(Status::INVALID_VALUE),
        }
        Ok(())
    }

    /// Stores the target of a prefetch.
    pub fn prefetch(&mut self, location: Location) {
        self.prefetched = Some(location);
    }
}

/// Advice about all managed memory.
#[derive(Debug, Default)]
pub struct Advices {
    /// By first address: the end, and the advice. Ranges do not overlap; there is no advice about other
    /// addresses.
    ranges: BTreeMap<u64, (u64, Advice)>,
}

impl Advices {
    /// Makes an address the border of ranges.
    fn split(&mut self, at: u64) {
        if let Some((&start, &(end, advice))) = self.ranges.range(..at).next_back()
            && end > at
        {
            self.ranges.insert(start, (at, advice));
            self.ranges.insert(at, (end, advice));
        }
    }

    /// Changes the advice about addresses.
    pub fn change(&mut self, start: u64, end: u64, change: impl Fn(&mut Advice)) {
        self.split(start);
        self.split(end);
        let mut gaps = Vec::new();
        let mut at = start;
        for (&from, (to, advice)) in self.ranges.range_mut(start..end) {
            gaps.push((at, from));
            change(advice);
            at = *to;
        }
        gaps.push((at, end));
        for (from, to) in gaps.into_iter().filter(|(from, to)| from < to) {
            let mut advice = Advice::default();
            change(&mut advice);
            self.ranges.insert(from, (to, advice));
        }
    }

    /// Removes the advice about addresses.
    pub fn forget(&mut self, start: u64, end: u64) {
        self.split(start);
        self.split(end);
        let gone: Vec<u64> = self.ranges.range(start..end).map(|(&start, _)| start).collect();
        for start in gone {
            self.ranges.remove(&start);
        }
    }

    /// All advice about parts of a range.
    fn over(&self, start: u64, end: u64) -> Vec<Advice> {
        let mut all = Vec::new();
        let mut at = start;
        let before = self.ranges.range(..start).next_back().filter(|(_, (to, _))| *to > start);
        for (&from, &(to, advice)) in before.into_iter().chain(self.ranges.range(start..end)) {
            if from > at {
                all.push(Advice::default());
            }
            all.push(advice);
            at = to;
        }
        if at < end {
            all.push(Advice::default());
        }
        all
    }

    /// One of `CUmem_range_attribute`, which holds for all of these addresses: one word, or the numbers of
    /// all devices that access them.
    ///
    /// # Errors
    /// `INVALID_VALUE` when there is no such attribute.
    pub fn attribute(&self, number: u32, start: u64, end: u64) -> Outcome<Vec<i32>> {
        let all = self.over(start, end);
        let common = |part: fn(&Advice) -> Option<Location>| {
            let first = all.first().and_then(part);
            first.filter(|_| all.iter().all(|advice| part(advice) == first))
        };
        let preferred = || common(|advice| advice.preferred);
        let prefetched = || common(|advice| advice.prefetched);
        let ordinal = |place: Option<Location>| place.map_or(NOWHERE, Location::ordinal);
        Ok(match number {
            1 => vec![i32::from(all.iter().all(|advice| advice.mostly_read))],
            2 => vec![ordinal(preferred())],
            3 => {
                let accessed = |who: usize| all.iter().all(|advice| advice.accessed_by[who]);
                [(0, 0), (1, HOST)]
                    .into_iter()
                    .filter(|(who, _)| accessed(*who))
                    .map(|(_, number)| number)
                    .collect()
            }
            4 => vec![ordinal(prefetched())],
            5 => vec![preferred().map_or(0, |place| place.kind as i32)],
            6 => vec![preferred().map_or(0, |place| place.id)],
            7 => vec![prefetched().map_or(0, |place| place.kind as i32)],
            8 => vec![prefetched().map_or(0, |place| place.id)],
            _ => return Err(Status::INVALID_VALUE),
        })
    }

    /// The words that a program queries into a buffer of this many bytes.
    ///
    /// # Errors
    /// `INVALID_VALUE` as [`Advices::attribute`], and when the buffer does not have the attribute's size.
    pub fn words(&self, number: u32, bytes: usize, start: u64, end: u64) -> Outcome<Vec<i32>> {
        let mut words = self.attribute(number, start, end)?;
        let room = bytes / size_of::<i32>();
        let fits = bytes.is_multiple_of(size_of::<i32>()) && if number == 3 { room > 0 } else { room == 1 };
        if !fits {
            return Err(Status::INVALID_VALUE);
        }
        words.resize(room.min(MOST_WORDS), NOWHERE);
        Ok(words)
    }
}

/// More devices than a program can have room for.
const MOST_WORDS: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICE: Location = Location { kind: 1, id: 0 };
    const CPU: Location = Location { kind: 2, id: 0 };

    fn say(advices: &mut Advices, start: u64, end: u64, number: u32, location: Location) {
        advices.change(start, end, |advice| advice.add(number, location).unwrap());
    }

    #[test]
    fn an_attribute_holds_where_all_bytes_have_it() {
        let mut advices = Advices::default();
        assert_eq!(advices.attribute(2, 0, 100), Ok(vec![NOWHERE]));
        say(&mut advices, 10, 50, 1, CPU);
        assert_eq!(advices.attribute(1, 10, 50), Ok(vec![1]));
        assert_eq!(advices.attribute(1, 20, 30), Ok(vec![1]));
        assert_eq!(advices.attribute(1, 9, 50), Ok(vec![0]));
        assert_eq!(advices.attribute(1, 10, 51), Ok(vec![0]));
        say(&mut advices, 40, 60, 1, CPU);
        assert_eq!(advices.attribute(1, 10, 60), Ok(vec![1]));
        say(&mut advices, 20, 30, 2, CPU);
        assert_eq!(
            [(10, 20), (20, 30), (15, 25), (30, 60)].map(|(a, b)| advices.attribute(1, a, b).unwrap()[0]),
            [1, 0, 0, 1]
        );
        say(&mut advices, 0, 100, 3, DEVICE);
        assert_eq!(advices.attribute(2, 0, 100), Ok(vec![0]));
        say(&mut advices, 50, 100, 3, CPU);
        assert_eq!(advices.attribute(2, 0, 100), Ok(vec![NOWHERE]));
        assert_eq!(advices.attribute(5, 60, 100), Ok(vec![2]));
        say(&mut advices, 50, 100, 4, CPU);
        assert_eq!(advices.attribute(2, 50, 100), Ok(vec![NOWHERE]));
        advices.forget(25, 45);
        assert_eq!(advices.attribute(1, 30, 40), Ok(vec![0]));
        assert_eq!([advices.attribute(1, 10, 20), advices.attribute(1, 45, 60)], [Ok(vec![1]), Ok(vec![1])]);
    }

    #[test]
    fn who_accesses_comes_in_a_list_of_the_length_asked_for() {
        let mut advices = Advices::default();
        say(&mut advices, 0, 8, 5, CPU);
        assert_eq!(advices.words(3, 12, 0, 8), Ok(vec![HOST, NOWHERE, NOWHERE]));
        say(&mut advices, 0, 8, 5, DEVICE);
        assert_eq!(advices.words(3, 12, 0, 8), Ok(vec![0, HOST, NOWHERE]));
        assert_eq!(advices.words(3, 4, 0, 8), Ok(vec![0]));
        assert_eq!(advices.words(3, 12, 0, 9), Ok(vec![NOWHERE; 3]));
        say(&mut advices, 0, 4, 6, DEVICE);
        assert_eq!(advices.words(3, 8, 0, 4), Ok(vec![HOST, NOWHERE]));
        for (number, bytes) in [(3, 0), (3, 6), (1, 8), (1, 0), (9, 4), (0, 4)] {
            assert_eq!(advices.words(number, bytes, 0, 8), Err(Status::INVALID_VALUE), "{number}, {bytes}");
        }
    }

    #[test]
    fn advice_is_checked() {
        let mut advice = Advice::default();
        assert_eq!(advice.add(7, CPU), Err(Status::INVALID_VALUE));
        assert_eq!(advice.add(3, Location { kind: 1, id: 7 }), Err(Status::INVALID_DEVICE));
        assert_eq!(advice.add(5, Location { kind: 9, id: 0 }), Err(Status::INVALID_VALUE));
        assert_eq!(advice.add(1, Location { kind: 1, id: 7 }), Ok(()));
    }
}
