//! The variables of a cubin in device memory, and the constant banks of a launch.
//!
//! The linker has laid out the variables of a section, so that a section is one allocation. `__constant__` variables are
//! in device memory too; each launch gets a copy of them as bank 3.

use super::error::{LoadError, MAX_MODULE_BYTES};
use super::placement::{CONST_BANK, GRID_WORKSPACE, Placement, Shape, place, place_heap};
use crate::memory::GlobalMemory;
use crate::native::banks::{Surroundings, fill};
use crate::native::patch::{Patch, PatchValue};
use crate::native::{NativeError, NativeModule};
use sass::cubin::Place;
use std::sync::Arc;
use trace_format::isa::MachineKernel;
use trace_format::isa::space::GRID_WORKSPACE_BYTES;
use trace_format::semantics::Banks;

/// Names of the allocations of variables that begin as zeros, and of those with initial values.
const ZEROED: &str = ".nv.global";
const INITIALISED: &str = ".nv.global.init";

/// A cubin's variables in device memory.
#[derive(Clone, Debug)]
pub(super) struct NativeVariables {
    source: Arc<NativeModule>,
    /// Address of each part; 0 for one without bytes.
    zeroed: u64,
    initialised: u64,
    constants: u64,
    workspace: u64,
    /// Bank 4.
    addresses: Vec<u8>,
}

impl NativeVariables {
    /// Places a cubin's variables and writes their initial contents.
    pub(super) fn load(
        source: Arc<NativeModule>,
        memory: &mut dyn Placement,
    ) -> Result<NativeVariables, LoadError> {
        if source.zeroed_bytes > MAX_MODULE_BYTES {
            return Err(LoadError::TooLarge { name: ZEROED.into(), bytes: source.zeroed_bytes });
        }
        if source.allocates() {
            place_heap(memory)?;
        }
        let mut part = |name: &str, contents: &[u8], length: u64| match length {
            0 => Ok(0),
            _ => place(memory, name, contents, length),
        };
        let whole = |bytes: &[u8]| bytes.len() as u64;
        let zeroed = part(ZEROED, &[], source.zeroed_bytes)?;
        let initialised = part(INITIALISED, &source.initialised, whole(&source.initialised))?;
        let constants = part(CONST_BANK, &source.constants, whole(&source.constants))?;
        let workspace = part(GRID_WORKSPACE, &[], GRID_WORKSPACE_BYTES as u64)?;
        let addresses = source.addresses.clone();
        let mut placed = NativeVariables { source, zeroed, initialised, constants, workspace, addresses };
        let source = Arc::clone(&placed.source);
        for patch in &source.patches {
            let value = placed.value(patch.value).to_le_bytes();
            match patch.place {
                Place::Addresses => write(&mut placed.addresses, patch, value),
                // The reader of the cubin has checked that the offset is within the part.
                part => {
                    let _ = memory.global().write(placed.base(part) + patch.offset, &value);
                }
            }
        }
        Ok(placed)
    }

    /// The address of a part.
    pub(super) fn base(&self, place: Place) -> u64 {
        match place {
            Place::Zeroed => self.zeroed,
            Place::Initialised => self.initialised,
            Place::Constants => self.constants,
            // Banks without addresses of their own.
            Place::Addresses | Place::Literals => 0,
        }
    }

    fn value(&self, value: PatchValue) -> u64 {
        match value {
            PatchValue::Data(place, offset) => self.base(place).wrapping_add(offset),
            PatchValue::Code(address) => address,
        }
    }

    /// Address and length of a variable.
    pub(super) fn variable(&self, name: &str) -> Option<(u64, u64)> {
        let found = self.source.variables.iter().find(|variable| variable.name == name)?;
        Some((self.base(found.place) + found.offset, found.bytes))
    }

    /// Addresses of all allocations.
    pub(super) fn addresses(&self) -> impl Iterator<Item = u64> {
        let all = [self.zeroed, self.initialised, self.constants, self.workspace];
        all.into_iter().filter(|&address| address != 0)
    }

    /// Constant banks of a launch.
    pub(super) fn banks(
        &self,
        memory: &GlobalMemory,
        kernel: &MachineKernel,
        shape: &Shape<'_>,
        params: &[u8],
    ) -> Result<Banks, NativeError> {
        let plan = self.source.plan(&kernel.name).ok_or_else(|| NativeError::Kernel {
            file: self.source.name().to_owned(),
            kernel: kernel.name.clone(),
            what: "is not in the module".into(),
        })?;
        let plan = plan.map_err(Clone::clone)?;
        let mut param = plan.bank0.clone();
        let around = Surroundings {
            geometry: shape.geometry,
            local_bytes: kernel.local_bytes,
            dynamic_shared_bytes: shape.dynamic_shared_bytes,
            constants: self.constants,
            workspace: self.workspace,
            sms: shape.sms,
        };
        let given = &params[..params.len().min(kernel.param_bytes as usize)];
        fill(&mut param, self.source.target(), &around, plan.parameter_base, given);
        let mut literal = plan.bank2.clone();
        for patch in &plan.patches {
            write(&mut literal, patch, self.value(patch.value).to_le_bytes());
        }
        let user = memory.bytes(self.constants, self.source.constants.len() as u64).unwrap_or_default();
        Ok(Banks { param, user, literal, addresses: self.addresses.clone() })
    }
}

fn write(part: &mut [u8], patch: &Patch, value: [u8; 8]) {
    let at = usize::try_from(patch.offset).unwrap_or(usize::MAX);
    if let Some(place) = part.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
        *place = value;
    }
}
