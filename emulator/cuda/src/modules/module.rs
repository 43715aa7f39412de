//! Modules: PTX or machine code with its kernels and variables, placed in device memory.

use crate::error::{self, Status};
use crate::memory::Memory;
use emulator::device::{DeviceModule, LoadError};
use emulator::lower::LowerOptions;
use emulator::native::NativeModule;
use emulator::ptx;
use emulator::session::{AnyModule, LoadedModule};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// A loaded module.
#[derive(Debug)]
pub struct Module {
    /// Its code and variables.
    pub device: DeviceModule,
    /// Names and handles of the kernels that programs have asked for.
    pub kernels: HashMap<String, u64>,
    /// Whether it is a library, which outlives the contexts that it is used in.
    pub is_library: bool,
    /// The most registers per thread that the program has asked for, where kernels name no number.
    pub most_registers: Option<u16>,
    /// Addresses and handles of the kernels that its device code may launch, set once a kernel that launches
    /// others has run.
    pub launchable: Option<Arc<HashMap<u64, u64>>>,
}

impl Module {
    /// How its kernels are lowered, where others are lowered so.
    pub(super) fn lowering(&self, others: &LowerOptions) -> LowerOptions {
        LowerOptions { maxregs: self.most_registers.or(others.maxregs), ..*others }
    }
}

/// A text; if it declares the functions that return error texts, with these appended.
fn with_error_texts(text: &str) -> Cow<'_, str> {
    if !text.contains("__cudaCDP2GetError") {
        return Cow::Borrowed(text);
    }
    let missing = ptx::missing_from(text, &error::device_functions());
    if missing.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(format!("{text}\n{missing}")) }
}

/// Parses a PTX text and places its variables.
///
/// # Errors
/// A code for the program and words for people.
pub(crate) fn load(memory: &mut Memory, text: &str, name: &str) -> Result<Module, (Status, String)> {
    let text = &with_error_texts(text);
    let parsed = LoadedModule::parse(text, name).map_err(|e| (Status::INVALID_PTX, e.to_string()))?;
    place(memory, Arc::new(parsed).into())
}

/// Reads a cubin and places its variables.
///
/// # Errors
/// A code for the program and words for people.
pub(crate) fn load_native(
    memory: &mut Memory,
    cubin: Vec<u8>,
    name: &str,
) -> Result<Module, (Status, String)> {
    let read = NativeModule::parse(cubin, name);
    let read = read.map_err(|e| (Status::INVALID_KERNEL_IMAGE, e.to_string()))?;
    place(memory, Arc::new(read).into())
}

fn place(memory: &mut Memory, module: AnyModule) -> Result<Module, (Status, String)> {
    match DeviceModule::load(module, memory, Vec::new()) {
        Ok(device) => Ok(Module {
            device,
            kernels: HashMap::new(),
            is_library: false,
            most_registers: None,
            launchable: None,
        }),
        Err(error @ (LoadError::OutOfMemory { .. } | LoadError::TooLarge { .. })) => {
            Err((Status::MEMORY_ALLOCATION, error.to_string()))
        }
        Err(LoadError::Module(errors)) => Err((Status::INVALID_PTX, errors.to_string())),
        Err(LoadError::Native(error)) => Err((Status::INVALID_KERNEL_IMAGE, error.to_string())),
    }
}
