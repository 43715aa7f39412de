//! Textures and surfaces: fetches, queries, surface loads, stores and reductions.
//!
//! A fetch is one machine instruction; its arguments are packed into at most three tuples of registers (see
//! [`tex_sources`](trace_format::isa::tex_sources)). Handles are taken as 32 bits, which all of ours fit.

use trace_format::isa::{
    AtomOp as MAtom, AtomTy, Op, SurfClamp, SurfFormat, TEX_WORDS, TexAtLevel, TexCoord, TexGeometry, TexLod,
    TexOffset, TexQuery, TexResult, TexSampler, TexWords, space, tex_sources, tex_word_place, tex_words,
};

use super::{Builder, FULL_LITERALS, Lowered};
use crate::lower::vir::{Inst as VInst, PSrc, Src, VOp, Val};
use crate::ptx::{
    AtomOp, Geometry, Inst, Operand, RelocationTarget, ScalarType, SurfaceClamp, SurfaceOp, TexLevel, TexOp,
    TextureQuery, VarSpace,
};

impl Builder<'_> {
    fn geometry(&self, inst: &Inst, geometry: Geometry) -> Lowered<TexGeometry> {
        Ok(match geometry {
            Geometry::D1 => TexGeometry::D1,
            Geometry::D2 => TexGeometry::D2,
            Geometry::D3 => TexGeometry::D3,
            Geometry::A1 => TexGeometry::A1,
            Geometry::A2 => TexGeometry::A2,
            Geometry::Cube => TexGeometry::Cube,
            Geometry::Acube => TexGeometry::ACube,
            Geometry::D2ms | Geometry::A2ms => {
                return Err(self.unsupported(inst, "a fetch from a multisample texture"));
            }
        })
    }

    /// The handle that a texture, sampler or surface operand names.
    fn handle(&mut self, inst: &Inst, operand: &Operand) -> Lowered<Val> {
        let Operand::Var(var, _) = operand else { return self.word(inst, operand) };
        if self.is_kernel_param(*var) {
            let offset = space::PARAM_BASE + self.module.var(*var).param_offset as u16;
            return Ok(Val::Const { bank: space::BANK_PARAM, offset });
        }
        if self.module.var(*var).space != VarSpace::Texture {
            return Err(self.unsupported(inst, "a variable other than a texture or surface reference"));
        }
        let offset = self.frame.address(RelocationTarget::Var(*var), 0);
        let offset = offset.ok_or_else(|| self.unsupported(inst, FULL_LITERALS))?;
        Ok(Val::Const { bank: space::BANK_LITERAL, offset })
    }

    /// The first `n` elements of a vector operand.
    fn first_words(&mut self, inst: &Inst, operand: &Operand, n: usize) -> Lowered<Vec<Val>> {
        let elements = operand.elements();
        if elements.len() < n {
            return Err(self.unsupported(inst, "so few coordinates"));
        }
        elements[..n].iter().map(|element| self.word(inst, element)).collect()
    }

    /// `tex` and `tld4`.
    pub(crate) fn tex(&mut self, inst: &Inst, op: TexOp, gather: bool) -> Lowered {
        let geometry = self.geometry(inst, op.geometry)?;
        if op.depth_compare {
            return Err(self.unsupported(inst, "a fetch with depth comparison"));
        }
        let result = match (gather, op.component, op.dst_ty, op.vec) {
            (true, 0, _, 4) => TexResult::GatherR,
            (true, 1, _, 4) => TexResult::GatherG,
            (true, 2, _, 4) => TexResult::GatherB,
            (true, _, _, 4) => TexResult::GatherA,
            (false, _, ScalarType::F16x2, 2) => TexResult::Halves,
            (false, _, ScalarType::U32 | ScalarType::S32 | ScalarType::F32 | ScalarType::B32, 4) => {
                TexResult::Words
            }
            _ => return Err(self.unsupported(inst, "a fetch of these elements")),
        };
        let cube = matches!(geometry, TexGeometry::Cube | TexGeometry::ACube);
        let lod = match op.level {
            TexLevel::Base => TexLod::Base,
            TexLevel::Level => TexLod::Level,
            TexLevel::Grad if cube => {
                return Err(self.unsupported(inst, "a fetch with gradients from a cube"));
            }
            TexLevel::Grad => TexLod::Grad,
        };
        let coord = if op.coord_ty.is_float() { TexCoord::Float } else { TexCoord::Int };
        let (offset, sampler) = (TexOffset(op.offset), TexSampler(op.sampler));
        let dimensions = usize::from(geometry.coordinates()) - usize::from(geometry.is_layered());
        let mut srcs = inst.srcs().iter();
        let mut next = || srcs.next().unwrap_or(&Operand::Sink);
        let handle = self.handle(inst, next())?;
        let separate = if op.sampler { Some(self.handle(inst, next())?) } else { None };
        let mut words = self.first_words(inst, next(), usize::from(geometry.coordinates()))?;
        match lod {
            TexLod::Base => {}
            TexLod::Level => words.push(self.word(inst, next())?),
            TexLod::Grad => {
                for _ in 0..2 {
                    words.extend(self.first_words(inst, next(), dimensions)?);
                }
            }
        }
        words.extend(separate);
        if op.offset {
            words.extend(self.first_words(inst, next(), dimensions)?);
        }
        if words.len() > usize::from(TEX_WORDS) {
            return Err(self.unsupported(inst, "a fetch with so many arguments"));
        }
        let count = tex_words(geometry, lod, offset, sampler);
        let machine = Op::Tex { geometry, coord, lod, result, words: TexWords::All, offset, sampler };
        let mut fetch = VInst::new(VOp::M(machine), self.asm.line);
        for (src, n) in fetch.src.iter_mut().zip(tex_sources(count)) {
            src.v[..usize::from(n)].fill(Val::ZERO);
        }
        fetch.src[1].v[0] = handle;
        for (i, word) in (0..count).zip(&words) {
            let (source, within) = tex_word_place(i);
            fetch.src[source].v[usize::from(within)] = *word;
        }
        let texel = self.asm.put(fetch, 0).dst;
        for (element, word) in inst.dsts()[0].elements().iter().zip(texel) {
            self.set_word(element, word);
        }
        if let Some(resident) = inst.dsts().get(1) {
            self.set_pred(resident, PSrc::TRUE);
        }
        Ok(())
    }

    /// `txq` and `suq`.
    pub(crate) fn texture_query(&mut self, inst: &Inst, query: TextureQuery, level: bool) -> Lowered {
        let query = match query {
            TextureQuery::Width => TexQuery::Width,
            TextureQuery::Height => TexQuery::Height,
            TextureQuery::Depth => TexQuery::Depth,
            TextureQuery::ChannelDataType => TexQuery::ChannelDataType,
            TextureQuery::ChannelOrder => TexQuery::ChannelOrder,
            TextureQuery::NormalizedCoords => TexQuery::NormalizedCoords,
            TextureQuery::ArraySize => TexQuery::ArraySize,
            TextureQuery::NumMipmapLevels => TexQuery::NumMipmapLevels,
            TextureQuery::NumSamples => TexQuery::NumSamples,
            TextureQuery::MemoryLayout => TexQuery::MemoryLayout,
            TextureQuery::FilterMode => TexQuery::FilterMode,
            TextureQuery::AddrMode0 => TexQuery::AddrMode0,
            TextureQuery::AddrMode1 => TexQuery::AddrMode1,
            TextureQuery::AddrMode2 => TexQuery::AddrMode2,
            TextureQuery::ForceUnnormalizedCoords => TexQuery::ForceUnnormalizedCoords,
        };
        let mut srcs = vec![Src::one(self.handle(inst, &inst.srcs()[0])?)];
        if level {
            srcs.push(Src::one(self.word(inst, &inst.srcs()[1])?));
        }
        let answer = self.asm.r1(Op::Txq { query, level: TexAtLevel(level) }, &srcs);
        self.set_word(&inst.dsts()[0], answer);
        Ok(())
    }

    /// Handle and coordinates of a surface instruction, as sources.
    fn surface_place(&mut self, inst: &Inst, op: SurfaceOp) -> Lowered<(TexGeometry, SurfClamp, [Src; 2])> {
        let geometry = self.geometry(inst, op.geometry)?;
        if matches!(geometry, TexGeometry::Cube | TexGeometry::ACube) {
            return Err(self.unsupported(inst, "a surface access by direction"));
        }
        let clamp = match op.clamp {
            SurfaceClamp::Trap => SurfClamp::Trap,
            SurfaceClamp::Clamp => SurfClamp::Clamp,
            SurfaceClamp::Zero => SurfClamp::Zero,
        };
        let handle = self.handle(inst, &inst.srcs()[0])?;
        let mut words = self.first_words(inst, &inst.srcs()[1], usize::from(geometry.coordinates()))?;
        words.resize(usize::from(geometry.span()), Val::ZERO);
        Ok((geometry, clamp, [Src::many(&words), Src::one(handle)]))
    }

    /// `suld`.
    pub(crate) fn suld(&mut self, inst: &Inst, op: SurfaceOp) -> Lowered {
        let (geometry, clamp, place) = self.surface_place(inst, op)?;
        let Some(width) = Self::width(op.ty.bytes() * u32::from(op.vec), false) else {
            return Err(self.unsupported(inst, "a surface load of this width"));
        };
        let mut load = VInst::new(VOp::M(Op::Suld { geometry, width, clamp }), self.asm.line);
        load.src[..2].copy_from_slice(&place);
        let words = self.asm.put(load, 0).dst;
        self.set_elements(inst, &inst.dsts()[0], &words[..usize::from(width.regs())], op.ty);
        Ok(())
    }

    /// `sust`.
    pub(crate) fn sust(&mut self, inst: &Inst, op: SurfaceOp) -> Lowered {
        let (geometry, clamp, place) = self.surface_place(inst, op)?;
        let (format, words) = if op.formatted {
            (SurfFormat::Texel, self.first_words(inst, &inst.srcs()[2], usize::from(op.vec))?)
        } else if op.vec == 1 {
            (SurfFormat::Bytes, self.value(inst, &inst.srcs()[2], op.ty)?)
        } else {
            let bits = op.ty.bits() * u32::from(op.vec);
            (SurfFormat::Bytes, self.pack(inst, inst.srcs()[2].elements(), bits)?)
        };
        let Some(width) = Self::width(op.ty.bytes() * u32::from(op.vec), false) else {
            return Err(self.unsupported(inst, "a surface store of this width"));
        };
        let mut store = VInst::new(VOp::M(Op::Sust { geometry, width, clamp, format }), self.asm.line);
        store.src[..2].copy_from_slice(&place);
        store.src[2] = Src::many(&words);
        self.asm.append(store);
        Ok(())
    }

    /// `sured`.
    pub(crate) fn sured(&mut self, inst: &Inst, op: AtomOp, surface: SurfaceOp) -> Lowered {
        let (geometry, clamp, place) = self.surface_place(inst, surface)?;
        let ty = match surface.ty {
            ScalarType::B32 | ScalarType::U32 => AtomTy::U32,
            ScalarType::S32 => AtomTy::S32,
            ScalarType::B64 | ScalarType::U64 => AtomTy::U64,
            ScalarType::S64 => AtomTy::S64,
            _ => return Err(self.unsupported(inst, "a surface reduction of this type")),
        };
        let op = match op {
            AtomOp::Add => MAtom::Add,
            AtomOp::Min => MAtom::Min,
            AtomOp::Max => MAtom::Max,
            AtomOp::And => MAtom::And,
            AtomOp::Or => MAtom::Or,
            _ => return Err(self.unsupported(inst, "this surface reduction")),
        };
        let format = if surface.formatted { SurfFormat::Texel } else { SurfFormat::Bytes };
        let words = self.value(inst, &inst.srcs()[2], surface.ty)?;
        let mut reduce = VInst::new(VOp::M(Op::Sured { geometry, op, ty, clamp, format }), self.asm.line);
        reduce.src[..2].copy_from_slice(&place);
        reduce.src[2] = Src::many(&words);
        self.asm.append(reduce);
        Ok(())
    }
}
