//! The addresses of a load in the form that an entry of the address mapping table has: a base, a stride, a mask
//! and a width (LARF, section 5.5.2).

use super::super::MemAccess;
use trace_format::isa::MemWidth;

/// Largest stride that eight bits hold, in bytes; strides are multiples of four (section 5.6.4).
const MAX_STRIDE: i64 = 512;

/// How lanes are numbered for the strides: one index, or one for each dimension of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lanes {
    /// Lanes that differ in the first index alone, and in the first two.
    columns: u32,
    plane: u32,
}

impl Lanes {
    /// One stride for all lanes.
    pub(super) const ONE: Lanes = Lanes { columns: 32, plane: 32 };

    /// The numbering of a block's lanes with at most this many strides. A dimension has a stride of its own if its
    /// lanes divide a warp, so that every warp has the same numbering.
    pub(super) fn of_block(block: [u32; 3], strides: u32) -> Lanes {
        let divides = |lanes: u32| lanes < 32 && 32 % lanes == 0;
        if strides < 2 || !divides(block[0]) {
            return Lanes::ONE;
        }
        let plane = block[0] * block[1];
        let third = strides > 2 && divides(plane);
        Lanes { columns: block[0], plane: if third { plane } else { 32 } }
    }

    /// The indices of a lane.
    fn of(self, lane: u32) -> [i64; 3] {
        let within = lane % self.plane;
        [within % self.columns, within / self.columns, lane / self.plane].map(i64::from)
    }
}

/// A load's addresses in one 4-GB region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Vector {
    /// Lower 32 bits of the address that lane 0 has or would have.
    base: u32,
    /// Bytes from a lane to the next.
    pub(super) stride: u16,
    /// Bytes from a row of lanes to the next and from a plane to the next, if they do not follow from the first
    /// stride.
    further: Option<[i32; 2]>,
    /// Lanes that load.
    pub(super) lanes: u32,
    /// What each of them loads.
    pub(super) width: MemWidth,
}

/// Lanes of a vector that another one holds: lane `i` has the value of the other's lane `i - shift`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// The lanes.
    pub(super) lanes: u32,
    /// Lanes by which the other's values are moved up; negative for down.
    pub(super) shift: i32,
}

impl Vector {
    /// The vector of a load and the number of its region; none if its addresses do not have the form.
    pub(super) fn of(access: &MemAccess<'_>, width: MemWidth, numbering: Lanes) -> Option<(Vector, u32)> {
        let lanes = access.mask;
        let first = lanes.trailing_zeros();
        let at = |lane: u32| access.addresses[lane as usize & 31];
        let region = (at(first) >> 32) as u32;
        let origin = numbering.of(first);
        let mut strides: [Option<i64>; 3] = [None; 3];
        for lane in (0..32).filter(|lane| lanes >> lane & 1 != 0) {
            if (at(lane) >> 32) as u32 != region {
                return None;
            }
            let place = numbering.of(lane);
            let steps: [i64; 3] = std::array::from_fn(|i| place[i] - origin[i]);
            let mut rest = at(lane).wrapping_sub(at(first)) as i64;
            // Lanes are in order, so that a stride is found before lanes that need it to find the next.
            for (step, stride) in steps.iter().zip(&mut strides) {
                match stride {
                    Some(stride) => rest -= step * *stride,
                    None if *step != 0 && rest % step == 0 => {
                        let found = rest / step;
                        *stride = Some(found);
                        rest = 0;
                    }
                    None => {}
                }
            }
            if rest != 0 {
                return None;
            }
        }
        let stride = strides[0].unwrap_or_else(|| i64::from(width.bytes()).max(4));
        if !(0..=MAX_STRIDE).contains(&stride) || stride % 4 != 0 {
            return None;
        }
        let row = strides[1].unwrap_or(stride * i64::from(numbering.columns));
        let plane = strides[2].unwrap_or(row * i64::from(numbering.plane / numbering.columns));
        let flat =
            row == stride * i64::from(numbering.columns) && plane == stride * i64::from(numbering.plane);
        let further = match (i32::try_from(row), i32::try_from(plane)) {
            _ if flat => None,
            (Ok(row), Ok(plane)) => Some([row, plane]),
            _ => return None,
        };
        let ahead = origin[0] * stride + origin[1] * row + origin[2] * plane;
        let base = (at(first) as u32).wrapping_sub(ahead as u32);
        Some((Vector { base, stride: stride as u16, further, lanes, width }, region))
    }

    /// The lanes of this vector that another one holds, and where.
    pub(super) fn part_in(&self, held: &Vector) -> Option<Part> {
        let stride = i32::from(self.stride);
        let same = (self.stride, self.width) == (held.stride, held.width);
        if !same || stride == 0 || self.further.is_some() || held.further.is_some() {
            return None;
        }
        let ahead = held.base.wrapping_sub(self.base) as i32;
        if ahead % stride != 0 {
            return None;
        }
        let shift = ahead / stride;
        let lanes = match shift {
            0..=31 => held.lanes << shift,
            -31..=-1 => held.lanes >> -shift,
            _ => return None,
        } & self.lanes;
        (lanes != 0).then_some(Part { lanes, shift })
    }

