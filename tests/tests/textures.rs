//! Texture fetches of all geometries, formats, filters and address modes against the formulae of the CUDA C++
//! Programming Guide, and surface accesses against plain arrays.

use emulator::exec::{self, Launch, Options, Unobserved};
use emulator::lower::{LowerOptions, ModuleLayout, lower_kernel};
use emulator::memory::{AllocationId, GlobalMemory};
use emulator::texture as em;
use proptest::prelude::*;
use tests::texture::{Channel, Edge, Image, Level, State};
use trace_format::isa::space::{PARAM_BASE, PARAM_NCTAID, PARAM_NTID, PARAM_STACK};
use trace_format::semantics::{Banks, Geometry};

/// A kernel whose thread t reads eight words `%c0` to `%c7` and writes `%r0` to `%r3`; `%d0` is the handle.
fn kernel(body: &str) -> String {
    let mut text = String::from(
        ".version 8.0\n.target sm_75\n.address_size 64\n\
         .visible .entry test(.param .u64 out, .param .u64 in, .param .u64 handle)\n{\n\
         .reg .b64 %d<8>; .reg .b32 %t<4>; .reg .b32 %r<4>; .reg .b32 %c<8>; .reg .b16 %h<4>;\n\
         ld.param.u64 %d0, [handle]; ld.param.u64 %d1, [in]; ld.param.u64 %d2, [out];\n\
         mov.u32 %t0, %tid.x; mov.u32 %t1, %ctaid.x; mov.u32 %t2, %ntid.x;\n\
         mad.lo.u32 %t0, %t1, %t2, %t0; mad.wide.u32 %d1, %t0, 32, %d1; mad.wide.u32 %d2, %t0, 16, %d2;\n\
         ld.global.v4.b32 {%c0, %c1, %c2, %c3}, [%d1];\nld.global.v4.b32 {%c4, %c5, %c6, %c7}, [%d1+16];\n\
         mov.b32 %r0, 0; mov.b32 %r1, 0; mov.b32 %r2, 0; mov.b32 %r3, 0;\n",
    );
    text += body;
    text += "\nst.global.v4.b32 [%d2], {%r0, %r1, %r2, %r3};\nret;\n}\n";
    text
}

/// Device memory with one object, and what is needed to launch on it.
struct Device {
    memory: GlobalMemory,
    handle: u64,
}

impl Device {
    fn with_texture(image: &Image, state: &State, kind: Kind) -> Device {
        let mut memory = GlobalMemory::new();
        let (resource, _) = place(&mut memory, image, kind);
        let handle = memory.objects_mut().create_texture(resource, sampler(state)).unwrap();
        Device { memory, handle }
    }

    fn with_surface(image: &Image, kind: Kind) -> (Device, AllocationId) {
        let mut memory = GlobalMemory::new();
        let (resource, id) = place(&mut memory, image, kind);
        let handle = memory.objects_mut().create_surface(resource).unwrap();
        (Device { memory, handle }, id)
    }

