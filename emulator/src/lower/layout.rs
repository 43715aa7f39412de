//! Layout of variables: the `.const` bank and `.global` variables of a module, the shared and local memory of
//! a kernel, and the literal bank with its relocations.
//!
//! Offsets that are fixed at lowering (shared, local, `.const`) go into code as literals; addresses that
//! only the loader knows (`.global` variables) are read from the literal bank, which the loader patches.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::ptx::{Diagnostic, FuncId, Module, Relocation, RelocationTarget, VarId, VarSpace, Variable};

/// Maximum shared or local memory of variables: far more than any launch accepts, small enough for offsets.
const MAX_FRAME_BYTES: u64 = 1 << 27;

/// Largest constant bank.
const CONST_LIMIT_BYTES: u64 = 64 << 10;

/// A module's `.const` bank and `.global` variables.
#[derive(Clone, Debug, Default)]
pub struct ModuleLayout {
    /// Contents of constant bank 3, initialisers in place.
    pub const_image: Vec<u8>,
    /// Addresses that the loader writes into [`Self::const_image`]; offsets are those of the image.
    pub const_relocations: Vec<Relocation>,
    /// Variables that the loader places in device memory (with the contents and relocations of
    /// [`Variable::init`](crate::ptx::Variable)).
    pub globals: Vec<VarId>,
    const_offsets: HashMap<VarId, u32>,
}

impl ModuleLayout {
    /// Lays out the module's variables.
    ///
    /// # Errors
    /// A diagnostic at the variable that makes the `.const` bank exceed 64 KiB.
    pub fn of(module: &Module) -> Result<ModuleLayout, Diagnostic> {
        let mut layout = ModuleLayout::default();
        for (at, var) in module.vars.iter().enumerate() {
            let id = VarId::new(at);
            match var.space {
                VarSpace::Global => layout.globals.push(id),
                VarSpace::Const => {
                    let offset =
                        (layout.const_image.len() as u64).next_multiple_of(u64::from(var.align_bytes.max(1)));
                    let end = offset.checked_add(var.size_bytes).filter(|&end| end <= CONST_LIMIT_BYTES);
                    let Some(end) = end else {
                        let message =
                            format!("`.const` variables exceed {CONST_LIMIT_BYTES} bytes at `{}`", var.name);
                        let help = "move large tables to `.global` memory";
                        return Err(Diagnostic::error(var.span, message).with_help(help));
                    };
                    layout.const_image.resize(end as usize, 0);
                    if let Some(init) = &var.init {
                        let room = &mut layout.const_image[offset as usize..];
                        let n = init.bytes.len().min(room.len());
                        room[..n].copy_from_slice(&init.bytes[..n]);
                        let moved =
                            init.relocations.iter().map(|r| Relocation { offset: r.offset + offset, ..*r });
                        layout.const_relocations.extend(moved);
                    }
                    layout.const_offsets.insert(id, offset as u32);
                }
                VarSpace::Shared | VarSpace::Local | VarSpace::Param | VarSpace::Texture => {}
            }
        }
        Ok(layout)
    }

    /// Byte offset of a `.const` variable in bank 3.
    #[must_use]
    pub fn const_offset(&self, var: VarId) -> Option<u32> {
        self.const_offsets.get(&var).copied()
    }
}

/// A 64-bit address that the loader writes into a kernel's literal bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reloc {
    /// Offset in the literal bank in bytes.
    pub literal_offset: u32,
    /// Symbol of the address.
    pub target: RelocationTarget,
    /// Added to the address.
    pub addend: i64,
}

/// Memory of one kernel, filled while its code is built.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frame {
    /// Byte offset of every shared variable that the kernel mentions.
    pub shared: BTreeMap<VarId, u32>,
    /// Bytes of static shared memory; dynamic shared memory begins here.
    pub static_shared_bytes: u32,
    /// Byte offset of local variables in the thread's local memory.
    pub local: BTreeMap<VarId, u32>,
    /// Bytes of local memory used.
    pub local_bytes: u32,
    /// Contents of the literal bank.
    pub literals: Vec<u8>,
    /// Offsets of literals that are not addresses.
    literal_places: HashMap<u64, u16>,
    /// Addresses in the literal bank.
    pub relocations: Vec<Reloc>,
}

