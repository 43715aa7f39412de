//! Declarations to variables: sizes, alignments, array dimensions.

use super::super::ast::{DeclSpace, DeclType, Declarator, Expr, Init, Name, VarDecl};
use super::super::ids::FuncId;
use super::super::module::{Linkage, PointerAttribute, PrototypeParam, VarSpace, Variable};
use super::super::op_data::OpaqueKind;
use super::super::source::Span;
use super::super::types::ScalarType;
use super::constant::Const;
use super::resolver::Resolver;
use super::scope::Names;

/// Most registers that one parametrised declaration may make.
const MAX_COUNT: u64 = 1 << 20;

/// Most bytes of one parameter: more than any kernel or function takes.
const MAX_PARAMETER_BYTES: u64 = 1 << 20;

/// The type of a declaration after checks.
#[derive(Clone, Copy)]
pub(super) struct DeclaredType {
    pub(super) ty: ScalarType,
    pub(super) opaque: Option<OpaqueKind>,
}

/// The variable space of a declaration, `None` for registers.
pub(super) fn var_space(decl: &VarDecl<'_>) -> Option<VarSpace> {
    Some(match decl.space {
        DeclSpace::Reg => return None,
        _ if matches!(decl.ty, DeclType::Opaque(_)) && decl.space != DeclSpace::Param => VarSpace::Texture,
        DeclSpace::Param => VarSpace::Param,
        DeclSpace::Local => VarSpace::Local,
        DeclSpace::Shared => VarSpace::Shared,
        DeclSpace::Global => VarSpace::Global,
        DeclSpace::Const => VarSpace::Const,
        DeclSpace::Tex => VarSpace::Texture,
    })
}

/// An opaque reference is a 64-bit handle.
fn declared_type(decl: &VarDecl<'_>) -> DeclaredType {
    match decl.ty {
        DeclType::Scalar(ty) => DeclaredType { ty, opaque: None },
        DeclType::Opaque(kind) => DeclaredType { ty: ScalarType::B64, opaque: Some(kind) },
    }
}

impl<'a> Resolver<'a> {
    /// The type of a register declaration; reports types that registers cannot have.
    pub(super) fn register_type(
        &mut self,
        decl: &VarDecl<'_>,
        declarator: &Declarator<'_>,
    ) -> Option<DeclaredType> {
        let declared = declared_type(decl);
        let name = declarator.name;
        if declared.opaque.is_some() {
            self.error(name.span, "a register cannot hold a texture, sampler or surface reference");
            return None;
        }
        if !declarator.dims.is_empty() || declarator.init.is_some() {
            self.error(name.span, "a register has neither array dimensions nor an initialiser");
            return None;
        }
        Some(declared)
    }

    /// Declares the registers of one declarator.
    pub(super) fn declare_registers(
        &mut self,
        decl: &VarDecl<'a>,
        declarator: &Declarator<'a>,
        names: &mut Names<'a>,
    ) {
        let Some(DeclaredType { ty, .. }) = self.register_type(decl, declarator) else { return };
        let name = declarator.name;
        let Some(count) = self.declared_count(declarator) else { return };
        if let Err(first) = names.declare_registers(name.text, count, ty, decl.vec, name.span) {
            self.duplicate(name, first);
        }
    }

    /// The number of a parametrised declaration; `None` where it is refused.
    fn declared_count(&mut self, declarator: &Declarator<'_>) -> Option<Option<u32>> {
        match declarator.count {
            None => Some(None),
            Some(Expr::Int { value, .. }) if value <= MAX_COUNT => Some(u32::try_from(value).ok()),
            Some(ref expr) => {
                self.error(expr.span(), format!("more than {MAX_COUNT} names in one declaration"));
                None
            }
        }
    }

    /// The variable of one declarator with its name; `None` after reporting an error.
    pub(super) fn declared_variable(
        &mut self,
        decl: &VarDecl<'a>,
        declarator: &Declarator<'a>,
        space: VarSpace,
        owner: Option<FuncId>,
    ) -> Option<(Name<'a>, Variable)> {
        if declarator.count.is_some() {
            self.error(declarator.name.span, "only registers can be declared with `<n>`");
            return None;
        }
        if !self.may_be_in_memory(decl, declarator) {
            return None;
        }
        let variable = self.variable(decl, declarator, space, owner)?;
        Some((declarator.name, variable))
    }

    /// Whether memory may hold what is declared; a predicate is reported.
    fn may_be_in_memory(&mut self, decl: &VarDecl<'a>, declarator: &Declarator<'a>) -> bool {
        let is_predicate = declared_type(decl).ty == ScalarType::Pred;
        if is_predicate {
            self.error(declarator.name.span, "a predicate is kept in a register, not in memory");
        }
        !is_predicate
    }

