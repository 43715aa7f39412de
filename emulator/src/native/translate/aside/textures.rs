//! Textures and surfaces: fetches, gathers, queries, and surface accesses, of any shape and with any kind of handle.
//!
//! Machine code has the words of a fetch in two vectors, in one of two orders. Ours has them in vectors of its own ([`Op::Tex`]).
//! Where both agree it is one instruction; elsewhere the words are moved before, and the results after.

use super::super::args::{Args, place_in_bank};
use super::super::code::{Aside, Place, Refusal, moved};
use super::super::memory::{OPERATIONS, WIDTHS, order};
use super::parts::and;
use sass::{Instruction, Value};
use trace_format::isa::{
    AtomTy, High, Inst, MemWidth, Op, Operand, Reg, Sign, Src, SurfClamp, SurfFormat, TexAtLevel, TexCoord,
    TexGeometry, TexLod, TexOffset, TexQuery, TexResult, TexSampler, TexWords, Wide, Wrap, tex_split,
    tex_word_place, tex_words,
};

const SHAPES: [(&str, TexGeometry); 7] = [
    ("1D", TexGeometry::D1),
    ("2D", TexGeometry::D2),
    ("3D", TexGeometry::D3),
    ("CUBE", TexGeometry::Cube),
    ("ARRAY_1D", TexGeometry::A1),
    ("ARRAY_2D", TexGeometry::A2),
    ("ARRAY_CUBE", TexGeometry::ACube),
];

/// Modifiers that change no result: what the texture unit may assume about its neighbours.
fn hints(args: &mut Args<'_>) {
    for modifier in ["NODEP", "CL"] {
        args.has(modifier);
    }
}

/// A register, or RZ.
fn register(args: &mut Args<'_>) -> Result<Reg, Refusal> {
    match args.take()?.value {
        Value::Register(number) => Ok(Reg(number)),
        _ => Err("an operand is no register".into()),
    }
}

/// The handle behind the registers: a word of constant bank 0, or one in a uniform register.
fn bound_handle(args: &mut Args<'_>) -> Result<Src, Refusal> {
    match args.take()?.value {
        // The bank, and the number of the word in it. The sampler is that of the texture.
        Value::Integer(bank) => {
            let word = args.integer()?;
            let bank = u8::try_from(bank).map_err(|_| "its bank is not known")?;
            Ok(Src::constant(bank, place_in_bank((4 * word) as i32)?))
        }
        Value::Uniform(number) => {
            if matches!(args.peek(), Some(operand) if operand.value == Value::Integer(0)) {
                args.skip(1);
            }
            if matches!(args.peek(), Some(operand) if matches!(operand.value, Value::Uniform(_))) {
                return Err("a second uniform register is not known of it".into());
            }
            Ok(Src::uniform(args.uniform(number)))
        }
        _ => Err("its handle is of a kind that is not known of it".into()),
    }
}

/// Registers that results go to: the first two, and those that follow.
struct Results {
    first: Reg,
    upper: Reg,
}

impl Results {
    /// The upper registers come first.
    fn take(args: &mut Args<'_>) -> Result<Results, Refusal> {
        args.no_pred_dst("its predicate is not known")?;
        let upper = register(args)?;
        Ok(Results { first: register(args)?, upper })
    }

    /// The register of a result, counted among those that are written.
    fn register(&self, number: usize) -> Reg {
        let (reg, within) = if number < 2 { (self.first, number) } else { (self.upper, number - 2) };
        if reg.is_zero() { Reg::RZ } else { reg.nth(within as u8) }
    }
}

/// The components that are written, as a mask at the end of the operands; all without one.
fn mask(args: &mut Args<'_>) -> Result<u8, Refusal> {
    if args.rest().is_empty() {
        return Ok(15);
    }
    u8::try_from(args.integer()?).map_err(|_| "its components are not known".into())
}

fn written(mask: u8) -> Option<TexWords> {
    Some(match mask {
        1 => TexWords::X,
        2 => TexWords::Y,
        3 => TexWords::Xy,
        4 => TexWords::Z,
        5 => TexWords::Xz,
        6 => TexWords::Yz,
        8 => TexWords::W,
        9 => TexWords::Xw,
        10 => TexWords::Yw,
        12 => TexWords::Zw,
        15 => TexWords::All,
        _ => return None,
    })
}

/// A fetch, before its words are put in order.
struct Fetch {
    geometry: TexGeometry,
    coord: TexCoord,
    lod: TexLod,
    result: TexResult,
    handle: Src,
    /// Where coordinates, level or gradients are, in our order.
    words: Vec<Src>,
    /// The register that holds the offsets, with the place of their lowest bit.
    offsets: Option<(Src, u32)>,
    /// The register that holds the layer beside offsets.
    masked_layer: bool,
}

