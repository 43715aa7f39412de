//! Texture fetches of all geometries, formats, filters and address modes against the formulae of the CUDA C++
//! Programming Guide.

use crate::texture_kit;

use emulator::texture as em;
use proptest::prelude::*;
use test_kit::Random;
use tests::texture::{Channel, Edge, Image, Level, State};
use texture_kit::{Device, Kind, coordinate, fetched_registers, image, place, sampler};

/// Whether a filtered result is within a unit in the last place of the largest texel.
fn close(got: u32, want: u32, largest: f32) -> bool {
    let (g, w) = (f32::from_bits(got), f32::from_bits(want));
    got == want || (g - w).abs() <= largest * f32::EPSILON
}

fn largest(image: &Image, state: &State) -> f32 {
    let float = image.levels.iter().flat_map(|l| l.bytes.chunks_exact(image.channel.bytes())).map(|b| {
        match image.channel {
            Channel::F32 => f32::from_le_bytes([b[0], b[1], b[2], b[3]]).abs(),
            Channel::F16 => half::f16::from_le_bytes([b[0], b[1]]).to_f32().abs(),
            _ => 1.0,
        }
    });
    float.chain(state.border.map(f32::abs)).fold(1.0, f32::max)
}

fn edges() -> impl Strategy<Value = Edge> {
    prop::sample::select(vec![Edge::Wrap, Edge::Clamp, Edge::Mirror, Edge::Border])
}

prop_compose! {
    fn states()(
        edge in [edges(), edges(), edges()],
        linear in any::<bool>(),
        normalized in any::<bool>(),
        fraction in any::<bool>(),
        border in prop::array::uniform4(-2.0f32..300.0),
        mip_linear in any::<bool>(),
        lod in (-1.0f32..1.0, 0.0f32..1.0, 1.0f32..5.0),
    ) -> State {
        State { edge, linear, normalized, fraction, border, mip_linear, lod: [lod.0, lod.1, lod.2] }
    }
}

/// Makes a state possible for a channel.
fn fit(mut state: State, channel: Channel) -> State {
    let can = channel.is_float() || channel.bytes() < 4;
    state.fraction &= can && !channel.is_float();
    state.linear &= channel.is_float() || state.fraction;
    state.mip_linear &= channel.is_float() || state.fraction;
    state
}

fn check(
    got: &[[u32; 4]],
    want: &[[u32; 4]],
    exact: bool,
    largest: f32,
    told: &str,
) -> Result<(), TestCaseError> {
    for (t, (g, w)) in got.iter().zip(want).enumerate() {
        let same = (0..4).all(|c| g[c] == w[c] || (!exact && close(g[c], w[c], largest)));
        prop_assert!(same, "thread {t}: {g:x?} instead of {w:x?}\n{told}");
    }
    Ok(())
}