    /// Runs `body` on the words of each thread and returns what each wrote.
    fn run(&mut self, body: &str, words: &[[u32; 8]]) -> Result<Vec<[u32; 4]>, String> {
        let text = kernel(body);
        let module = emulator::ptx::parse(&text, "test.ptx").unwrap_or_else(|e| panic!("{e}\n{text}"));
        let layout = ModuleLayout::of(&module).unwrap();
        let (id, _) = module.kernels().next().expect("a kernel");
        let options = LowerOptions { check: true, ..LowerOptions::default() };
        let lowered = lower_kernel(&module, &layout, id, &options).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let threads = words.len().next_multiple_of(64);
        let mut input: Vec<u8> = words.iter().flatten().flat_map(|w| w.to_le_bytes()).collect();
        input.resize(threads * 32, 0);
        // Spare threads repeat the last one, so that they fault where it does.
        for t in words.len()..threads {
            input.copy_within((words.len() - 1) * 32..words.len() * 32, t * 32);
        }
        let input = self.memory.allocate("in", input);
        let output = self.memory.allocate("out", vec![0xEE; threads * 16]);
        let geometry = Geometry { grid: [threads as u32 / 64, 1, 1], block: [64, 1, 1] };
        let mut param = vec![0u8; usize::from(PARAM_BASE)];
        for d in 0..3 {
            let mut put = |at: u16, v: u32| {
                let at = usize::from(at) + 4 * d;
                param[at..at + 4].copy_from_slice(&v.to_le_bytes());
            };
            put(PARAM_NTID, geometry.block[d]);
            put(PARAM_NCTAID, geometry.grid[d]);
        }
        let stack = usize::from(PARAM_STACK);
        param[stack..stack + 4].copy_from_slice(&lowered.kernel.local_bytes.to_le_bytes());
        for address in [output, input].map(|id| self.memory.allocation(id).base) {
            param.extend(address.to_le_bytes());
        }
        param.extend(self.handle.to_le_bytes());
        let banks = Banks { param, literal: lowered.kernel.literals.clone(), user: Vec::new() };
        let launch = Launch { kernel: &lowered.kernel, geometry, dynamic_shared_bytes: 0, banks, index: 0 };
        let options = Options { threads: 2, ..Options::default() };
        exec::launch(&mut self.memory, &launch, &options, &mut emulator::record::Unrecorded, &Unobserved)
            .map_err(|e| e.to_string())?;
        let bytes = &self.memory.allocation(output).bytes;
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        Ok((0..words.len()).map(|t| std::array::from_fn(|i| word(16 * t + 4 * i))).collect())
    }
}

/// What holds the texels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Linear,
    Pitched,
    Array(em::ArrayKind),
}

fn format_of(image: &Image) -> em::ChannelFormat {
    let (kind, bits) = match image.channel {
        Channel::U8 => (em::ChannelKind::Unsigned, 8),
        Channel::S8 => (em::ChannelKind::Signed, 8),
        Channel::U16 => (em::ChannelKind::Unsigned, 16),
        Channel::S16 => (em::ChannelKind::Signed, 16),
        Channel::U32 => (em::ChannelKind::Unsigned, 32),
        Channel::S32 => (em::ChannelKind::Signed, 32),
        Channel::F16 => (em::ChannelKind::Float, 16),
        Channel::F32 => (em::ChannelKind::Float, 32),
    };
    em::ChannelFormat::new(kind, bits, image.channels as u8).unwrap()
}

/// Puts an image into device memory, pitched memory with 64 spare bytes per row.
fn place(memory: &mut GlobalMemory, image: &Image, kind: Kind) -> (em::Resource, AllocationId) {
    let format = format_of(image);
    let [w, h, d] = image.levels[0].extent;
    match kind {
        Kind::Linear => {
            let id = memory.allocate("texels", image.levels[0].bytes.clone());
            let bytes = image.levels[0].bytes.len() as u64;
            (em::Resource::linear(memory.allocation(id).base, bytes, format).unwrap(), id)
        }
        Kind::Pitched => {
            let row = w * image.channels * image.channel.bytes();
            let rows = image.levels[0].bytes.chunks(row);
            let bytes: Vec<u8> = rows.flat_map(|r| r.iter().copied().chain([0xAB; 64])).collect();
            let id = memory.allocate("texels", bytes);
            let base = memory.allocation(id).base;
            (em::Resource::pitched(base, w as u32, h as u32, row as u64 + 64, format).unwrap(), id)
        }
        Kind::Array(kind) => {
            let faces = if matches!(kind, em::ArrayKind::Cube | em::ArrayKind::LayeredCube) { 6 } else { 1 };
            let shape = em::ArrayShape {
                kind,
                width: w as u32,
                height: h as u32,
                depth: d as u32,
                layers: (image.slices / faces) as u32,
                levels: image.levels.len() as u32,
            };
            let bytes: Vec<u8> = image.levels.iter().flat_map(|l| l.bytes.iter().copied()).collect();
            assert_eq!(shape.bytes(format).unwrap(), bytes.len() as u64);
            let id = memory.allocate("texels", bytes);
            (em::Resource::array(memory.allocation(id).base, &shape, format).unwrap(), id)
        }
    }
}

