//! `wmma` from and to memory in every layout, and 8x8 matrices of halves between shared memory and lanes.

use crate::lower_kit;
use crate::matrix_kit;

use lower_kit::*;
use matrix_kit::*;
use test_kit::Random;

/// Rows of A and D, columns of B and D, depth.
type Shape = (usize, usize, usize);

/// A matrix in memory, with rows or columns `pitch` elements apart.
fn in_memory(m: &Matrix, ty: &str, row_major: bool, pitch: usize) -> Vec<u32> {
    let rows = m.values.len() / m.cols;
    let slow = if row_major { rows } else { m.cols };
    let mut elements = vec![0; slow * pitch];
    for row in 0..rows {
        for col in 0..m.cols {
            let at = if row_major { row * pitch + col } else { col * pitch + row };
            elements[at] = encode(ty, m.at(row, col));
        }
    }
    pack(&elements, bits_of(ty))
}

/// Memory space and layout of the matrices of a `wmma` kernel.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Where {
    Global,
    Generic,
    Shared,
}

struct Wmma<'a> {
    shape: Shape,
    types: [&'a str; 4],
    /// Rows first, for a, b, c, d.
    rows: [bool; 4],
    place: Where,
    /// Negates every element of the fragments of A and C before the product.
    negate: bool,
    /// Elements between rows or columns beyond the matrix; `None` without stride operand.
    gap: Option<usize>,
}

fn wmma_text(w: &Wmma<'_>, pitches: [usize; 4], sizes: [usize; 4]) -> String {
    let (m, n, k) = w.shape;
    let [d_ty, a_ty, b_ty, c_ty] = w.types;
    let mut text = String::from(
        ".version 8.3\n.target sm_90\n.address_size 64\n.shared .align 32 .b8 tile[32768];\n.visible .entry test(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3)\n{\n",
    );
    text += ".reg .b32 %t<6>; .reg .b64 %p<4>; .reg .b64 %g; .reg .pred %q;\nmov.u32 %t0, %laneid;\n";
    let counts = [
        if a_ty == "f16" { 8 } else { registers(a_ty, m * k / 32) },
        if b_ty == "f16" { 8 } else { registers(b_ty, k * n / 32) },
        registers(c_ty, m * n / 32),
        registers(d_ty, m * n / 32),
    ];
    let mut lists = Vec::new();
    let mut shared_at = 0;
    let mut places = Vec::new();
    for (i, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
        let ty = [a_ty, b_ty, c_ty, d_ty][i];
        let reg = if ty == "f64" { "f64" } else { "b32" };
        text += &format!(".reg .{reg} %{name}<{}>;\nld.param.u64 %p{i}, [p{i}];\n", counts[i]);
        let list: Vec<String> = (0..counts[i]).map(|r| format!("%{name}{r}")).collect();
        lists.push(format!("{{{}}}", list.join(", ")));
        if w.place == Where::Shared {
            if i < 3 {
                // The words of the matrix, lane by lane.
                text += &format!(
                    "mov.u32 %t1, %t0;\nL{i}:\nmad.wide.u32 %g, %t1, 4, %p{i};\nld.global.b32 %t2, [%g];\n"
                );
                text += &format!(
                    "mov.u32 %t3, tile;\nmad.lo.u32 %t3, %t1, 4, %t3;\nst.shared.b32 [%t3+{shared_at}], %t2;\n"
                );
                text +=
                    &format!("add.u32 %t1, %t1, 32;\nsetp.lt.u32 %q, %t1, {};\n@%q bra L{i};\n", sizes[i]);
            }
            places.push(format!("[tile+{shared_at}]"));
            shared_at += sizes[i] * 4;
        } else {
            places.push(format!("[%p{i}]"));
        }
    }
    text += "bar.warp.sync -1;\n";
    let space = match w.place {
        Where::Global => ".global",
        Where::Generic => "",
        Where::Shared => ".shared",
    };
    let layout = |i: usize| if w.rows[i] { "row" } else { "col" };
    let shape = format!("m{m}n{n}k{k}");
    let stride = |i: usize| match w.gap {
        // A register in one, a literal in the others.
        Some(_) if i == 0 => ", %t4".to_owned(),
        Some(_) => format!(", {}", pitches[i]),
        None => String::new(),
    };
    text += &format!("mov.u32 %t4, {};\n", pitches[0]);
    for (i, name) in ["a", "b", "c"].into_iter().enumerate() {
        let ty = [a_ty, b_ty, c_ty][i];
        text += &format!(
            "wmma.load.{name}.sync.aligned.{}.{shape}{space}.{ty} {}, {}{};\n",
            layout(i),
            lists[i],
            places[i],
            stride(i)
        );
    }
    if w.negate {
        for (name, ty, count) in [("a", a_ty, counts[0]), ("c", c_ty, counts[2])] {
            for r in 0..count {
                let signs = if ty == "f16" { "0x80008000" } else { "0x80000000" };
                text += &format!("xor.b32 %{name}{r}, %{name}{r}, {signs};\n");
            }
        }
    }
    let types =
        if a_ty == "f16" { format!(".{d_ty}.{c_ty}") } else { format!(".{d_ty}.{a_ty}.{b_ty}.{c_ty}") };
    let (verb, rounding) = match a_ty {
        "b1" => ("wmma.mma.xor.popc", ""),
        "f64" => ("wmma.mma", ".rn"),
        _ => ("wmma.mma", ""),
    };
    let types = if rounding.is_empty() { types } else { format!("{rounding}{types}") };
    text += &format!(
        "{verb}.sync.aligned.{}.{}.{shape}{types} {}, {}, {}, {};\n",
        layout(0),
        layout(1),
        lists[3],
        lists[0],
        lists[1],
        lists[2]
    );
    text += &format!(
        "wmma.store.d.sync.aligned.{}.{shape}{space}.{d_ty} {}, {}{};\n",
        layout(3),
        places[3],
        lists[3],
        stride(3)
    );
    if w.place == Where::Shared {
        let at = sizes[..3].iter().sum::<usize>() * 4;
        text += &format!(
            "bar.warp.sync -1;\nmov.u32 %t1, %t0;\nL3:\nmov.u32 %t3, tile;\nmad.lo.u32 %t3, %t1, 4, %t3;\nld.shared.b32 %t2, [%t3+{at}];\n"
        );
        text += &format!(
            "mad.wide.u32 %g, %t1, 4, %p3;\nst.global.b32 [%g], %t2;\nadd.u32 %t1, %t1, 32;\nsetp.lt.u32 %q, %t1, {};\n@%q bra L3;\n",
            sizes[3]
        );
    }
    text + "ret;\n}\n"
}

