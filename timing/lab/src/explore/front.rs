//! The Pareto front.

use super::{Explored, Score};

/// Whether one score is at least as good as another in everything, and better in something.
fn beats(a: &Score, b: &Score) -> bool {
    let as_good = a.speed >= b.speed && a.energy <= b.energy && a.storage_bits <= b.storage_bits;
    as_good && (a.speed > b.speed || a.energy < b.energy || a.storage_bits < b.storage_bits)
}

/// The plain machine, which is a point as well.
pub(super) const PLAIN: Score = Score { speed: 1.0, energy: 1.0, storage_bits: 0 };

/// Which points no other one and not the plain machine beats in speed, energy and storage together; none for points without
/// a score. The last mark is the plain machine's.
#[must_use]
pub fn marks(explored: &[Explored]) -> (Vec<Option<bool>>, bool) {
    let scores: Vec<Score> = explored.iter().filter_map(|one| one.score.as_ref().ok().copied()).collect();
    let mut on = front(&[&scores[..], &[PLAIN]].concat()).into_iter();
    let marks = explored.iter().map(|one| one.score.as_ref().ok().and_then(|_| on.next())).collect();
    (marks, on.next().unwrap_or(true))
}

/// Which of the scores no other one beats.
#[must_use]
fn front(scores: &[Score]) -> Vec<bool> {
    scores.iter().map(|one| !scores.iter().any(|other| beats(other, one))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn score(speed: f64, energy: f64, storage_bits: u64) -> Score {
        Score { speed, energy, storage_bits }
    }

    #[test]
    fn what_is_worse_in_everything_is_not_on_the_front() {
        let scores = [
            score(1.0, 1.0, 0),
            score(1.1, 0.7, 9000),
            score(1.1, 0.8, 9000),
            score(1.05, 0.6, 12000),
            score(0.9, 1.0, 0),
        ];
        assert_eq!(front(&scores), [true, true, false, true, false]);
        assert_eq!(
            front(&[score(1.0, 1.0, 5), score(1.0, 1.0, 5)]),
            [true, true],
            "equals do not beat each other"
        );
    }

    proptest! {
        /// Nothing on the front is beaten, and whatever is not on it is beaten by something on it.
        #[test]
        fn the_front_beats_the_rest(points in prop::collection::vec((0u8..6, 0u8..6, 0u64..6), 1..20)) {
            let scores: Vec<Score> =
                points.iter().map(|(speed, energy, bits)| score((*speed).into(), (*energy).into(), *bits)).collect();
            let on = front(&scores);
            prop_assert!(on.contains(&true));
            for (one, on_front) in scores.iter().zip(&on) {
                let beaten = scores.iter().zip(&on).any(|(other, on)| *on && beats(other, one));
                prop_assert_eq!(*on_front, !beaten);
            }
        }
    }
}
