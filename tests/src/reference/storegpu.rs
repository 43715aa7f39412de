//! Reference of storegpu: MD5 as RFC 1321 describes it.

use super::Case;
use crate::{Expected, Outputs};

const BLOCK_BYTES: usize = 128;
const WINDOW_BYTES: usize = 16;

pub(crate) fn expected(case: &Case) -> Outputs {
    let file: Vec<u8> = case.buffer::<u32>("file").iter().flat_map(|word| word.to_le_bytes()).collect();
    let (blocks, windows) = (case.size("blocks"), case.size("windows"));
    let hashes: Vec<u32> = file.chunks_exact(BLOCK_BYTES).take(blocks).flat_map(md5).collect();
    let sliding: Vec<u32> = file.windows(WINDOW_BYTES).take(windows).map(|window| md5(window)[0]).collect();
    Outputs::from([
        ("hashes".into(), Expected::exact(&hashes)),
        ("sliding".into(), Expected::exact(&sliding)),
    ])
}

const TURNS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

fn md5(message: &[u8]) -> [u32; 4] {
    let mut padded = message.to_vec();
    padded.push(0x80);
    padded.resize((message.len() + 9).next_multiple_of(64) - 8, 0);
    padded.extend((8 * message.len() as u64).to_le_bytes());
    let mut state = [0x6745_2301_u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    for chunk in padded.chunks_exact(64) {
        let word = |i: usize| {
            u32::from_le_bytes([chunk[4 * i], chunk[4 * i + 1], chunk[4 * i + 2], chunk[4 * i + 3]])
        };
        let [mut a, mut b, mut c, mut d] = state;
        for i in 0..64 {
            let (mixed, at) = match i / 16 {
                0 => (b & c | !b & d, i),
                1 => (b & d | c & !d, (5 * i + 1) % 16),
                2 => (b ^ c ^ d, (3 * i + 5) % 16),
                _ => (c ^ (b | !d), 7 * i % 16),
            };
            let constant = (((i + 1) as f64).sin().abs() * 4_294_967_296.0) as u32;
            let sum = a.wrapping_add(mixed).wrapping_add(word(at)).wrapping_add(constant);
            (a, d, c) = (d, c, b);
            b = b.wrapping_add(sum.rotate_left(TURNS[i / 16][i % 4]));
        }
        for (old, new) in state.iter_mut().zip([a, b, c, d]) {
            *old = old.wrapping_add(new);
        }
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hashes that RFC 1321 lists.
    #[test]
    fn hashes_are_those_of_the_rfc() {
        let hex = |text: &str| {
            md5(text.as_bytes())
                .iter()
                .flat_map(|w| w.to_le_bytes())
                .map(|b| format!("{b:02x}"))
                .collect::<String>()
        };
        assert_eq!(hex(""), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(hex("message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
        let long = "12345678901234567890123456789012345678901234567890123456789012345678901234567890";
        assert_eq!(hex(long), "57edf4a22be3c955ac49da2e2107b67a");
    }
}
