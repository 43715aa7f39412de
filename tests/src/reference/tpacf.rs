//! Reference of tpacf: all pairs of a point with its partners, with the kernel's order of operations. The partners of a
//! block of 256 points begin with its first point in the same set, and with the first point of another set.

use super::Case;
use crate::{Expected, Outputs};

const EDGES: [f32; 20] = [
    1.0e-6, 1.58e-6, 2.51e-6, 3.98e-6, 6.31e-6, 1.0e-5, 1.58e-5, 2.51e-5, 3.98e-5, 6.31e-5, 1.0e-4, 1.58e-4,
    2.51e-4, 3.98e-4, 6.31e-4, 1.0e-3, 1.0e-2, 1.0e-1, 1.0, 5.0,
];

type Point = [f32; 3];

pub(crate) fn expected(case: &Case) -> Outputs {
    let set = |name| case.buffer::<f32>(name).chunks_exact(3).map(unit).collect::<Vec<Point>>();
    let (data, random) = (set("data"), set("random"));
    let apart = |points: &[Point]| {
        let along = |axis: usize| points.iter().map(move |point| point[axis]);
        Expected::exact(&along(0).chain(along(1)).chain(along(2)).collect::<Vec<_>>())
    };
    let partners = case.size("partners");
    let own = data.iter().enumerate().flat_map(|(i, a)| {
        let end = (i / 256 * 256 + partners).min(data.len());
        data[..end].iter().skip(i + 1).map(move |b| bin(a, b))
    });
    let cross = data.iter().flat_map(|a| random.iter().take(partners).map(move |b| bin(a, b)));
    let (own, cross) = (count(own), count(cross));
    Outputs::from([
        ("data_sky".into(), apart(&data)),
        ("random_sky".into(), apart(&random)),
        ("own".into(), Expected::exact(&own)),
        ("cross".into(), Expected::exact(&cross)),
    ])
}

fn unit(place: &[f32]) -> Point {
    let [x, y, z] = [place[0], place[1], place[2]];
    let scale = 1.0 / x.mul_add(x, y.mul_add(y, z * z)).sqrt();
    [x * scale, y * scale, z * scale]
}

fn bin(a: &Point, b: &Point) -> usize {
    let [dx, dy, dz]: Point = std::array::from_fn(|i| a[i] - b[i]);
    let chord = dx.mul_add(dx, dy.mul_add(dy, dz * dz));
    EDGES[..19].partition_point(|&edge| edge <= chord)
}

fn count(bins: impl Iterator<Item = usize>) -> [u32; 20] {
    let mut counts = [0; 20];
    bins.for_each(|bin| counts[bin] += 1);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opposite_points_are_in_the_last_bin_and_equal_ones_in_the_first() {
        let point = unit(&[3.0, 0.0, 4.0]);
        assert_eq!((bin(&point, &point), bin(&point, &point.map(|c| -c))), (0, 19));
    }
}
