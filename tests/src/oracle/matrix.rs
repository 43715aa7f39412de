//! Matrix instructions of the oracle: fragments become whole matrices, which plain loops multiply.
//!
//! The layout of a `wmma` fragment is implementation-defined: here element `e` of a matrix is the `e / 32`-th
//! of lane `e % 32`. Fragments of `mma` and `ldmatrix` lie where the PTX ISA's figures have them.

use super::Fault;
use super::half;
use super::integer::{low, number};
use super::memory::View;
use super::warp::Lane;
use emulator::ptx::{
    Inst, MatrixLayout, MatrixMemOp, MatrixShape, MmaOp, Op, Rounding, ScalarType, WmmaFragment, WmmaMemOp,
};

type Matrix = Vec<Vec<f64>>;

/// New values of the lanes' destinations, one list of registers each; loads and stores reach memory. `sm`: the compute capability.
pub(super) fn together(
    inst: &Inst,
    lanes: &[Lane],
    memory: &mut View<'_>,
    sm: u32,
) -> Result<Vec<Vec<u64>>, Fault> {
    if lanes.len() != 32 {
        return Err(Fault::new("a matrix instruction without the whole warp"));
    }
    match &inst.op {
        Op::WmmaLoad(op) => wmma_load(op, inst, lanes, memory),
        Op::WmmaStore(op) => wmma_store(op, lanes, memory),
        Op::WmmaMma(op) => wmma_multiply(op, inst, lanes, sm),
        Op::Mma(op) => multiply(op, inst, lanes),
        Op::Ldmatrix(op) => ldmatrix(op, lanes, memory),
        Op::Movmatrix => Ok(movmatrix(lanes)),
        _ => Err(Fault::new("the oracle does not know this matrix instruction")),
    }
}

/// Bits of an element where it lies in memory or in a register.
fn bits_of(ty: ScalarType) -> u32 {
    match ty {
        ScalarType::U8 | ScalarType::S8 => 8,
        ScalarType::F16 | ScalarType::Bf16 => 16,
        ScalarType::F64 => 64,
        _ => 32,
    }
}

fn decoded(ty: ScalarType, bits: u64) -> Result<f64, Fault> {
    Ok(match ty {
        ScalarType::F16 => half::value(false, bits),
        ScalarType::Bf16 => half::value(true, bits),
        ScalarType::F32 => f64::from(f32::from_bits(bits as u32)),
        ScalarType::Tf32 => f64::from(f32::from_bits(bits as u32 & !0x1FFF)),
        ScalarType::F64 => f64::from_bits(bits),
        ScalarType::U8 | ScalarType::S8 | ScalarType::S32 => number(ty, low(bits, ty.bits())) as f64,
        other => return Err(Fault::new(format!("the oracle has no matrices of .{other}"))),
    })
}

fn encoded(ty: ScalarType, value: f64) -> u64 {
    match ty {
        ScalarType::F16 => half::rounded(false, value, Rounding::Rn),
        ScalarType::Bf16 => half::rounded(true, value, Rounding::Rn),
        ScalarType::F64 => value.to_bits(),
        // There is one NaN of single precision.
        ScalarType::F32 | ScalarType::Tf32 if value.is_nan() => 0x7FFF_FFFF,
        ScalarType::F32 | ScalarType::Tf32 => u64::from((value as f32).to_bits()),
        _ => low(value as i64 as u64, 32),
    }
}

/// Rows and columns of a fragment.
fn dims(shape: MatrixShape, fragment: WmmaFragment) -> (usize, usize) {
    let (m, n, k) = shape.mnk();
    let (m, n, k) = (m as usize, n as usize, k as usize);
    match fragment {
        WmmaFragment::A => (m, k),
        WmmaFragment::B => (k, n),
        WmmaFragment::C | WmmaFragment::D => (m, n),
    }
}

/// Element `at` of a lane's registers.
fn element(registers: &[u64], ty: ScalarType, at: usize) -> u64 {
    let bits = bits_of(ty) as usize;
    if bits >= 32 {
        return low(registers[at], bits as u32);
    }
    let per = 32 / bits;
    low(registers[at / per] >> (at % per * bits), bits as u32)
}

fn put_element(registers: &mut [u64], ty: ScalarType, at: usize, value: u64) {
    let bits = bits_of(ty) as usize;
    if bits >= 32 {
        registers[at] = value;
    } else {
        let per = 32 / bits;
        registers[at / per] |= low(value, bits as u32) << (at % per * bits);
    }
}

/// Where element (row, column) of a matrix lies in memory.
fn place(op: &WmmaMemOp, stride: u64, row: usize, column: usize) -> u64 {
    let (row, column) = (row as u64, column as u64);
    let index = if op.layout == MatrixLayout::Row { row * stride + column } else { column * stride + row };
    index * u64::from(bits_of(op.ty) / 8)
}

fn stride(op: &WmmaMemOp, given: Option<u64>) -> u64 {
    let (rows, columns) = dims(op.shape, op.fragment);
    given.unwrap_or(if op.layout == MatrixLayout::Row { columns } else { rows } as u64)
}