impl Frame {
    /// Lays out the shared variables that the functions of a kernel mention, in order of declaration; dynamic
    /// shared memory starts after all static variables.
    ///
    /// # Errors
    /// A diagnostic at the variable that exceeds the 32-bit address space of shared memory.
    pub(crate) fn of(module: &Module, reached: &BTreeSet<FuncId>) -> Result<Frame, Diagnostic> {
        Frame::sharing(module, &super::calls::mentioned(module, reached))
    }

    /// The same for the variables that are mentioned.
    ///
    /// # Errors
    /// As [`Frame::of`].
    pub(crate) fn sharing(module: &Module, mentioned: &BTreeSet<VarId>) -> Result<Frame, Diagnostic> {
        let mut frame = Frame::default();
        let mut dynamic: Vec<VarId> = Vec::new();
        for &id in mentioned {
            let var = module.var(id);
            match var.space {
                // A declaration that gives a size and has no definition counts as one, as ptxas has it.
                VarSpace::Shared if var.size_bytes == 0 => dynamic.push(id),
                VarSpace::Shared => {
                    let (offset, end) = place(var, frame.static_shared_bytes)?;
                    frame.shared.insert(id, offset);
                    frame.static_shared_bytes = end;
                }
                _ => {}
            }
        }
        if let Some(align) = dynamic.iter().map(|&id| module.var(id).align_bytes).max() {
            frame.static_shared_bytes = frame.static_shared_bytes.next_multiple_of(align.max(1));
            frame.shared.extend(dynamic.iter().map(|&id| (id, frame.static_shared_bytes)));
        }
        Ok(frame)
    }

    /// Begins the frame of one machine function: room for the arguments and results of its calls, then the
    /// local variables that it and the functions inlined into it mention, in order of declaration.
    ///
    /// # Errors
    /// A diagnostic at the variable that exceeds the 32-bit address space of local memory.
    pub(crate) fn enter(
        &mut self,
        module: &Module,
        functions: &BTreeSet<FuncId>,
        outgoing_bytes: u32,
    ) -> Result<(), Diagnostic> {
        self.local.clear();
        self.local_bytes = outgoing_bytes;
        for id in super::calls::mentioned(module, functions) {
            let var = module.var(id);
            if var.space == VarSpace::Local {
                let (offset, end) = place(var, self.local_bytes)?;
                self.local.insert(id, offset);
                self.local_bytes = end;
            }
        }
        Ok(())
    }

    /// Offset of a 64-bit literal in the literal bank; equal literals share an offset. `None` when it is
    /// full.
    pub(crate) fn literal64(&mut self, value: u64) -> Option<u16> {
        if let Some(&at) = self.literal_places.get(&value) {
            return Some(at);
        }
        let at = self.new_literal(value)?;
        self.literal_places.insert(value, at);
        Some(at)
    }

    /// Offset in the literal bank of the address of a symbol, patched at load. `None` when it is full.
    pub(crate) fn address(&mut self, target: RelocationTarget, addend: i64) -> Option<u16> {
        if let Some(r) = self.relocations.iter().find(|r| r.target == target && r.addend == addend) {
            return u16::try_from(r.literal_offset).ok();
        }
        let at = self.new_literal(0)?;
        self.relocations.push(Reloc { literal_offset: at.into(), target, addend });
        Some(at)
    }

    fn new_literal(&mut self, value: u64) -> Option<u16> {
        let at = u16::try_from(self.literals.len()).ok()?;
        self.literals.extend_from_slice(&value.to_le_bytes());
        Some(at)
    }
}

/// Offset and end of a variable placed after the others.
fn place(var: &Variable, end: u32) -> Result<(u32, u32), Diagnostic> {
    let offset = u64::from(end).next_multiple_of(u64::from(var.align_bytes.max(1)));
    let limit = MAX_FRAME_BYTES;
    match offset.checked_add(var.size_bytes).filter(|&end| end <= limit) {
        Some(end) => Ok((offset as u32, end as u32)),
        None => Err(Diagnostic::error(var.span, format!("`{}` does not fit its memory", var.name))),
    }
}
