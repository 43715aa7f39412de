//! Modules: PTX with its kernels and variables, placed in device memory.

use crate::error::{self, Status};
use crate::memory::Memory;
use emulator::device::{DeviceModule, LoadError};
use emulator::ptx::{self, FuncId};
use emulator::session::LoadedModule;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// A loaded module.
#[derive(Debug)]
pub struct Module {
    /// Its code and variables.
    pub device: DeviceModule,
    /// Handles of the kernels that programs have asked for.
    pub kernels: Vec<(FuncId, u64)>,
    /// Whether it is a library, which outlives the contexts that it is used in.
    pub is_library: bool,
    /// Addresses and handles of the kernels that its device code may launch, set once a kernel that launches
    /// others has run.
    pub launchable: Option<Arc<HashMap<u64, u64>>>,
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
    match DeviceModule::load(Arc::new(parsed), memory, Vec::new()) {
        Ok(device) => Ok(Module { device, kernels: Vec::new(), is_library: false, launchable: None }),
        Err(error @ (LoadError::OutOfMemory { .. } | LoadError::TooLarge { .. })) => {
            Err((Status::MEMORY_ALLOCATION, error.to_string()))
        }
        Err(LoadError::Module(errors)) => Err((Status::INVALID_PTX, errors.to_string())),
    }
}