fn wmma_load(
    op: &WmmaMemOp,
    inst: &Inst,
    lanes: &[Lane],
    memory: &mut View<'_>,
) -> Result<Vec<Vec<u64>>, Fault> {
    let registers = inst.dsts()[0].elements().len();
    let (rows, columns) = dims(op.shape, op.fragment);
    let mut results = vec![vec![0; registers]; 32];
    for (lane, result) in lanes.iter().zip(&mut results) {
        let stride = stride(op, lane.sources.get(1).copied());
        for e in (lane.lane as usize..rows * columns).step_by(32) {
            let address = lane.sources[0] + place(op, stride, e / columns, e % columns);
            let bits = memory.load(op.space, address, bits_of(op.ty) as usize / 8)?;
            put_element(result, op.ty, e / 32, bits);
        }
    }
    Ok(results)
}

fn wmma_store(op: &WmmaMemOp, lanes: &[Lane], memory: &mut View<'_>) -> Result<Vec<Vec<u64>>, Fault> {
    let (rows, columns) = dims(op.shape, WmmaFragment::D);
    for lane in lanes {
        let count = (rows * columns * bits_of(op.ty) as usize).div_ceil(32 * bits_of(op.ty).max(32) as usize);
        let fragment = &lane.sources[1..=count];
        let stride = stride(op, lane.sources.get(1 + count).copied());
        for e in (lane.lane as usize..rows * columns).step_by(32) {
            let address = lane.sources[0] + place(op, stride, e / columns, e % columns);
            memory.store(op.space, address, bits_of(op.ty) as usize / 8, element(fragment, op.ty, e / 32))?;
        }
    }
    Ok(vec![Vec::new(); 32])
}

/// Gathers a matrix from the lanes: `lies` tells row and column of each element of a lane.
fn gather(
    lanes: &[Lane],
    from: usize,
    ty: ScalarType,
    (rows, columns): (usize, usize),
    lies: impl Fn(usize, usize) -> (usize, usize),
) -> Result<Matrix, Fault> {
    let mut matrix = vec![vec![0.0; columns]; rows];
    for lane in lanes {
        for at in 0..rows * columns / 32 {
            let (row, column) = lies(lane.lane as usize, at);
            matrix[row][column] = decoded(ty, element(&lane.sources[from..], ty, at))?;
        }
    }
    Ok(matrix)
}

fn scatter(
    d: &Matrix,
    ty: ScalarType,
    registers: usize,
    lies: impl Fn(usize, usize) -> (usize, usize),
) -> Vec<Vec<u64>> {
    let count = d.len() * d[0].len() / 32;
    let lane = |lane: usize| {
        let mut result = vec![0; registers];
        for at in 0..count {
            let (row, column) = lies(lane, at);
            put_element(&mut result, ty, at, encoded(ty, d[row][column]));
        }
        result
    };
    (0..32).map(lane).collect()
}

/// a * b + c, summed in ascending order of the inner dimension and rounded to an accumulator after every `depth`.
fn product(op: &MmaOp, a: &Matrix, b: &Matrix, mut c: Matrix, depth: usize) -> Result<Matrix, Fault> {
    let least_most = (f64::from(i32::MIN), f64::from(i32::MAX));
    let accumulator = if op.c_ty == ScalarType::F16 { op.d_ty } else { op.c_ty };
    for (row, sums) in c.iter_mut().enumerate() {
        for (column, sum) in sums.iter_mut().enumerate() {
            for (k, left) in a[row].iter().enumerate() {
                if k > 0 && k % depth == 0 {
                    *sum = decoded(accumulator, encoded(accumulator, *sum))?;
                }
                *sum = left.mul_add(b[k][column], *sum);
            }
            if op.satfinite && op.d_ty == ScalarType::S32 {
                *sum = sum.clamp(least_most.0, least_most.1);
            }
        }
    }
    Ok(c)
}

fn wmma_multiply(op: &MmaOp, inst: &Inst, lanes: &[Lane], sm: u32) -> Result<Vec<Vec<u64>>, Fault> {
    if op.bit_op.is_some() {
        return Err(Fault::new("the oracle does not know products of bits"));
    }
    let counts: Vec<usize> = inst.srcs().iter().map(|s| s.elements().len()).collect();
    let simple = |columns: usize| {
        move |lane: usize, at: usize| ((at * 32 + lane) / columns, (at * 32 + lane) % columns)
    };
    let [da, db, dc] = [WmmaFragment::A, WmmaFragment::B, WmmaFragment::C].map(|f| dims(op.shape, f));
    let a = gather(lanes, 0, op.a_ty, da, simple(da.1))?;
    let b = gather(lanes, counts[0], op.b_ty, db, simple(db.1))?;
    let c = gather(lanes, counts[0] + counts[1], op.c_ty, dc, simple(dc.1))?;
    // Tensor cores before sm_80 multiply 16-bit numbers over a depth of eight.
    let depth = if sm < 80 && bits_of(op.a_ty) == 16 { 8 } else { usize::MAX };
    let d = product(op, &a, &b, c, depth)?;
    Ok(scatter(&d, op.d_ty, inst.dsts()[0].elements().len(), simple(dc.1)))
}

