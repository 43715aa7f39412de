//! The modules and kernels that a program has loaded.

use super::image::Images;
use super::jit;
use super::kernel::{self, Kernel};
use super::link::Link;
use super::module::{self, Module};
use crate::device::Device;
use crate::error::{Outcome, Status};
use crate::handles::{Handles, Kind};
use crate::memory::{Memory, Purpose};
use crate::summary;
use crate::tell::{tell, told};
use emulator::exec::{Options, Prepared};
use emulator::fatbin::Image;
use emulator::lower::LowerOptions;
use emulator::ptx::FuncId;
use std::path::Path;
use std::sync::Arc;

/// A linker with the program's options.
#[derive(Debug)]
pub struct Linker {
    /// The added texts.
    pub link: Link,
    /// Its options, with the buffers of its logs.
    pub(crate) options: jit::Options,
}

/// All modules, their kernels, and linkers in use.
#[derive(Debug)]
pub struct Modules {
    /// The board that runs them.
    pub(super) device: &'static Device,
    /// Loaded modules.
    pub all: Handles<Module>,
    /// Kernels that programs hold.
    pub kernels: Handles<Kernel>,
    /// Linkers in use.
    pub linkers: Handles<Linker>,
    /// How kernels are lowered.
    pub lowering: LowerOptions,
}

impl Modules {
    /// No modules yet.
    #[must_use]
    pub fn new(device: &'static Device) -> Modules {
        Modules {
            device,
            all: Handles::new(Kind::Module),
            kernels: Handles::new(Kind::Kernel),
            linkers: Handles::new(Kind::Link),
            lowering: LowerOptions::default(),
        }
    }

    /// Loads an image and prints its errors.
    ///
    /// # Errors
    /// When it holds no PTX or PTX with errors.
    pub fn load(&mut self, memory: &mut Memory, image: &[u8], name: &str) -> Outcome<u64> {
        self.try_load(memory, image, name).map_err(told)
    }

    /// Loads an image.
    ///
    /// # Errors
    /// When it holds no PTX or PTX with errors: a code for the program and words for people.
    pub fn try_load(
        &mut self,
        memory: &mut Memory,
        image: &[u8],
        name: &str,
    ) -> Result<u64, (Status, String)> {
        self.load_ptx(memory, &Images::open(image)?.choose(self.device)?, name)
    }

    /// Loads unpacked images and prints their errors.
    ///
    /// # Errors
    /// As [`Modules::load`].
    pub fn load_images(&mut self, memory: &mut Memory, images: Images, name: &str) -> Outcome<u64> {
        let ptx = images.choose(self.device).map_err(told)?;
        self.load_ptx(memory, &ptx, name).map_err(told)
    }

    fn load_ptx(&mut self, memory: &mut Memory, ptx: &Image, name: &str) -> Result<u64, (Status, String)> {
        let text = String::from_utf8_lossy(&ptx.contents);
        let name = ptx.name.as_deref().unwrap_or(name);
        let module = module::load(memory, text.trim_end_matches('\0'), name)?;
        Ok(self.all.insert(module))
    }

    /// Loads the relocatable device code of an executable or library.
    ///
    /// # Errors
    /// When it cannot be linked or has errors, which are printed.
    pub fn load_linked(&mut self, memory: &mut Memory, images: Images, file: &Path) -> Outcome<u64> {
        let name = format!("the linked PTX of {}", file.display());
        let text = images.link(self.device, file).map_err(told)?;
        let module = module::load(memory, &text, &name).map_err(told)?;
        Ok(self.all.insert(module))
    }

    pub(crate) fn reload(&mut self, memory: &mut Memory, library: u64) -> Outcome {
        let module = self.all.get_mut(library)?;
        match module.device.reloaded(memory) {
            Ok(device) => module.device = device,
            Err(_) => {
                for (_, kernel) in self.all.remove(library)?.kernels {
                    self.kernels.remove(kernel)?;
                }
                return Err(Status::MEMORY_ALLOCATION);
            }
        }
        Ok(())
    }

    /// Makes a module a library, which outlives contexts.
    ///
    /// # Errors
    /// When there is no such module.
    pub fn make_library(&mut self, module: u64) -> Outcome<u64> {
        self.all.get_mut(module)?.is_library = true;
        Ok(module)
    }

    /// Removes a module with its kernels and variables.
    ///
    /// # Errors
    /// When there is no such module.
    pub fn unload(&mut self, memory: &mut Memory, module: u64) -> Outcome {
        let module = self.all.remove(module)?;
        for (_, kernel) in module.kernels {
            self.kernels.remove(kernel)?;
        }
        for address in module.device.addresses() {
            memory.free(address, &[Purpose::Variable])?;
        }
        Ok(())
    }

    /// The kernel of a name.
    ///
    /// # Errors
    /// `SYMBOL_NOT_FOUND` when the module has none, `INVALID_PTX` when it cannot be lowered; the reason is
    /// printed.
    pub fn kernel(&mut self, options: &Options, module: u64, name: &str) -> Outcome<u64> {
        let found = self.all.get_mut(module)?;
        let function = found.device.source().kernel(name).ok_or(Status::SYMBOL_NOT_FOUND)?;
        if let Some((_, kernel)) = found.kernels.iter().find(|(f, _)| *f == function) {
            return Ok(*kernel);
        }
        self.lower(options, module, function)
    }

    fn lower(&mut self, options: &Options, module: u64, function: FuncId) -> Outcome<u64> {
        let found = self.all.get_mut(module)?;
        let lowered = found.device.kernel(function, &self.lowering).map_err(|error| {
            tell(&error.to_string());
            Status::INVALID_PTX
        })?;
        let prepared = Prepared::new(&lowered.kernel, options).map_err(|error| {
            tell(&error.to_string());
            Status::INVALID_PTX
        })?;
        let kernel = Kernel {
            module,
            function,
            nests: kernel::is_nesting(&lowered.kernel),
            tally: summary::kernel(&lowered.kernel.name),
            lowered,
            prepared: Arc::new(prepared),
            max_dynamic_shared_bytes: 0,
            preferences: [-1, 0],
            quick_threads: Arc::default(),
        };
        let handle = self.kernels.insert(kernel);
        found.kernels.push((function, handle));
        Ok(handle)
    }
}