const RESULTS: &str = "{%r0, %r1, %r2, %r3}";

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn fetches_at_coordinates(
        state in states(), channel in prop::sample::select(&Channel::ALL[..]), log_channels in 0..3u32,
        extent in [1..9usize, 1..9usize, 1..5usize], layers in 1..4usize, which in 0..7usize, seed in any::<u64>(),
    ) {
        use em::ArrayKind as A;
        let state = fit(state, channel);
        let mut random = Random::new(seed);
        let (kind, name, dims, layered) = [
            (Kind::Array(A::D1), "1d", 1, false), (Kind::Array(A::D2), "2d", 2, false), (Kind::Array(A::D3), "3d", 3, false),
            (Kind::Array(A::Layered1), "a1d", 1, true), (Kind::Array(A::Layered2), "a2d", 2, true),
            (Kind::Linear, "1d", 1, false), (Kind::Pitched, "2d", 2, false),
        ][which];
        let extent = std::array::from_fn(|d| if d < dims { extent[d] } else { 1 });
        let slices = if layered { layers } else { 1 };
        let image = image(&mut random, channel, 1 << log_channels, extent, slices, 1);
        let ty = match channel { c if c.is_float() || state.fraction => "f32", Channel::S8 | Channel::S16 | Channel::S32 => "s32", _ => "u32" };
        let list = match (dims, layered) { (1, false) => "{%c0}", (2, false) => "{%c0, %c1}", (3, _) => "{%c0, %c1, %c2, %c2}",
            (1, true) => "{%c3, %c0}", _ => "{%c3, %c0, %c1, %c1}" };
        let body = format!("tex.{name}.v4.{ty}.f32 {RESULTS}, [%d0, {list}];");
        let words: Vec<[u32; 8]> = (0..100).map(|_| {
            let mut w = [0; 8];
            for d in 0..dims { w[d] = coordinate(&mut random, extent[d], state.normalized).to_bits(); }
            w[3] = random.below(slices as u64 + 1) as u32;
            w
        }).collect();
        let mut device = Device::with_texture(&image, &state, kind);
        let got = device.run(&body, &words).unwrap();
        let want: Vec<[u32; 4]> = words.iter().map(|w| {
            let at: Vec<f32> = w[..dims].iter().map(|&b| f32::from_bits(b)).collect();
            let slice = if layered { (w[3] as usize).min(slices - 1) } else { 0 };
            // A coordinate that is not a number counts as zero.
            let at: Vec<f32> = at.iter().map(|x| if x.is_nan() { 0.0 } else { *x }).collect();
            image.fetch(&state, 0, slice, &at)
        }).collect();
        // The wrapped position of infinite and huge coordinates is undefined.
        let tame: Vec<usize> = (0..words.len()).filter(|&t| words[t][..dims].iter().all(|&b| f32::from_bits(b).is_nan() || f32::from_bits(b).abs() <= 1e9)).collect();
        let pick = |all: &[[u32; 4]]| -> Vec<[u32; 4]> { tame.iter().map(|&t| all[t]).collect() };
        check(&pick(&got), &pick(&want), !state.linear, largest(&image, &state), &format!("{body} {state:?} {channel:?} {extent:?}"))?;
    }

    #[test]
    fn fetches_at_texels_and_gathers(
        state in states(), channel in prop::sample::select(&Channel::ALL[..]), log_channels in 0..3u32,
        extent in [1..9usize, 1..9usize], component in 0..4usize, seed in any::<u64>(),
    ) {
        let state = fit(state, channel);
        let mut random = Random::new(seed);
        let image = image(&mut random, channel, 1 << log_channels, [extent[0], extent[1], 1], 1, 1);
        let words: Vec<[u32; 8]> = (0..80).map(|_| {
            let mut w = [0; 8];
            for d in 0..2 {
                w[d] = (random.below(extent[d] as u64 + 4) as u32).wrapping_sub(2);
                w[2 + d] = coordinate(&mut random, extent[d], state.normalized).to_bits();
            }
            if random.below(10) == 0 { w[0] = [0x8000_0000, 0x7FFF_FFFF][random.below(2) as usize]; }
            w
        }).collect();
        let mut device = Device::with_texture(&image, &state, Kind::Array(em::ArrayKind::D2));
        let got = device.run(&format!("tex.2d.v4.u32.s32 {RESULTS}, [%d0, {{%c0, %c1}}];"), &words).unwrap();
        let want: Vec<[u32; 4]> = words.iter().map(|w| image.fetch_texel(&state, 0, 0, &[w[0] as i32, w[1] as i32])).collect();
        check(&got, &want, true, 0.0, "texels")?;
        let name = ["r", "g", "b", "a"][component];
        let got = device.run(&format!("tld4.{name}.2d.v4.u32.f32 {RESULTS}, [%d0, {{%c2, %c3}}];"), &words).unwrap();
        for (g, w) in got.iter().zip(&words) {
            let at = [w[2], w[3]].map(f32::from_bits).map(|x| if x.is_nan() { 0.0 } else { x });
            if at.iter().all(|x| x.abs() < 1e9) {
                prop_assert_eq!(g, &image.gather(&state, component, at), "{:?} {:?} {:?}", at, state, channel);
            }
        }
    }

    #[test]
    fn fetches_from_cubes(
        state in states(), channel in prop::sample::select(&Channel::ALL[..]), log_channels in 0..3u32,
        size in 1..9usize, layers in 1..3usize, layered in any::<bool>(), seed in any::<u64>(),
    ) {
        let state = fit(state, channel);
        let mut random = Random::new(seed);
        let layers = if layered { layers } else { 1 };
        let image = image(&mut random, channel, 1 << log_channels, [size, size, 1], 6 * layers, 1);
        let words: Vec<[u32; 8]> = (0..100).map(|_| {
            let mut w = [0; 8];
            for word in &mut w[..3] { *word = (random.bits() as i32 as f32).to_bits(); }
            w[3] = random.below(layers as u64) as u32;
            w
        }).collect();
        let kind = if layered { em::ArrayKind::LayeredCube } else { em::ArrayKind::Cube };
        let mut device = Device::with_texture(&image, &state, Kind::Array(kind));
        let fetch = if layered { "acube" } else { "cube" };
        let list = if layered { "{%c3, %c0, %c1, %c2}" } else { "{%c0, %c1, %c2, %c2}" };
        let got = device.run(&format!("tex.{fetch}.v4.f32.f32 {RESULTS}, [%d0, {list}];"), &words).unwrap();
        let want: Vec<[u32; 4]> = words.iter().map(|w| {
            image.fetch_cube(&state, w[3] as usize, [w[0], w[1], w[2]].map(f32::from_bits))
        }).collect();
        check(&got, &want, !state.linear, largest(&image, &state), &format!("{state:?} {channel:?} {size}"))?;
    }

    #[test]
    fn fetches_from_mipmaps(
        state in states(), channel in prop::sample::select(&Channel::ALL[..]), log_channels in 0..3u32,
        extent in [4..12usize, 4..12usize], levels in 1..4usize, seed in any::<u64>(),
    ) {
        let state = State { normalized: true, ..fit(state, channel) };
        let mut random = Random::new(seed);
        let image = image(&mut random, channel, 1 << log_channels, [extent[0], extent[1], 1], 1, levels);
        let words: Vec<[u32; 8]> = (0..100).map(|_| {
            let mut w = [0; 8];
            for word in &mut w[..2] { *word = ((random.bits() >> 40) as f32 / (1u64 << 24) as f32).to_bits(); }
            w[2] = (random.below(6 * 256) as f32 / 256.0 - 1.0).to_bits();
            // Gradients of a power of two texels along one dimension: their logarithm is whole.
            let power = random.below(4) as i32 - 1;
            w[3 + random.below(2) as usize] = (2f32.powi(power) / extent[0] as f32).to_bits();
            w[7] = power as u32;
            w
        }).collect();
        let mut device = Device::with_texture(&image, &state, Kind::Array(em::ArrayKind::D2));
        let at = |w: &[u32; 8]| [f32::from_bits(w[0]), f32::from_bits(w[1])];
        let got = device.run(&format!("tex.level.2d.v4.f32.f32 {RESULTS}, [%d0, {{%c0, %c1}}], %c2;"), &words).unwrap();
        let want: Vec<[u32; 4]> = words.iter().map(|w| image.fetch_lod(&state, f32::from_bits(w[2]), 0, &at(w))).collect();
        let exact = !state.linear && !state.mip_linear;
        check(&got, &want, exact, largest(&image, &state), &format!("{state:?} {channel:?} {extent:?}"))?;
        if extent[0].is_power_of_two() {
            // dPdx along x, dPdy along x as well: the longer one counts.
            let body = format!("tex.grad.2d.v4.f32.f32 {RESULTS}, [%d0, {{%c0, %c1}}], {{%c3, %c5}}, {{%c4, %c5}};");
            let got = device.run(&body, &words).unwrap();
            let want: Vec<[u32; 4]> = words.iter().map(|w| image.fetch_lod(&state, w[7] as i32 as f32, 0, &at(w))).collect();
            check(&got, &want, exact, largest(&image, &state), &format!("grad {state:?} {channel:?} {extent:?}"))?;
        }
    }
}

