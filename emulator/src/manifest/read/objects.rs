//! Reads `[[texture]]`, `[[surface]]` and `[[sampler]]`.

use super::reader::{Reader, Result};
use crate::manifest::error::ManifestError;
use crate::manifest::node::{Node, Value};
use crate::manifest::objects::{Layout, ObjectSpec, Role, SamplerSpec};
use crate::manifest::spec::{ArgumentValue, Buffer};
use crate::texture::{
    AddressMode, ArrayKind, ArrayShape, ChannelFormat, Filter, ObjectError, ReadMode, Sampler,
};

/// Keys that describe sampler state.
const SAMPLER_KEYS: [&str; 10] = [
    "filter",
    "address",
    "normalized",
    "read",
    "srgb",
    "border",
    "mip_filter",
    "mip_bias",
    "mip_min",
    "mip_max",
];
/// Keys that describe where texels lie.
const RESOURCE_KEYS: [&str; 8] = ["name", "buffer", "kind", "size", "layers", "levels", "pitch", "format"];

/// The words for kinds of textures and surfaces.
const KINDS: &str = "linear, pitch2d, 1d, 2d, 3d, layered1d, layered2d, cube, layeredcube";

impl Reader<'_> {
    /// All textures and surfaces.
    pub(super) fn objects(&self, root: &Node, buffers: &[Buffer]) -> Result<Vec<ObjectSpec>> {
        let mut objects: Vec<ObjectSpec> = Vec::new();
        for list in ["texture", "surface"] {
            let Some(node) = root.get(list) else { continue };
            for (i, node) in self.list(node, list)?.iter().enumerate() {
                let object = self.object(list, &format!("{list}.{i}"), node, buffers)?;
                if objects.iter().any(|o| o.name == object.name) {
                    let what = format!("there is another texture or surface `{}`", object.name);
                    return self.fail(node, &format!("{list}.{i}.name"), what);
                }
                objects.push(object);
            }
        }
        Ok(objects)
    }

    /// All samplers.
    pub(super) fn samplers(&self, root: &Node) -> Result<Vec<SamplerSpec>> {
        let Some(node) = root.get("sampler") else { return Ok(Vec::new()) };
        let items = self.list(node, "sampler")?.iter().enumerate();
        let samplers = items.map(|(i, node)| {
            let key = format!("sampler.{i}");
            self.table(node, &key)?;
            let known: Vec<&str> = std::iter::once("name").chain(SAMPLER_KEYS).collect();
            self.only(node, &key, &known)?;
            let name = self.required(node, &key, "name", "the name of the .samplerref variable")?;
            let name = self.text(name, &format!("{key}.name"))?.to_string();
            Ok(SamplerSpec { name, sampler: self.sampler(node, &key)? })
        });
        samplers.collect()
    }

    fn object(&self, list: &str, key: &str, node: &Node, buffers: &[Buffer]) -> Result<ObjectSpec> {
        self.table(node, key)?;
        let texture = list == "texture";
        let known: Vec<&str> =
            RESOURCE_KEYS.into_iter().chain(SAMPLER_KEYS.into_iter().filter(|_| texture)).collect();
        self.only(node, key, &known)?;
        let part = |name: &str, help: &str| -> Result<(&Node, String)> {
            Ok((self.required(node, key, name, help)?, format!("{key}.{name}")))
        };
        let (name, name_key) = part("name", "arguments and the module's references use it")?;
        let (buffer, buffer_key) = part("buffer", "the buffer that holds the texels")?;
        let (format, format_key) = part("format", "for example format = \"f32\" or \"u8x4\"")?;
        let text = self.text(buffer, &buffer_key)?;
        let pointer = if text.starts_with('@') { text.into() } else { format!("@{text}") };
        let ArgumentValue::Pointer { buffer: at, offset_bytes } =
            self.pointer(buffer, &buffer_key, &pointer, buffers)?
        else {
            return self.fail(buffer, &buffer_key, "it is no buffer");
        };
        let offset_bytes = u64::try_from(offset_bytes)
            .or_else(|_| self.fail(buffer, &buffer_key, "the texels begin before the buffer"))?;
        let word = self.text(format, &format_key)?;
        let format = ChannelFormat::from_name(word).ok_or_else(|| {
            let what = format!("the format `{word}` is unknown");
            let help = "u8 s8 u16 s16 u32 s32 f16 f32, with x2 or x4 for two or four channels";
            self.error(format, &format_key, what).with_help(help)
        })?;
        let layout = self.layout(node, key, format)?;
        let role = if texture { Role::Texture(self.sampler(node, key)?) } else { Role::Surface };
        let name = self.text(name, &name_key)?.to_string();
        let object =
            ObjectSpec { name, buffer: at, offset_bytes, layout, format, role, place: node.place.clone() };
        self.check_object(node, key, &object, &buffers[at])?;
        Ok(object)
    }

    /// Whether the texels fit the buffer and the sampler state fits them.
    fn check_object(&self, node: &Node, key: &str, object: &ObjectSpec, buffer: &Buffer) -> Result<()> {
        let told = |error: ObjectError| self.error(node, key, error.to_string());
        // Buffers begin at multiples of every texel's size.
        let resource = object.resource(0).map_err(told)?;
        if let Role::Texture(sampler) = &object.role {
            sampler.check(object.format, resource.levels.len()).map_err(told)?;
        }
        let needed = object.bytes().map_err(told)?;
        let have = buffer.len.saturating_mul(buffer.element.bytes() as u64);
        if object.offset_bytes.saturating_add(needed) > have {
            let what = format!(
                "its texels take {needed} bytes from byte {} on, but buffer `{}` has {have}",
                object.offset_bytes, buffer.name
            );
            return self.fail(node, key, what);
        }
        Ok(())
    }

    fn layout(&self, node: &Node, key: &str, format: ChannelFormat) -> Result<Layout> {
        let kind = self.required(node, key, "kind", KINDS)?;
        let kind_key = format!("{key}.kind");
        let word = self.text(kind, &kind_key)?;
        let size = self.required(node, key, "size", "width, height and depth in texels")?;
        let size = self.dimensions(size, &format!("{key}.size"))?;
        let optional = |name: &str, default: u64| match node.get(name) {
            None => Ok(default),
            Some(value) => self.in_range(value, &format!("{key}.{name}"), 1, u64::from(u32::MAX)),
        };
        let [width, height, depth] = size;
        let array = match word {
            "linear" => return Ok(Layout::Linear { width }),
            "pitch2d" => {
                let tight = u64::from(width) * format.texel_bytes();
                let pitch_bytes = optional("pitch", tight)?;
                return Ok(Layout::Pitched { width, height, pitch_bytes });
            }
            "1d" => ArrayKind::D1,
            "2d" => ArrayKind::D2,
            "3d" => ArrayKind::D3,
            "layered1d" => ArrayKind::Layered1,
            "layered2d" => ArrayKind::Layered2,
            "cube" => ArrayKind::Cube,
            "layeredcube" => ArrayKind::LayeredCube,
            _ => {
                let error = self.error(kind, &kind_key, format!("the kind `{word}` is unknown"));
                return Err(error.with_help(format!("known kinds: {KINDS}")));
            }
        };
        let (layers, levels) = (optional("layers", 1)? as u32, optional("levels", 1)? as u32);
        Ok(Layout::Array(ArrayShape { kind: array, width, height, depth, layers, levels }))
    }

    fn sampler(&self, node: &Node, key: &str) -> Result<Sampler> {
        let mut sampler = Sampler::default();
        let at = |name: &str| node.get(name).map(|value| (value, format!("{key}.{name}")));
        for (name, filter) in [("filter", &mut sampler.filter), ("mip_filter", &mut sampler.mip_filter)] {
            if let Some((value, key)) = at(name) {
                *filter =
                    self.choice(value, &key, &[("point", Filter::Point), ("linear", Filter::Linear)])?;
            }
        }
        if let Some((value, key)) = at("read") {
            let words = [("element", ReadMode::Element), ("normalized_float", ReadMode::NormalizedFloat)];
            sampler.read_mode = self.choice(value, &key, &words)?;
        }
        if let Some((value, key)) = at("address") {
            let words = [
                ("wrap", AddressMode::Wrap),
                ("clamp", AddressMode::Clamp),
                ("mirror", AddressMode::Mirror),
                ("border", AddressMode::Border),
            ];
            match &value.value {
                Value::List(items) if (1..=3).contains(&items.len()) => {
                    for (mode, item) in sampler.address.iter_mut().zip(items) {
                        *mode = self.choice(item, &key, &words)?;
                    }
                }
                Value::List(_) => return self.fail(value, &key, "there are one to three dimensions"),
                _ => sampler.address = [self.choice(value, &key, &words)?; 3],
            }
        }
        for (name, flag) in [("normalized", &mut sampler.normalized_coords), ("srgb", &mut sampler.srgb)] {
            if let Some((value, key)) = at(name) {
                let Value::Bool(set) = value.value else {
                    return self.wrong_kind(value, &key, "true or false");
                };
                *flag = set;
            }
        }
        let numbers = [
            ("mip_bias", &mut sampler.mip_bias),
            ("mip_min", &mut sampler.mip_min),
            ("mip_max", &mut sampler.mip_max),
        ];
        for (name, number) in numbers {
            if let Some((value, key)) = at(name) {
                *number = self.number(value, &key)?.as_f64() as f32;
            }
        }
        if let Some((value, key)) = at("border") {
            let colours = self.list(value, &key)?;
            if colours.is_empty() || colours.len() > 4 {
                return self.fail(value, &key, "a colour has one to four channels");
            }
            for (channel, colour) in sampler.border.iter_mut().zip(colours) {
                *channel = self.number(colour, &key)?.as_f64() as f32;
            }
        }
        Ok(sampler)
    }

    /// One of a few words.
    fn choice<T: Copy>(&self, node: &Node, key: &str, words: &[(&str, T)]) -> Result<T> {
        let text = self.text(node, key)?;
        words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value).ok_or_else(|| {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let error = self.error(node, key, format!("`{text}` is unknown"));
            error.with_help(format!("it is one of {}", known.join(", ")))
        })
    }

    /// `{ texture = "name" }` or `{ surface = "name" }` among arguments.
    pub(super) fn object_argument(
        &self,
        node: &Node,
        key: &str,
        surface: bool,
        objects: &[ObjectSpec],
    ) -> Result<ArgumentValue, ManifestError> {
        let name = self.text(node, key)?;
        let matches = |o: &&ObjectSpec| (o.role == Role::Surface) == surface;
        if let Some(at) = objects.iter().position(|o| o.name == name && matches(&o)) {
            return Ok(ArgumentValue::Object { object: at });
        }
        let what = if surface { "surface" } else { "texture" };
        let known: Vec<&str> = objects.iter().filter(matches).map(|o| o.name.as_str()).collect();
        let guess = warplab_host::names::perhaps(name, known.iter().copied());
        let known = if known.is_empty() { "none".into() } else { known.join(", ") };
        let error = self.error(node, key, format!("there is no {what} `{name}`{guess}"));
        Err(error.with_help(format!("{what}s of this manifest: {known}")))
    }
}