fn check_wmma(w: &Wmma<'_>, seed: u64) {
    let (m, n, k) = w.shape;
    let [d_ty, a_ty, b_ty, c_ty] = w.types;
    let mut matrices = [
        Matrix::random(m, k, a_ty, seed),
        Matrix::random(k, n, b_ty, seed + 1),
        Matrix::random(m, n, c_ty, seed + 2),
    ];
    let extents = [[m, k], [k, n], [m, n], [m, n]];
    let pitch = |i: usize| extents[i][usize::from(w.rows[i])] + w.gap.unwrap_or(0);
    let pitches = [pitch(0), pitch(1), pitch(2), pitch(3)];
    let mut buffers: Vec<Vec<u32>> =
        (0..3).map(|i| in_memory(&matrices[i], [a_ty, b_ty, c_ty][i], w.rows[i], pitches[i])).collect();
    let zero = Matrix { cols: n, values: vec![0.0; m * n] };
    buffers.push(in_memory(&zero, d_ty, w.rows[3], pitches[3]));
    let sizes = [buffers[0].len(), buffers[1].len(), buffers[2].len(), buffers[3].len()];
    let text = wmma_text(w, pitches, sizes);
    // The shared copy goes by whole warps of words.
    let padded: Vec<Vec<u32>> = buffers
        .iter()
        .map(|b| {
            let mut b = b.clone();
            b.resize(b.len().next_multiple_of(32), 0);
            b
        })
        .collect();
    let mut out = run(&lower(&text, 255), &padded, &[], 1, 32).pop().unwrap();
    out.truncate(sizes[3]);
    if w.negate {
        matrices[0].values.iter_mut().for_each(|v| *v = -*v);
        matrices[2].values.iter_mut().for_each(|v| *v = -*v);
    }
    let [a, b, c] = &matrices;
    let d = if (c_ty, d_ty) == ("f32", "f16") {
        // The product is rounded to single first.
        let single = product(a, b, c, "f32", |x, y| x * y);
        single.iter().map(|&s| f64::from(f32::from_bits(s as u32))).collect::<Vec<f64>>()
    } else if a_ty == "b1" {
        product(a, b, c, "s32", |x, y| f64::from(x != y)).iter().map(|&v| f64::from(v as i32)).collect()
    } else {
        let exact = |i: usize, j: usize| (0..k).map(|x| a.at(i, x) * b.at(x, j)).sum::<f64>() + c.at(i, j);
        (0..m * n).map(|x| exact(x / n, x % n)).collect()
    };
    let want = in_memory(&Matrix { cols: n, values: d }, d_ty, w.rows[3], pitches[3]);
    assert_eq!(
        out,
        want,
        "{}\n{text}",
        format_args!("{:?} {:?} {:?} {:?}", w.shape, w.types, w.rows, w.place)
    );
}

