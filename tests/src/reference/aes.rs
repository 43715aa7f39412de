//! Reference of aes: FIPS 197 byte by byte.

use super::Case;
use crate::{Expected, Outputs};

pub(crate) fn expected(case: &Case) -> Outputs {
    let bytes =
        |name| case.buffer::<u32>(name).iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let keys = expand(&bytes("key"));
    let cipher: Vec<u8> = bytes("plain").chunks_exact(16).flat_map(|block| encrypt(block, &keys)).collect();
    let words = |bytes: &[u8]| {
        let word = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        Expected::exact(&bytes.chunks_exact(4).map(word).collect::<Vec<u32>>())
    };
    Outputs::from([("round_keys".into(), words(&keys.concat())), ("cipher".into(), words(&cipher))])
}

/// Doubles in GF(2^8).
fn twice(x: u8) -> u8 {
    x << 1 ^ if x & 0x80 == 0 { 0 } else { 0x1b }
}

/// The S-box: an affine map of the multiplicative inverse, which is the power 254.
fn substitute(x: u8) -> u8 {
    let product = |mut a: u8, mut b: u8| {
        let mut sum = 0;
        while b > 0 {
            sum ^= if b & 1 == 1 { a } else { 0 };
            a = twice(a);
            b >>= 1;
        }
        sum
    };
    let inverse = (0..253).fold(x, |power, _| product(power, x));
    (0..5).fold(0x63, |sum, turn| sum ^ inverse.rotate_left(turn))
}

/// Eleven round keys.
fn expand(key: &[u8]) -> Vec<[u8; 16]> {
    let mut words: Vec<[u8; 4]> = key.chunks_exact(4).map(|w| [w[0], w[1], w[2], w[3]]).collect();
    let mut constant = 1;
    for i in 4..44 {
        let mut word = words[i - 1];
        if i % 4 == 0 {
            word.rotate_left(1);
            word = word.map(substitute);
            word[0] ^= constant;
            constant = twice(constant);
        }
        words.push(std::array::from_fn(|byte| words[i - 4][byte] ^ word[byte]));
    }
    words.chunks_exact(4).map(|four| std::array::from_fn(|byte| four[byte / 4][byte % 4])).collect()
}

fn encrypt(block: &[u8], keys: &[[u8; 16]]) -> [u8; 16] {
    let add = |state: [u8; 16], key: &[u8; 16]| std::array::from_fn(|i| state[i] ^ key[i]);
    let mut state: [u8; 16] = add(std::array::from_fn(|i| block[i]), &keys[0]);
    for (round, key) in keys.iter().enumerate().skip(1) {
        // Row r of column c comes from column c + r.
        let shifted: [u8; 16] = std::array::from_fn(|i| substitute(state[(i + 4 * (i % 4)) % 16]));
        let mixed = |i: usize| {
            let row = |r: usize| shifted[i / 4 * 4 + (i + r) % 4];
            twice(row(0)) ^ twice(row(1)) ^ row(1) ^ row(2) ^ row(3)
        };
        state = add(if round < 10 { std::array::from_fn(mixed) } else { shifted }, key);
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Appendix B of FIPS 197.
    #[test]
    fn the_example_of_the_standard() {
        let bytes = |text: &str| -> Vec<u8> {
            (0..16).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap()).collect()
        };
        let keys = expand(&bytes("2b7e151628aed2a6abf7158809cf4f3c"));
        let cipher = encrypt(&bytes("3243f6a8885a308d313198a2e0370734"), &keys);
        assert_eq!(cipher.to_vec(), bytes("3925841d02dc09fbdc118597196a0b32"));
    }
}
