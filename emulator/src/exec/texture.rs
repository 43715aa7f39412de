//! Texture fetches, surface accesses and queries of a warp: handles to objects, arguments from registers,
//! results and addresses back. [`crate::texture`] reads texels.
//!
//! Lanes may name different objects; each object is handled in turn. Surface accesses that change memory are
//! one access of the whole warp, so that a refused one has changed nothing.

use super::executable::Worker;
use super::fault::{FaultKind, Location};
use super::request::Request;
use super::state::WarpState;
use super::trouble::Trouble;
use crate::memory::lanes::lanes_of;
use crate::memory::lanes::{Addresses, Rows, fill_idle};
use crate::record::BlockSink;
use crate::sampling::query;
use crate::sampling::sample::{self, Fetch};
use crate::sampling::surface::{self, SurfaceAccess};
use crate::texture::{Object, ObjectTable, Resource, Sampler, Texture};
use crate::view::access::{Modify, Refusal};
use crate::view::global::GlobalView;
use trace_format::isa::space::{NO_ADDRESS, Space};
use trace_format::isa::{
    Kind, Op, SurfFormat, TexGeometry, TexOffset, TexQuery, TexResult, TexSampler, tex_split_place,
    tex_word_place, tex_words,
};
use trace_format::semantics::{ExecInst, Row, Warp};

/// Error within an access, still without place.
enum Problem {
    Refused(Refusal),
    Fault(u8, String),
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Problem {
        Problem::Refused(refusal)
    }
}

/// Executes a texture or surface access; the caller handles refusals of memory.
pub(super) fn access<V: GlobalView, S: BlockSink>(
    worker: &mut Worker<'_, V, S>,
    rows: &mut Rows,
    warp: &mut WarpState,
    request: &Request<'_>,
) -> Result<Result<(), Refusal>, Trouble> {
    let objects = &*worker.executable.objects;
    let mut at: Addresses = [NO_ADDRESS; 32];
    // Machine code fetches from one-dimensional arrays as from one row.
    let one_row = worker.executable.kernel.is_machine_code();
    let view = &mut worker.memory;
    let outcome = match request.inst.kind {
        Kind::Load(Space::Texture) => fetch(view, (objects, one_row), rows, &warp.regs, request, &mut at),
        _ => surface(view, objects, rows, &warp.regs, request, &mut at),
    };
    match outcome {
        Ok(()) => {
            let inst = request.inst;
            for i in 0..inst.dst_rows {
                warp.regs.write_row(inst.dst + u16::from(i), &rows[usize::from(i)], request.exec);
            }
            warp.regs.set_addresses(&at);
            Ok(Ok(()))
        }
        Err(Problem::Refused(refusal)) => Ok(Err(refusal)),
        Err(Problem::Fault(lane, what)) => {
            let place = Location { pc: request.pc, warp: request.warp, lane: Some(lane) };
            Err(Trouble::fault(FaultKind::Texture(what), place))
        }
    }
}

/// The first lane's handle and the lanes of `left` that have the same.
fn next_group(handles: &Row, left: u32) -> (u32, u32) {
    let handle = handles.0[left.trailing_zeros() as usize & 31];
    (handle, lanes_of(left).fold(0, |m, l| m | u32::from(handles.0[l] == handle) << l))
}

fn texture(objects: &ObjectTable, handle: u32) -> Result<&Texture, String> {
    match objects.get(u64::from(handle)) {
        Some(Object::Texture(texture)) => Ok(texture),
        other => Err(format!("{handle:#x} is {}, not a texture object", describe(other))),
    }
}

fn resource(objects: &ObjectTable, handle: u32) -> Result<&Resource, String> {
    match objects.get(u64::from(handle)) {
        Some(Object::Surface(resource)) => Ok(resource),
        other => Err(format!("{handle:#x} is {}, not a surface object", describe(other))),
    }
}

fn describe(object: Option<&Object>) -> &'static str {
    match object {
        Some(Object::Texture(_)) => "a texture object",
        Some(Object::Surface(_)) => "a surface object",
        Some(Object::Sampler(_)) => "a sampler",
        None => "no object",
    }
}

/// Sampler state of a handle: a sampler's, or a texture's own.
fn sampler(objects: &ObjectTable, handle: u32) -> Result<&Sampler, String> {
    match objects.get(u64::from(handle)) {
        Some(Object::Sampler(sampler)) => Ok(sampler),
        Some(Object::Texture(texture)) => Ok(&texture.sampler),
        other => Err(format!("{handle:#x} is {}, not a sampler", describe(other))),
    }
}

