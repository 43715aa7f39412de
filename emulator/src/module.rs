//! Loading a PTX file: reading, parsing, lowering, finding kernels by name; and modules of either kind of code.

use crate::device_runtime;
use crate::lower::{self, AddressedCode, LowerOptions, Lowered, ModuleLayout};
use crate::native::{NativeError, NativeModule};
use crate::ptx::{self, Diagnostics, FuncId, Module};
use sass::cubin::Place;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// Largest PTX file that is read; those of the largest libraries have some ten MiB.
const MAX_FILE_BYTES: u64 = 512 << 20;

const NO_TEXT: &str = "it is not text; a PTX file is expected";
const PROGRAM: &str =
    "it is a compiled program or library; `emu run -- PROGRAM` runs it and `emu extract` takes its PTX out";

const CUBIN: &str = "it is machine code and not PTX: `emu run` runs it, with --code sass where that is not the default, and `emu disasm` lists it";

/// Error of reading, parsing or lowering a module.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModuleError {
    /// The file could not be read.
    #[error("cannot read {path}: {what}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        what: String,
    },
    /// The PTX has errors.
    #[error("{0}")]
    Ptx(Box<Diagnostics>),
    /// Machine code cannot be loaded, or a kernel of it is not supported.
    #[error("{0}")]
    Native(Box<NativeError>),
}

impl From<NativeError> for ModuleError {
    fn from(error: NativeError) -> Self {
        ModuleError::Native(Box::new(error))
    }
}

impl From<Diagnostics> for ModuleError {
    fn from(errors: Diagnostics) -> Self {
        ModuleError::Ptx(Box::new(errors))
    }
}

/// A parsed module with the layout of its variables.
#[derive(Clone, Debug)]
pub struct LoadedModule {
    /// The module.
    pub module: Module,
    /// Layout of its variables.
    pub layout: ModuleLayout,
    /// What outlines of its kernels share.
    addressed_code: OnceLock<AddressedCode>,
}

impl LoadedModule {
    /// Reads and parses a PTX file.
    ///
    /// # Errors
    /// When the file cannot be read or has errors.
    pub fn read(path: &Path) -> Result<LoadedModule, ModuleError> {
        let name = path.display().to_string();
        let refused = |what: String| ModuleError::Read { path: name.clone(), what };
        // No more than the limit, since some files, such as devices, have no end.
        let mut bytes = Vec::new();
        let read = warplab_host::input::open(path)
            .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes));
        read.map_err(|e| refused(e.to_string()))?;
        if let Some(hint) = warplab_host::kinds::elsewhere(path, "ptx") {
            return Err(refused(format!("{hint}; a PTX file is expected")));
        }
        if bytes.starts_with(b"\x7fELF") {
            let machine = bytes.get(18..20);
            return Err(refused(if machine == Some(&[190, 0]) { CUBIN } else { PROGRAM }.into()));
        }
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(refused(format!("it is larger than {} MiB", MAX_FILE_BYTES >> 20)));
        }
        // Zeros at the end are how some tools end a string.
        let end = bytes.iter().rposition(|&b| b != 0).map_or(0, |at| at + 1);
        if bytes[..end].contains(&0) || end == 0 && !bytes.is_empty() {
            return Err(refused(NO_TEXT.into()));
        }
        let text = String::from_utf8(bytes).map_err(|_| refused(NO_TEXT.into()))?;
        LoadedModule::parse(&text, &name)
    }

    /// Parses a PTX text; `name` is what reports call it.
    ///
    /// # Errors
    /// When the text has errors.
    pub fn parse(text: &str, name: &str) -> Result<LoadedModule, ModuleError> {
        let module = ptx::parse(&device_runtime::complete(text), name)?;
        let layout = ModuleLayout::of(&module).map_err(|error| Diagnostics::one(&module.source, error))?;
        Ok(LoadedModule { module, layout, addressed_code: OnceLock::new() })
    }

    /// Names of the kernels that can be launched, in the order of the file.
    #[must_use]
    pub fn kernels(&self) -> Vec<&str> {
        self.module.kernels().map(|(_, function)| function.name.as_str()).collect()
    }

    /// The kernel of a name.
    #[must_use]
    pub fn kernel(&self, name: &str) -> Option<FuncId> {
        self.module.kernels().find(|(_, function)| function.name == name).map(|(id, _)| id)
    }

    /// Lowers a kernel.
    ///
    /// # Errors
    /// When it has instructions that have no lowering, or does not fit the registers.
    pub fn lower(&self, kernel: FuncId, options: &LowerOptions) -> Result<Lowered, ModuleError> {
        let mut lowered = lower::lower_kernel(&self.module, &self.layout, kernel, options)?;
        // The trace holds this name: the same program gives the same trace wherever it lies.
        if let Some(file) = lowered.kernel.files.first_mut()
            && let Some(name) = Path::new(&file.name).file_name()
        {
            file.name = name.to_string_lossy().into_owned();
        }
        Ok(lowered)
    }

    /// What is known of a kernel without its code; none if it is lowered quickly enough.
    ///
    /// # Errors
    /// As [`lower::outline_kernel`].
    pub fn outline(&self, kernel: FuncId, options: &LowerOptions) -> Option<Result<Lowered, ModuleError>> {
        let addressed_code = || self.addressed_code.get_or_init(|| AddressedCode::of(&self.module));
        let outline = lower::outline_kernel(&self.module, addressed_code, kernel, options)?;
        Some(outline.map_err(ModuleError::from))
    }
}

