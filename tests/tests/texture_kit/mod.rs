//! Tools of the texture tests: images in device memory as textures and surfaces, and kernels of one access whose
//! arguments and results are words of each thread.

use emulator::exec::{self, Launch, Options, Unobserved};
use emulator::lower::{LowerOptions, ModuleLayout, lower_kernel};
use emulator::memory::{AllocationId, GlobalMemory};
use emulator::texture as em;
use test_kit::Random;
use tests::texture::{Channel, Edge, Image, Level, State};
use trace_format::semantics::{Banks, Geometry};

/// A kernel whose thread t reads eight words `%c0` to `%c7` and writes `%r0` to `%r3`; `%d0` is the handle.
pub(crate) fn kernel(body: &str) -> String {
    let mut text = String::from(
        ".version 8.1\n.target sm_75\n.address_size 64\n\
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

/// Registers that the first fetch of a kernel writes.
pub(crate) fn fetched_registers(body: &str) -> u32 {
    let module = emulator::ptx::parse(&kernel(body), "test.ptx").expect("a module");
    let layout = ModuleLayout::of(&module).expect("a layout");
    let (id, _) = module.kernels().next().expect("a kernel");
    let lowered = lower_kernel(&module, &layout, id, &LowerOptions::default()).expect("a kernel");
    let fetches = |inst: &&trace_format::isa::Inst| matches!(inst.op, trace_format::isa::Op::Tex { .. });
    let fetch = lowered.kernel.insts.iter().find(fetches).expect("a fetch");
    fetch.dst_regs().count() as u32
}

/// Device memory with one texture or surface object, and the state of launches.
pub(crate) struct Device {
    pub memory: GlobalMemory,
    pub handle: u64,
}

impl Device {
    pub(crate) fn with_texture(image: &Image, state: &State, kind: Kind) -> Device {
        let mut memory = GlobalMemory::new();
        let (resource, _) = place(&mut memory, image, kind);
        let handle = memory.objects_mut().create_texture(resource, sampler(state)).unwrap();
        Device { memory, handle }
    }

    pub(crate) fn with_surface(image: &Image, kind: Kind) -> (Device, AllocationId) {
        let mut memory = GlobalMemory::new();
        let (resource, id) = place(&mut memory, image, kind);
        let handle = memory.objects_mut().create_surface(resource).unwrap();
        (Device { memory, handle }, id)
    }

    /// Runs `body` on the words of each thread and returns what each wrote.
    pub(crate) fn run(&mut self, body: &str, words: &[[u32; 8]]) -> Result<Vec<[u32; 4]>, String> {
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
        let mut param = Banks::parameter_head(&geometry, lowered.kernel.local_bytes);
        for address in [output, input].map(|id| self.memory.allocation(id).base) {
            param.extend(address.to_le_bytes());
        }
        param.extend(self.handle.to_le_bytes());
        let banks = Banks { param, literal: lowered.kernel.literals.clone(), ..Banks::default() };
        let launch = Launch { kernel: &lowered.kernel, geometry, dynamic_shared_bytes: 0, banks, index: 0 };
        let options = Options { threads: 2, ..Options::default() };
        exec::launch(&mut self.memory, &launch, &options, &mut emulator::record::Unrecorded, &Unobserved)
            .map_err(|e| e.to_string())?;
        let bytes = self.memory.allocation(output).bytes.contents();
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        Ok((0..words.len()).map(|t| std::array::from_fn(|i| word(16 * t + 4 * i))).collect())
    }
}

/// The kind of memory that holds the texels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Linear,
    Pitched,
    Array(em::ArrayKind),
}

pub(crate) fn format_of(image: &Image) -> em::ChannelFormat {
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
pub(crate) fn place(memory: &mut GlobalMemory, image: &Image, kind: Kind) -> (em::Resource, AllocationId) {
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

pub(crate) fn sampler(state: &State) -> em::Sampler {
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

/// A coordinate around an extent: inside, at texel borders, a little and far outside.
pub(crate) fn coordinate(random: &mut Random, n: usize, normalized: bool) -> f32 {
    let n = n as f32;
    let texels = match random.below(8) {
        0 => random.below(2 * n as u64 + 2) as f32 / 2.0,
        1 => -(random.below(3 * n as u64 * 256) as f32) / 256.0,
        2 => n + random.below(5 * n as u64 * 256) as f32 / 256.0,
        3 => [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30, -1e30, -0.0, 1e-40, -1e-40]
            [random.below(8) as usize],
        _ => n * (random.bits() >> 40) as f32 / (1u64 << 24) as f32,
    };
    if normalized { texels / n } else { texels }
}

pub(crate) fn image(
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
                // Finite floats: sums of infinities hide errors.
                Channel::F32 => (0..texels * channels)
                    .flat_map(|_| ((random.bits() as i32) as f32 / 65536.0).to_le_bytes())
                    .collect(),
                Channel::F16 => (0..texels * channels)
                    .flat_map(|_| half::f16::from_f32(f32::from(random.bits() as i16) / 64.0).to_le_bytes())
                    .collect(),
                _ => (0..texels * channels * channel.bytes()).map(|_| random.bits() as u8).collect(),
            };
            Level { extent, bytes }
        })
        .collect();
    Image { channel, channels, levels, slices }
}