/// Row and column of an element of A in `mma`: the figures of the PTX ISA in one formula. Groups of four lanes
/// share a row; a lane holds runs of as many neighbours as a register has.
fn lies_a(rows: usize, run: usize, lane: usize, at: usize) -> (usize, usize) {
    let (group, within) = (lane / 4, lane % 4);
    // Registers go down the two halves of the rows first, then on along the columns.
    let halves = rows / 8;
    let (register, part) = (at / run, at % run);
    (group + 8 * (register % halves), within * run + part + 4 * run * (register / halves))
}

fn lies_b(run: usize, lane: usize, at: usize) -> (usize, usize) {
    let (column, row) = lies_a(8, run, lane, at);
    (row, column)
}

fn lies_c(lane: usize, at: usize) -> (usize, usize) {
    (lane / 4 + 8 * (at / 2), lane % 4 * 2 + at % 2)
}

fn multiply(op: &MmaOp, inst: &Inst, lanes: &[Lane]) -> Result<Vec<Vec<u64>>, Fault> {
    let (m, n, _) = op.shape.mnk();
    let known = !op.sparse && op.bit_op.is_none() && n == 8;
    let volta = op.shape == MatrixShape::M8n8k4 && op.a_ty != ScalarType::F64;
    let types_match = bits_of(op.a_ty) == bits_of(op.b_ty);
    if !known || volta || !types_match {
        return Err(Fault::new("the oracle does not know this product"));
    }
    let counts: Vec<usize> = inst.srcs().iter().map(|s| s.elements().len()).collect();
    let [da, db, dc] = [WmmaFragment::A, WmmaFragment::B, WmmaFragment::C].map(|f| dims(op.shape, f));
    let run = (32 / bits_of(op.a_ty)).max(1) as usize;
    let a = gather(lanes, 0, op.a_ty, da, |lane, at| lies_a(m as usize, run, lane, at))?;
    let b = gather(lanes, counts[0], op.b_ty, db, |lane, at| lies_b(run, lane, at))?;
    let c = gather(lanes, counts[0] + counts[1], op.c_ty, dc, lies_c)?;
    let d = product(op, &a, &b, c, usize::MAX)?;
    Ok(scatter(&d, op.d_ty, inst.dsts()[0].elements().len(), lies_c))
}

/// Every eight lanes give the rows of a matrix of 8 x 8 halves; each lane gets two neighbours of each matrix.
fn ldmatrix(op: &MatrixMemOp, lanes: &[Lane], memory: &mut View<'_>) -> Result<Vec<Vec<u64>>, Fault> {
    if op.shape != MatrixShape::M8n8 || op.packed_source {
        return Err(Fault::new("the oracle does not know this ldmatrix"));
    }
    let mut results = vec![Vec::new(); 32];
    for matrix in 0..usize::from(op.num) {
        let mut rows = [[0u64; 8]; 8];
        for (row, values) in rows.iter_mut().enumerate() {
            let address = lanes[matrix * 8 + row].sources[0];
            for (column, value) in values.iter_mut().enumerate() {
                *value = memory.load(op.space, address + 2 * column as u64, 2)?;
            }
        }
        for (lane, result) in results.iter_mut().enumerate() {
            let (row, column) = (lane / 4, lane % 4 * 2);
            let at = |column: usize| if op.trans { rows[column][row] } else { rows[row][column] };
            result.push(at(column) | at(column + 1) << 16);
        }
    }
    Ok(results)
}

fn movmatrix(lanes: &[Lane]) -> Vec<Vec<u64>> {
    let at = |row: usize, column: usize| lanes[row * 4 + column / 2].sources[0] >> (column % 2 * 16) & 0xFFFF;
    let lane = |lane: usize| {
        let (row, column) = (lane / 4, lane % 4 * 2);
        vec![at(column, row) | at(column + 1, row) << 16]
    };
    (0..32).map(lane).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Examples read off the figures of the PTX ISA's sections on each shape.
    #[test]
    fn fragments_lie_as_in_the_figures() {
        // m16n8k16, halves: a6 of lane 5 is in the lower rows and the right columns.
        assert_eq!(lies_a(16, 2, 5, 6), (9, 10));
        assert_eq!(lies_a(16, 2, 5, 2), (9, 2));
        assert_eq!(lies_a(16, 2, 5, 4), (1, 10));
        // m16n8k8, tf32: a1 is eight rows down, a2 four columns on.
        assert_eq!((lies_a(16, 1, 6, 1), lies_a(16, 1, 6, 2)), ((9, 2), (1, 6)));
        // m16n8k32, bytes: a8 of lane 1 begins the second half of the columns.
        assert_eq!(lies_a(16, 4, 1, 8), (0, 20));
        assert_eq!(lies_b(2, 5, 3), (11, 1));
        assert_eq!(lies_b(1, 6, 1), (6, 1));
        assert_eq!(lies_b(4, 6, 5), (25, 1));
        assert_eq!((lies_c(6, 1), lies_c(6, 3)), ((1, 5), (9, 5)));
    }
}
