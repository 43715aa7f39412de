//! Initialisers to bytes and relocations.
//!
//! Lists nest as in C: braces may be left out, elements not mentioned are zero.

use super::super::ast::{BinaryOp, Expr, Init};
use super::super::ids::VarId;
use super::super::module::{Initializer, Relocation, RelocationTarget, VarSpace};
use super::super::types::ScalarType;
use super::arg::ArgKind;
use super::resolver::Resolver;
use super::scope::Names;

/// Most initialised bytes of a module's variables; beyond it a file is broken or hostile.
const MAX_INITIALISED_BYTES: u64 = 256 << 20;

/// Where initial values go while a variable's lists are walked.
struct Image {
    ty: ScalarType,
    /// Offset and bits of every element that is not zero.
    elements: Vec<(u64, u64)>,
    relocations: Vec<Relocation>,
}

impl<'a> Resolver<'a> {
    /// Fills in a variable's initial contents.
    pub(super) fn initialise(&mut self, id: VarId, init: &Init<'a>, names: Option<&mut Names<'a>>) {
        let variable = &self.vars[id.index()];
        let (ty, span) = (variable.ty, variable.span);
        if variable.opaque.is_some() {
            return;
        }
        if !matches!(variable.space, VarSpace::Global | VarSpace::Const) {
            self.error(span, "only `.global` and `.const` variables can have initial values");
            return;
        }
        let mut shape = variable.dims.clone();
        if variable.vec > 1 {
            shape.push(u64::from(variable.vec));
        }
        let mut none = Names::new();
        let mut image = Image { ty, elements: Vec::new(), relocations: Vec::new() };
        self.fill(&mut image, init, &shape, 0, names.unwrap_or(&mut none));
        let size = u64::from(ty.bytes());
        let end = image.elements.iter().map(|(offset, _)| offset + size).max().unwrap_or(0);
        self.initialised_bytes = self.initialised_bytes.saturating_add(end);
        if self.initialised_bytes > MAX_INITIALISED_BYTES {
            self.error(span, format!("more than {} MiB of initial values", MAX_INITIALISED_BYTES >> 20));
            return;
        }
        let mut bytes = vec![0u8; usize::try_from(end).unwrap_or(0)];
        for (offset, bits) in image.elements {
            let at = usize::try_from(offset).unwrap_or(0);
            let width = (ty.bytes() as usize).min(8);
            bytes[at..at + width].copy_from_slice(&bits.to_le_bytes()[..width]);
        }
        self.vars[id.index()].init = Some(Initializer { bytes, relocations: image.relocations });
    }

    /// Fills the array of this shape that begins at byte `base`.
    fn fill(&mut self, image: &mut Image, init: &Init<'a>, shape: &[u64], base: u64, names: &mut Names<'a>) {
        let list = match init {
            Init::Value(expr) if shape.is_empty() => return self.element(image, expr, base, names),
            Init::Value(expr) => {
                return self.error(expr.span(), "an array is initialised with a list in braces");
            }
            Init::Field(span) => return self.error(*span, "only opaque references have named fields"),
            Init::List(list, _) => list,
        };
        // The whole size was checked when the variable was declared, so parts of it do not overflow.
        let size = u64::from(image.ty.bytes());
        let inner = shape.get(1..).unwrap_or(&[]);
        let stride = inner.iter().product::<u64>() * size;
        let total = if shape.is_empty() { size } else { shape[0] * stride };
        let mut cursor = 0u64;
        for element in list {
            let nested = matches!(element, Init::List(..));
            if nested && stride > 0 {
                cursor = cursor.next_multiple_of(stride);
            }
            if cursor >= total {
                let span = match element {
                    Init::Value(expr) => expr.span(),
                    Init::List(_, span) | Init::Field(span) => *span,
                };
                return self.error(span, "more initial values than the variable has elements");
            }
            if nested {
                self.fill(image, element, inner, base + cursor, names);
                cursor += stride;
            } else {
                self.fill(image, element, &[], base + cursor, names);
                cursor += size;
            }
        }
    }

    /// One scalar: a constant, or the address of a symbol.
    fn element(&mut self, image: &mut Image, expr: &Expr<'a>, offset: u64, names: &mut Names<'a>) {
        let (mask, inner) = match expr {
            Expr::Mask(mask, inner, _) => (Some(*mask), &**inner),
            other => (None, other),
        };
        let Some((kind, addend, generic)) = self.symbolic(inner, names) else { return };
        let target = match kind {
            ArgKind::Const(value) if mask.is_none() => {
                match value.bits_as(image.ty) {
                    Ok(0) => {}
                    Ok(bits) => image.elements.push((offset, bits)),
                    Err(reason) => self.error(expr.span(), reason),
                }
                return;
            }
            ArgKind::Var(id, _) => RelocationTarget::Var(id),
            ArgKind::Func(id) => RelocationTarget::Func(id),
            _ => return self.error(expr.span(), "an initial value is a constant or the address of a symbol"),
        };
        let shift = mask.map_or(0, u64::trailing_zeros);
        if mask.is_some_and(|mask| shift % 8 != 0 || mask >> shift.min(63) != 0xff) {
            return self.error(expr.span(), "a mask selects one byte: `0xFF`, `0xFF00`, …");
        }
        let size_bytes = image.ty.bytes();
        if mask.is_none() && size_bytes < 4 {
            return self.error(expr.span(), "an address needs an element of 32 or 64 bits");
        }
        image.relocations.push(Relocation { offset, size_bytes, target, addend, generic, shift });
    }

    /// A value, the number added to it if it is an address, and whether the address is generic.
    fn symbolic(&mut self, expr: &Expr<'a>, names: &mut Names<'a>) -> Option<(ArgKind<'a>, i64, bool)> {
        match expr {
            Expr::Generic(inner, _) => {
                let (kind, addend, _) = self.symbolic(inner, names)?;
                Some((kind, addend, true))
            }
            Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), sides)
                if matches!(sides.0, Expr::Generic(..)) =>
            {
                let (kind, addend, generic) = self.symbolic(&sides.0, names)?;
                let number = self.constant(&sides.1, Some(names))?.as_i64().unwrap_or(0);
                let number = if *op == BinaryOp::Sub { number.wrapping_neg() } else { number };
                Some((kind, addend.wrapping_add(number), generic))
            }
            _ => {
                let kind = self.value(expr, names)?.kind;
                let addend = if let ArgKind::Var(_, offset) = kind { offset } else { 0 };
                Some((kind, addend, false))
            }
        }
    }
}