/// A module of either kind of code.
#[derive(Clone, Debug)]
pub enum AnyModule {
    /// PTX.
    Ptx(Arc<LoadedModule>),
    /// NVIDIA's machine code.
    Native(Arc<NativeModule>),
}

impl From<Arc<LoadedModule>> for AnyModule {
    fn from(module: Arc<LoadedModule>) -> Self {
        AnyModule::Ptx(module)
    }
}

impl From<Arc<NativeModule>> for AnyModule {
    fn from(module: Arc<NativeModule>) -> Self {
        AnyModule::Native(module)
    }
}

impl AnyModule {
    /// What messages call it: the file that it was read from.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            AnyModule::Ptx(module) => module.module.source.name(),
            AnyModule::Native(module) => module.name(),
        }
    }

    /// Names of the kernels that can be launched, in the order of the file.
    #[must_use]
    pub fn kernels(&self) -> Vec<&str> {
        match self {
            AnyModule::Ptx(module) => module.kernels(),
            AnyModule::Native(module) => module.kernels().collect(),
        }
    }

    /// The machine kernel of a kernel; none if there is no kernel of the name. `base` gives the address of each part of the
    /// data of a module of machine code.
    ///
    /// # Errors
    /// It does not fit the registers, or is not supported.
    pub fn lower(
        &self,
        name: &str,
        options: &LowerOptions,
        base: &dyn Fn(Place) -> u64,
    ) -> Option<Result<Lowered, ModuleError>> {
        match self {
            AnyModule::Ptx(module) => Some(module.lower(module.kernel(name)?, options)),
            AnyModule::Native(module) => {
                let translated = module.translate(name, options.stack_bytes, base)?;
                Some(translated.map(Lowered::plain).map_err(ModuleError::from))
            }
        }
    }

    /// What the module says of a kernel, without its instructions; none of PTX that is lowered quickly enough, or if there is
    /// no such kernel.
    ///
    /// # Errors
    /// It is not supported.
    pub fn outline(&self, name: &str, options: &LowerOptions) -> Option<Result<Lowered, ModuleError>> {
        match self {
            AnyModule::Ptx(module) => module.outline(module.kernel(name)?, options),
            AnyModule::Native(module) => {
                let outline = module.outline(name, options.stack_bytes)?;
                Some(outline.map(Lowered::plain).map_err(ModuleError::from))
            }
        }
    }

    /// Whether there is a kernel of a name.
    #[must_use]
    pub fn has_kernel(&self, name: &str) -> bool {
        match self {
            AnyModule::Ptx(module) => module.kernel(name).is_some(),
            AnyModule::Native(module) => module.has_kernel(name),
        }
    }

    /// The PTX, if it is that.
    #[must_use]
    pub fn ptx(&self) -> Option<&LoadedModule> {
        match self {
            AnyModule::Ptx(module) => Some(module),
            AnyModule::Native(_) => None,
        }
    }

    /// Bytes of its constants.
    #[must_use]
    pub fn constant_bytes(&self) -> usize {
        match self {
            AnyModule::Ptx(module) => module.layout.const_image.len(),
            AnyModule::Native(module) => module.constants.len(),
        }
    }

    /// The compute capability that it was compiled for, such as 75.
    #[must_use]
    pub fn arch(&self) -> u32 {
        match self {
            AnyModule::Ptx(module) => module.module.target.sm,
            AnyModule::Native(module) => module.target().number(),
        }
    }
}