/// A fetch or a gather.
pub(super) fn fetch(word: &Instruction, args: &mut Args<'_>) -> Result<Place, Refusal> {
    hints(args);
    for (modifier, what) in [
        ("DC", "a comparison of depths"),
        ("NDV", "a level of detail from neighbouring lanes"),
        ("LB", "a bias of the level of detail"),
        ("LC", "a bound of the level of detail"),
        ("PTP", "an offset for each texel"),
        ("MS", "a sample's number"),
    ] {
        if word.has(modifier) {
            return Err(format!("{what} is not known of it"));
        }
    }
    let (split, bindless, moved_by) = (args.has("SCR"), args.has("B"), args.has("AOFFI"));
    let gather = [
        ("R", TexResult::GatherR),
        ("G", TexResult::GatherG),
        ("B", TexResult::GatherB),
        ("A", TexResult::GatherA),
    ];
    let result = match word.mnemonic {
        // The component is the first of the modifiers, and a handle in a register is another B.
        "TLD4" => {
            let named = word.modifiers.iter().find_map(|m| gather.iter().find(|(name, _)| name == m));
            named.ok_or("its component is not known")?.1
        }
        _ => TexResult::Words,
    };
    args.all(&gather);
    let bindless = if word.mnemonic == "TLD4" {
        word.modifiers.iter().filter(|m| **m == "B").count() > usize::from(result == TexResult::GatherB)
    } else {
        bindless
    };
    let lod = match word.mnemonic {
        "TXD" => TexLod::Grad,
        // Without a level it is the first one: no neighbours are known to a compute kernel.
        _ => args.pick(&[("LZ", TexLod::Base), ("LL", TexLod::Level)]).unwrap_or(TexLod::Base),
    };
    let results = Results::take(args)?;
    let first = register(args)?;
    let second = match args.peek().map(|operand| operand.value) {
        Some(Value::Register(_)) => register(args)?,
        _ => Reg::RZ,
    };
    let bound = if bindless { None } else { Some(bound_handle(args)?) };
    let Value::Name(name) = args.take()?.value else { return Err("its shape is missing".into()) };
    let geometry = SHAPES.iter().find(|(shape, _)| *shape == name).ok_or("its shape is not known")?.1;
    let coord = if word.mnemonic == "TLD" { TexCoord::Int } else { TexCoord::Float };
    let mask = mask(args)?;
    let coordinates = usize::from(geometry.coordinates());
    let dimensions = coordinates - usize::from(geometry.is_layered());
    let at = |reg: Reg, number: usize| if reg.is_zero() { Src::RZ } else { Src::reg(reg.nth(number as u8)) };
    let fetch = if lod == TexLod::Grad {
        // The handle, the coordinates without the layer, and the layer with the offsets; the gradients by dimension.
        let shift = usize::from(bindless);
        let last = at(first, shift + dimensions);
        let plain = (0..dimensions).map(|number| at(first, shift + number));
        let layer = geometry.is_layered().then_some(last);
        let gradients =
            (0..2).flat_map(|which| (0..dimensions).map(move |number| at(second, 2 * number + which)));
        let words = layer.into_iter().chain(plain).chain(gradients).collect();
        let handle = bound.unwrap_or_else(|| at(first, 0));
        let offsets = moved_by.then_some((last, 16));
        Fetch { geometry, coord, lod, result, handle, words, offsets, masked_layer: geometry.is_layered() }
    } else {
        let levels = usize::from(lod == TexLod::Level);
        let count = coordinates + usize::from(bindless) + levels + usize::from(moved_by);
        let place = |number: usize| match (split, number) {
            (true, 1) if count == 2 => at(second, 0),
            (true, 0..2) => at(first, number),
            (true, _) => at(second, number - 2),
            (false, _) if number < coordinates => at(first, number),
            (false, _) => at(second, number - coordinates),
        };
        let handle = bound.unwrap_or_else(|| place(coordinates));
        let behind = coordinates + usize::from(bindless);
        let words = (0..coordinates).chain(behind..behind + levels).map(place).collect();
        let offsets = moved_by.then(|| (place(behind + levels), 0));
        Fetch { geometry, coord, lod, result, handle, words, offsets, masked_layer: false }
    };
    fetch.place(args, &results, mask)
}

