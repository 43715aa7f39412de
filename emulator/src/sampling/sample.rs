//! Texture fetches of a warp: footprints of all lanes, their texels loaded tap by tap through the running
//! block's view of memory, decoded, weighted and summed.
//!
//! Weighted sums are formed in binary64 from exact weights and rounded once to binary32. Taps of weight zero
//! are neither loaded nor counted.

use super::footprint::{Footprint, ONE, Point, Rules, detail, face, footprint, levels};
use super::texel;
use crate::memory::lanes::lanes_of;
use crate::memory::lanes::{Addresses, Rows, fill_idle};
use crate::texture::ChannelFormat;
use crate::texture::resource::{ArrayKind, Resource, ResourceKind};
use crate::texture::sampler::{Filter, Sampler};
use crate::texture::table::Texture;
use crate::view::access::Refusal;
use crate::view::global::GlobalView;
use half::f16;
use trace_format::isa::space::NO_ADDRESS;
use trace_format::isa::{TexCoord, TexGeometry, TexLod, TexResult};
use trace_format::semantics::Row;

/// A fetch of a warp: what kind, and its argument words (coordinates, level or gradients, offsets).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fetch<'a> {
    /// Geometry.
    pub geometry: TexGeometry,
    /// Type of the coordinates.
    pub coord: TexCoord,
    /// How the level is found.
    pub lod: TexLod,
    /// What is returned.
    pub result: TexResult,
    /// Whether offsets are given.
    pub offset: bool,
    /// Argument words, in order, without the sampler.
    pub words: [&'a Row; 11],
    /// Lanes that fetch, at least one.
    pub lanes: u32,
}

/// Where in the words of a fetch things are.
struct Layout {
    layer: Option<usize>,
    coordinates: usize,
    dimensions: usize,
    lod: usize,
    offset: usize,
}

impl Fetch<'_> {
    /// Whether the geometry suits the resource.
    #[must_use]
    pub(crate) fn suits(&self, resource: &Resource) -> bool {
        geometry_suits(self.geometry, resource.kind)
    }

    /// The same fetch without its second dimension, if it has two.
    #[must_use]
    pub(crate) fn of_row(&self) -> Option<Self> {
        if self.geometry != TexGeometry::D2 {
            return None;
        }
        let places: &[usize] = match self.lod {
            TexLod::Base => &[0, 2],
            TexLod::Level => &[0, 2, 3],
            TexLod::Grad => &[0, 2, 4, 6],
        };
        let mut row = Self { geometry: TexGeometry::D1, ..*self };
        for (to, from) in places.iter().enumerate() {
            row.words[to] = self.words[*from];
        }
        Some(row)
    }

    fn layout(&self) -> Layout {
        let layered = usize::from(self.geometry.is_layered());
        let dimensions = usize::from(self.geometry.coordinates()) - layered;
        let lod = layered + dimensions;
        let offset = lod
            + match self.lod {
                TexLod::Base => 0,
                TexLod::Level => 1,
                TexLod::Grad => 2 * dimensions,
            };
        Layout { layer: (layered > 0).then_some(0), coordinates: layered, dimensions, lod, offset }
    }

    fn gathers(&self) -> Option<usize> {
        match self.result {
            TexResult::GatherR => Some(0),
            TexResult::GatherG => Some(1),
            TexResult::GatherB => Some(2),
            TexResult::GatherA => Some(3),
            TexResult::Words | TexResult::Halves => None,
        }
    }
}

/// Whether an access of some geometry suits a resource; cubes may be read as layers, one per face.
pub(super) fn geometry_suits(geometry: TexGeometry, kind: ResourceKind) -> bool {
    use ArrayKind as A;
    match geometry {
        TexGeometry::D1 => matches!(kind, ResourceKind::Linear | ResourceKind::Array(A::D1)),
        TexGeometry::D2 => matches!(kind, ResourceKind::Pitched | ResourceKind::Array(A::D2)),
        TexGeometry::D3 => kind == ResourceKind::Array(A::D3),
        TexGeometry::A1 => kind == ResourceKind::Array(A::Layered1),
        TexGeometry::A2 => matches!(kind, ResourceKind::Array(A::Layered2 | A::Cube | A::LayeredCube)),
        TexGeometry::Cube => kind == ResourceKind::Array(A::Cube),
        TexGeometry::ACube => kind == ResourceKind::Array(A::LayeredCube),
    }
}

/// What one lane reads: a point on a slice, at one or two levels.
#[derive(Clone, Copy)]
struct Target {
    point: Point,
    slice: u32,
    shift: [i32; 3],
    levels: (usize, usize, u16),
}