#[test]
fn every_shape_and_layout_of_wmma_multiplies() {
    let mut kinds: Vec<(Shape, [&str; 4])> = Vec::new();
    for shape in [(16, 16, 16), (32, 8, 16), (8, 32, 16)] {
        for (d, c) in [("f16", "f16"), ("f32", "f32"), ("f32", "f16"), ("f16", "f32")] {
            kinds.push((shape, [d, "f16", "f16", c]));
        }
        kinds.push((shape, ["f32", "bf16", "bf16", "f32"]));
        kinds.push((shape, ["s32", "s8", "s8", "s32"]));
        kinds.push((shape, ["s32", "u8", "u8", "s32"]));
    }
    kinds.push(((16, 16, 8), ["f32", "tf32", "tf32", "f32"]));
    kinds.push(((8, 8, 4), ["f64"; 4]));
    for (index, (shape, types)) in kinds.into_iter().enumerate() {
        for layouts in 0..8 {
            let rows = [layouts & 1 == 0, layouts & 2 == 0, layouts & 4 == 0, layouts & 1 != 0];
            let place = [Where::Global, Where::Shared, Where::Generic][(index + layouts) % 3];
            let gap = [Some(8), Some(0), None][layouts % 3];
            // PTX requires a multiple of 16 bytes between rows.
            let gap = if types[1].ends_with('8') { gap.map(|g| 2 * g) } else { gap };
            let negate = types[1] == "f16" && layouts % 2 == 1;
            check_wmma(&Wmma { shape, types, rows, place, negate, gap }, (index * 8 + layouts) as u64 * 3);
        }
    }
    // Factors of halves are loaded from shared memory as whole matrices, in an order that depends on the layout.
    for shape in [(16, 16, 16), (32, 8, 16), (8, 32, 16)] {
        for (ty, layouts) in ["f16", "bf16"].into_iter().flat_map(|ty| (0..4).map(move |l| (ty, l))) {
            let rows = [layouts & 1 == 0, layouts & 2 == 0, true, true];
            let types = ["f32", ty, ty, "f32"];
            for gap in [Some(8), None] {
                let place = Where::Shared;
                check_wmma(&Wmma { shape, types, rows, place, negate: false, gap }, layouts as u64);
            }
        }
    }
    for (shape, ty) in [((8, 8, 32), "s4"), ((8, 8, 32), "u4"), ((8, 8, 128), "b1")] {
        for place in [Where::Global, Where::Shared] {
            let types = ["s32", ty, ty, "s32"];
            check_wmma(
                &Wmma { shape, types, rows: [true, false, true, false], place, negate: false, gap: None },
                77,
            );
        }
    }
}

/// Loads, transposes or stores four 8x8 matrices of halves: row r of matrix j at lane 8j + r.
fn matrices_text(body: &str) -> String {
    format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n.shared .align 16 .b8 tile[1024];\n.visible .entry test(.param .u64 p0, .param .u64 p1)\n{{\n\
         .reg .b32 %t<8>; .reg .b32 %r<4>; .reg .b64 %p<4>; .reg .b64 %g;\nmov.u32 %t0, %laneid;\nld.param.u64 %p0, [p0];\nld.param.u64 %p1, [p1];\n\
         mov.u32 %t1, tile;\nshl.b32 %t2, %t0, 4;\nadd.u32 %t1, %t1, %t2;\nmad.wide.u32 %p0, %t0, 16, %p0;\nmad.wide.u32 %p1, %t0, 16, %p1;\n\
         mov.b32 %r0, 0;\nmov.b32 %r1, 0;\nmov.b32 %r2, 0;\nmov.b32 %r3, 0;\n{body}\nret;\n}}\n"
    )
}