impl Fetch {
    /// One instruction if its words and results are where ours has them, several otherwise.
    fn place(mut self, args: &Args<'_>, results: &Results, mask: u8) -> Result<Place, Refusal> {
        if let Some(inst) = self.direct(results, mask) {
            return Ok(Place::Here(inst));
        }
        let mut insts = Vec::new();
        if self.masked_layer {
            let layer = args.temporary(0);
            insts.push(and(self.words[0], 0xFFFF, layer));
            self.words[0] = Src::reg(layer);
        }
        let dimensions = self.geometry.coordinates() - u8::from(self.geometry.is_layered());
        let offset = TexOffset(self.offsets.is_some());
        let count = tex_words(self.geometry, self.lod, offset, TexSampler(false));
        let op = Op::Tex {
            geometry: self.geometry,
            coord: self.coord,
            lod: self.lod,
            result: self.result,
            words: TexWords::All,
            offset,
            sampler: TexSampler(false),
        };
        // The first four words, the four that follow, and the handle with those that remain.
        let begins = [0, 8, 4].map(|number| args.temporary(number));
        let temporary = |word: u8| {
            let (source, within) = tex_word_place(word);
            begins[source].nth(within)
        };
        for (number, word) in self.words.iter().enumerate() {
            let to = temporary(number as u8);
            if word.operand != Operand::Reg(to) {
                insts.push(moved(*word, to));
            }
        }
        if let Some((packed, at)) = self.offsets {
            for number in 0..dimensions {
                let to = temporary(self.words.len() as u8 + number);
                let op =
                    Op::ShfR { sign: Sign::U32, wide: Wide(false), wrap: Wrap(false), high: High(false) };
                let shift = at + 4 * u32::from(number);
                insts.push(Inst::new(op).srcs([packed, Src::imm(shift), Src::RZ]).dst(to));
                insts.push(Inst::new(Op::Sgxt { sign: Sign::S32 }).srcs([Src::reg(to), Src::imm(4)]).dst(to));
            }
        }
        let mut fetch = Inst::new(op);
        fetch.src[0] = Src::reg(begins[0]);
        fetch.src[1] = self.handle;
        if count > 4 {
            fetch.src[2] = Src::reg(begins[2]);
        }
        if count > 8 {
            insts.push(moved(self.handle, begins[1]));
            fetch.src[1] = Src::reg(begins[1]);
        }
        fetch.dst = begins[0];
        insts.push(fetch);
        let components = (0..4).filter(|component| mask >> component & 1 == 1);
        for (number, component) in components.enumerate() {
            let to = results.register(number);
            if !to.is_zero() {
                insts.push(moved(Src::reg(begins[0].nth(component)), to));
            }
        }
        Ok(Aside::of(insts))
    }

    /// The one instruction that it is, if there is one.
    fn direct(&self, results: &Results, mask: u8) -> Option<Inst> {
        let plain = self.offsets.is_none() && self.result == TexResult::Words && !self.masked_layer;
        let words = written(mask)?;
        let count = self.words.len() as u8;
        let fits = |reg: Reg, count: u8| !reg.is_zero() && reg.0.is_multiple_of(count);
        let whole = words == TexWords::All;
        let placed = match words.positions().len() {
            1 => !results.first.is_zero(),
            2 => fits(results.first, 2),
            _ => fits(results.first, 4) && results.upper == results.first.nth(2),
        };
        if !plain || !placed || whole && results.upper.is_zero() {
            return None;
        }
        let begin = |number: u8| match self.words.get(usize::from(number))?.operand {
            Operand::Reg(reg) => Some(reg),
            _ => None,
        };
        let spans = tex_split(count);
        let first = begin(0)?;
        let second = if count > 2 { begin(2)? } else { Reg::RZ };
        let follow = |from: u8, to: u8, reg: Reg| {
            (from..to).all(|number| {
                begin(number) == Some(if from == number { reg } else { reg.nth(number - from) })
            })
        };
        let aligned = fits(first, spans[0]) && (count <= 2 || fits(second, spans[2]));
        if !aligned || !follow(0, count.min(2), first) || !follow(2, count, second) {
            return None;
        }
        let op = Op::TexSplit { geometry: self.geometry, coord: self.coord, lod: self.lod, words };
        let mut inst = Inst::new(op);
        (inst.dst, inst.src[0], inst.src[1]) = (results.first, Src::reg(first), self.handle);
        if count > 2 {
            inst.src[2] = Src::reg(second);
        }
        Some(inst)
    }
}