#[test]
fn lanes_may_name_different_objects_and_halves_come_packed() {
    let mut random = Random::new(5);
    let image = image(&mut random, Channel::F32, 4, [8, 1, 1], 1, 1);
    let other = Image {
        levels: vec![Level {
            extent: [8, 1, 1],
            bytes: image.levels[0].bytes.iter().rev().copied().map(|b| b & 0x3F).collect(),
        }],
        ..image.clone()
    };
    let state = State {
        edge: [Edge::Border; 3],
        linear: false,
        normalized: false,
        fraction: false,
        border: [0.5; 4],
        mip_linear: false,
        lod: [0.0; 3],
    };
    let mut device = Device::with_texture(&image, &state, Kind::Array(em::ArrayKind::D1));
    let (resource, _) = place(&mut device.memory, &other, Kind::Array(em::ArrayKind::D1));
    let second = device.memory.objects_mut().create_texture(resource, sampler(&state)).unwrap();
    let words: Vec<[u32; 8]> = (0..64u32)
        .map(|t| {
            [
                ((t % 10) as f32 - 1.0).to_bits(),
                0,
                0,
                0,
                if t % 3 == 0 { second as u32 } else { device.handle as u32 },
                0,
                0,
                0,
            ]
        })
        .collect();
    let body = "mov.b64 %d4, {%c4, %c5};\ntex.1d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%d4, {%c0}];";
    let got = device.run(body, &words).unwrap();
    let halves = device
        .run("mov.b64 %d4, {%c4, %c5};\ntex.1d.v2.f16x2.f32 {%r0, %r1}, [%d4, {%c0}];", &words)
        .unwrap();
    for (t, (got, halves)) in got.iter().zip(&halves).enumerate() {
        let source = if t % 3 == 0 { &other } else { &image };
        let want = source.fetch(&state, 0, 0, &[(t % 10) as f32 - 1.0]);
        assert_eq!(got, &want, "thread {t}");
        let half = |bits: u32| u32::from(half::f16::from_f32(f32::from_bits(bits)).to_bits());
        assert_eq!(
            halves[..2],
            [half(want[0]) | half(want[1]) << 16, half(want[2]) | half(want[3]) << 16],
            "thread {t}"
        );
    }
    // An invalid handle in one lane is a fault of that lane.
    let mut words = words;
    words[37][4] = 12345;
    let error = device.run(body, &words).unwrap_err();
    assert!(
        error.contains("0x3039 is no object, not a texture object") && error.contains("lane 5"),
        "{error}"
    );
}

