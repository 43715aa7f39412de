//! Reference of hash64: the same integer arithmetic on 64-bit and 128-bit integers.

use super::Case;
use crate::{Expected, Outputs};

pub(crate) fn expected(case: &Case) -> Outputs {
    let modulus = case.scalar("modulus") as u64;
    let rounds = case.scalar("rounds");
    let (mut buckets, mut products, mut digests) = (Vec::new(), Vec::new(), Vec::new());
    for (i, key) in case.buffer::<u64>("keys").into_iter().enumerate() {
        let h = (0..rounds).fold(key | 1, |h, _| xorshift(h));
        let mixed = finalise(h);
        buckets.push(mixed % modulus);
        products.push(((u128::from(mixed) * u128::from(h)) >> 64) as u64);
        digests.push(digest(mixed, i as u32));
    }
    Outputs::from([
        ("buckets".into(), Expected::exact(&buckets)),
        ("products".into(), Expected::exact(&products)),
        ("digests".into(), Expected::exact(&digests)),
    ])
}

/// One step of Marsaglia's 64-bit xorshift generator with the shifts 13, 7, 17.
fn xorshift(mut h: u64) -> u64 {
    h ^= h << 13;
    h ^= h >> 7;
    h ^ (h << 17)
}

/// The 64-bit finaliser of MurmurHash3.
fn finalise(mut k: u64) -> u64 {
    k ^= k >> 33;
    k = k.wrapping_mul(0xff51_afd7_ed55_8ccd);
    k ^= k >> 33;
    k = k.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    k ^ (k >> 33)
}

fn digest(mixed: u64, i: u32) -> u32 {
    let (low, high) = (mixed as u32, (mixed >> 32) as u32);
    // The upper word of the pair (high, low) shifted left.
    let funnel = ((mixed << (i & 31)) >> 32) as u32;
    let mut digest = low.reverse_bits() ^ funnel;
    digest = digest.wrapping_add(mixed.count_ones().wrapping_mul(0x9e37_79b1));
    digest ^= (mixed >> (i & 63)).leading_zeros() << 8;
    let lowest_set = if high == 0 { 0 } else { high.trailing_zeros() + 1 };
    digest.wrapping_add(lowest_set.wrapping_mul(low % 1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        // One xorshift step by hand: 1 -> 0x2001 -> 0x2041 -> 0x40822041.
        assert_eq!(xorshift(1), 0x4082_2041);
        // The finaliser's published test value for 1, and its fixed point.
        assert_eq!(finalise(1), 0xb456_bcfc_34c2_cb2c);
        assert_eq!(finalise(0), 0);
    }

    #[test]
    fn digests_by_hand() {
        // All fields zero but the leading zeros: 64 << 8.
        assert_eq!(digest(0, 5), 0x4000);
        // low = 2, high = 1: reversed 0x40000000; funnel by 1 gives 2; two bits set; 31 leading zeros.
        let want = ((0x4000_0000_u32 ^ 2).wrapping_add(0x9e37_79b1_u32.wrapping_mul(2)) ^ (32 << 8)) + 2;
        assert_eq!(digest(0x1_0000_0002, 1), want);
    }
}
