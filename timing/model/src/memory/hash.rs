//! Address hashes: polynomial remainders over GF(2) and the set index of a cache.
//!
//! Polynomial interleaving (Rau, "Pseudo-randomly interleaved memory", ISCA 1991) takes the remainder of the block
//! number by an irreducible polynomial: every aligned run of 2^n blocks is a permutation, and power-of-two
//! strides spread evenly.

use crate::config::SetHash;

/// Irreducible polynomials over GF(2), by degree from 1 to 16; bit i is the coefficient of x^i.
const IRREDUCIBLE: [u32; 16] = [
    0b11,
    0b111,
    0b1011,
    0b1_0011,
    0b10_0101,
    0b100_0011,
    0b1000_0011,
    0x11B,
    0x211,
    0x409,
    0x805,
    0x1053,
    0x201B,
    0x402B,
    0x8003,
    0x1002D,
];

/// Largest number of places that [`Ipoly`] spreads blocks over.
pub(crate) const MAX_IPOLY: u32 = 1 << IRREDUCIBLE.len();

/// Remainders of block numbers, prepared byte by byte.
#[derive(Clone, Debug)]
pub(crate) struct Ipoly(Box<[[u16; 256]; 8]>);

impl Ipoly {
    /// Spreads blocks over `places`, a power of two between 2 and [`MAX_IPOLY`].
    #[must_use]
    pub(crate) fn new(places: u32) -> Ipoly {
        let degree = places.trailing_zeros();
        let polynomial = IRREDUCIBLE[degree as usize - 1];
        // powers[i] is x^i modulo the polynomial.
        let mut powers = [0u32; 64];
        let mut power = 1;
        for slot in &mut powers {
            *slot = power;
            power <<= 1;
            if power >> degree & 1 != 0 {
                power ^= polynomial;
            }
        }
        let mut tables = Box::new([[0u16; 256]; 8]);
        for (byte, table) in tables.iter_mut().enumerate() {
            for (value, slot) in table.iter_mut().enumerate() {
                let bits = (0..8).filter(|bit| value >> bit & 1 != 0);
                *slot = bits.fold(0, |sum, bit| sum ^ powers[byte * 8 + bit] as u16);
            }
        }
        Ipoly(tables)
    }

    /// Place of a block.
    #[must_use]
    #[inline]
    pub(crate) fn of(&self, block: u64) -> u64 {
        let bytes = block.to_le_bytes();
        u64::from(self.0.iter().zip(bytes).fold(0, |sum, (table, byte)| sum ^ table[usize::from(byte)]))
    }
}

/// The set index function of a cache.
#[derive(Clone, Debug)]
pub(crate) struct SetIndex {
    sets: u64,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    /// Low bits; the number of sets is a power of two.
    Mask(u64),
    Modulo,
    /// Low bits xor the bits above them, with an optional shift.
    Xor,
    Fermi,
    Ipoly(Ipoly),
}

impl SetIndex {
    /// The index function of a checked configuration: Fermi's hash needs 32 or 64 sets, IPOLY a power of two.
    #[must_use]
    pub(crate) fn new(sets: u32, hash: SetHash) -> SetIndex {
        let kind = match hash {
            _ if sets == 1 => Kind::Mask(0),
            SetHash::Linear if sets.is_power_of_two() => Kind::Mask(u64::from(sets) - 1),
            SetHash::Linear => Kind::Modulo,
            SetHash::Xor => Kind::Xor,
            SetHash::Fermi => Kind::Fermi,
            SetHash::Ipoly => Kind::Ipoly(Ipoly::new(sets)),
        };
        SetIndex { sets: u64::from(sets), kind }
    }