/// Fetches in its lanes: results go to `out`, the address that hardware gives the first texel that
/// each lane reads to `at` ([`NO_ADDRESS`] where it reads none).
///
/// # Errors
/// When the view refuses to load a texel.
pub(crate) fn fetch<V: GlobalView>(
    view: &mut V,
    site: usize,
    fetch: &Fetch<'_>,
    texture: &Texture,
    sampler: &Sampler,
    out: &mut Rows,
    at: &mut Addresses,
) -> Result<(), Refusal> {
    let exec = fetch.lanes;
    let resource = &texture.resource;
    let layout = fetch.layout();
    let cube = matches!(fetch.geometry, TexGeometry::Cube | TexGeometry::ACube);
    let rules = Rules {
        sampler,
        dimensions: if cube { 2 } else { layout.dimensions },
        linear: fetch.coord == TexCoord::Float
            && (sampler.filter == Filter::Linear || fetch.gathers().is_some()),
        normalized: cube || sampler.normalized_coords,
    };
    let mut targets =
        [Target { point: Point::Texel([0; 3]), slice: 0, shift: [0; 3], levels: (0, 0, 0) }; 32];
    for l in lanes_of(exec) {
        targets[l] = target(fetch, &layout, resource, sampler, cube, l);
    }
    let mut work = Work { view, site, rules, resource, exec, at, taps: 0 };
    if let Some(component) = fetch.gathers() {
        return work.gather(&targets, component, out);
    }
    let blends = rules.linear || lanes_of(exec).any(|l| targets[l].levels.2 != 0);
    if blends {
        work.blend(&targets, out)?;
    } else {
        work.pick(&targets, fetch.coord, out)?;
    }
    if fetch.result == TexResult::Halves {
        for k in 0..2 {
            for l in lanes_of(exec) {
                let half = |word: u32| u32::from(f16::from_f32(f32::from_bits(word)).to_bits());
                out[k].0[l] = half(out[2 * k].0[l]) | half(out[2 * k + 1].0[l]) << 16;
            }
        }
    }
    Ok(())
}

/// What lane `l` reads.
fn target(
    fetch: &Fetch<'_>,
    layout: &Layout,
    resource: &Resource,
    sampler: &Sampler,
    cube: bool,
    l: usize,
) -> Target {
    let word = |i: usize| fetch.words[i.min(10)].0[l];
    let real = |i: usize| f64::from(f32::from_bits(word(i)));
    let by_dimension = |first: usize, n: usize| -> [f64; 3] {
        std::array::from_fn(|d| if d < n { real(first + d) } else { 0.0 })
    };
    let n = layout.dimensions;
    let layers = resource.layers();
    let layer = if cube { layers } else { resource.slices }.saturating_sub(1);
    let layer = layout.layer.map_or(0, |at| word(at).min(layer));
    let (slice, point) = match fetch.coord {
        TexCoord::Int => {
            let texel = |d: usize| if d < n { word(layout.coordinates + d) as i32 } else { 0 };
            (layer, Point::Texel(std::array::from_fn(texel)))
        }
        TexCoord::Float if cube => {
            let (face, at) = face(by_dimension(layout.coordinates, 3));
            (6 * layer + face, Point::Real(at))
        }
        TexCoord::Float => (layer, Point::Real(by_dimension(layout.coordinates, n))),
    };
    let count = resource.levels.len();
    let levels = match (fetch.lod, fetch.coord) {
        (TexLod::Base, _) => (0, 0, 0),
        (TexLod::Level, TexCoord::Int) => {
            let level = usize::try_from(word(layout.lod) as i32).unwrap_or(0).min(count - 1);
            (level, level, 0)
        }
        (TexLod::Level, TexCoord::Float) => levels(sampler, real(layout.lod), count),
        (TexLod::Grad, _) => {
            let extent = resource.levels[0].extent;
            let scaled = |first: usize| {
                let v = by_dimension(first, n);
                std::array::from_fn(|d| {
                    v[d] * if sampler.normalized_coords { f64::from(extent[d]) } else { 1.0 }
                })
            };
            levels(sampler, detail(scaled(layout.lod), scaled(layout.lod + n)), count)
        }
    };
    let shift =
        std::array::from_fn(|d| if fetch.offset && d < n { word(layout.offset + d) as i32 } else { 0 });
    Target { point, slice, shift, levels }
}

impl Target {
    /// The first or the second level that is read.
    fn level(&self, second: bool) -> usize {
        if second { self.levels.1 } else { self.levels.0 }
    }
}

/// The texels of one of the levels that the lanes read.
struct Taps<'t> {
    targets: &'t [Target; 32],
    second: bool,
    prints: [Footprint; 32],
}

/// A fetch under way.
struct Work<'w, V> {
    view: &'w mut V,
    site: usize,
    rules: Rules<'w>,
    resource: &'w Resource,
    exec: u32,
    at: &'w mut Addresses,
    /// Loads made so far.
    taps: u32,
}