    /// Sections of 32 positions of its grid: those in which vectors may begin that hold a part of it, or that it
    /// holds a part of; its own is that of its base.
    pub(super) fn sections(&self) -> Option<std::ops::RangeInclusive<u32>> {
        let stride = u32::from(self.stride);
        if stride == 0 || self.further.is_some() {
            return None;
        }
        let place = self.base / stride;
        Some(place.saturating_sub(31) / 32..=place.saturating_add(31) / 32)
    }

    /// The section of its base.
    pub(super) fn section(&self) -> u32 {
        self.base / u32::from(self.stride).max(1) / 32
    }
}

/// The 128-byte lines that some lanes access, each once.
pub(super) fn lines(addresses: &[u64; 32], lanes: u32, bytes: u8) -> Vec<u64> {
    let mut lines = Vec::new();
    for lane in (0..32).filter(|lane| lanes >> lane & 1 != 0) {
        let address = addresses[lane];
        for line in address / 128..=address.wrapping_add(u64::from(bytes.max(1)) - 1) / 128 {
            if lines.last() != Some(&line) && !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::isa::space::Space;

    fn vector(lanes: u32, numbering: Lanes, address: impl Fn(u64) -> u64) -> Option<(Vector, u32)> {
        let addresses = std::array::from_fn(|lane| address(lane as u64));
        Vector::of(&MemAccess::new(Space::Global, 4, &addresses, lanes), MemWidth::B32, numbering)
    }

    fn flat(lanes: u32, base: u64) -> Vector {
        vector(lanes, Lanes::ONE, |lane| base + 4 * lane).expect("a stride").0
    }

    #[test]
    fn strides_are_multiples_of_four_up_to_512() {
        for (stride, held) in [(0, true), (2, false), (4, true), (6, false), (512, true), (516, false)] {
            let found = vector(u32::MAX, Lanes::ONE, |lane| 0x1000 + stride * lane);
            assert_eq!(found.is_some(), held, "{stride}");
        }
        assert_eq!(vector(u32::MAX, Lanes::ONE, |lane| 0x1000 - 4 * lane), None, "down");
        assert_eq!(vector(u32::MAX, Lanes::ONE, |lane| lane * lane * 4), None);
        assert_eq!(vector(u32::MAX, Lanes::ONE, |lane| 0xFFFF_FFC0 + 4 * lane), None, "two regions");
        assert_eq!(vector(1, Lanes::ONE, |_| 7 << 32 | 0x1000).map(|(_, region)| region), Some(7));
    }

    #[test]
    fn a_part_says_by_how_many_lanes_it_is_moved() {
        let sought = flat(u32::MAX, 0x1000);
        let part =
            |base: u64, lanes: u32| sought.part_in(&flat(lanes, base)).map(|part| (part.lanes, part.shift));
        assert_eq!(part(0x1000, 0xFF), Some((0xFF, 0)));
        assert_eq!(part(0x1000 - 12, u32::MAX), Some((u32::MAX >> 3, -3)));
        assert_eq!(part(0x1000 + 116, u32::MAX), Some((7 << 29, 29)));
        assert_eq!(
            [part(0x1000 + 128, u32::MAX), part(0x1002, u32::MAX), part(0x1000 - 128, u32::MAX)],
            [None; 3]
        );
        let wider = vector(u32::MAX, Lanes::ONE, |lane| 0x1000 + 8 * lane).expect("a stride").0;
        assert_eq!(sought.part_in(&wider), None, "another stride");
        assert!(
            sought.sections().is_some_and(|sections| sections.contains(&flat(1, 0x1000 + 116).section()))
        );
    }

    #[test]
    fn dimensions_have_strides_of_their_own_where_their_lanes_divide_a_warp() {
        let of = |block, strides, row: u64, plane: u64| {
            let numbering = Lanes::of_block(block, strides);
            let found = vector(u32::MAX, numbering, |lane| {
                4 * (lane % 4) + row * (lane / 4 % 4) + plane * (lane / 16)
            });
            found.is_some()
        };
        assert!(of([4, 4, 2], 1, 16, 64), "one stride after all");
        assert_eq!([1, 2, 3].map(|strides| of([4, 4, 2], strides, 1000, 4000)), [false, true, true]);
        assert_eq!([1, 2, 3].map(|strides| of([4, 4, 2], strides, 1000, 9000)), [false, false, true]);
        assert!(!of([5, 4, 2], 3, 1000, 9000), "warps of five columns are not alike");
        // The same addresses are the same vector, whatever finds them.
        let lanes = Lanes::of_block([4, 4, 2], 3);
        assert_eq!(vector(u32::MAX, lanes, |lane| 4 * lane), vector(u32::MAX, Lanes::ONE, |lane| 4 * lane));
    }

    #[test]
    fn a_line_is_named_once() {
        let addresses = std::array::from_fn(|lane| 0x1000 + 8 * (lane as u64 % 20));
        assert_eq!(lines(&addresses, u32::MAX, 8), [0x20, 0x21]);
        assert_eq!(lines(&[0x107C; 32], 1, 8), [0x20, 0x21], "it crosses");
        assert!(lines(&addresses, 0, 8).is_empty());
    }
}
