//! Dependencies between launches when kernels run together, as given by stream order.
//!
//! A stream's launches run one after the other. The legacy default stream waits for all others, and they wait
//! for it. After a synchronisation of the program, or a copy or fill on the default stream, all later
//! launches wait for all earlier ones. If a stream waited for an event, its next launch waits for all earlier
//! launches, which include those that the event covers. A copy or fill on another stream affects only that
//! stream.

use std::collections::BTreeMap;

/// Streams 0 and 1 are the legacy default stream.
fn is_default(stream: u64) -> bool {
    stream < 2
}

/// A synchronisation point between launches: a stream, and the number of earlier launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Stream; 0 and 1 are the default stream, which synchronises all streams.
    pub stream: u64,
    /// Launches of the run before it.
    pub before: u64,
}

/// For each launch (its stream and its number in the run) the positions of the launches that it waits for
/// directly; `transfers` and `waits` are the synchronisation points between launches, in order.
#[must_use]
pub fn dependencies(launches: &[(u64, u64)], transfers: &[Point], waits: &[Point]) -> Vec<Vec<usize>> {
    let fences = transfers.iter().filter(|point| is_default(point.stream));
    let mut points: Vec<Point> = fences.chain(waits).copied().collect();
    points.sort_by_key(|point| point.before);
    let mut points = points.into_iter().peekable();
    // Launches that every stream waits for, the last launch of each stream since then, and streams that wait
    // for all of these.
    let mut base: Vec<usize> = Vec::new();
    let mut tails: BTreeMap<u64, usize> = BTreeMap::new();
    let mut waiting: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    let mut after = Vec::with_capacity(launches.len());
    for (position, (stream, number)) in launches.iter().enumerate() {
        while let Some(point) = points.next_if(|point| point.before <= *number) {
            if !is_default(point.stream) {
                waiting.insert(point.stream, tails.values().copied().collect());
            } else if !tails.is_empty() {
                base = std::mem::take(&mut tails).into_values().collect();
                waiting.clear();
            }
        }
        if is_default(*stream) {
            let all: Vec<usize> = std::mem::take(&mut tails).into_values().collect();
            after.push(if all.is_empty() { std::mem::take(&mut base) } else { all });
            base = vec![position];
            waiting.clear();
        } else {
            let before = tails.insert(*stream, position);
            let mut all = waiting.remove(stream).filter(|all| !all.is_empty()).unwrap_or_default();
            match before {
                Some(before) if !all.contains(&before) => all.push(before),
                None if all.is_empty() => all.clone_from(&base),
                _ => {}
            }
            after.push(all);
        }
    }
    after
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(streams: &[u64], transfers: &[(u64, u64)], waits: &[(u64, u64)]) -> Vec<Vec<usize>> {
        let launches: Vec<(u64, u64)> =
            streams.iter().zip(0..).map(|(stream, number)| (*stream, number)).collect();
        let points = |list: &[(u64, u64)]| -> Vec<Point> {
            list.iter().map(|(stream, before)| Point { stream: *stream, before: *before }).collect()
        };
        dependencies(&launches, &points(transfers), &points(waits))
    }

    fn of(streams: &[u64], transfers: &[(u64, u64)]) -> Vec<Vec<usize>> {
        with(streams, transfers, &[])
    }

    #[test]
    fn waits_of_the_program_order_all_and_those_of_a_stream_its_own() {
        assert_eq!(with(&[7, 8, 9, 7], &[], &[(0, 2)]), [vec![], vec![], vec![0, 1], vec![0, 1]]);
        // Stream 9 waited for an event after two launches; stream 8 runs in parallel.
        assert_eq!(with(&[7, 8, 9, 8, 9], &[], &[(9, 2)]), [vec![], vec![], vec![0, 1], vec![1], vec![2]]);
        // A waiting stream keeps its own order too.
        assert_eq!(with(&[7, 8, 7], &[], &[(7, 2)]), [vec![], vec![], vec![0, 1]]);
        assert_eq!(with(&[7, 8], &[], &[(0, 0), (8, 0)]), [Vec::<usize>::new(), vec![]]);
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