    /// Set of a line number.
    #[must_use]
    #[inline]
    pub(crate) fn of(&self, line: u64) -> usize {
        let set = match &self.kind {
            Kind::Mask(mask) => line & mask,
            Kind::Modulo => line % self.sets,
            Kind::Xor => (line ^ (line / self.sets)) % self.sets,
            Kind::Fermi => fermi(line, self.sets),
            Kind::Ipoly(ipoly) => ipoly.of(line),
        };
        set as usize
    }
}

/// GF100's L1: address bits 7 to 11 xor bits 13, 14, 15, 17 and 19; with 64 sets bit 12 is the highest bit of the
/// set (Nugteren et al., "A detailed GPU cache model based on reuse distance theory", HPCA 2014). Lines have 128 bytes.
fn fermi(line: u64, sets: u64) -> u64 {
    let upper = line >> 6 & 0b111 | (line >> 10 & 1) << 3 | (line >> 12 & 1) << 4;
    let low = line & 0b1_1111 ^ upper;
    if sets == 64 { low | line & 0b10_0000 } else { low }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Remainder by long division, bit by bit.
    fn remainder(mut dividend: u64, polynomial: u64) -> u64 {
        let degree = 63 - polynomial.leading_zeros();
        while dividend != 0 && 63 - dividend.leading_zeros() >= degree {
            dividend ^= polynomial << (63 - dividend.leading_zeros() - degree);
        }
        dividend
    }

    #[test]
    fn polynomials_have_no_factors() {
        for (index, polynomial) in IRREDUCIBLE.iter().enumerate() {
            let degree = index as u32 + 1;
            assert_eq!(31 - polynomial.leading_zeros(), degree);
            for factor in 2u64..1 << (degree / 2 + 1) {
                assert_ne!(
                    remainder(u64::from(*polynomial), factor),
                    0,
                    "{factor:#b} divides {polynomial:#b}"
                );
            }
        }
    }

    #[test]
    fn ipoly_is_the_remainder_of_long_division() {
        for degree in 1..=16 {
            let ipoly = Ipoly::new(1 << degree);
            let mut block = 0x1234_5678_9ABC_DEF1u64;
            for _ in 0..500 {
                assert_eq!(ipoly.of(block), remainder(block, u64::from(IRREDUCIBLE[degree - 1])));
                block = block.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(17);
            }
        }
    }

    #[test]
    fn power_of_two_strides_visit_every_place() {
        let ipoly = Ipoly::new(32);
        for shift in 0..40 {
            let places: HashSet<u64> = (0..32u64).map(|n| ipoly.of(n << shift)).collect();
            assert_eq!(places.len(), 32, "stride of 2^{shift}");
        }
    }

    /// Values computed by hand from the published bit numbers.
    #[test]
    fn fermis_hash_picks_the_published_bits() {
        let set = |address: u64, sets| SetIndex::new(sets, SetHash::Fermi).of(address / 128);
        assert_eq!(set(0x80, 32), 1);
        assert_eq!(set(1 << 13, 32), 0b1);
        assert_eq!(set(1 << 15, 32), 0b100);
        assert_eq!(set(1 << 17, 32), 0b1000);
        assert_eq!(set(1 << 19, 32), 0b1_0000);
        assert_eq!(set(1 << 13 | 0x80, 32), 0);
        assert_eq!((set(1 << 12, 32), set(1 << 12, 64)), (0, 0b10_0000));
        assert_eq!((set(1 << 16, 64), set(1 << 18, 64)), (0, 0));
    }

    #[test]
    fn every_hash_fills_its_sets_evenly() {
        for (hash, sets) in [
            (SetHash::Linear, 48u32),
            (SetHash::Linear, 64),
            (SetHash::Xor, 64),
            (SetHash::Fermi, 64),
            (SetHash::Ipoly, 32),
        ] {
            let index = SetIndex::new(sets, hash);
            let mut load = vec![0; sets as usize];
            (0..u64::from(sets) * 64).for_each(|line| load[index.of(line)] += 1);
            assert!(load.iter().all(|n| *n == 64), "{hash:?}: {load:?}");
        }
    }
}
