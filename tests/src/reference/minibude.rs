//! Reference of minibude in double precision.
//!
//! Bound: coordinates are sums of products with sines, off by a few 2^-23 of 16; a term changes by at most twice the
//! hardness (or the charge) per unit of distance, and every term is continuous, so that 768 terms of up to 100 are
//! off by less than 768 * 100 * 8 * 2^-23 in all.

use super::Case;
use crate::{Expected, Outputs};

struct Atom {
    place: [f64; 3],
    kind: usize,
}

struct Parameters {
    bonding: u32,
    radius: f64,
    hydrophobicity: f64,
    charge: f64,
}

pub(crate) fn expected(case: &Case) -> Outputs {
    let (protein_atoms, ligand_atoms, poses) =
        (case.size("protein"), case.size("ligand"), case.size("poses"));
    let bits = case.buffer::<u32>("bits");
    let angles = case.buffer::<f32>("angles");
    let axes = |draw: u32| [draw & 255, draw >> 8 & 255, draw >> 16 & 255].map(f64::from);
    let atom = |draw: u32, place: [f64; 3]| Atom { place, kind: (draw >> 24) as usize % 32 };
    let protein: Vec<Atom> =
        bits[..protein_atoms].iter().map(|&draw| atom(draw, axes(draw).map(|c| c / 8.0 - 16.0))).collect();
    let ligand: Vec<Atom> = bits[..ligand_atoms]
        .iter()
        .map(|&draw| {
            let [x, y, z] = axes(draw);
            atom(draw, [y, z, x].map(|c| c / 32.0 - 4.0))
        })
        .collect();
    let field: Vec<Parameters> = (0..32)
        .map(|i| {
            let [x, y, z] = axes(bits[i]);
            let charge = if i % 2 == 1 { z / 256.0 - 0.5 } else { 0.0 };
            let (radius, hydrophobicity) = (x / 256.0 + 1.0, y / 128.0 - 1.0);
            Parameters { bonding: bits[i] % 3, radius, hydrophobicity, charge }
        })
        .collect();
    let energies: Vec<f32> = (0..poses)
        .map(|pose| {
            let pose = std::array::from_fn(|i| f64::from(angles[i * poses + pose]));
            let moved = ligand.iter().map(|atom| (place(&pose, atom.place), &field[atom.kind]));
            let energy: f64 = moved
                .map(|(at, own)| protein.iter().map(|b| pair(at, own, b.place, &field[b.kind])).sum::<f64>())
                .sum();
            (0.5 * energy) as f32
        })
        .collect();
    let energies = Expected::within(&energies, 0.0, 0.1);
    Outputs::from([("energies_1".into(), energies.clone()), ("energies_4".into(), energies)])
}

/// An atom of the ligand after turning by three angles and moving.
fn place(pose: &[f64; 6], [x, y, z]: [f64; 3]) -> [f64; 3] {
    let [(sx, cx), (sy, cy), (sz, cz)] = [pose[0], pose[1], pose[2]].map(f64::sin_cos);
    [
        cy * cz * x + (sx * sy * cz - cx * sz) * y + (cx * sy * cz + sx * sz) * z + pose[3],
        cy * sz * x + (sx * sy * sz + cx * cz) * y + (cx * sy * sz - sx * cz) * z + pose[4],
        -sy * x + sx * cy * y + cx * cy * z + pose[5],
    ]
}

/// Energy of two atoms.
fn pair(a: [f64; 3], own: &Parameters, b: [f64; 3], its: &Parameters) -> f64 {
    let distance = (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt();
    let radii = own.radius + its.radius;
    let gap = distance - radii;
    let both = own.bonding != 0 && its.bonding != 0;
    let cutoff = if both { 5.5 } else { 4.0 };
    let steric = if gap < 0.0 { 2.0 * 38.0 * (1.0 - distance / radii) } else { 0.0 };
    let share = |reach: f64| if gap < 0.0 { 1.0 } else { (1.0 - gap / reach).max(0.0) };
    let charge = 45.0 * own.charge * its.charge * share(cutoff);
    let charge = if both && own.bonding != its.bonding { -charge.abs() } else { charge };
    let desolvation = match (own.hydrophobicity < 0.0, its.hydrophobicity < 0.0) {
        (true, true) => share(5.5),
        (false, false) => 0.0,
        _ => share(4.0),
    };
    steric + charge + desolvation * 0.5 * (own.hydrophobicity + its.hydrophobicity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turning_keeps_lengths_and_distant_atoms_have_no_energy() {
        let turned = place(&[0.3, -1.2, 2.5, 0.0, 0.0, 0.0], [1.0, 2.0, 2.0]);
        assert!((turned.iter().map(|c| c * c).sum::<f64>() - 9.0).abs() < 1e-12);
        let carbon = Parameters { bonding: 1, radius: 1.5, hydrophobicity: -0.5, charge: 0.25 };
        assert_eq!(pair([0.0; 3], &carbon, [20.0, 0.0, 0.0], &carbon), 0.0);
        assert!(pair([0.0; 3], &carbon, [1.0, 0.0, 0.0], &carbon) > 40.0);
    }
}
