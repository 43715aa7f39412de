//! Samples of textures and surfaces, and the objects that they use: textures of every geometry in which all words
//! are alike, and surfaces with room for every thread.

use super::sample::{BLOCK, Sample, Verdict};
use super::words::{Words, bytes};
use emulator::memory::GlobalMemory;
use emulator::texture::{ArrayKind, ArrayShape, ChannelFormat, ObjectTable, Resource, Sampler};

/// Every word of every texture: 1.0.
const WORD: u32 = 0x3F80_0000;
/// Threads that samples run with, at most.
const THREADS: u32 = 8 * BLOCK as u32;
/// Geometries in the order in which their objects are made.
const GEOMETRIES: [(&str, ArrayKind); 7] = [
    ("1d", ArrayKind::D1),
    ("2d", ArrayKind::D2),
    ("3d", ArrayKind::D3),
    ("a1d", ArrayKind::Layered1),
    ("a2d", ArrayKind::Layered2),
    ("cube", ArrayKind::Cube),
    ("acube", ArrayKind::LayeredCube),
];

/// Makes the objects and returns their handles with what stands for them in samples.
fn create(objects: &mut ObjectTable, texels: u64, cells: u64) -> Vec<(String, u64)> {
    let format = |name| ChannelFormat::from_name(name).expect("a format");
    let mut handles = Vec::new();
    for (name, kind) in GEOMETRIES {
        let dimensions = kind.dimensions();
        let extent = |d| if d < dimensions { 4 } else { 1 };
        let layers = if matches!(kind, ArrayKind::Layered1 | ArrayKind::Layered2 | ArrayKind::LayeredCube) {
            2
        } else {
            1
        };
        let shape =
            ArrayShape { kind, width: extent(0), height: extent(1), depth: extent(2), layers, levels: 1 };
        for ty in ["f32", "u32"] {
            let resource = Resource::array(texels, &shape, format(ty)).expect("a texture");
            let handle = objects.create_texture(resource, Sampler::default()).expect("a handle");
            handles.push((format!("<texture {name} {ty}>"), handle));
        }
        let shape = ArrayShape { width: 16 * THREADS, height: 1, depth: 1, layers: 1, ..shape };
        if name != "cube" && name != "acube" {
            let resource = Resource::array(cells, &shape, format("u8")).expect("a surface");
            let handle = objects.create_surface(resource).expect("a handle");
            handles.push((format!("<surface {name}>"), handle));
        }
    }
    handles
}

/// Makes the objects that samples use.
pub(super) fn objects(memory: &mut GlobalMemory) {
    let texels = memory.allocate("texels", WORD.to_le_bytes().repeat(1 << 10));
    let cells = memory.allocate("cells", vec![0; 16 * THREADS as usize]);
    let base = |memory: &GlobalMemory, id| memory.allocation(id).base;
    let (texels, cells) = (base(memory, texels), base(memory, cells));
    create(memory.objects_mut(), texels, cells);
}

/// A sample's text with the handles that [`objects`] will give its objects.
pub(super) fn bound(mut text: String) -> String {
    if text.contains('<') {
        for (name, handle) in create(&mut ObjectTable::new(), 0, 0) {
            text = text.replace(&name, &handle.to_string());
        }
    }
    text
}

/// The sample of a form of `tex` or `sust`.
pub(super) fn sample(form: &str, words: &Words<'_>) -> Option<Sample> {
    match words.family {
        "tex" => tex(form, words),
        "sust" => sust(form, words),
        _ => None,
    }
}

fn geometry(words: &Words<'_>) -> Option<&'static str> {
    GEOMETRIES.iter().map(|(name, _)| *name).find(|name| words.has(name))
}

fn tex(form: &str, words: &Words<'_>) -> Option<Sample> {
    let geometry = geometry(words)?;
    let ty = if words.modifiers.iter().filter(|m| **m == "f32").count() == 2 || form.contains("f32.s32") {
        "f32"
    } else {
        "u32"
    };
    // Texel indices and real coordinates alike, within every texture.
    let (x, source) = if words.last() == "s32" {
        ("and.b32 %s0, %s0, 3;\n", "%s0")
    } else {
        ("and.b32 %s0, %s0, 3;\ncvt.rn.f32.u32 %s1, %s0;\n", "%s1")
    };
    let list = match geometry {
        "1d" => source.to_string(),
        "2d" => format!("{source}, {source}"),
        "a1d" => format!("%s0, {source}"),
        "a2d" => format!("%s0, {source}, {source}, {source}"),
        "acube" => format!("%s0, {source}, {source}, {source}"),
        _ => format!("{source}, {source}, {source}, {source}"),
    };
    let level = if words.has("level") { format!(", {source}") } else { String::new() };
    let kinds = if ty == "f32" { "ffff" } else { "rrrr" };
    let body = format!(
        "mov.b64 %t0, <texture {geometry} {ty}>;\n{x}{form} {{%d0, %d1, %d2, %d3}}, [%t0, {{{list}}}]{level};"
    );
    Some(Sample::new(body, kinds, "rf").judged(Verdict::Is(u64::from(WORD))))
}

/// Stores and loads again at a place of the thread's own.
fn sust(form: &str, words: &Words<'_>) -> Option<Sample> {
    let geometry = geometry(words)?;
    let element = words.modifiers.iter().find(|m| kind_of(m).is_some())?;
    let kind = kind_of(element)?;
    let n = if words.has("v4") {
        4
    } else if words.has("v2") {
        2
    } else {
        1
    };
    let list = match geometry {
        "1d" => "%word",
        "2d" => "%word, %half",
        "a1d" => "%half, %word",
        "a2d" => "%half, %word, %half, %half",
        _ => "%word, %half, %half, %half",
    };
    let named = |side: &str| (0..n).map(|i| format!("%{side}{i}")).collect::<Vec<_>>().join(", ");
    let load = form.replace("sust", "suld");
    let width = match bytes(element) {
        1 => "and.b16 %s0, %s0, 255;\n",
        _ => "",
    };
    let wide = match kind {
        'h' => "16",
        'r' => "32",
        _ => "64",
    };
    let size = bytes(element) * n;
    let body = format!(
        "mov.b64 %t0, <surface {geometry}>;\n{width}mad.lo.u32 %word, %cta, {BLOCK}, %me;\n\
         mul.lo.u32 %word, %word, {size};\nmov.b32 %half, 0;\n\
         {form} [%t0, {{{list}}}], {{{}}};\n{load} {{{}}}, [%t0, {{{list}}}];\n\
         setp.eq.b{wide} %no, %d1, %s0;\nselp.b32 %d0, 1, 0, %no;",
        named("s"),
        (1..=n).map(|i| format!("%d{i}")).collect::<Vec<_>>().join(", ")
    );
    let dsts = format!("r{}", kind.to_string().repeat(n));
    Some(Sample::new(body, &dsts, &kind.to_string().repeat(n)).judged(Verdict::Is(1)))
}

fn kind_of(word: &str) -> Option<char> {
    Some(match word {
        "b8" | "b16" => 'h',
        "b32" => 'r',
        "b64" => 'd',
        _ => return None,
    })
}
