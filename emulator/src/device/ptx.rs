//! A PTX module's variables in device memory, and the constant banks of a launch.
//!
//! The `.const` bank is in device memory like any variable, so that programs can write to it between launches; each
//! launch gets a copy.

use super::error::{LoadError, MAX_MODULE_BYTES};
use super::placement::{CONST_BANK, GRID_WORKSPACE, Placement, Shape, place, place_heap};
use crate::lower::Lowered;
use crate::lower::calls::function_address;
use crate::memory::GlobalMemory;
use crate::module::LoadedModule;
use crate::ptx::Linkage;
use crate::ptx::{
    Diagnostic, Diagnostics, Function, Module, Operand, Relocation, RelocationTarget, SpecialRegister,
    Statement, VarId, VarSpace, Variable,
};
use std::collections::HashMap;
use std::sync::Arc;
use trace_format::isa::space::{GRID_WORKSPACE_BYTES, PARAM_BASE, PARAM_DYNAMIC_SHARED, PARAM_WORKSPACE};
use trace_format::semantics::Banks;

/// Subtracts the bytes of a variable from the remaining room; `None` if there is not enough.
fn take_room(var: &Variable, room: &mut u64) -> Option<u64> {
    *room = room.checked_sub(var.size_bytes)?;
    Some(var.size_bytes)
}

/// Whether code of the module uses the workspace of its grid.
fn uses_workspace(module: &Module) -> bool {
    let asks = |operand: &Operand| matches!(operand, Operand::Special(SpecialRegister::Envreg(1 | 2)));
    let bodies = module.functions.iter().filter_map(|f| f.body.as_ref());
    bodies.flat_map(|b| &b.statements).any(|s| matches!(s, Statement::Inst(i) if i.srcs().iter().any(asks)))
}

/// A PTX module in device memory.
#[derive(Clone, Debug)]
pub(super) struct PtxVariables {
    source: Arc<LoadedModule>,
    variables: HashMap<VarId, u64>,
    /// Address of the `.const` bank and its length.
    constants: Option<(u64, usize)>,
    objects: Vec<(String, u64)>,
    /// Address of the workspace through which the blocks of a grid synchronise, 0 if no code uses it.
    workspace: u64,
}

impl PtxVariables {
    /// Places a module's variables and writes their initial contents; `objects` are the handles of the
    /// textures, surfaces and samplers that variables of the module refer to, by name.
    ///
    /// # Errors
    /// There is not enough memory, or an initialiser holds an address that does not exist.
    pub(super) fn load(
        source: Arc<LoadedModule>,
        memory: &mut dyn Placement,
        objects: Vec<(String, u64)>,
    ) -> Result<PtxVariables, LoadError> {
        let mut module =
            PtxVariables { source, variables: HashMap::new(), constants: None, objects, workspace: 0 };
        let source = Arc::clone(&module.source);
        let mut room = MAX_MODULE_BYTES;
        for &id in &source.layout.globals {
            let var = source.module.var(id);
            let length = take_room(var, &mut room)
                .ok_or_else(|| LoadError::TooLarge { name: var.name.clone(), bytes: var.size_bytes })?;
            let contents = var.init.as_ref().map_or(&[][..], |init| &init.bytes);
            let address = place(memory, &var.name, contents, length)?;
            module.variables.insert(id, address);
        }
        if !source.layout.const_image.is_empty() {
            let image = &source.layout.const_image;
            let address = place(memory, CONST_BANK, image, image.len() as u64)?;
            module.constants = Some((address, image.len()));
        }
        let allocates = |f: &Function| f.name == "malloc" && f.body.is_none();
        if source.module.functions.iter().any(allocates) {
            place_heap(memory)?;
        }
        if uses_workspace(&source.module) {
            module.workspace = place(memory, GRID_WORKSPACE, &[], GRID_WORKSPACE_BYTES as u64)?;
        }
        module.relocate(memory.global())?;
        Ok(module)
    }

    /// Writes addresses into the initial contents.
    fn relocate(&self, memory: &mut GlobalMemory) -> Result<(), Diagnostics> {
        let layout = &self.source.layout;
        if let Some((base, _)) = self.constants {
            for relocation in &layout.const_relocations {
                self.patch(memory, base, relocation)?;
            }
        }
        for &id in &layout.globals {
            let (Some(init), Some(&base)) = (&self.source.module.var(id).init, self.variables.get(&id))
            else {
                continue;
            };
            for relocation in &init.relocations {
                self.patch(memory, base, relocation)?;
            }
        }
        Ok(())
    }