fn fetch<V: GlobalView>(
    view: &mut V,
    (objects, one_row): (&ObjectTable, bool),
    rows: &mut Rows,
    regs: &Warp,
    request: &Request<'_>,
    at: &mut Addresses,
) -> Result<(), Problem> {
    let plain = (TexResult::Words, TexOffset(false), TexSampler(false));
    let (geometry, coord, lod, written, (result, offset, separate), place) = match request.inst.op {
        Op::Tex { geometry, coord, lod, result, words, offset, sampler } => {
            let rest = (result, offset, sampler);
            (geometry, coord, lod, words, rest, tex_word_place as fn(u8) -> (usize, u8))
        }
        Op::TexSplit { geometry, coord, lod, words } => {
            (geometry, coord, lod, words, plain, tex_split_place as fn(u8) -> (usize, u8))
        }
        _ => return Ok(()),
    };
    let src = &request.inst.src;
    let count = tex_words(geometry, lod, offset, separate);
    let word = |i: u8| {
        let (source, within) = place(i.min(count - 1));
        regs.row(src[source].row + u16::from(within))
    };
    // The sampler comes between the level and the offsets.
    let before = tex_words(geometry, lod, TexOffset(false), TexSampler(false));
    let words = std::array::from_fn(|i| {
        let i = i as u8;
        word(if separate.0 && i >= before { i + 1 } else { i })
    });
    let lanes = request.exec;
    let fetch = Fetch { geometry, coord, lod, result, offset: offset.0, words, lanes };
    let handles = regs.row(src[1].row);
    let mut left = request.exec;
    while left != 0 {
        let (handle, mut group) = next_group(handles, left);
        let lane = left.trailing_zeros() as u8;
        let fault = |what| Problem::Fault(lane, what);
        let texture = texture(objects, handle).map_err(fault)?;
        let mut state = &texture.sampler;
        if separate.0 {
            let (handle, same) = next_group(word(before), group);
            group &= same;
            state = sampler(objects, handle).map_err(fault)?;
            let levels = texture.resource.levels.len();
            state.check(texture.resource.format, levels).map_err(|error| fault(error.to_string()))?;
        }
        let fetch = if fetch.suits(&texture.resource) {
            fetch
        } else {
            let row = fetch.of_row().filter(|row| one_row && row.suits(&texture.resource));
            row.ok_or_else(|| fault(misfit(geometry, "texture", handle, &texture.resource)))?
        };
        let fetch = Fetch { lanes: group, ..fetch };
        sample::fetch(view, request.pc as usize, &fetch, texture, state, rows, at)?;
        left &= !group;
    }
    for (to, from) in written.positions().iter().enumerate() {
        rows[to] = rows[usize::from(*from)];
    }
    Ok(())
}

fn misfit(geometry: TexGeometry, object: &str, handle: u32, resource: &Resource) -> String {
    let geometry = match geometry {
        TexGeometry::D1 => "1d",
        TexGeometry::D2 => "2d",
        TexGeometry::D3 => "3d",
        TexGeometry::A1 => "a1d",
        TexGeometry::A2 => "a2d",
        TexGeometry::Cube => "cube",
        TexGeometry::ACube => "acube",
    };
    format!("a .{geometry} access does not suit {object} {handle:#x}, which is {}", resource.describe())
}

/// Kind of a surface instruction's access.
fn surface_access(op: Op) -> Option<SurfaceAccess> {
    Some(match op {
        Op::Suld { geometry, width, clamp } => {
            SurfaceAccess { geometry, clamp, bytes: u64::from(width.bytes()), formatted: false }
        }
        Op::Sust { geometry, width, clamp, format } => {
            let formatted = format != SurfFormat::Bytes;
            SurfaceAccess { geometry, clamp, bytes: u64::from(width.bytes()), formatted }
        }
        Op::Sured { geometry, ty, clamp, format, .. } => {
            let formatted = format != SurfFormat::Bytes;
            SurfaceAccess { geometry, clamp, bytes: u64::from(ty.bytes()), formatted }
        }
        _ => return None,
    })
}

