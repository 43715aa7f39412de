//! Where variables lie: global ones in buffers, the others at offsets of their space.

use super::inlined::Contractions;
use super::memory::{GlobalMemory, window_of};
use super::{Fault, atomic::put};
use emulator::ptx::{Formal, FuncId, Module, Relocation, RelocationTarget, VarId, VarSpace, Variable};

/// Address of every variable in its own space, and what the module's own spaces hold.
#[derive(Debug)]
pub(super) struct Layout {
    addresses: Vec<u64>,
    /// Contents of `.const`.
    pub constant: Vec<u8>,
    /// Size of all static shared variables, where dynamic ones begin.
    pub static_shared_bytes: usize,
    /// Size of all local variables, those of every function beside one another.
    pub local_bytes: usize,
    /// What is fused in each function; empty without contraction.
    pub contractions: Contractions,
}

impl Layout {
    pub(super) fn new(module: &Module, global: &mut GlobalMemory) -> Result<Self, Fault> {
        let mut layout = Self {
            addresses: Vec::new(),
            constant: Vec::new(),
            static_shared_bytes: 0,
            local_bytes: 0,
            contractions: Contractions::of(module),
        };
        let (mut shared_end, mut local_end, mut const_end) = (0, 0, 0);
        for var in &module.vars {
            let address = match var.space {
                VarSpace::Global => global.add(vec![0; var.size_bytes as usize]),
                VarSpace::Shared if var.size_bytes == 0 => u64::MAX,
                VarSpace::Shared => place(&mut shared_end, var),
                VarSpace::Local => place(&mut local_end, var),
                VarSpace::Const => place(&mut const_end, var),
                VarSpace::Param => var.param_offset,
                VarSpace::Texture => return Err(Fault::new(format!("`{}` is a texture", var.name))),
            };
            layout.addresses.push(address);
        }
        layout.static_shared_bytes = shared_end.next_multiple_of(16) as usize;
        layout.local_bytes = local_end as usize;
        layout.constant = vec![0; const_end as usize];
        for (var, address) in module.vars.iter().zip(&mut layout.addresses) {
            if *address == u64::MAX {
                *address = layout.static_shared_bytes.next_multiple_of(var.align_bytes as usize) as u64;
            }
        }
        for (at, var) in module.vars.iter().enumerate() {
            layout.initialise(module, at, var, global)?;
        }
        Ok(layout)
    }

    fn initialise(
        &mut self,
        module: &Module,
        at: usize,
        var: &Variable,
        global: &mut GlobalMemory,
    ) -> Result<(), Fault> {
        let Some(init) = &var.init else { return Ok(()) };
        let mut bytes = init.bytes.clone();
        bytes.resize(var.size_bytes as usize, 0);
        for relocation in &init.relocations {
            let value = self.relocated(module, relocation)?;
            put(&mut bytes, relocation.offset as usize, relocation.size_bytes as usize, value);
        }
        let base = self.addresses[at];
        match var.space {
            VarSpace::Global => global.replace(base, bytes),
            VarSpace::Const => self.constant[base as usize..][..bytes.len()].copy_from_slice(&bytes),
            _ => return Err(Fault::new(format!("`{}` cannot have an initialiser", var.name))),
        }
        Ok(())
    }

    fn relocated(&self, module: &Module, relocation: &Relocation) -> Result<u64, Fault> {
        let RelocationTarget::Var(id) = relocation.target else {
            return Err(Fault::new("addresses of functions in initialisers are not supported"));
        };
        let window = if relocation.generic { window_of(module.var(id).space.state_space()) } else { 0 };
        let address = self.address(id).wrapping_add(window).wrapping_add_signed(relocation.addend);
        Ok(address >> relocation.shift)
    }

    /// The address of a variable in its space.
    pub(super) fn address(&self, id: VarId) -> u64 {
        self.addresses[id.index()]
    }

    /// The parameter space of a kernel.
    pub(super) fn parameters(
        &self,
        module: &Module,
        kernel: FuncId,
        args: &[Vec<u8>],
    ) -> Result<Vec<u8>, Fault> {
        let formals = &module.function(kernel).params;
        if formals.len() != args.len() {
            return Err(Fault::new(format!("{} arguments for {} parameters", args.len(), formals.len())));
        }
        let mut bytes = Vec::new();
        for (formal, arg) in formals.iter().zip(args) {
            let Formal::Var(id) = *formal else { return Err(Fault::new("a kernel parameter in a register")) };
            let var = module.var(id);
            if arg.len() as u64 != var.size_bytes {
                return Err(Fault::new(format!(
                    "`{}` has {} bytes, its argument {}",
                    var.name,
                    var.size_bytes,
                    arg.len()
                )));
            }
            bytes.resize(var.param_offset as usize, 0);
            bytes.extend_from_slice(arg);
        }
        Ok(bytes)
    }
}

fn place(end: &mut u64, var: &Variable) -> u64 {
    let address = end.next_multiple_of(u64::from(var.align_bytes.max(1)));
    *end = address + var.size_bytes;
    address
}
