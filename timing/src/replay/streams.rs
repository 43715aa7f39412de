//! Which launches wait for which where kernels run together: the order that streams keep.
//!
//! A stream's launches run one after the other. The legacy default stream waits for all others and these for it.
//! A copy or fill that the host or the default stream did orders everything; one on another stream orders nothing
//! beyond its stream. Waits for events and by the host are not in traces: a program that orders streams by these
//! alone runs with more overlap here than it allows.

use std::collections::BTreeMap;

/// Streams 0 and 1 are the legacy default stream.
fn is_default(stream: u64) -> bool {
    stream < 2
}

/// For each launch (its stream and its number in the run) the positions of those that it waits for directly;
/// `transfers` are those between launches, in order: stream and number of launches before.
#[must_use]
pub fn dependencies(launches: &[(u64, u64)], transfers: &[(u64, u64)]) -> Vec<Vec<usize>> {
    // What every stream waits for, and the last launch of each stream since.
    let mut base: Vec<usize> = Vec::new();
    let mut tails: BTreeMap<u64, usize> = BTreeMap::new();
    let mut fences = transfers.iter().filter(|(stream, _)| is_default(*stream)).peekable();
    let mut after = Vec::with_capacity(launches.len());
    for (position, (stream, number)) in launches.iter().enumerate() {
        while fences.next_if(|(_, before)| before <= number).is_some() {
            if !tails.is_empty() {
                base = std::mem::take(&mut tails).into_values().collect();
            }
        }
        if is_default(*stream) {
            let all: Vec<usize> = std::mem::take(&mut tails).into_values().collect();
            after.push(if all.is_empty() { std::mem::take(&mut base) } else { all });
            base = vec![position];
        } else {
            let before = tails.insert(*stream, position);
            after.push(before.map_or_else(|| base.clone(), |before| vec![before]));
        }
    }
    after
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(streams: &[u64], transfers: &[(u64, u64)]) -> Vec<Vec<usize>> {
        let launches: Vec<(u64, u64)> =
            streams.iter().zip(0..).map(|(stream, number)| (*stream, number)).collect();
        dependencies(&launches, transfers)
    }

    #[test]
    fn streams_keep_their_order_and_nothing_else() {
        assert_eq!(of(&[7, 8, 7, 8], &[]), [vec![], vec![], vec![0], vec![1]]);
        assert_eq!(of(&[0, 0, 0], &[]), [vec![], vec![0], vec![1]]);
    }

    #[test]
    fn the_default_stream_waits_for_all_and_all_for_it() {
        assert_eq!(of(&[7, 8, 0, 7, 8], &[]), [vec![], vec![], vec![0, 1], vec![2], vec![2]]);
        // The default stream of a thread is a stream like others.
        assert_eq!(of(&[2, 7], &[]), [Vec::<usize>::new(), vec![]]);
    }

    #[test]
    fn copies_on_the_default_stream_are_fences() {
        assert_eq!(of(&[7, 8, 9], &[(0, 2)]), [vec![], vec![], vec![0, 1]]);
        assert_eq!(of(&[7, 8, 9], &[(7, 2)]), [Vec::<usize>::new(), vec![], vec![]]);
        assert_eq!(of(&[7, 8], &[(0, 0)]), [Vec::<usize>::new(), vec![]]);
    }
}