impl<V: GlobalView> Work<'_, V> {
    fn format(&self) -> ChannelFormat {
        self.resource.format
    }

    fn taps<'t>(&self, targets: &'t [Target; 32], second: bool) -> Taps<'t> {
        let texel = self.format().texel_bytes();
        let mut prints = [Footprint::NONE; 32];
        for l in lanes_of(self.exec) {
            let t = &targets[l];
            let level = &self.resource.levels[t.level(second)];
            prints[l] = footprint(&self.rules, level, t.slice, t.point, t.shift, texel);
        }
        Taps { targets, second, prints }
    }

    /// Loads the texel of a tap of a level, for every lane of `lanes` in which it is not beyond the border; returns these
    /// lanes.
    fn load(&mut self, taps: &Taps<'_>, t: usize, lanes: u32, texels: &mut Rows) -> Result<u32, Refusal> {
        let mut at: Addresses = [0; 32];
        let mut mask = 0;
        for l in lanes_of(lanes) {
            let print = &taps.prints[l];
            if let Some(address) = print.address(t) {
                at[l] = address;
                mask |= 1 << l;
                if self.taps == 0 || self.at[l] == NO_ADDRESS {
                    let target = &taps.targets[l];
                    let level = &self.resource.levels[target.level(taps.second)];
                    self.at[l] = print.recorded(t, level, target.slice, self.format().texel_bytes());
                }
            }
        }
        if self.taps == 0 {
            for l in lanes_of(self.exec & !mask) {
                self.at[l] = NO_ADDRESS;
            }
        }
        self.taps += 1;
        if mask != 0 {
            fill_idle(&mut at, mask);
            self.view.load(self.site, &at, mask, self.format().texel_width(), texels)?;
        }
        Ok(mask)
    }

    /// Bits of channel `c` in lane `l` of loaded texels, or of the border.
    fn channel(&self, texels: &Rows, loaded: u32, l: usize, c: usize) -> u32 {
        let sampler = self.rules.sampler;
        if loaded >> l & 1 != 0 {
            texel::decode(self.format(), &std::array::from_fn(|k| texels[k].0[l]), c, sampler)
        } else {
            texel::border(self.format(), c, sampler)
        }
    }

    /// One texel per lane, as it is.
    fn pick(&mut self, targets: &[Target; 32], coord: TexCoord, out: &mut Rows) -> Result<(), Refusal> {
        let taps = self.taps(targets, false);
        let mut texels: Rows = [Row::ZERO; 4];
        let loaded = self.load(&taps, 0, self.exec, &mut texels)?;
        for l in lanes_of(self.exec) {
            for (c, row) in out.iter_mut().enumerate() {
                // A texel index beyond the edge reads zero, whatever the border.
                let zero = loaded >> l & 1 == 0 && coord == TexCoord::Int;
                row.0[l] = if zero { 0 } else { self.channel(&texels, loaded, l, c) };
            }
        }
        Ok(())
    }

    /// Weighted sums over the texels of one or two levels.
    fn blend(&mut self, targets: &[Target; 32], out: &mut Rows) -> Result<(), Refusal> {
        // Minus zero, since that plus anything is the other.
        let mut sums = [[-0.0f64; 4]; 32];
        let dimensions = if self.rules.linear { self.rules.dimensions } else { 0 };
        for second in [false, true] {
            let share = |l: usize| {
                let w = targets[l].levels.2;
                f64::from(if second { w } else { ONE - w }) / f64::from(ONE)
            };
            let lanes = lanes_of(self.exec).fold(0u32, |m, l| m | u32::from(share(l) != 0.0) << l);
            if lanes == 0 {
                continue;
            }
            let taps = self.taps(targets, second);
            for t in 0..1 << dimensions {
                let weight: [f64; 32] =
                    std::array::from_fn(|l| taps.prints[l].share(t, dimensions) * share(l));
                let lanes = lanes_of(lanes).fold(0u32, |m, l| m | u32::from(weight[l] != 0.0) << l);
                let mut texels: Rows = [Row::ZERO; 4];
                let loaded = self.load(&taps, t, lanes, &mut texels)?;
                for l in lanes_of(lanes) {
                    for (c, sum) in sums[l].iter_mut().enumerate() {
                        let bits = self.channel(&texels, loaded, l, c);
                        *sum += weight[l] * f64::from(f32::from_bits(bits));
                    }
                }
            }
        }
        for l in lanes_of(self.exec) {
            for (c, row) in out.iter_mut().enumerate() {
                row.0[l] = (sums[l][c] as f32).to_bits();
            }
        }
        Ok(())
    }

    /// One channel of the four texels that a bilinear filter would read, counter-clockwise from the lower left.
    fn gather(&mut self, targets: &[Target; 32], component: usize, out: &mut Rows) -> Result<(), Refusal> {
        let taps = self.taps(targets, false);
        for (row, t) in [2, 3, 1, 0].into_iter().enumerate() {
            let mut texels: Rows = [Row::ZERO; 4];
            let loaded = self.load(&taps, t, self.exec, &mut texels)?;
            for l in lanes_of(self.exec) {
                out[row].0[l] = self.channel(&texels, loaded, l, component);
            }
        }
        Ok(())
    }
}