#[test]
fn ldmatrix_and_stmatrix_follow_the_isa() {
    let mut random = Random::new(5);
    let input: Vec<u32> = (0..128).map(|_| random.bits() as u32).collect();
    let element = |j: usize, row: usize, col: usize| {
        let word = input[(8 * j + row) * 4 + col / 2];
        word >> (16 * (col % 2)) & 0xFFFF
    };
    for (num, list) in [(1, "{%r0}"), (2, "{%r0, %r1}"), (4, "{%r0, %r1, %r2, %r3}")] {
        for trans in ["", ".trans"] {
            for space in [".shared", ""] {
                let address =
                    if space.is_empty() { "cvt.u64.u32 %g, %t1;\ncvta.shared.u64 %g, %g;\n" } else { "" };
                let at = if space.is_empty() { "%g" } else { "%t1" };
                let body = format!(
                    "ld.global.v4.b32 {{%t4, %t5, %t6, %t7}}, [%p0];\nst.shared.v4.b32 [%t1], {{%t4, %t5, %t6, %t7}};\nbar.warp.sync -1;\n{address}\
                     ldmatrix.sync.aligned.m8n8.x{num}{trans}{space}.b16 {list}, [{at}];\nst.global.v4.b32 [%p1], {{%r0, %r1, %r2, %r3}};"
                );
                let out = run(&lower(&matrices_text(&body), 255), &[input.clone(), vec![0; 128]], &[], 1, 32)
                    .pop()
                    .unwrap();
                for l in 0..32 {
                    for j in 0..4 {
                        let (row, col) = (l / 4, 2 * (l % 4));
                        let pair = if trans.is_empty() {
                            element(j, row, col) | element(j, row, col + 1) << 16
                        } else {
                            element(j, col, row) | element(j, col + 1, row) << 16
                        };
                        assert_eq!(
                            out[4 * l + j],
                            if j < num { pair } else { 0 },
                            "x{num}{trans} lane {l} matrix {j}"
                        );
                    }
                }
                // The fragment is stored to the addresses that it was loaded from.
                let body = format!(
                    "ld.global.v4.b32 {{%r0, %r1, %r2, %r3}}, [%p0];\nst.shared.v4.b32 [%t1], {{%t4, %t4, %t4, %t4}};\nbar.warp.sync -1;\n{address}\
                     stmatrix.sync.aligned.m8n8.x{num}{trans}{space}.b16 [{at}], {list};\nbar.warp.sync -1;\n\
                     ld.shared.v4.b32 {{%t4, %t5, %t6, %t7}}, [%t1];\nst.global.v4.b32 [%p1], {{%t4, %t5, %t6, %t7}};"
                );
                let body = format!("mov.b32 %t4, 0;\n{body}");
                let back = run(&lower(&matrices_text(&body), 255), &[out.clone(), vec![7; 128]], &[], 1, 32)
                    .pop()
                    .unwrap();
                let kept = |i: usize| if i / 32 < num { input[i] } else { 0 };
                assert_eq!(back, (0..128).map(kept).collect::<Vec<u32>>(), "x{num}{trans}");
            }
        }
    }
}

#[test]
fn movmatrix_transposes() {
    let input: Vec<u32> = (0..128).map(|i| (2 * i) | (2 * i + 1) << 16).collect();
    let body = "ld.global.b32 %t4, [%p0];\nmovmatrix.sync.aligned.m8n8.trans.b16 %r0, %t4;\nst.global.b32 [%p1], %r0;";
    // Lane l's word is the first of its four: element (l / 4, 2 (l % 4)) is 8 l.
    let out = run(&lower(&matrices_text(body), 255), &[input, vec![0; 128]], &[], 1, 32).pop().unwrap();
    let element = |row: usize, col: usize| (8 * (4 * row + col / 2) + col % 2) as u32;
    for l in 0..32 {
        let (row, col) = (l / 4, 2 * (l % 4));
        assert_eq!(out[4 * l], element(col, row) | element(col + 1, row) << 16, "lane {l}");
    }
}
