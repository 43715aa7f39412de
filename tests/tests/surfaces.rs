//! Surface accesses of every width, shape and clamp mode against plain arrays.

use crate::texture_kit;

use emulator::texture as em;
use proptest::prelude::*;
use test_kit::Random;
use tests::texture::{Channel, Image, Level};
use texture_kit::{Device, Kind, image};

/// A surface access under test: geometry, its number of coordinates, the kind of array.
const SURFACES: [(&str, usize, em::ArrayKind); 5] = [
    ("1d", 1, em::ArrayKind::D1),
    ("2d", 2, em::ArrayKind::D2),
    ("3d", 3, em::ArrayKind::D3),
    ("a1d", 2, em::ArrayKind::Layered1),
    ("a2d", 3, em::ArrayKind::Layered2),
];

/// The byte position of a surface access in the texels: coordinates in the order of the instruction,
/// extents in the same order (x in bytes), clamped where the access says so.
fn position(at: &[i64], most: &[i64], row: &[i64], clamp: bool) -> Option<usize> {
    let mut sum = 0;
    for ((&a, &m), &step) in at.iter().zip(most).zip(row) {
        if !clamp && (a < 0 || a > m) {
            return None;
        }
        sum += a.clamp(0, m) * step;
    }
    Some(sum as usize)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn surfaces_move_bytes(
        which in 0..5usize, log_bytes in 0..5u32, vec in 0..3u32, clamp in any::<bool>(), store in any::<bool>(),
        extent in [1..6usize, 1..6usize, 1..4usize], layers in 1..4usize, seed in any::<u64>(),
    ) {
        let (name, count, kind) = SURFACES[which];
        // Elements of `each` bytes, `n` of them: the access has `bytes`.
        let n = 1usize << vec;
        let bytes = (1usize << log_bytes).max(n).min(8 * n);
        let each = bytes / n;
        let layered = name.starts_with('a');
        let dims = count - usize::from(layered);
        let mut random = Random::new(seed);
        // Texels of 4 bytes: rows of 4 to 20 bytes, long enough for the access.
        let width = extent[0].max(bytes.div_ceil(4));
        let extent = [width, if dims > 1 { extent[1] } else { 1 }, if dims > 2 { extent[2] } else { 1 }];
        let slices = if layered { layers } else { 1 };
        let image = image(&mut random, Channel::U32, 1, extent, slices, 1);
        let (mut device, id) = Device::with_surface(&image, Kind::Array(kind));
        // In the order of the instruction: the layer first.
        let row_bytes = 4 * extent[0] as i64;
        let slice_bytes = row_bytes * extent[1] as i64;
        let mut most = vec![row_bytes - bytes as i64, extent[1] as i64 - 1, extent[2] as i64 - 1];
        let mut steps = vec![1, row_bytes, slice_bytes];
        most.truncate(dims);
        steps.truncate(dims);
        if layered {
            most.insert(0, slices as i64 - 1);
            steps.insert(0, slice_bytes);
        }
        // One thread per place that is stored to, so that the order of threads does not matter.
        let mut taken = std::collections::HashSet::new();
        let words: Vec<[u32; 8]> = (0..40).filter_map(|_| {
            let mut w = [0; 8];
            for c in 0..count {
                let x = usize::from(layered) == c;
                let room = most[c] + 1 + if x { bytes as i64 - 1 } else { 0 };
                let unit = if x { bytes as i64 } else { 1 };
                let least = if layered && c == 0 { 0 } else { -1 };
                let places = (room + unit - 1) / unit;
                w[c] = ((least + random.below((places + 2) as u64) as i64) * unit) as u32;
            }
            for value in &mut w[4..] { *value = random.bits() as u32; }
            let at: Vec<i64> = w[..count].iter().map(|&v| i64::from(v as i32)).collect();
            let to = position(&at, &most, &steps, clamp);
            (!store || to.is_none_or(|to| (to..to + bytes).all(|b| taken.insert(b)))).then_some(w)
        }).collect();
        prop_assume!(!words.is_empty());
        // Clamped accesses may be misaligned; those fault, which is not tested here.
        let askew = words.iter().any(|w| {
            let at: Vec<i64> = w[..count].iter().map(|&v| i64::from(v as i32)).collect();
            position(&at, &most, &steps, clamp).is_some_and(|to| to % bytes != 0)
        });
        prop_assume!(!askew);
        let list = match count { 1 => "{%c0}", 2 => "{%c0, %c1}", _ => "{%c0, %c1, %c2, %c2}" };
        let mode = if clamp { "clamp" } else { "zero" };
        let of = |regs: &str| match n { 1 => format!("{{{regs}0}}"), 2 => format!("{{{regs}0, {regs}1}}"), _ => format!("{{{regs}0, {regs}1, {regs}2, {regs}3}}") };
        let v = match n { 1 => "", 2 => ".v2", _ => ".v4" };
        let op = format!("b.{name}{v}.b{}.{mode}", 8 * each);
        // Elements are moved through registers of their width; a 64-bit one holds two input words.
        let (mut head, mut tail) = (String::new(), String::new());
        for i in 0..n {
            match each {
                1 | 2 if store => head += &format!("cvt.u16.u32 %h{i}, %c{};\n", 4 + i),
                1 | 2 => tail += &format!("cvt.u32.u16 %r{i}, %h{i};\n"),
                4 if store => {}
                8 if store => head += &format!("mov.b64 %d{}, {{%c{}, %c{}}};\n", 4 + i, 4 + 2 * i, 5 + 2 * i),
                8 => tail += &format!("mov.b64 {{%r{}, %r{}}}, %d{};\n", 2 * i, 2 * i + 1, 4 + i),
                _ => {}
            }
        }
        prop_assume!(each < 8 || n <= 2);
        let regs = match (each, store) { (1 | 2, _) => of("%h"), (4, true) => of("%c").replace("%c0", "%c4").replace("%c1", "%c5").replace("%c2", "%c6").replace("%c3", "%c7"),
            (4, false) => of("%r"), _ => of("%d").replace("%d0", "%d4").replace("%d1", "%d5") };
        let body = if store { format!("{head}sust.{op} [%d0, {list}], {regs};") } else { format!("suld.{op} {regs}, [%d0, {list}];\n{tail}") };
        let got = device.run(&body, &words).unwrap_or_else(|e| panic!("{e}\n{body}"));
        let mut want = image.levels[0].bytes.clone();
        for (w, got) in words.iter().zip(&got) {
            let at: Vec<i64> = w[..count].iter().map(|&v| i64::from(v as i32)).collect();
            let to = position(&at, &most, &steps, clamp);
            let mut value = [0u8; 16];
            for i in 0..n {
                let source: Vec<u8> = match each {
                    8 => w[4 + 2 * i..6 + 2 * i].iter().flat_map(|v| v.to_le_bytes()).collect(),
                    _ => w[4 + i].to_le_bytes()[..each].to_vec(),
                };
                value[i * each..(i + 1) * each].copy_from_slice(&source);
            }
            if store {
                if let Some(to) = to { want[to..to + bytes].copy_from_slice(&value[..bytes]); }
                continue;
            }
            let mut loaded = [0u8; 16];
            if let Some(to) = to { loaded[..bytes].copy_from_slice(&image.levels[0].bytes[to..to + bytes]); }
            let mut expected = [0u32; 4];
            for i in 0..n {
                let mut wide = [0u8; 8];
                wide[..each].copy_from_slice(&loaded[i * each..(i + 1) * each]);
                let wide = u64::from_le_bytes(wide);
                if each == 8 { expected[2 * i] = wide as u32; expected[2 * i + 1] = (wide >> 32) as u32; } else { expected[i] = wide as u32; }
            }
            prop_assert_eq!(got, &expected, "{} at {:?}", body, at);
        }
        prop_assert_eq!(&device.memory.allocation(id).bytes.contents()[..], &want[..], "{}", body);
    }

    #[test]
    fn surfaces_reduce(op in 0..5usize, ty in 0..3usize, formatted in any::<bool>(), seed in any::<u64>()) {
        let op = ["add", "min", "max", "and", "or"][op];
        let ty = if matches!(op, "and" | "or") { "b32" } else { ["u32", "s32", "u64"][ty] };
        let formatted = formatted && ty != "u64";
        let mut random = Random::new(seed);
        let image = image(&mut random, Channel::U32, 2, [6, 1, 1], 1, 1);
        let (mut device, id) = Device::with_surface(&image, Kind::Array(em::ArrayKind::D1));
        let wide = ty == "u64";
        let words: Vec<[u32; 8]> = (0..64).map(|_| {
            let mut w = [0; 8];
            let step = if formatted { 1 } else { 8 };
            w[0] = (random.below(6) * step) as u32;
            (w[4], w[5]) = (random.bits() as u32, random.bits() as u32);
            w
        }).collect();
        let (value, head) = if wide { ("%d4", "mov.b64 %d4, {%c4, %c5};\n") } else { ("%c4", "") };
        let form = if formatted { "p" } else { "b" };
        let ty_name = if formatted { "b32" } else { ty };
        let body = format!("{head}sured.{form}.{op}.1d.{ty_name}.trap [%d0, {{%c0}}], {value};");
        device.run(&body, &words).unwrap_or_else(|e| panic!("{e}\n{body}"));
        let mut want: Vec<u64> = image.levels[0].bytes.chunks_exact(8)
            .map(|b| u64::from_le_bytes(b.try_into().unwrap())).collect();
        for w in &words {
            let cell = &mut want[if formatted { w[0] as usize } else { w[0] as usize / 8 }];
            let (old, new) = (*cell, u64::from(w[4]) | u64::from(w[5]) << 32);
            if wide {
                *cell = match op { "add" => old.wrapping_add(new), "min" => old.min(new), "max" => old.max(new), "and" => old & new, _ => old | new };
                continue;
            }
            let (o, n) = (old as u32, new as u32);
            let signed = ty == "s32" && !formatted;
            let r = match op {
                "add" => o.wrapping_add(n),
                "min" if signed => (o as i32).min(n as i32) as u32,
                "max" if signed => (o as i32).max(n as i32) as u32,
                "min" => o.min(n),
                "max" => o.max(n),
                "and" => o & n,
                _ => o | n,
            };
            *cell = old >> 32 << 32 | u64::from(r);
        }
        let got: Vec<u64> = device.memory.allocation(id).bytes.contents().chunks_exact(8)
            .map(|b| u64::from_le_bytes(b.try_into().unwrap())).collect();
        prop_assert_eq!(got, want, "{}", body);
    }
}