    fn patch(&self, memory: &mut GlobalMemory, base: u64, r: &Relocation) -> Result<(), Diagnostics> {
        let address = match r.target {
            // In its own space a constant's address is its offset in the bank.
            RelocationTarget::Var(id) if !r.generic && self.source.layout.const_offset(id).is_some() => {
                self.source.layout.const_offset(id).map_or(0, u64::from)
            }
            target => self.address(target)?,
        };
        let address = address.wrapping_add_signed(r.addend) >> (r.shift & 63);
        let size = u64::from(r.size_bytes).min(8);
        // The front end has checked that the offset is within the variable.
        let _ = memory.write(base + r.offset, &address.to_le_bytes()[..size as usize]);
        Ok(())
    }

    /// Address of a symbol in the generic space.
    fn address(&self, target: RelocationTarget) -> Result<u64, Diagnostics> {
        let module = &self.source.module;
        let refuse =
            |span, what: String| Err(Diagnostics::one(&module.source, Diagnostic::error(span, what)));
        match target {
            RelocationTarget::Var(id) => {
                let var = module.var(id);
                let constant = || {
                    let offset = self.source.layout.const_offset(id)?;
                    self.constants.map(|(base, _)| base + u64::from(offset))
                };
                let found = match var.space {
                    VarSpace::Global => self.variables.get(&id).copied(),
                    VarSpace::Const => constant(),
                    VarSpace::Texture => {
                        self.objects.iter().find(|(name, _)| *name == var.name).map(|(_, handle)| *handle)
                    }
                    _ => None,
                };
                match found {
                    Some(address) => Ok(address),
                    None if var.space == VarSpace::Texture => refuse(
                        var.span,
                        format!(
                            "no texture, surface or sampler has the name `{}` ([[texture]] and the like declare them in a launch manifest)",
                            var.name
                        ),
                    ),
                    None => refuse(
                        var.span,
                        format!("the address of `{}` is not known before a kernel runs", var.name),
                    ),
                }
            }
            RelocationTarget::Func(id) => Ok(function_address(id)),
        }
    }

    /// Address and length of a `.global` or `.const` variable.
    pub(super) fn variable(&self, name: &str) -> Option<(u64, u64)> {
        let (id, var) = self
            .source
            .module
            .vars
            .iter()
            .enumerate()
            .filter(|(_, v)| v.name == name && matches!(v.space, VarSpace::Global | VarSpace::Const))
            // Linked modules contain declarations beside the definition.
            .min_by_key(|(_, v)| v.linkage == Linkage::Extern)?;
        let address = self.address(RelocationTarget::Var(VarId::new(id))).ok()?;
        Some((address, var.size_bytes))
    }

    /// Addresses of all placed variables.
    pub(super) fn addresses(&self) -> impl Iterator<Item = u64> {
        self.variables
            .values()
            .copied()
            .chain(self.constants.map(|(base, _)| base))
            .chain((self.workspace != 0).then_some(self.workspace))
    }

    /// Constant banks of a launch; `params` are the bytes of all parameters, each at its offset.
    ///
    /// # Errors
    /// The kernel uses an address that does not exist.
    pub(super) fn banks(
        &self,
        memory: &GlobalMemory,
        lowered: &Lowered,
        shape: &Shape<'_>,
        params: &[u8],
    ) -> Result<Banks, Diagnostics> {
        let kernel = &lowered.kernel;
        let mut param = Banks::parameter_head(shape.geometry, kernel.local_bytes);
        param.resize(param.len() + kernel.param_bytes as usize, 0);
        let mut put = |at: usize, bytes: &[u8]| {
            if let Some(place) = param.get_mut(at..).and_then(|p| p.get_mut(..bytes.len())) {
                place.copy_from_slice(bytes);
            }
        };
        put(usize::from(PARAM_DYNAMIC_SHARED), &shape.dynamic_shared_bytes.to_le_bytes());
        put(usize::from(PARAM_WORKSPACE), &self.workspace.to_le_bytes());
        put(usize::from(PARAM_BASE), &params[..params.len().min(kernel.param_bytes as usize)]);
        let mut literal = kernel.literals.clone();
        for r in &lowered.relocations {
            let address = self.address(r.target)?.wrapping_add_signed(r.addend);
            let at = r.literal_offset as usize;
            if let Some(place) = literal.get_mut(at..).and_then(|l| l.get_mut(..8)) {
                place.copy_from_slice(&address.to_le_bytes());
            }
        }
        let constants = self.constants.and_then(|(base, length)| memory.bytes(base, length as u64));
        Ok(Banks { param, user: constants.unwrap_or_default(), literal, addresses: Vec::new() })
    }
}