/// A query for the extent of a texture or surface at a level.
pub(super) fn query(args: &mut Args<'_>) -> Result<Place, Refusal> {
    hints(args);
    let bindless = args.has("B");
    let results = Results::take(args)?;
    let source = register(args)?;
    let at = |number: u8| if source.is_zero() { Src::RZ } else { Src::reg(source.nth(number)) };
    let Value::Name("TEX_HEADER_DIMENSION") = args.take()?.value else {
        return Err("what it asks for is not known".into());
    };
    let handle = if bindless { at(0) } else { bound_handle(args)? };
    let level = at(u8::from(bindless));
    let mask = mask(args)?;
    let queries = [TexQuery::Width, TexQuery::Height, TexQuery::Depth];
    if mask >> queries.len() != 0 || mask == 0 {
        return Err("what it asks for is not known".into());
    }
    // Results may go to the registers of the sources.
    let (kept_handle, kept_level) = (args.temporary(0), args.temporary(1));
    let mut insts = vec![moved(handle, kept_handle), moved(level, kept_level)];
    let asked = queries.into_iter().enumerate().filter(|(number, _)| mask >> number & 1 == 1);
    for (number, (_, query)) in asked.enumerate() {
        let ask = Inst::new(Op::Txq { query, level: TexAtLevel(true) });
        insts.push(ask.srcs([Src::reg(kept_handle), Src::reg(kept_level)]).dst(results.register(number)));
    }
    Ok(Aside::of(insts))
}

/// Shapes of surfaces; their layer is the last coordinate, and ours the first.
const SURFACES: [(&str, TexGeometry); 5] = [
    ("1D", TexGeometry::D1),
    ("2D", TexGeometry::D2),
    ("3D", TexGeometry::D3),
    ("1D_ARRAY", TexGeometry::A1),
    ("2D_ARRAY", TexGeometry::A2),
];

/// An access to a surface.
pub(super) fn surface(word: &Instruction, args: &mut Args<'_>) -> Result<Place, Refusal> {
    order(args);
    let geometry = args.pick(&SURFACES).ok_or("its shape is not known")?;
    let clamp = args.pick(&[("IGN", SurfClamp::Zero), ("TRAP", SurfClamp::Trap)]);
    let clamp = clamp.unwrap_or(SurfClamp::Clamp);
    let (bytes, texels) = (args.has("BA"), args.has("P"));
    args.has("D");
    let op = match word.mnemonic {
        "SULD" if bytes => {
            let width = args.pick(&WIDTHS).unwrap_or(MemWidth::B32);
            Op::Suld { geometry, width, clamp }
        }
        "SUST" if bytes => {
            let width = args.pick(&WIDTHS).unwrap_or(MemWidth::B32);
            Op::Sust { geometry, width, clamp, format: SurfFormat::Bytes }
        }
        "SUST" if texels => {
            let width = args.pick(&[("R", MemWidth::B32), ("RG", MemWidth::B64)]);
            let width = width.unwrap_or(MemWidth::B128);
            Op::Sust { geometry, width, clamp, format: SurfFormat::Texel }
        }
        "SURED" => {
            let op = args.pick(&OPERATIONS).ok_or("its operation is not known")?;
            let types = [
                ("S32", AtomTy::S32),
                ("U64", AtomTy::U64),
                ("S64", AtomTy::S64),
                ("SD32", AtomTy::S32),
                ("SD64", AtomTy::S64),
            ];
            let ty = args.pick(&types).unwrap_or(AtomTy::U32);
            let format = if bytes { SurfFormat::Bytes } else { SurfFormat::Texel };
            Op::Sured { geometry, op, ty, clamp, format }
        }
        _ => return Err("its kind is not known".into()),
    };
    let mut inst = Inst::new(op);
    args.no_pred_dst("its predicate is not known")?;
    if word.mnemonic == "SULD" {
        args.dst(&mut inst)?;
    }
    let Value::Address { register: Some(number), offset: 0, uniform: None, .. } = args.take()?.value else {
        return Err("its coordinates are of a kind that is not known of it".into());
    };
    let coordinates = Reg(number);
    if word.mnemonic != "SULD" {
        inst.src[2] = args.src()?;
    }
    inst.src[1] = match args.peek().map(|operand| operand.value) {
        Some(Value::Register(_)) => args.src()?,
        _ => bound_handle(args)?,
    };
    let count = geometry.coordinates();
    let span = geometry.span();
    if !geometry.is_layered() && !coordinates.is_zero() && coordinates.0.is_multiple_of(span) {
        inst.src[0] = Src::reg(coordinates);
        return Ok(Place::Here(inst));
    }
    let mut insts = Vec::new();
    for number in 0..count {
        // The layer comes last there, and first here.
        let to = if geometry.is_layered() { (number + 1) % count } else { number };
        let from = if coordinates.is_zero() { Src::RZ } else { Src::reg(coordinates.nth(number)) };
        insts.push(moved(from, args.temporary(to)));
    }
    inst.src[0] = Src::reg(args.temporary(0));
    insts.push(inst);
    Ok(Aside::of(insts))
}