/// The texel that `sust.p` stores for four values of the channels' type.
fn stored(channel: Channel, channels: usize, values: [u32; 4]) -> Vec<u8> {
    let mut out = Vec::new();
    for &v in &values[..channels] {
        let signed = v as i32;
        match channel {
            Channel::U8 => out.push(v.min(255) as u8),
            Channel::S8 => out.push(signed.clamp(-128, 127) as i8 as u8),
            Channel::U16 => out.extend((v.min(65535) as u16).to_le_bytes()),
            Channel::S16 => out.extend((signed.clamp(-32768, 32767) as i16).to_le_bytes()),
            Channel::U32 | Channel::S32 | Channel::F32 => out.extend(v.to_le_bytes()),
            Channel::F16 => out.extend(half::f16::from_f32(f32::from_bits(v)).to_le_bytes()),
        }
    }
    out
}

#[test]
fn formatted_stores_convert() {
    let mut random = Random::new(11);
    for channel in Channel::ALL {
        for channels in [1, 2, 4] {
            let float = matches!(channel, Channel::F16 | Channel::F32);
            let empty = Level { extent: [40, 1, 1], bytes: vec![0; 40 * channels * channel.bytes()] };
            let image = Image { channel, channels, levels: vec![empty], slices: 1 };
            let (mut device, id) = Device::with_surface(&image, Kind::Array(em::ArrayKind::D1));
            let words: Vec<[u32; 8]> = (0..40)
                .map(|x| {
                    let mut w = [0; 8];
                    w[0] = x;
                    for value in &mut w[4..] {
                        *value = match (float, random.below(4)) {
                            (true, 0) => f32::from(random.bits() as i16).to_bits(),
                            (true, 1) => [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0]
                                [random.below(4) as usize]
                                .to_bits(),
                            (true, _) => ((random.bits() as i32) as f32 / 2e9).to_bits(),
                            (_, 0) => random.bits() as u32,
                            _ => (random.below(1024) as u32).wrapping_sub(512),
                        };
                    }
                    w
                })
                .collect();
            let body = "sust.p.1d.v4.b32.trap [%d0, {%c0}], {%c4, %c5, %c6, %c7};";
            device.run(body, &words).unwrap_or_else(|e| panic!("{e}\n{body}"));
            let bytes = device.memory.allocation(id).bytes.contents();
            for (w, got) in words.iter().zip(bytes.chunks_exact(channels * channel.bytes())) {
                let want = stored(channel, channels, [w[4], w[5], w[6], w[7]]);
                // NaNs of halves are equivalent.
                let nan =
                    channel == Channel::F16 && w[4..4 + channels].iter().any(|&v| f32::from_bits(v).is_nan());
                assert!(got == want || nan, "{body} {channel:?} x{channels}: {w:x?} {got:x?} {want:x?}");
            }
        }
    }
}

