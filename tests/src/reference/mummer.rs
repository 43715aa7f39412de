//! Reference of mummer: counts of words, and for each start in a read the longest word that occurs.

use super::Case;
use crate::{Expected, Outputs};
use std::collections::HashSet;

const DEPTH: usize = 6;

pub(crate) fn expected(case: &Case) -> Outputs {
    let (count, read_letters) = (case.size("reads"), case.size("read_letters"));
    let letters = |name| case.buffer::<u8>(name).into_iter().map(|letter| letter & 3).collect::<Vec<u8>>();
    let (text, reads) = (letters("text"), letters("reads"));
    let index = |word: &[u8]| word.iter().fold(0, |index, &letter| 4 * index + usize::from(letter));
    let mut nodes = Vec::new();
    let mut known = HashSet::new();
    for level in 0..=DEPTH {
        let mut counts = vec![0_i32; 4_usize.pow(level as u32)];
        if level > 0 {
            text.windows(level).for_each(|word| counts[index(word)] += 1);
            known.extend(text.windows(level));
        }
        nodes.extend(counts);
    }
    let mut lengths = vec![0_i32; count * read_letters];
    for (read, letters) in reads.chunks_exact(read_letters).enumerate() {
        for start in 0..read_letters {
            let length = longest(&known, &letters[start..]);
            lengths[start * count + read] = if length >= 3 { length as i32 } else { 0 };
        }
    }
    Outputs::from([("nodes".into(), Expected::exact(&nodes)), ("lengths".into(), Expected::exact(&lengths))])
}

/// Length of the longest prefix that is a known word.
fn longest(known: &HashSet<&[u8]>, letters: &[u8]) -> usize {
    (1..=DEPTH.min(letters.len()))
        .take_while(|&length| known.contains(&letters[..length]))
        .last()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_followed_as_far_as_they_occur() {
        let known: HashSet<&[u8]> = [&[1][..], &[1, 2], &[2]].into_iter().collect();
        assert_eq!(longest(&known, &[1, 2, 2]), 2);
        assert_eq!(longest(&known, &[3]), 0);
    }
}
