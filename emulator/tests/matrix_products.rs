//! `mma.sync` compared with nested loops: fragments as in the PTX ISA's tables of rows and columns, sums that saturate,
//! special values.

use crate::lower_kit;
use crate::matrix_kit;

use half::f16;
use lower_kit::*;
use matrix_kit::*;

/// Row and column of element i in lane t (threadID_in_group) of quad g (groupID).
type Layout = fn(usize, usize, usize) -> (usize, usize);

/// One form of `mma.sync`, with the layouts of the PTX ISA's figures.
struct Form {
    shape: (usize, usize, usize),
    types: [&'static str; 4],
    modifiers: &'static str,
    a: Layout,
    b: Layout,
    c: Layout,
}

const fn form(
    shape: (usize, usize, usize),
    types: [&'static str; 4],
    a: Layout,
    b: Layout,
    c: Layout,
) -> Form {
    Form { shape, types, modifiers: "", a, b, c }
}

fn c16(g: usize, t: usize, i: usize) -> (usize, usize) {
    (if i < 2 { g } else { g + 8 }, t * 2 + (i & 1))
}

fn c8(g: usize, t: usize, i: usize) -> (usize, usize) {
    (g, t * 2 + (i & 1))
}

fn forms() -> Vec<Form> {
    let mut all = Vec::new();
    let k16: [Layout; 2] = [
        |g, t, i| {
            (
                if i < 2 || (4..6).contains(&i) { g } else { g + 8 },
                t * 2 + (i & 1) + if i >= 4 { 8 } else { 0 },
            )
        },
        |g, t, i| (t * 2 + (i & 1) + if i >= 2 { 8 } else { 0 }, g),
    ];
    let k8: [Layout; 2] =
        [|g, t, i| (if i < 2 { g } else { g + 8 }, t * 2 + (i & 1)), |g, t, i| (t * 2 + i, g)];
    for acc in ["f16", "f32"] {
        all.push(form((16, 8, 16), [acc, "f16", "f16", acc], k16[0], k16[1], c16));
        all.push(form((16, 8, 8), [acc, "f16", "f16", acc], k8[0], k8[1], c16));
    }
    all.push(form((16, 8, 16), ["f32", "bf16", "bf16", "f32"], k16[0], k16[1], c16));
    all.push(form((16, 8, 8), ["f32", "bf16", "bf16", "f32"], k8[0], k8[1], c16));
    all.push(form(
        (16, 8, 4),
        ["f32", "tf32", "tf32", "f32"],
        |g, t, i| (if i == 0 { g } else { g + 8 }, t),
        |g, t, _| (t, g),
        c16,
    ));
    all.push(form(
        (16, 8, 8),
        ["f32", "tf32", "tf32", "f32"],
        |g, t, i| (if i % 2 == 0 { g } else { g + 8 }, if i < 2 { t } else { t + 4 }),
        |g, t, i| (if i == 0 { t } else { t + 4 }, g),
        c16,
    ));
    for (a, b) in [("s8", "s8"), ("u8", "u8"), ("s8", "u8"), ("u8", "s8")] {
        let types = ["s32", a, b, "s32"];
        all.push(form((8, 8, 16), types, |g, t, i| (g, t * 4 + i), |g, t, i| (t * 4 + i, g), c8));
        all.push(form(
            (16, 8, 16),
            types,
            |g, t, i| (if i < 4 { g } else { g + 8 }, t * 4 + (i & 3)),
            |g, t, i| (t * 4 + i, g),
            c16,
        ));
        all.push(form(
            (16, 8, 32),
            types,
            |g, t, i| {
                let row = if i < 4 || (8..12).contains(&i) { g } else { g + 8 };
                (row, t * 4 + (i & 3) + if i < 8 { 0 } else { 16 })
            },
            |g, t, i| (t * 4 + (i & 3) + if i < 4 { 0 } else { 16 }, g),
            c16,
        ));
    }
    for (a, b) in [("s4", "s4"), ("u4", "u4"), ("u4", "s4")] {
        let types = ["s32", a, b, "s32"];
        all.push(form((8, 8, 32), types, |g, t, i| (g, t * 8 + i), |g, t, i| (t * 8 + i, g), c8));
        all.push(form(
            (16, 8, 32),
            types,
            |g, t, i| (if i < 8 { g } else { g + 8 }, t * 8 + (i & 7)),
            |g, t, i| (t * 8 + i, g),
            c16,
        ));
        all.push(form(
            (16, 8, 64),
            types,
            |g, t, i| {
                let row = if i < 8 || (16..24).contains(&i) { g } else { g + 8 };
                (row, t * 8 + (i & 7) + if i < 16 { 0 } else { 32 })
            },
            |g, t, i| (t * 8 + (i & 7) + if i < 8 { 0 } else { 32 }, g),
            c16,
        ));
    }
    for modifiers in [".xor.popc", ".and.popc"] {
        let types = ["s32", "b1", "b1", "s32"];
        let b1 = |shape, a, b, c| Form { shape, types, modifiers, a, b, c };
        all.push(b1((8, 8, 128), |g, t, i| (g, t * 32 + i), |g, t, i| (t * 32 + i, g), c8));
        all.push(b1(
            (16, 8, 128),
            |g, t, i| (if i < 32 { g } else { g + 8 }, t * 32 + (i & 31)),
            |g, t, i| (t * 32 + i, g),
            c16,
        ));
        all.push(b1(
            (16, 8, 256),
            |g, t, i| {
                let row = if i < 32 || (64..96).contains(&i) { g } else { g + 8 };
                (row, t * 32 + (i & 31) + if i < 64 { 0 } else { 128 })
            },
            |g, t, i| (t * 32 + (i & 31) + if i < 32 { 0 } else { 128 }, g),
            c16,
        ));
    }
    let f64s = ["f64"; 4];
    all.push(form((8, 8, 4), f64s, |g, t, _| (g, t), |g, t, _| (t, g), c8));
    all.push(form((16, 8, 4), f64s, |g, t, i| (g + 8 * i, t), |g, t, _| (t, g), c16));
    all.push(form(
        (16, 8, 8),
        f64s,
        |g, t, i| (if i % 2 == 0 { g } else { g + 8 }, if i < 2 { t } else { t + 4 }),
        |g, t, i| (t + 4 * i, g),
        c16,
    ));
    all.push(form(
        (16, 8, 16),
        f64s,
        |g, t, i| {
            if i % 2 == 0 { (g, i * 2 + t) } else { (g + 8, i * 2 - 2 + t) }
        },
        |g, t, i| (t + 4 * i, g),
        c16,
    ));
    all
}

/// Fragments of all lanes, lane by lane, of a matrix.
fn fragments(
    m: &Matrix,
    ty: &str,
    count: usize,
    layout: impl Fn(usize, usize) -> (usize, usize),
) -> Vec<u32> {
    let lane = |l: usize| {
        let elements: Vec<u64> = (0..count)
            .map(|i| {
                let (row, col) = layout(l, i);
                encode(ty, m.at(row, col))
            })
            .collect();
        pack(&elements, bits_of(ty))
    };
    (0..32).flat_map(lane).collect()
}

/// A kernel of one warp that loads fragments a, b, c (registers of a lane consecutive), does `op`, and stores d.
fn fragment_kernel(op: &str, registers: [usize; 4], wide: [bool; 4]) -> String {
    let mut text = String::from(
        ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry test(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3)\n{\n",
    );
    text += ".reg .b32 %t<2>; .reg .b64 %p<4>; .reg .pred %q;\nmov.u32 %t0, %laneid;\n";
    let mut lists = Vec::new();
    for (i, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
        let (ty, bytes) = if wide[i] { ("f64", 8) } else { ("b32", 4) };
        text += &format!(".reg .{ty} %{name}<{}>;\nld.param.u64 %p{i}, [p{i}];\n", registers[i]);
        text += &format!("mad.wide.u32 %p{i}, %t0, {}, %p{i};\n", registers[i] * bytes);
        for r in 0..registers[i] {
            if i < 3 {
                text += &format!("ld.global.{ty} %{name}{r}, [%p{i}+{}];\n", r * bytes);
            }
        }
        let list: Vec<String> = (0..registers[i]).map(|r| format!("%{name}{r}")).collect();
        lists.push(format!("{{{}}}", list.join(", ")));
    }
    text += &format!("{op} {}, {}, {}, {};\n", lists[3], lists[0], lists[1], lists[2]);
    for r in 0..registers[3] {
        let (ty, bytes) = if wide[3] { ("f64", 8) } else { ("b32", 4) };
        text += &format!("st.global.{ty} [%p3+{}], %d{r};\n", r * bytes);
    }
    text + "ret;\n}\n"
}

fn run_form(name: &str, op: &str, types: [&str; 4], counts: [usize; 3], inputs: &[Vec<u32>; 3]) -> Vec<u32> {
    let [a, b, c] = counts;
    let registers =
        [registers(types[1], a), registers(types[2], b), registers(types[3], c), registers(types[0], c)];
    let wide = [types[1] == "f64", types[2] == "f64", types[3] == "f64", types[0] == "f64"];
    let text = fragment_kernel(op, registers, wide);
    let lowered = lower(&text, 255);
    let size = 32 * registers[3] * if wide[3] { 2 } else { 1 };
    let mut buffers = inputs.to_vec();
    buffers.push(vec![0xDEAD_BEEF; size]);
    let out = run(&lowered, &buffers, &[], 1, 32).pop().unwrap();
    assert_eq!(out.len(), size, "{name}");
    out
}

#[test]
fn every_shape_of_mma_sync_multiplies() {
    for (index, f) in forms().iter().enumerate() {
        let (m, n, k) = f.shape;
        let [d_ty, a_ty, b_ty, c_ty] = f.types;
        let name = format!("m{m}n{n}k{k} {:?} {}", f.types, f.modifiers);
        for round in 0..4 {
            let seed = (index * 16 + round) as u64;
            let a = Matrix::random(m, k, a_ty, seed);
            let b = Matrix::random(k, n, b_ty, seed + 1000);
            let c = Matrix::random(m, n, c_ty, seed + 2000);
            let layout = |of: Layout| move |l: usize, i| of(l / 4, l % 4, i);
            let counts = [m * k / 32, k * n / 32, m * n / 32];
            let inputs = [
                fragments(&a, a_ty, counts[0], layout(f.a)),
                fragments(&b, b_ty, counts[1], layout(f.b)),
                fragments(&c, c_ty, counts[2], layout(f.c)),
            ];
            let types = format!(".{d_ty}.{a_ty}.{b_ty}.{c_ty}");
            let op = format!("mma.sync.aligned.row.col{}.m{m}n{n}k{k}{types}", f.modifiers);
            let got = run_form(&name, &op, f.types, counts, &inputs);
            let want = product(&a, &b, &c, d_ty, |x, y| match f.modifiers {
                ".xor.popc" => f64::from(x != y),
                _ => x * y,
            });
            let n_cols = n;
            let expected: Vec<u32> = (0..32)
                .flat_map(|l: usize| {
                    let elements: Vec<u64> = (0..counts[2])
                        .map(|i| {
                            let (row, col) = (f.c)(l / 4, l % 4, i);
                            want[row * n_cols + col]
                        })
                        .collect();
                    pack(&elements, bits_of(d_ty))
                })
                .collect();
            assert_eq!(got, expected, "{name}");
        }
    }
}

/// Volta's m8n8k4: element i of a lane of quad pair q.
fn volta(role: char, row_major: bool, f32s: bool, lane: usize, i: usize) -> (usize, usize) {
    let upper = if lane < 16 { 0 } else { 4 };
    let in_four = lane % 4;
    match (role, row_major) {
        ('a', true) => (in_four + upper, i),
        ('a', false) => (i % 4 + upper, in_four),
        ('b', true) => (in_four, i + upper),
        ('b', false) => (i, in_four + upper),
        _ if f32s => ((lane & 1) + (i & 2) + upper, (i & 4) + (lane & 2) + (i & 1)),
        _ => (in_four + upper, i),
    }
}

#[test]
fn volta_products_of_quad_pairs_multiply() {
    for (case, acc) in ["f16", "f32"].into_iter().enumerate() {
        for layouts in 0..4 {
            let (a_row, b_row) = (layouts & 1 == 0, layouts & 2 == 0);
            let matrices: Vec<[Matrix; 3]> = (0..4)
                .map(|q| {
                    let seed = (case * 100 + layouts * 10 + q) as u64;
                    [
                        Matrix::random(8, 4, "f16", seed),
                        Matrix::random(4, 8, "f16", seed + 500),
                        Matrix::random(8, 8, acc, seed + 900),
                    ]
                })
                .collect();
            let pair = |l: usize| l % 16 / 4;
            let fragment =
                |which: usize, ty: &str, count: usize, layout: &dyn Fn(usize, usize) -> (usize, usize)| {
                    (0..32)
                        .flat_map(|l| {
                            let m = &matrices[pair(l)][which];
                            let e: Vec<u64> = (0..count)
                                .map(|i| {
                                    let (r, c) = layout(l, i);
                                    encode(ty, m.at(r, c))
                                })
                                .collect();
                            pack(&e, bits_of(ty))
                        })
                        .collect::<Vec<u32>>()
                };
            let c_layout = |l, i| volta('c', true, acc == "f32", l, i);
            let inputs = [
                fragment(0, "f16", 4, &|l, i| volta('a', a_row, false, l, i)),
                fragment(1, "f16", 4, &|l, i| volta('b', b_row, false, l, i)),
                fragment(2, acc, 8, &c_layout),
            ];
            let name = |row| if row { "row" } else { "col" };
            let op = format!("mma.sync.aligned.{}.{}.m8n8k4.{acc}.f16.f16.{acc}", name(a_row), name(b_row));
            let got = run_form(&op, &op, [acc, "f16", "f16", acc], [4, 4, 8], &inputs);
            let want: Vec<Vec<u64>> =
                matrices.iter().map(|[a, b, c]| product(a, b, c, acc, |x, y| x * y)).collect();
            let expected: Vec<u32> = (0..32)
                .flat_map(|l| {
                    let e: Vec<u64> = (0..8)
                        .map(|i| {
                            let (row, col) = c_layout(l, i);
                            want[pair(l)][row * 8 + col]
                        })
                        .collect();
                    pack(&e, bits_of(acc))
                })
                .collect();
            assert_eq!(got, expected, "{op}");
        }
    }
}

#[test]
fn integer_sums_wrap_or_saturate() {
    let run = |sat: &str, c: u32, sign: i8| {
        let op = format!("mma.sync.aligned.row.col.m8n8k16{sat}.s32.s8.s8.s32");
        let word = u32::from_le_bytes([sign as u8; 4]);
        let inputs = [vec![word; 32], vec![u32::from_le_bytes([0x7F; 4]); 32], vec![c; 64]];
        run_form(&op, &op, ["s32", "s8", "s8", "s32"], [4, 4, 2], &inputs)
    };
    let sum = 16 * 127 * 127;
    assert_eq!(run("", i32::MAX as u32, 127), vec![(i32::MAX).wrapping_add(sum) as u32; 64]);
    assert_eq!(run(".satfinite", i32::MAX as u32, 127), vec![i32::MAX as u32; 64]);
    assert_eq!(run("", i32::MIN as u32, -127), vec![i32::MIN.wrapping_sub(sum) as u32; 64]);
    assert_eq!(run(".satfinite", i32::MIN as u32, -127), vec![i32::MIN as u32; 64]);
    assert_eq!(run(".satfinite", 5, 127), vec![5 + sum as u32; 64]);
}

#[test]
fn special_values_and_subnormals_of_halves() {
    let one = |a: u16, b: u16, c: u32| {
        let op = "mma.sync.aligned.row.col.m16n8k8.f32.f16.f16.f32";
        // Only k = 0 of A is not zero: lane 0 of each quad, low half.
        let a: Vec<u32> = (0..64).map(|i| if i / 2 % 4 == 0 { u32::from(a) } else { 0 }).collect();
        let b: Vec<u32> = (0..32).map(|l| if l % 4 == 0 { u32::from(b) } else { 0 }).collect();
        let out = run_form(op, op, ["f32", "f16", "f16", "f32"], [4, 2, 4], &[a, b, vec![c; 128]]);
        assert!(out.iter().all(|w| *w == out[0]));
        out[0]
    };
    let h = |v: f64| f16::from_f64(v).to_bits();
    let f = |v: f32| v.to_bits();
    assert_eq!(one(1, h(1.0), 0), f(2f32.powi(-24)), "subnormal halves count");
    assert_eq!(one(1, 1, 0), f(2f32.powi(-48)));
    assert_eq!(one(0x7C00, h(2.0), f(1.0)), f(f32::INFINITY));
    assert_eq!(one(0x7C00, 0, f(1.0)), 0x7FFF_FFFF, "infinity times zero");
    assert_eq!(one(0x7C00, h(1.0), f(f32::NEG_INFINITY)), 0x7FFF_FFFF);
    assert_eq!(one(0x7E01, h(1.0), f(1.0)), 0x7FFF_FFFF, "NaN is canonical");
    assert_eq!(one(h(-1.0), h(1.0), 1), f(-1.0), "rounded once");
    assert_eq!(one(0x8000, h(1.0), 0x8000_0000), 0, "zeros of the other products are positive");
    assert_eq!(one(h(65504.0), h(65504.0), f(f32::MAX)), f(f32::MAX));
}