/// A coordinate that is a constant, or a sum with one, is no address: the constant must not become an offset.
#[test]
fn constant_coordinates_stay_coordinates() {
    let mut random = Random::new(9);
    let words: Vec<[u32; 8]> = (0..6).map(|t| [8, 2, 1, 4 * t, 77 + t, 0, 0, 0]).collect();
    for (name, count, kind) in SURFACES {
        let slices = if name.starts_with('a') { 3 } else { 1 };
        let rows = if matches!(name, "1d" | "a1d") { 1 } else { 4 };
        let layered = slices > 1;
        let image =
            image(&mut random, Channel::U32, 1, [8, rows, if name == "3d" { 4 } else { 1 }], slices, 1);
        let ops = [
            "suld.b.G.b32.trap {%r0}, [%d0, L];",
            "sust.b.G.b32.trap [%d0, L], {%c4};",
            "sured.b.add.G.u32.trap [%d0, L], %c4;",
        ];
        // There are no reductions on layers.
        for op in ops.into_iter().filter(|op| !(slices > 1 && op.starts_with("sured"))) {
            let list = |x: &str| match (count, layered) {
                (1, _) => format!("{{{x}}}"),
                (2, false) => format!("{{{x}, %c1}}"),
                (2, true) => format!("{{{x}, %c3}}"),
                (_, false) => format!("{{{x}, %c1, %c2, %c2}}"),
                (_, true) => format!("{{{x}, %c3, %c1, %c1}}"),
            };
            let run = |first: &str, body: &str| {
                let (mut device, id) = Device::with_surface(&image, Kind::Array(kind));
                let body = format!("{first}\n{}", op.replace('G', name).replace('L', &list(body)));
                let got = device.run(&body, &words).unwrap_or_else(|e| panic!("{e}\n{body}"));
                (got, device.memory.allocation(id).bytes.to_vec())
            };
            // The layer comes first; where it does, the constant is a layer.
            let (constant, same) = if layered { (2, "%c1") } else { (8, "%c0") };
            assert_eq!(run(&format!("mov.b32 %t3, {constant};"), "%t3"), run("", same), "{op} {name}");
            if !layered {
                assert_eq!(
                    run("add.s32 %t3, %c3, 4;", "%t3"),
                    run("shr.u32 %t3, %c0, 1; add.s32 %t3, %c3, %t3;", "%t3"),
                    "{op} {name}"
                );
            }
        }
    }
}
