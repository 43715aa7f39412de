//! CUDA programs with textures and surfaces, compiled by nvcc for two generations, launched by manifests: their
//! results against the reference, a recording that verifies, and its replay through the timing model.

use emulator::exec::{Options, Unobserved};
use emulator::session::{Session, Setup};
use std::path::{Path, PathBuf};
use tests::texture::{Channel, Edge, Image, Level, State};
use trace_format::reader::Trace;
use trace_format::validate;

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/textures")
}

const PTX: [&str; 2] = ["fetches_sm75.ptx", "fetches_sm100.ptx"];

fn open(text: &str) -> Result<Session, String> {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let path = dir.path().join("test.toml");
    std::fs::write(&path, text).expect("a manifest");
    Session::open_manifest(&path, &Setup::default()).map_err(|e| e.to_string())
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

const PLAIN: State = State {
    edge: [Edge::Wrap; 3],
    linear: false,
    normalized: false,
    fraction: false,
    border: [0.0; 4],
    mip_linear: false,
    lod: [0.0, 0.0, f32::MAX],
};

/// A kernel, its texture, and its expected result for a thread's coordinates.
struct Case {
    kernel: &'static str,
    /// Lines of the texture's table besides name, buffer and format.
    table: &'static str,
    channel: Channel,
    channels: usize,
    extent: [usize; 3],
    slices: usize,
    levels: usize,
    state: State,
    /// Range of the four coordinates.
    range: (f32, f32),
    want: fn(&Image, &State, [f32; 4]) -> [u32; 4],
}

fn cases() -> Vec<Case> {
    let smooth = State { linear: true, normalized: true, ..PLAIN };
    vec![
        Case {
            kernel: "fetch1d",
            table: "kind = '1d'\nsize = 50\naddress = 'border'\nborder = [7.5]\nfilter = 'linear'",
            channel: Channel::F32,
            channels: 1,
            extent: [50, 1, 1],
            slices: 1,
            levels: 1,
            state: State { edge: [Edge::Border; 3], linear: true, border: [7.5, 0.0, 0.0, 0.0], ..PLAIN },
            range: (-5.0, 55.0),
            want: |image, state, at| {
                let real = image.fetch(state, 0, 0, &at[..1])[0];
                [real, image.fetch_texel(state, 0, 0, &[at[1] as i32])[0], 0, 0]
            },
        },
        Case {
            kernel: "fetch_linear",
            table: "kind = 'linear'\nsize = 77",
            channel: Channel::U8,
            channels: 4,
            extent: [77, 1, 1],
            slices: 1,
            levels: 1,
            state: PLAIN,
            range: (-5.0, 80.0),
            want: |image, state, at| image.fetch_texel(state, 0, 0, &[at[1] as i32]),
        },
        Case {
            kernel: "fetch2d",
            table: "kind = 'pitch2d'\nsize = [9, 5]\naddress = ['mirror', 'wrap']\nfilter = 'linear'\nnormalized = true\nread = 'normalized_float'",
            channel: Channel::U8,
            channels: 4,
            extent: [9, 5, 1],
            slices: 1,
            levels: 1,
            state: State { edge: [Edge::Mirror, Edge::Wrap, Edge::Wrap], fraction: true, ..smooth },
            range: (-2.0, 3.0),
            want: |image, state, at| image.fetch(state, 0, 0, &at[..2]),
        },
        Case {
            kernel: "fetch2d_short",
            table: "kind = '2d'\nsize = [16, 8]\naddress = 'clamp'",
            channel: Channel::S16,
            channels: 2,
            extent: [16, 8, 1],
            slices: 1,
            levels: 1,
            state: State { edge: [Edge::Clamp; 3], ..PLAIN },
            range: (-4.0, 20.0),
            want: |image, state, at| {
                let [x, y, ..] = image.fetch(state, 0, 0, &at[..2]);
                [x, y, 0, 0]
            },
        },
        Case {
            kernel: "fetch3d",
            table: "kind = '3d'\nsize = [6, 5, 4]\naddress = 'border'\nfilter = 'linear'\nnormalized = true",
            channel: Channel::F16,
            channels: 1,
            extent: [6, 5, 4],
            slices: 1,
            levels: 1,
            state: State { edge: [Edge::Border; 3], ..smooth },
            range: (-0.2, 1.2),
            want: |image, state, at| [image.fetch(state, 0, 0, &at[..3])[0], 0, 0, 0],
        },
        Case {
            kernel: "fetch_layered",
            table: "kind = 'layered2d'\nsize = [8, 4]\nlayers = 3\nfilter = 'linear'\nnormalized = true",
            channel: Channel::F32,
            channels: 4,
            extent: [8, 4, 1],
            slices: 3,
            levels: 1,
            state: smooth,
            range: (0.0, 3.9),
            want: |image, state, at| image.fetch(state, 0, (at[3] as usize).min(2), &at[..2]),
        },
        Case {
            kernel: "fetch_cube",
            table: "kind = 'cube'\nsize = [8, 8]\naddress = 'clamp'\nfilter = 'linear'\nnormalized = true",
            channel: Channel::F32,
            channels: 4,
            extent: [8, 8, 1],
            slices: 6,
            levels: 1,
            state: State { edge: [Edge::Clamp; 3], ..smooth },
            range: (-1.0, 1.0),
            want: |image, state, at| image.fetch_cube(state, 0, [at[0], at[1], at[2]]),
        },
        Case {
            kernel: "fetch_lod",
            table: "kind = '2d'\nsize = [16, 16]\nlevels = 4\nfilter = 'linear'\nmip_filter = 'linear'\nnormalized = true\nmip_bias = 0.25\nmip_min = 0.5\nmip_max = 2.5",
            channel: Channel::F32,
            channels: 4,
            extent: [16, 16, 1],
            slices: 1,
            levels: 4,
            state: State { mip_linear: true, lod: [0.25, 0.5, 2.5], ..smooth },
            range: (0.0, 3.0),
            want: |image, state, at| image.fetch_lod(state, at[2], 0, &at[..2]),
        },
        Case {
            kernel: "gather2d",
            table: "kind = '2d'\nsize = [8, 8]\naddress = 'wrap'\nnormalized = true",
            channel: Channel::F32,
            channels: 2,
            extent: [8, 8, 1],
            slices: 1,
            levels: 1,
            state: State { normalized: true, ..PLAIN },
            range: (-1.0, 2.0),
            want: |image, state, at| image.gather(state, 1, [at[0], at[1]]),
        },
    ]
}

impl Case {
    fn format(&self) -> String {
        let channel = format!("{:?}", self.channel).to_lowercase();
        if self.channels == 1 { channel } else { format!("{channel}x{}", self.channels) }
    }

    fn image(&self, mut bytes: &[u8]) -> Image {
        let levels = (0..self.levels).map(|level| {
            let extent = self.extent.map(|e| (e >> level).max(1));
            let n = extent.iter().product::<usize>() * self.slices * self.channels * self.channel.bytes();
            let (head, tail) = bytes.split_at(n);
            bytes = tail;
            Level { extent, bytes: head.to_vec() }
        });
        Image {
            channel: self.channel,
            channels: self.channels,
            levels: levels.collect(),
            slices: self.slices,
        }
    }

    fn manifest(&self, ptx: &str) -> String {
        let texels: usize = (0..self.levels)
            .map(|level| self.extent.iter().map(|e| (e >> level).max(1)).product::<usize>())
            .sum();
        let elements = texels * self.slices * self.channels;
        let (least, most) = match self.channel {
            c if c.is_float() => ("-1.0", "1.0"),
            Channel::S16 => ("-32768", "32767"),
            _ => ("0", "255"),
        };
        // binary16 texels are given as the bits of numbers between 1 and 2.
        let (element, least, most) = match self.channel {
            Channel::F16 => ("u16".into(), "15360", "16383"),
            channel => (format!("{channel:?}").to_lowercase(), least, most),
        };
        let (low, high) = self.range;
        format!(
            "ptx = '{}'\n\
             [buffers.texels]\ntype = '{element}'\nlen = {elements}\n\
             init = {{ random = {{ seed = 3, min = {least}, max = {most} }} }}\n\
             [buffers.at]\ntype = 'f32'\nlen = 1024\n\
             init = {{ random = {{ seed = 4, min = {low:?}, max = {high:?} }} }}\n\
             [buffers.out]\ntype = 'u32'\nlen = 1024\n\
             [[texture]]\nname = 'tex'\nbuffer = 'texels'\nformat = '{}'\n{}\n\
             [[launch]]\nkernel = '{}'\ngrid = 4\nblock = 64\nargs = ['@out', '@at', {{ texture = 'tex' }}]\n",
            data().join(ptx).display(),
            self.format(),
            self.table,
            self.kernel
        )
    }
}

#[test]
fn programs_fetch_what_the_guide_says() {
    for case in cases() {
        for ptx in PTX {
            let mut session = open(&case.manifest(ptx)).unwrap_or_else(|e| panic!("{}: {e}", case.kernel));
            let image = case.image(session.buffer("texels").expect("texels"));
            let at = floats(session.buffer("at").expect("coordinates"));
            session.run(&Options::default(), &Unobserved).unwrap_or_else(|e| panic!("{}: {e}", case.kernel));
            let got = session.buffer("out").expect("results").chunks_exact(4);
            let got: Vec<u32> = got.map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
            let mut different = 0;
            for (t, (at, got)) in at.chunks_exact(4).zip(got.chunks_exact(4)).enumerate() {
                let want = (case.want)(&image, &case.state, [at[0], at[1], at[2], at[3]]);
                for (g, w) in got.iter().zip(want) {
                    let near = (f32::from_bits(*g) - f32::from_bits(w)).abs() <= 8.0 * f32::EPSILON;
                    assert!(
                        *g == w || (case.state.linear && near),
                        "{} of {ptx}, thread {t} at {at:?}: {got:x?} instead of {want:x?}",
                        case.kernel
                    );
                    different += usize::from(*g != 0);
                }
            }
            assert!(different > 50, "{} reads nothing", case.kernel);
        }
    }
}

#[test]
fn gradients_choose_the_level() {
    // Gradients of 2^k / 16 along one dimension step over 2^k texels of 16: level k.
    for ptx in PTX {
        let text = format!(
            "ptx = '{}'\n\
             [buffers.texels]\ntype = 'f32'\nlen = 1364\ninit = {{ random = {{ seed = 3, min = -1.0, max = 1.0 }} }}\n\
             [buffers.at]\ntype = 'f32'\nlen = 1024\ninit = {{ fill = 0.125 }}\n\
             [buffers.out]\ntype = 'f32'\nlen = 1024\n\
             [[texture]]\nname = 'tex'\nbuffer = 'texels'\nformat = 'f32x4'\nkind = '2d'\nsize = [16, 16]\nlevels = 5\nnormalized = true\n\
             [[launch]]\nkernel = 'fetch_grad'\ngrid = 4\nblock = 64\nargs = ['@out', '@at', {{ texture = 'tex' }}]\n",
            data().join(ptx).display()
        );
        let mut session = open(&text).expect("a session");
        let texels = floats(session.buffer("texels").expect("texels"));
        session.run(&Options::default(), &Unobserved).expect("a run");
        // Level 1 begins behind 256 texels; (0.125, 0.125) is its texel (1, 1) of 8 by 8.
        let want = &texels[4 * (256 + 9)..][..4];
        assert_eq!(&floats(session.buffer("out").expect("results"))[..4], want);
    }
}

#[test]
fn surfaces_hold_what_kernels_write() {
    for ptx in PTX {
        let text = format!(
            "ptx = '{}'\n\
             [buffers.a]\ntype = 'u32'\nlen = 247\ninit = 'iota'\n\
             [buffers.b]\ntype = 'u32'\nlen = 250\ninit = {{ fill = 99 }}\n\
             [buffers.bytes]\ntype = 'u8'\nlen = 210\n\
             [buffers.colours]\ntype = 'u8'\nlen = 120\n\
             [[surface]]\nname = 'in'\nbuffer = 'a'\nkind = '2d'\nsize = [19, 13]\nformat = 'u32'\n\
             [[surface]]\nname = 'out'\nbuffer = '@b+3'\nkind = '2d'\nsize = [19, 13]\nformat = 'u32'\n\
             [[surface]]\nname = 'bytes'\nbuffer = 'bytes'\nkind = '3d'\nsize = [6, 5, 7]\nformat = 'u8'\n\
             [[surface]]\nname = 'colours'\nbuffer = 'colours'\nkind = '2d'\nsize = [6, 5]\nformat = 'u8x4'\n\
             [[launch]]\nkernel = 'surface2d'\ngrid = [1, 13]\nblock = 32\n\
             args = [{{ surface = 'in' }}, {{ surface = 'out' }}, 19, 13]\n\
             [[launch]]\nkernel = 'surface3d'\ngrid = [1, 5, 7]\nblock = 32\n\
             args = [{{ surface = 'bytes' }}, {{ surface = 'colours' }}, 6, 5]\n",
            data().join(ptx).display()
        );
        let mut session = open(&text).expect("a session");
        session.run(&Options::default(), &Unobserved).expect("a run");
        let b: Vec<u32> = session
            .buffer("b")
            .expect("b")
            .chunks_exact(4)
            .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .collect();
        assert_eq!(b[..3], [99; 3]);
        for y in 0..13u32 {
            for x in 0..19u32 {
                let a = y * 19 + x;
                let right = if x < 18 { a + 1 } else { 0 };
                assert_eq!(b[3 + a as usize], a + right, "({x},{y})");
            }
        }
        for (i, byte) in session.buffer("bytes").expect("bytes").iter().enumerate() {
            let (x, y, z) = (i % 6, i / 6 % 5, i / 30);
            assert_eq!(*byte, (x + 10 * y + 100 * z) as u8);
        }
        for (i, colour) in session.buffer("colours").expect("colours").chunks_exact(4).enumerate() {
            let (x, y) = ((i % 6) as u8, (i / 6) as u8);
            assert_eq!(colour, [x, y, x ^ y, 255]);
        }
    }
}

#[test]
fn a_blur_records_verifies_and_replays() {
    let manifest = data().join("blur.toml");
    let open = || Session::open_manifest(&manifest, &Setup::default()).expect("a session");
    let mut session = open();
    let image = floats(session.buffer("image").expect("the image"));
    session.run(&Options::default(), &Unobserved).expect("a run");
    let got = floats(session.buffer("blurred").expect("the result"));
    let want = blurred(&blurred(&image, 1, Edge::Wrap), 64, Edge::Mirror);
    for (i, (g, w)) in got.iter().zip(&want).enumerate() {
        assert!((f64::from(*g) - w).abs() < 1e-5, "element {i}: {g} instead of {w}");
    }
    let dir = tempfile::tempdir().expect("a temporary folder");
    let record = |threads: usize| {
        let path = dir.path().join(format!("{threads}.wtrace"));
        let options = Options { threads, ..Options::default() };
        open().record(&path, &options, &Unobserved).expect("a recording");
        path
    };
    let (one, three) = (record(1), record(3));
    assert!(std::fs::read(&one).expect("a trace") == std::fs::read(&three).expect("a trace"));
    let report = validate::validate(&one, 2, &validate::Progress::default()).expect("a trace");
    assert!(report.is_sound() && report.warps > 0, "{:?}", report.problems);
    let config = timing::config::load("titanx-pascal", &[]).expect("a configuration").config;
    let trace = Trace::open(&one).expect("a trace");
    let options = timing::replay::ReplayOptions { checked: true, ..Default::default() };
    let replay = timing::replay::replay(&trace, &config, &[], &options).expect("a replay");
    // 128 warps per launch fetch five times and store once; a lane's texel has 16 bytes, and a warp covers two
    // rows of 16 pixels, so that no access fits fewer than four lines.
    let counters = &replay.total.counters;
    assert_eq!((counters.global_loads, counters.global_stores), (2 * 128 * 5, 2 * 128));
    assert!(counters.coalesced_accesses >= 4 * 2 * 128 * 6, "{}", counters.coalesced_accesses);
}

/// One pass of the blur over 64 by 64 pixels of four channels, along texels `step` apart, at any place between
/// texels as linear interpolation puts it.
fn blurred<T: Copy + Into<f64>>(image: &[T], step: usize, edge: Edge) -> Vec<f64> {
    let along = |pixel: usize, i: i64, c: usize| -> f64 {
        let (line, at) = if step == 1 { (pixel / 64 * 64, pixel % 64) } else { (pixel % 64, pixel / 64) };
        let mut i = at as i64 + i;
        i = match edge {
            Edge::Wrap => i.rem_euclid(64),
            _ if i < 0 => -1 - i,
            _ if i > 63 => 127 - i,
            _ => i,
        };
        image[4 * (line + step * i as usize) + c].into()
    };
    let between = |pixel: usize, x: f64, c: usize| {
        let (i, rest) = (x.floor() as i64, x - x.floor());
        along(pixel, i, c) * (1.0 - rest) + along(pixel, i + 1, c) * rest
    };
    (0..64 * 64 * 4)
        .map(|i| {
            let (pixel, c) = (i / 4, i % 4);
            let taps = [(0.3125, 1.375), (0.0625, 3.25)];
            taps.iter().fold(0.25 * between(pixel, 0.0, c), |sum, (weight, x)| {
                sum + weight * (between(pixel, *x, c) + between(pixel, -x, c))
            })
        })
        .collect()
}

/// A module with references of its own, in the style of old programs.
const REFERENCES: &str = "
.version 8.0
.target sm_75
.address_size 64
.global .texref image;
.global .samplerref smooth;
.global .surfref result;
.visible .entry copy(.param .u64 unused)
{
    .reg .f32 %f<8>; .reg .b32 %r<8>; .reg .b64 %d<4>;
    mov.u32 %r0, %tid.x;
    cvt.rn.f32.u32 %f0, %r0;
    add.f32 %f0, %f0, 0f3F800000;
    mov.f32 %f1, 0f3F000000;
    tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [image, {%f0, %f1}];
    tex.2d.v4.f32.f32 {%f6, %f3, %f4, %f5}, [image, smooth, {%f0, %f1}];
    txq.width.b32 %r1, [image];
    txq.filter_mode.b32 %r2, [smooth];
    suq.height.b32 %r3, [result];
    add.s32 %r1, %r1, %r2;
    add.s32 %r1, %r1, %r3;
    shl.b32 %r4, %r0, 4;
    mov.b32 %r5, %f2;
    mov.b32 %r6, %f6;
    mov.b32 %r7, 0;
    sust.b.2d.v4.b32.trap [result, {%r4, %r7}], {%r5, %r6, %r1, %r7};
    ret;
}
";

fn references(textures: &str) -> String {
    format!(
        "ptx = 'PTX'\n\
         [buffers.texels]\ntype = 'f32'\nlen = 20\ninit = 'iota'\n\
         [buffers.out]\ntype = 'u32'\nlen = 32\n\
         {textures}\n\
         [[launch]]\nkernel = 'copy'\ngrid = 1\nblock = 8\nargs = [{{ u64 = 0 }}]\n"
    )
}

fn open_references(text: &str) -> Result<Session, String> {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let ptx = dir.path().join("references.ptx");
    std::fs::write(&ptx, REFERENCES).expect("a module");
    let path = dir.path().join("test.toml");
    std::fs::write(&path, text.replace("PTX", &ptx.display().to_string())).expect("a manifest");
    Session::open_manifest(&path, &Setup::default()).map_err(|e| e.to_string())
}

const BOUND: &str = "[[texture]]\nname = 'image'\nbuffer = 'texels'\nkind = '2d'\nsize = [20, 1]\nformat = 'f32'\n\
                     [[sampler]]\nname = 'smooth'\nfilter = 'linear'\naddress = 'clamp'\n\
                     [[surface]]\nname = 'result'\nbuffer = 'out'\nkind = '2d'\nsize = [8, 1]\nformat = 'u32x4'\n";

#[test]
fn references_of_the_module_are_bound_by_name() {
    let mut session = open_references(&references(BOUND)).expect("a session");
    session.run(&Options::default(), &Unobserved).expect("a run");
    let out = session.buffer("out").expect("results");
    let words: Vec<u32> = out.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    for (t, got) in words.chunks_exact(4).enumerate() {
        // x = t + 1 lies on a texel's border: the point filter takes the right one, the linear one both.
        let want = [t as f32 + 1.0, t as f32 + 0.5].map(f32::to_bits);
        assert_eq!(got, [want[0], want[1], 20 + 1 + 1, 0], "thread {t}");
    }
}

#[test]
fn mistakes_are_told_with_their_place() {
    for (from, to, told) in [
        ("name = 'image'", "name = 'imgae'", "has the name `image`"),
        (
            "size = [20, 1]",
            "size = [21, 1]",
            "its texels take 84 bytes from byte 0 on, but buffer `texels` has 80",
        ),
        ("format = 'f32'\n", "format = 'f24'\n", "the format `f24` is unknown"),
        ("kind = '2d'\nsize = [20", "kind = '2D'\nsize = [20", "known kinds: linear, pitch2d"),
        ("filter = 'linear'", "filter = 'cubic'", "it is one of point, linear"),
        ("buffer = 'out'", "buffer = 'put'", "there is no buffer `put`"),
        ("size = [20, 1]", "size = [20, 1]\nlevels = 2", "a mipmapped texture needs normalized coordinates"),
        ("format = 'f32'\n", "format = 'u32'\nfilter = 'linear'\n", "linear filtering needs floats"),
        ("name = 'result'", "name = 'image'", "there is another texture or surface `image`"),
        ("size = [20, 1]", "size = [20, 1]\nlayers = 2", "has no layers"),
        ("size = [20, 1]", "size = [20, 1]\nfilters = 2", "the key `filters` is unknown"),
        ("args = [{ u64 = 0 }]", "args = [{ texture = 'result' }]", "there is no texture `result`"),
    ] {
        let text = references(BOUND);
        assert!(text.contains(from), "{from}");
        let mut error = open_references(&text.replacen(from, to, 1)).err();
        if error.is_none() {
            let session = open_references(&text.replacen(from, to, 1));
            error = session
                .and_then(|mut s| {
                    s.run(&Options::default(), &Unobserved).map(drop).map_err(|e| e.to_string())
                })
                .err();
        }
        let error = error.unwrap_or_else(|| panic!("{to} is accepted"));
        assert!(error.contains(told), "{to}: {error}");
    }
}

#[test]
fn misuse_faults_at_the_instruction() {
    let text = references(BOUND);
    for (from, to, told) in [
        (
            "size = [8, 1]\nformat = 'u32x4'",
            "size = [7, 1]\nformat = 'u32x4'",
            "an access of 16 bytes at (112, 0) is outside of surface",
        ),
        ("kind = '2d'\nsize = [20, 1]", "kind = '1d'\nsize = 20", "a .2d access does not suit texture"),
    ] {
        assert!(text.contains(from), "{from}");
        let mut session = open_references(&text.replacen(from, to, 1)).expect("a session");
        let error = session.run(&Options::default(), &Unobserved).expect_err("a fault").to_string();
        assert!(error.contains(told) && error.contains("references.ptx:"), "{error}");
    }
}