#[test]
fn offsets_move_texels() {
    let mut random = Random::new(6);
    let image = image(&mut random, Channel::S32, 2, [9, 7, 1], 1, 1);
    let state = State {
        edge: [Edge::Wrap, Edge::Mirror, Edge::Wrap],
        linear: false,
        normalized: true,
        fraction: false,
        border: [0.0; 4],
        mip_linear: false,
        lod: [0.0; 3],
    };
    let mut device = Device::with_texture(&image, &state, Kind::Array(em::ArrayKind::D2));
    let words: Vec<[u32; 8]> = (0..64)
        .map(|_| {
            let texel = [random.below(9), random.below(7)];
            let offset = [random.below(16) as u32, random.below(16) as u32].map(|o| o.wrapping_sub(8));
            let at = |d: usize, n: f32| (texel[d] as f32 + 0.5) / n;
            [
                at(0, 9.0).to_bits(),
                at(1, 7.0).to_bits(),
                offset[0],
                offset[1],
                texel[0] as u32,
                texel[1] as u32,
                0,
                0,
            ]
        })
        .collect();
    let got =
        device.run("tex.2d.v4.s32.f32 {%r0, %r1, %r2, %r3}, [%d0, {%c0, %c1}], {%c2, %c3};", &words).unwrap();
    for (got, w) in got.iter().zip(&words) {
        let x = (i64::from(w[4]) + i64::from(w[2] as i32)).rem_euclid(9);
        let y = i64::from(w[5]) + i64::from(w[3] as i32);
        let y = if (y.div_euclid(7)) % 2 == 0 { y.rem_euclid(7) } else { 6 - y.rem_euclid(7) };
        assert_eq!(got, &image.fetch_texel(&state, 0, 0, &[x as i32, y as i32]), "{w:x?}");
    }
}