fn surface<V: GlobalView>(
    view: &mut V,
    objects: &ObjectTable,
    rows: &mut Rows,
    regs: &Warp,
    request: &Request<'_>,
    at: &mut Addresses,
) -> Result<(), Problem> {
    let (op, src, site) = (request.inst.op, &request.inst.src, request.pc as usize);
    let Some(access) = surface_access(op) else { return Ok(()) };
    let handles = regs.row(src[1].row);
    let count = usize::from(access.geometry.coordinates());
    let mut format = None;
    let mut filled: Addresses = [NO_ADDRESS; 32];
    let mut left = request.exec;
    while left != 0 {
        let (handle, group) = next_group(handles, left);
        let blame = |lane: u32, what| Problem::Fault(lane as u8, what);
        let resource = resource(objects, handle).map_err(|what| blame(left.trailing_zeros(), what))?;
        if !access.suits(resource) {
            let what = misfit(access.geometry, "surface", handle, resource);
            return Err(blame(left.trailing_zeros(), what));
        }
        let mut access = access;
        if matches!(op, Op::Sust { .. }) && access.formatted {
            access.bytes = resource.format.texel_bytes();
            if format.is_some_and(|f| f != resource.format) {
                let what = "the lanes of a warp store to surfaces of different formats".to_string();
                return Err(blame(left.trailing_zeros(), what));
            }
            format = Some(resource.format);
        }
        for l in lanes_of(group) {
            let words =
                std::array::from_fn(|d| if d < count { regs.row(src[0].row + d as u16).0[l] } else { 0 });
            (filled[l], at[l]) = match access.place(resource, words) {
                surface::TexelAddress::At { address, recorded } => (address, recorded),
                surface::TexelAddress::Nowhere => (NO_ADDRESS, NO_ADDRESS),
                surface::TexelAddress::Fault => {
                    let shown: Vec<String> = words[..count].iter().map(|w| (*w as i32).to_string()).collect();
                    let what = format!(
                        "an access of {} bytes at ({}) is outside of surface {handle:#x}, {}",
                        access.bytes,
                        shown.join(", "),
                        extent(resource)
                    );
                    return Err(blame(l as u32, what));
                }
            };
        }
        left &= !group;
    }
    let mask = lanes_of(request.exec).fold(0u32, |m, l| m | u32::from(at[l] != NO_ADDRESS) << l);
    if mask != 0 {
        fill_idle(&mut filled, mask);
    }
    let row = |s: usize, i: u16| regs.row(src[s].row + i);
    match op {
        Op::Suld { width, .. } => {
            *rows = [Row::ZERO; 4];
            if mask != 0 {
                view.load(site, &filled, mask, width, rows)?;
                for row in rows.iter_mut() {
                    for l in lanes_of(request.exec & !mask) {
                        row.0[l] = 0;
                    }
                }
            }
        }
        Op::Sust { width, format: SurfFormat::Bytes, .. } if mask != 0 => {
            let last = u16::from(width.regs()) - 1;
            let data: [&Row; 4] = std::array::from_fn(|i| row(2, last.min(i as u16)));
            view.store(site, &filled, mask, width, &data)?;
        }
        Op::Sust { width, format: SurfFormat::Texel, .. } if mask != 0 => {
            let Some(format) = format else { return Ok(()) };
            let last = u16::from(width.regs()) - 1;
            let mut packed: Rows = [Row::ZERO; 4];
            for l in lanes_of(mask) {
                let values =
                    std::array::from_fn(|c| if c as u16 <= last { row(2, c as u16).0[l] } else { 0 });
                for (to, word) in packed.iter_mut().zip(format.encode(&values)) {
                    to.0[l] = word;
                }
            }
            let data: [&Row; 4] = std::array::from_fn(|i| &packed[i]);
            view.store(site, &filled, mask, format.texel_width(), &data)?;
        }
        Op::Sured { op, ty, .. } if mask != 0 => {
            let last = u16::from(ty.regs() - 1);
            let words = [0, 1, 2, 3].map(|i| row(2, last.min(i)));
            view.reduce(site, &filled, mask, &Modify { op, ty, b: words, c: words })?;
        }
        _ => {}
    }
    Ok(())
}

fn extent(resource: &Resource) -> String {
    let [w, h, d] = resource.levels[0].extent;
    format!(
        "{} of {w} by {h} by {d} texels of {}, {} slices",
        resource.describe(),
        resource.format,
        resource.slices
    )
}

/// The answer to a query in the lanes of `exec`.
pub(super) fn ask(
    objects: &ObjectTable,
    regs: &Warp,
    inst: &ExecInst,
    query: TexQuery,
    exec: u32,
) -> Result<Row, (u8, String)> {
    let handles = regs.row(inst.src[0].row);
    let levels = regs.row(inst.src[1].row);
    let mut out = Row::ZERO;
    for l in lanes_of(exec) {
        let handle = handles.0[l];
        let object = objects.get(u64::from(handle));
        let level = if matches!(inst.op, Op::Txq { level, .. } if level.0) { levels.0[l] } else { 0 };
        let answer = object.and_then(|object| query::answer(object, query, level));
        out.0[l] = answer.ok_or_else(|| {
            (l as u8, format!("{handle:#x} is {}, which has no answer to the query", describe(object)))
        })?;
    }
    Ok(out)
}
