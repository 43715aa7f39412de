//! A module in device memory: its variables placed and initialised, its kernels lowered at first use, and the
//! constant banks of a launch.
//!
//! The loader of a module places its variables, because the CUDA libraries put them where the host program
//! can access them. [`DeviceModule`] is the same for PTX (`ptx`) and for machine code (`native`).

mod error;
mod native;
mod placement;
mod ptx;

pub use error::LoadError;
pub(crate) use placement::DEVICE_HEAP;
pub use placement::{CONST_BANK, GRID_WORKSPACE, Placement, Shape};

use crate::lower::{LowerOptions, Lowered};
use crate::memory::GlobalMemory;
use crate::module::{AnyModule, ModuleError};
use native::NativeVariables;
use ptx::PtxVariables;
use std::collections::HashMap;
use std::sync::Arc;
use trace_format::semantics::Banks;

/// Variables of either kind of module.
#[derive(Clone, Debug)]
enum Variables {
    Ptx(PtxVariables),
    Native(NativeVariables),
}

/// A module in device memory.
#[derive(Clone, Debug)]
pub struct DeviceModule {
    source: AnyModule,
    variables: Variables,
    kernels: HashMap<String, Arc<Lowered>>,
}

impl DeviceModule {
    /// Places a module's variables and writes their initial contents; `objects` are the handles of the
    /// textures, surfaces and samplers that variables of a PTX module refer to, by name.
    ///
    /// # Errors
    /// There is not enough memory, or an initialiser holds an address that does not exist.
    pub fn load(
        source: impl Into<AnyModule>,
        memory: &mut dyn Placement,
        objects: Vec<(String, u64)>,
    ) -> Result<DeviceModule, LoadError> {
        let source = source.into();
        let variables = match &source {
            AnyModule::Ptx(module) => {
                Variables::Ptx(PtxVariables::load(Arc::clone(module), memory, objects)?)
            }
            AnyModule::Native(module) => {
                Variables::Native(NativeVariables::load(Arc::clone(module), memory)?)
            }
        };
        Ok(DeviceModule { source, variables, kernels: HashMap::new() })
    }

    /// The module as it was read.
    #[must_use]
    pub fn source(&self) -> &AnyModule {
        &self.source
    }

    /// The same module with its variables placed anew, as they were in the beginning.
    ///
    /// # Errors
    /// As [`DeviceModule::load`].
    pub fn reloaded(&self, memory: &mut dyn Placement) -> Result<DeviceModule, LoadError> {
        DeviceModule::load(self.source.clone(), memory, Vec::new())
    }

    /// Address and length of a variable in global or constant memory.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<(u64, u64)> {
        match &self.variables {
            Variables::Ptx(variables) => variables.variable(name),
            Variables::Native(variables) => variables.variable(name),
        }
    }

    /// Addresses of all that was placed.
    #[must_use]
    pub fn addresses(&self) -> Vec<u64> {
        match &self.variables {
            Variables::Ptx(variables) => variables.addresses().collect(),
            Variables::Native(variables) => variables.addresses().collect(),
        }
    }

    /// A kernel's machine code, lowered or translated at first use; none if there is no such kernel.
    ///
    /// # Errors
    /// It does not fit the registers, or is not supported.
    pub fn kernel(
        &mut self,
        name: &str,
        options: &LowerOptions,
    ) -> Option<Result<Arc<Lowered>, ModuleError>> {
        if let Some(kernel) = self.kernels.get(name) {
            return Some(Ok(Arc::clone(kernel)));
        }
        let base = |place| match &self.variables {
            Variables::Ptx(_) => 0,
            Variables::Native(variables) => variables.base(place),
        };
        let kernel = match self.source.lower(name, options, &base)? {
            Ok(kernel) => Arc::new(kernel),
            Err(error) => return Some(Err(error)),
        };
        self.kernels.insert(name.to_owned(), Arc::clone(&kernel));
        Some(Ok(kernel))
    }

    /// Constant banks of a launch; `params` are the bytes of all parameters, each at its offset.
    ///
    /// # Errors
    /// The kernel uses an address that does not exist, or is not of this module.
    pub fn banks(
        &self,
        memory: &GlobalMemory,
        lowered: &Lowered,
        shape: &Shape<'_>,
        params: &[u8],
    ) -> Result<Banks, LoadError> {
        match &self.variables {
            Variables::Ptx(variables) => Ok(variables.banks(memory, lowered, shape, params)?),
            Variables::Native(variables) => Ok(variables.banks(memory, &lowered.kernel, shape, params)?),
        }
    }
}