/// A coordinate that is a constant, or a sum with one, is no address: the constant must not become an offset.
#[test]
fn constant_coordinates_stay_coordinates() {
    use em::ArrayKind as A;
    let mut random = Random::new(8);
    let state = State {
        edge: [Edge::Wrap, Edge::Mirror, Edge::Wrap],
        linear: false,
        normalized: false,
        fraction: false,
        border: [0.0; 4],
        mip_linear: false,
        lod: [0.0; 3],
    };
    // Kind, slices, instruction with its coordinates to be filled in, how many, whether they are integers.
    let forms: [(A, usize, &str, usize, bool); 10] = [
        (A::D1, 1, "tex.1d.v4.f32.f32 R, [%d0, {A}];", 1, false),
        (A::D1, 1, "tex.1d.v4.f32.s32 R, [%d0, {A}];", 1, true),
        (A::D2, 1, "tex.2d.v4.f32.f32 R, [%d0, {A, B}];", 2, false),
        (A::D2, 1, "tex.2d.v4.f32.s32 R, [%d0, {A, B}];", 2, true),
        (A::D2, 1, "tex.level.2d.v4.f32.f32 R, [%d0, {A, B}], %c5;", 2, false),
        (A::D2, 1, "tld4.g.2d.v4.f32.f32 R, [%d0, {A, B}];", 2, false),
        (A::D3, 1, "tex.3d.v4.f32.s32 R, [%d0, {A, B, C, C}];", 3, true),
        (A::Layered1, 3, "tex.a1d.v4.f32.s32 R, [%d0, {A, B}];", 2, true),
        (A::Layered2, 3, "tex.a2d.v4.f32.s32 R, [%d0, {A, B, C, C}];", 3, true),
        (A::Cube, 6, "tex.cube.v4.f32.f32 R, [%d0, {A, B, C, C}];", 3, false),
    ];
    for (kind, slices, form, count, integers) in forms {
        let flat = matches!(kind, A::D1 | A::Layered1);
        let deep = if matches!(kind, A::D3) { 4 } else { 1 };
        let image = image(&mut random, Channel::F32, 4, [8, if flat { 1 } else { 8 }, deep], slices, 1);
        let mut device = Device::with_texture(&image, &state, Kind::Array(kind));
        let number = |n: u32| if integers { n } else { (n as f32).to_bits() };
        let words: Vec<[u32; 8]> =
            (0..64u32).map(|t| [2, 1, 3, t & 3, t >> 2 & 3, 0, 0, 0].map(number)).collect();
        let fill = |names: [&str; 3]| {
            let mut body = form.replace('R', RESULTS);
            for (place, name) in ["A", "B", "C"].iter().zip(names) {
                body = body.replace(place, name);
            }
            body
        };
        let want = device.run(&fill(["%c0", "%c1", "%c2"]), &words).unwrap();
        for at in 0..count {
            let mut names = ["%c0", "%c1", "%c2"];
            names[at] = "%t3";
            let constant = format!("mov.b32 %t3, {:#x};\n{}", number([2, 1, 3][at]), fill(names));
            assert_eq!(device.run(&constant, &words).unwrap(), want, "{constant}");
        }
        if integers {
            let sum = format!("add.s32 %t3, %c3, 1;\n{}", fill(["%t3", "%c1", "%c2"]));
            let known = device.run(&format!("add.s32 %c3, %c3, %c6; {}", fill(["%c3", "%c1", "%c2"])), &{
                let mut words = words.clone();
                words.iter_mut().for_each(|w| w[6] = 1);
                words
            });
            assert_eq!(device.run(&sum, &words).unwrap(), known.unwrap(), "{sum}");
        }
        if count == 2 {
            // Two coordinates that are the halves of a 64-bit sum.
            let pair = "mov.b64 %d3, {%c3, %c1};\nadd.s64 %d3, %d3, K;\nmov.b64 {%t2, %t3}, %d3;\n";
            let sum = format!("{}{}", pair.replace('K', "1"), fill(["%t2", "%t3", "%c2"]));
            let loaded = format!(
                "mov.b64 %d4, {{%c6, %c7}};\n{}{}",
                pair.replace('K', "%d4"),
                fill(["%t2", "%t3", "%c2"])
            );
            let mut words = words.clone();
            words.iter_mut().for_each(|w| (w[6], w[7]) = (1, 0));
            assert_eq!(device.run(&sum, &words).unwrap(), device.run(&loaded, &words).unwrap(), "{sum}");
        }
    }
}

/// Of every selection of words, a fetch writes those that are used: one, two, or all four.
#[test]
fn a_fetch_writes_the_words_that_are_used() {
    let image = image(&mut Random::new(6), Channel::U32, 4, [64, 1, 1], 1, 1);
    let state = State {
        edge: [Edge::Clamp; 3],
        linear: false,
        normalized: false,
        fraction: false,
        border: [0.0; 4],
        mip_linear: false,
        lod: [0.0; 3],
    };
    let mut device = Device::with_texture(&image, &state, Kind::Array(em::ArrayKind::D1));
    let words: Vec<[u32; 8]> = (0..64).map(|t| [t, 0, 0, 0, 0, 0, 0, 0]).collect();
    for used in 1..16u32 {
        let mut body = String::from("tex.1d.v4.u32.s32 {%r0, %r1, %r2, %r3}, [%d0, {%c0}];");
        for unused in (0..4).filter(|i| used >> i & 1 == 0) {
            body += &format!(" mov.b32 %r{unused}, 7;");
        }
        for (t, got) in device.run(&body, &words).unwrap().iter().enumerate() {
            let texel = image.fetch(&state, 0, 0, &[t as f32]);
            let want: [u32; 4] = std::array::from_fn(|i| if used >> i & 1 == 1 { texel[i] } else { 7 });
            assert_eq!(got, &want, "words {used:04b} of texel {t}");
        }
        let written = if used.count_ones() < 3 { used.count_ones() } else { 4 };
        assert_eq!(fetched_registers(&body), written, "words {used:04b}");
    }
}
