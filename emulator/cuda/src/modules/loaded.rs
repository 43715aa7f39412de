//! The modules and kernels that a program has loaded.

use super::closed;
use super::image::Images;
use super::jit;
use super::kernel::Kernel;
use super::link::{self, Link};
use super::module::{self, Module};
use super::translation::Translation;
use crate::device::Device;
use crate::error::{Outcome, Status};
use crate::handles::{Handles, Kind};
use crate::memory::{Memory, Purpose};
use crate::tell::{tell, told};
use emulator::exec::{LaunchError, Options, Prepared};
use emulator::fatbin::{Image, ImageKind};
use emulator::lower::LowerOptions;
use emulator::session::{CodeKind, ModuleError};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

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
    /// The code that runs: by default PTX, and machine code where there is no PTX.
    pub code: Option<CodeKind>,
    /// How long that took.
    pub(super) translation: Translation,
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
            code: None,
            translation: Translation::default(),
        }
    }

    /// Loads an image and prints its errors.
    ///
    /// # Errors
    /// When it holds no code that runs here, or code with errors.
    pub fn load(&mut self, memory: &mut Memory, image: &[u8], name: &str) -> Outcome<u64> {
        self.try_load(memory, image, name).map_err(told)
    }

    /// Loads an image.
    ///
    /// # Errors
    /// When it holds no code that runs here, or code with errors: a code for the program and words for people.
    pub fn try_load(
        &mut self,
        memory: &mut Memory,
        image: &[u8],
        name: &str,
    ) -> Result<u64, (Status, String)> {
        let images = Images::open(image)?;
        let chosen = self.choose(images, name)?;
        self.load_image(memory, chosen, name)
    }

    /// Loads unpacked images and prints their errors.
    ///
    /// # Errors
    /// As [`Modules::load`].
    pub fn load_images(&mut self, memory: &mut Memory, images: Images, name: &str) -> Outcome<u64> {
        let chosen = self.choose(images, name).map_err(told)?;
        self.load_image(memory, chosen, name).map_err(|why| closed::refused(told(why)))
    }

    /// What of an image runs; told if machine code is asked for and there is none.
    fn choose(&self, images: Images, name: &str) -> Result<Image, (Status, String)> {
        let wanted = self.code.unwrap_or(CodeKind::Ptx);
        let image = images.choose(self.device, wanted)?;
        if wanted == CodeKind::Sass && image.kind == ImageKind::Ptx {
            let name = image.name.as_deref().unwrap_or(name);
            closed::tell_once(&format!(
                "{name}: there is no machine code of a known target; PTX runs instead"
            ));
        }
        Ok(image)
    }

    fn load_image(&mut self, memory: &mut Memory, image: Image, name: &str) -> Result<u64, (Status, String)> {
        let name = image.name.clone().unwrap_or_else(|| name.to_owned());
        let module = match image.kind {
            ImageKind::Ptx => {
                let text = String::from_utf8_lossy(&image.contents);
                let text = text.trim_end_matches('\0');
                let module = module::load(memory, text, &name)?;
                Module { most_registers: link::most_registers_of(text), ..module }
            }
            ImageKind::Cubin => module::load_native(memory, image.contents, &name)?,
        };
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
    /// `SYMBOL_NOT_FOUND` when the module has none, `INVALID_PTX` when it cannot be lowered,
    /// `NO_KERNEL_IMAGE_FOR_DEVICE` for machine code that is not supported; the reason is printed.
    pub fn kernel(&mut self, options: &Options, module: u64, name: &str) -> Outcome<u64> {
        let found = self.all.get_mut(module)?;
        let known = found.kernels.get(name).copied();
        if let Some(kernel) = known
            && !self.kernels.get(kernel)?.outlined
        {
            return Ok(kernel);
        }
        let begun = Instant::now();
        let lowered =
            found.device.kernel(name, &found.lowering(&self.lowering)).ok_or(Status::SYMBOL_NOT_FOUND)?;
        let lowered = lowered.map_err(refused)?;
        let prepared = Prepared::new(&lowered.kernel, options).map_err(|error| unprepared(&error))?;
        self.translation.took(begun.elapsed(), found.device.source().name());
        let kernel = Kernel::new(module, lowered, prepared);
        // What the program has set when only attributes were known stays.
        if let Some(handle) = known {
            let outlined = self.kernels.get_mut(handle)?;
            let Kernel { max_dynamic_shared_bytes, preferences, .. } = *outlined;
            *outlined = Kernel { max_dynamic_shared_bytes, preferences, ..kernel };
            return Ok(handle);
        }
        let handle = self.kernels.insert(kernel);
        found.kernels.insert(name.to_owned(), handle);
        Ok(handle)
    }

    /// A kernel of a name whose attributes are wanted: machine code is not translated for it yet, nor PTX with much code that
    /// is called through registers, since libraries ask about hundreds of kernels and launch a few.
    ///
    /// # Errors
    /// As [`Modules::kernel`].
    pub fn kernel_for_attributes(&mut self, options: &Options, module: u64, name: &str) -> Outcome<u64> {
        let found = self.all.get_mut(module)?;
        if let Some(kernel) = found.kernels.get(name) {
            return Ok(*kernel);
        }
        let Some(outline) = found.device.source().outline(name, &found.lowering(&self.lowering)) else {
            return self.kernel(options, module, name);
        };
        let outline = Arc::new(outline.map_err(refused)?);
        let prepared = Prepared::new(&outline.kernel, options).map_err(|error| unprepared(&error))?;
        let kernel = Kernel { outlined: true, ..Kernel::new(module, outline, prepared) };
        let handle = self.kernels.insert(kernel);
        found.kernels.insert(name.to_owned(), handle);
        Ok(handle)
    }
}

/// Prints why a kernel cannot be launched.
fn unprepared(error: &LaunchError) -> Status {
    tell(&error.to_string());
    closed::refused(Status::INVALID_PTX)
}

/// Prints why a kernel has no code that runs here.
fn refused(error: ModuleError) -> Status {
    match error {
        ModuleError::Native(error) => {
            closed::tell_once(&error.to_string());
            closed::refused(Status::NO_KERNEL_IMAGE_FOR_DEVICE)
        }
        error => {
            tell(&error.to_string());
            closed::refused(Status::INVALID_PTX)
        }
    }
}
