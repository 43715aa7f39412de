//! Layout of matrices over the lanes of a warp: the fragments of HMMA, IMMA, BMMA and DMMA.
//!
//! The layouts are those that the PTX ISA fixes for `mma.sync`. Lanes form eight groups of four (quads): a
//! lane's row or column is a linear function of its quad and its place in the quad. `wmma` fragments are
//! opaque in PTX; lowering builds them from these.

/// The matrices of D = A * B + C.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// Left factor: rows are m, columns k.
    A,
    /// Right factor: rows are k, columns n.
    B,
    /// Accumulator, C and D: rows are m, columns n.
    Acc,
}

/// A row or column index: `per_quad` times the lane's quad, `per_place` times its place in the quad, `fixed`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Index {
    /// Factor of lane / 4.
    pub per_quad: u32,
    /// Factor of lane % 4.
    pub per_place: u32,
    /// Part that all lanes share.
    pub fixed: u32,
}

impl Index {
    /// The index in a lane.
    #[must_use]
    #[inline]
    pub const fn of(self, lane: usize) -> usize {
        let (quad, place) = (lane as u32 >> 2 & 7, lane as u32 & 3);
        (self.per_quad * quad + self.per_place * place + self.fixed) as usize
    }

    const fn quad(fixed: usize) -> Index {
        Index { per_quad: 1, per_place: 0, fixed: fixed as u32 }
    }

    const fn place(factor: usize, fixed: usize) -> Index {
        Index { per_quad: 0, per_place: factor as u32, fixed: fixed as u32 }
    }
}

/// Row and column of element `i` of a lane's fragment.
///
/// `tall` says whether A and the accumulator have 16 rows, else 8. `packed` is the number of elements of A and
/// B per 32-bit register (1 for doubles, which take two). Elements count from the lowest bits of the first
/// register on.
#[must_use]
pub const fn place(role: Role, tall: bool, packed: usize, i: usize) -> [Index; 2] {
    let (register, within) = (i / packed, i % packed);
    match role {
        Role::A if tall => {
            let chunk = 4 * packed * (register >> 1);
            [Index::quad(8 * (register & 1)), Index::place(packed, within + chunk)]
        }
        Role::A => [Index::quad(0), Index::place(packed, within + 4 * packed * register)],
        Role::B => [Index::place(packed, within + 4 * packed * register), Index::quad(0)],
        Role::Acc => [Index::quad(8 * (i >> 1)), Index::place(2, i & 1)],
    }
}