fn sampler(state: &State) -> em::Sampler {
    let filter = |linear| if linear { em::Filter::Linear } else { em::Filter::Point };
    em::Sampler {
        address: state.edge.map(|edge| match edge {
            Edge::Wrap => em::AddressMode::Wrap,
            Edge::Clamp => em::AddressMode::Clamp,
            Edge::Mirror => em::AddressMode::Mirror,
            Edge::Border => em::AddressMode::Border,
        }),
        filter: filter(state.linear),
        normalized_coords: state.normalized,
        read_mode: if state.fraction { em::ReadMode::NormalizedFloat } else { em::ReadMode::Element },
        srgb: false,
        border: state.border,
        mip_filter: filter(state.mip_linear),
        mip_bias: state.lod[0],
        mip_min: state.lod[1],
        mip_max: state.lod[2],
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// A coordinate around an extent: inside, at texel borders, a little and far outside.
    fn coordinate(&mut self, n: usize, normalized: bool) -> f32 {
        let n = n as f32;
        let texels = match self.below(8) {
            0 => self.below(2 * n as u64 + 2) as f32 / 2.0,
            1 => -(self.below(3 * n as u64 * 256) as f32) / 256.0,
            2 => n + self.below(5 * n as u64 * 256) as f32 / 256.0,
            3 => [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30, -1e30, -0.0, 1e-40, -1e-40]
                [self.below(8) as usize],
            _ => n * (self.next() >> 40) as f32 / (1u64 << 24) as f32,
        };
        if normalized { texels / n } else { texels }
    }
}

fn image(
    random: &mut Random,
    channel: Channel,
    channels: usize,
    extent: [usize; 3],
    slices: usize,
    levels: usize,
) -> Image {
    let levels = (0..levels)
        .map(|level| {
            let extent = extent.map(|e| (e >> level).max(1));
            let texels = extent.iter().product::<usize>() * slices;
            let bytes = match channel {
                // Floats that are numbers: sums of infinities say little.
                Channel::F32 => (0..texels * channels)
                    .flat_map(|_| ((random.next() as i32) as f32 / 65536.0).to_le_bytes())
                    .collect(),
                Channel::F16 => (0..texels * channels)
                    .flat_map(|_| half::f16::from_f32((random.next() as i16) as f32 / 64.0).to_le_bytes())
                    .collect(),
                _ => (0..texels * channels * channel.bytes()).map(|_| random.next() as u8).collect(),
            };
            Level { extent, bytes }
        })
        .collect();
    Image { channel, channels, levels, slices }
}

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
        let mut random = Random(seed);
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
            for d in 0..dims { w[d] = random.coordinate(extent[d], state.normalized).to_bits(); }
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
        // Infinite and huge coordinates wrap to nowhere in particular.
        let tame: Vec<usize> = (0..words.len()).filter(|&t| words[t][..dims].iter().all(|&b| !(f32::from_bits(b).abs() > 1e9))).collect();
        let pick = |all: &[[u32; 4]]| -> Vec<[u32; 4]> { tame.iter().map(|&t| all[t]).collect() };
        check(&pick(&got), &pick(&want), !state.linear, largest(&image, &state), &format!("{body} {state:?} {channel:?} {extent:?}"))?;
    }

    #[test]
    fn fetches_at_texels_and_gathers(
        state in states(), channel in prop::sample::select(&Channel::ALL[..]), log_channels in 0..3u32,
        extent in [1..9usize, 1..9usize], component in 0..4usize, seed in any::<u64>(),
    ) {
        let state = fit(state, channel);
        let mut random = Random(seed);
        let image = image(&mut random, channel, 1 << log_channels, [extent[0], extent[1], 1], 1, 1);
        let words: Vec<[u32; 8]> = (0..80).map(|_| {
            let mut w = [0; 8];
            for d in 0..2 {
                w[d] = (random.below(extent[d] as u64 + 4) as u32).wrapping_sub(2);
                w[2 + d] = random.coordinate(extent[d], state.normalized).to_bits();
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
        let mut random = Random(seed);
        let layers = if layered { layers } else { 1 };
        let image = image(&mut random, channel, 1 << log_channels, [size, size, 1], 6 * layers, 1);
        let words: Vec<[u32; 8]> = (0..100).map(|_| {
            let mut w = [0; 8];
            for word in &mut w[..3] { *word = (random.next() as i32 as f32).to_bits(); }
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
        let mut random = Random(seed);
        let image = image(&mut random, channel, 1 << log_channels, [extent[0], extent[1], 1], 1, levels);
        let words: Vec<[u32; 8]> = (0..100).map(|_| {
            let mut w = [0; 8];
            for d in 0..2 { w[d] = ((random.next() >> 40) as f32 / (1u64 << 24) as f32).to_bits(); }
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

/// A surface access under test: geometry, its number of coordinates, the kind of array.
const SURFACES: [(&str, usize, em::ArrayKind); 5] = [
    ("1d", 1, em::ArrayKind::D1),
    ("2d", 2, em::ArrayKind::D2),
    ("3d", 3, em::ArrayKind::D3),
    ("a1d", 2, em::ArrayKind::Layered1),
    ("a2d", 3, em::ArrayKind::Layered2),
];

/// Where a surface access goes, as a byte position in the texels: coordinates in the order of the instruction,
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
        let mut random = Random(seed);
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
            for value in &mut w[4..] { *value = random.next() as u32; }
            let at: Vec<i64> = w[..count].iter().map(|&v| i64::from(v as i32)).collect();
            let to = position(&at, &most, &steps, clamp);
            (!store || to.is_none_or(|to| (to..to + bytes).all(|b| taken.insert(b)))).then_some(w)
        }).collect();
        prop_assume!(!words.is_empty());
        // Clamped accesses may be askew; those fault, which is not under test here.
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
        prop_assert_eq!(&device.memory.allocation(id).bytes[..], &want[..], "{}", body);
    }

    #[test]
    fn surfaces_reduce(op in 0..5usize, ty in 0..4usize, formatted in any::<bool>(), seed in any::<u64>()) {
        let op = ["add", "min", "max", "and", "or"][op];
        let ty = ["u32", "s32", "b32", "u64"][ty];
        prop_assume!(!(matches!(op, "and" | "or") && ty == "s32"));
        let formatted = formatted && ty != "u64";
        let mut random = Random(seed);
        let image = image(&mut random, Channel::U32, 2, [6, 1, 1], 1, 1);
        let (mut device, id) = Device::with_surface(&image, Kind::Array(em::ArrayKind::D1));
        let wide = ty == "u64";
        let words: Vec<[u32; 8]> = (0..64).map(|_| {
            let mut w = [0; 8];
            let step = if formatted { 1 } else { 8 };
            w[0] = (random.below(6) * step) as u32;
            (w[4], w[5]) = (random.next() as u32, random.next() as u32);
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
        let got: Vec<u64> = device.memory.allocation(id).bytes.chunks_exact(8)
            .map(|b| u64::from_le_bytes(b.try_into().unwrap())).collect();
        prop_assert_eq!(got, want, "{}", body);
    }
}

/// What `sust.p` leaves of four values in a texel.
fn stored(channel: Channel, channels: usize, ty: &str, values: [u32; 4]) -> Vec<u8> {
    let mut out = Vec::new();
    for &v in &values[..channels] {
        let real = f64::from(f32::from_bits(v));
        let clamp = |least: i64, most: i64, fraction: bool| match ty {
            "f32" if real.is_nan() => 0,
            "f32" if fraction => {
                let scaled = real.max(if least < 0 { -1.0 } else { 0.0 }).min(1.0) * most as f64;
                scaled.round_ties_even() as i64
            }
            "f32" => (real.trunc().max(least as f64).min(most as f64)) as i64,
            "s32" => i64::from(v as i32).max(least).min(most),
            _ => i64::from(v).max(least).min(most),
        };
        match channel {
            Channel::U8 => out.push(clamp(0, 255, true) as u8),
            Channel::S8 => out.push(clamp(-128, 127, true) as i8 as u8),
            Channel::U16 => out.extend((clamp(0, 65535, true) as u16).to_le_bytes()),
            Channel::S16 => out.extend((clamp(-32768, 32767, true) as i16).to_le_bytes()),
            Channel::U32 => out.extend((clamp(0, i64::from(u32::MAX), false) as u32).to_le_bytes()),
            Channel::S32 => out.extend((clamp(-(1 << 31), (1 << 31) - 1, false) as i32).to_le_bytes()),
            Channel::F16 if ty == "f32" => out.extend(half::f16::from_f32(f32::from_bits(v)).to_le_bytes()),
            Channel::F16 => out.extend((v as u16).to_le_bytes()),
            Channel::F32 => out.extend(v.to_le_bytes()),
        }
    }
    out
}

#[test]
fn formatted_stores_convert() {
    let mut random = Random(11);
    for channel in Channel::ALL {
        for channels in [1, 2, 4] {
            for ty in ["u32", "s32", "f32"] {
                let empty = Level { extent: [40, 1, 1], bytes: vec![0; 40 * channels * channel.bytes()] };
                let image = Image { channel, channels, levels: vec![empty], slices: 1 };
                let (mut device, id) = Device::with_surface(&image, Kind::Array(em::ArrayKind::D1));
                let words: Vec<[u32; 8]> = (0..40)
                    .map(|x| {
                        let mut w = [0; 8];
                        w[0] = x;
                        for value in &mut w[4..] {
                            *value = match (ty, random.below(4)) {
                                ("f32", 0) => ((random.next() as i16) as f32).to_bits(),
                                ("f32", 1) => [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0]
                                    [random.below(4) as usize]
                                    .to_bits(),
                                ("f32", _) => ((random.next() as i32) as f32 / 2e9).to_bits(),
                                (_, 0) => random.next() as u32,
                                _ => (random.below(1024) as u32).wrapping_sub(512),
                            };
                        }
                        w
                    })
                    .collect();
                let body = format!("sust.p.1d.v4.{ty}.trap [%d0, {{%c0}}], {{%c4, %c5, %c6, %c7}};");
                device.run(&body, &words).unwrap_or_else(|e| panic!("{e}\n{body}"));
                let bytes = &device.memory.allocation(id).bytes;
                for (w, got) in words.iter().zip(bytes.chunks_exact(channels * channel.bytes())) {
                    let want = stored(channel, channels, ty, [w[4], w[5], w[6], w[7]]);
                    // Any NaN of a half is as good as another.
                    let nan = channel == Channel::F16
                        && ty == "f32"
                        && w[4..4 + channels].iter().any(|&v| f32::from_bits(v).is_nan());
                    assert!(got == want || nan, "{body} {channel:?} x{channels}: {w:x?} {got:x?} {want:x?}");
                }
            }
        }
    }
}

#[test]
fn lanes_may_name_different_objects_and_halves_come_packed() {
    let mut random = Random(5);
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
    // A handle of nothing in one lane is that lane's fault.
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
    let mut random = Random(6);
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
