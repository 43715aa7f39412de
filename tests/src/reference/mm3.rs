//! Reference of mm3.

use super::Case;
use super::mm2::add_product;
use crate::{Expected, Outputs};

pub(crate) fn expected(case: &Case) -> Outputs {
    let [ni, nj, nk, nl, nm] = ["ni", "nj", "nk", "nl", "nm"].map(|name| case.size(name));
    let product =
        |a: &[f32], b: &[f32], sizes: [usize; 3]| add_product(vec![0.0; sizes[0] * sizes[1]], a, b, sizes);
    let e = product(&case.buffer::<f32>("a"), &case.buffer::<f32>("b"), [ni, nj, nk]);
    let f = product(&case.buffer::<f32>("c"), &case.buffer::<f32>("d"), [nj, nl, nm]);
    let g = product(&e, &f, [ni, nl, nj]);
    Outputs::from([
        ("e".into(), Expected::exact(&e)),
        ("f".into(), Expected::exact(&f)),
        ("g".into(), Expected::exact(&g)),
    ])
}
