//! Matrix instructions against nested loops: fragments of `mma.sync` as the PTX ISA's tables of rows and columns
//! give them, `wmma` from and to memory in every layout, and 8x8 matrices of halves between shared memory and lanes.
//!
//! Inputs are such that products and sums are exact in double precision, so that only the last rounding counts.

mod lower_kit;

use half::{bf16, f16};
use lower_kit::*;

/// A matrix of numbers that its elements' type represents.
#[derive(Clone)]
struct Matrix {
    cols: usize,
    values: Vec<f64>,
}

impl Matrix {
    fn random(rows: usize, cols: usize, ty: &str, seed: u64) -> Matrix {
        let mut random = Random(seed);
        let values = (0..rows * cols).map(|_| sample(ty, &mut random)).collect();
        Matrix { cols, values }
    }

    fn at(&self, row: usize, col: usize) -> f64 {
        self.values[row * self.cols + col]
    }
}

/// A number of a type, with few enough digits that sums of products stay exact in 53 bits.
fn sample(ty: &str, random: &mut Random) -> f64 {
    let bits = random.next();
    match ty {
        "u8" => (bits & 0xFF) as f64,
        "s8" => f64::from(bits as i8),
        "u4" => (bits & 15) as f64,
        "s4" => f64::from((bits as i8) >> 4),
        "b1" => (bits & 1) as f64,
        "s32" => f64::from(bits as i32),
        // Seven to eleven digits, exponents -4 to 3.
        _ => {
            let digits = match ty {
                "bf16" => 8,
                "f64" => 20,
                _ => 11,
            };
            let magnitude = (bits >> 8 & ((1 << digits) - 1)) as f64 / f64::from(1 << (digits - 1));
            let scale = [0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0][(bits & 7) as usize];
            if bits >> 7 & 1 == 0 { magnitude * scale } else { -magnitude * scale }
        }
    }
}

fn bits_of(ty: &str) -> usize {
    match ty {
        "bf16" => 16,
        "tf32" => 32,
        _ => ty[1..].parse().unwrap(),
    }
}

/// The encoding of a number that a type represents, or the nearest.
fn encode(ty: &str, v: f64) -> u64 {
    match ty {
        "f16" => f16::from_f64(v).to_bits().into(),
        "bf16" => bf16::from_f64(v).to_bits().into(),
        "f32" | "tf32" => (v as f32).to_bits().into(),
        "f64" => v.to_bits(),
        _ => (v as i64 as u64) & (u64::MAX >> (64 - bits_of(ty))),
    }
}

/// D = A * B + C, as the type of D rounds or wraps it.
fn product(a: &Matrix, b: &Matrix, c: &Matrix, ty: &str, combine: impl Fn(f64, f64) -> f64) -> Vec<u64> {
    let depth = a.cols;
    let mut d = Vec::new();
    for i in 0..c.values.len() / c.cols {
        for j in 0..c.cols {
            let sum: f64 = (0..depth).map(|k| combine(a.at(i, k), b.at(k, j))).sum();
            d.push(encode(ty, sum + c.at(i, j)));
        }
    }
    d
}

/// Packs elements into words, first element lowest.
fn pack(elements: &[u64], bits: usize) -> Vec<u32> {
    if bits == 64 {
        return words64(elements);
    }
    let per = 32 / bits;
    elements
        .chunks(per)
        .map(|c| c.iter().enumerate().fold(0, |w, (i, e)| w | (*e as u32) << (i * bits)))
        .collect()
}

/// Row and column of element i in a lane of quad g (groupID) and place t (threadID_in_group).
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

/// Registers per lane of a fragment of `count` elements.
fn registers(ty: &str, count: usize) -> usize {
    if ty == "f64" { count } else { count * bits_of(ty) / 32 }
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

/// A matrix as it lies in memory, rows or columns `pitch` elements apart.
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

/// Where a `wmma` kernel keeps its matrices.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Where {
    Global,
    Generic,
    Shared,
}

struct Wmma<'a> {
    shape: (usize, usize, usize),
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
    let mut kinds: Vec<((usize, usize, usize), [&str; 4])> = Vec::new();
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
            // 16 bytes between rows are what PTX asks for.
            let gap = if types[1].ends_with('8') { gap.map(|g| 2 * g) } else { gap };
            let negate = types[1] == "f16" && layouts % 2 == 1;
            check_wmma(&Wmma { shape, types, rows, place, negate, gap }, (index * 8 + layouts) as u64 * 3);
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
        // Only k = 0 of A is there: place 0, low half.
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
    let mut random = Random(5);
    let input: Vec<u32> = (0..128).map(|_| random.next() as u32).collect();
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
                // Back again: the fragment stores to where it came from.
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