    fn variable(
        &mut self,
        decl: &VarDecl<'a>,
        declarator: &Declarator<'a>,
        space: VarSpace,
        owner: Option<FuncId>,
    ) -> Option<Variable> {
        let DeclaredType { ty, opaque } = declared_type(decl);
        let element_bytes = u64::from(ty.bytes()) * u64::from(decl.vec);
        let name = declarator.name;
        let dims = self.dimensions(declarator, decl.vec)?;
        let is_open = matches!(declarator.dims.first(), Some(None)) && declarator.init.is_none();
        if is_open && space != VarSpace::Param && decl.linkage != Linkage::Extern {
            self.error(name.span, format!("`{}` has no size: give one, or declare it `.extern`", name.text));
            return None;
        }
        let size = dims.iter().try_fold(element_bytes, |size, &dim| size.checked_mul(dim));
        let limit = if space == VarSpace::Param { MAX_PARAMETER_BYTES } else { 1 << 40 };
        let Some(size_bytes) = size.filter(|&size| size <= limit) else {
            self.error(name.span, format!("`{}` is larger than any memory", name.text));
            return None;
        };
        let natural = u32::try_from(element_bytes.next_power_of_two()).unwrap_or(1);
        let align_bytes = decl.align.map_or(natural, |(align, _)| u32::try_from(align).unwrap_or(natural));
        let pointer = decl.pointer.map(|(space, align)| PointerAttribute {
            space,
            // The default is four bytes (`.ptr` in the ISA).
            align_bytes: align.and_then(|align| u32::try_from(align).ok()).unwrap_or(4),
        });
        Some(Variable {
            name: name.text.to_owned(),
            space,
            linkage: decl.linkage,
            owner,
            ty,
            vec: decl.vec,
            dims,
            size_bytes,
            align_bytes,
            param_offset: 0,
            pointer,
            opaque,
            init: None,
            managed: decl.managed,
            span: name.span,
        })
    }

    /// Array dimensions; open ones are as long as the initialiser, or 0.
    fn dimensions(&mut self, declarator: &Declarator<'a>, vec: u8) -> Option<Vec<u64>> {
        let mut dims = Vec::with_capacity(declarator.dims.len());
        for (level, dim) in declarator.dims.iter().enumerate() {
            let length = match dim {
                None => None,
                Some(expr) => Some(self.dimension(expr)?),
            };
            dims.push(
                length.unwrap_or_else(|| declarator.init.as_ref().map_or(0, |init| longest(init, level))),
            );
        }
        // `a[][4] = {1, 2, …}` without inner braces: the list counts scalars.
        if let (Some(None), Some(Init::List(list, _))) = (declarator.dims.first(), &declarator.init) {
            let inner = dims[1..].iter().try_fold(u64::from(vec), |product, &dim| product.checked_mul(dim));
            let flat = list.iter().all(|element| !matches!(element, Init::List(..)));
            if let Some(inner @ 2..) = inner.filter(|_| flat) {
                dims[0] = dims[0].div_ceil(inner);
            }
        }
        Some(dims)
    }

    fn dimension(&mut self, expr: &Expr<'a>) -> Option<u64> {
        let span = expr.span();
        match self.constant(expr, None)? {
            Const::Int { value, unsigned } if unsigned || (value as i64) >= 0 => Some(value),
            _ => {
                self.error(span, "an array dimension is a whole number from 0");
                None
            }
        }
    }

    /// A parameter of a `.callprototype`.
    pub(super) fn prototype_params(&mut self, decls: &[VarDecl<'a>]) -> Vec<PrototypeParam> {
        let mut params = Vec::with_capacity(decls.len());
        for decl in decls {
            for declarator in &decl.names {
                let space = var_space(decl);
                if space.is_some() && !self.may_be_in_memory(decl, declarator) {
                    continue;
                }
                if let Some(variable) =
                    self.variable(decl, declarator, space.unwrap_or(VarSpace::Param), None)
                {
                    // A vector in registers is as many parameters.
                    let in_register = space.is_none();
                    let count = if in_register { u64::from(decl.vec) } else { 1 };
                    let element = PrototypeParam {
                        in_register,
                        ty: variable.ty,
                        size_bytes: variable.size_bytes / count,
                        align_bytes: if in_register { variable.ty.bytes() } else { variable.align_bytes },
                    };
                    params.extend((0..count).map(|_| element));
                }
            }
        }
        params
    }

    /// A constant expression without registers or symbols.
    pub(super) fn constant(&mut self, expr: &Expr<'a>, names: Option<&mut Names<'a>>) -> Option<Const> {
        let span: Span = expr.span();
        let mut none = Names::new();
        match self.value(expr, names.unwrap_or(&mut none))?.kind {
            super::ArgKind::Const(value) => Some(value),
            _ => {
                self.error(span, "this is not a constant");
                None
            }
        }
    }
}

/// The longest list at a nesting level of an initialiser.
fn longest(init: &Init<'_>, level: usize) -> u64 {
    match init {
        Init::List(list, _) if level == 0 => list.len() as u64,
        Init::List(list, _) => list.iter().map(|element| longest(element, level - 1)).max().unwrap_or(0),
        _ => 1,
    }
}
