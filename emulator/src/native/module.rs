//! A loaded cubin: which one of a file it is, its kernels by name, and what each of them needs to run.
//!
//! Kernels are looked at when they are asked for: one that is not supported does not keep the others from running.

use super::error::NativeError;
use super::link::{CodeAddresses, Linked, ModuleCode, link};
use super::patch::Patch;
use super::translate::translate;
use crate::fatbin::{self, Image, ImageKind};
use crate::lower::hidden_registers;
use sass::Target;
use sass::cubin::{Cubin, CubinError, Function, KernelInfo, Place};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::OnceLock;
use trace_format::isa::{Inst, MachineKernel, Op, Param, SourceLine};
use warplab_host::input;

/// A variable of a module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NativeVariable {
    /// Its name, as it is mangled.
    pub name: String,
    /// The part of the data that it is in.
    pub place: Place,
    /// Where in the part.
    pub offset: u64,
    /// Its bytes.
    pub bytes: u64,
}

/// What the launches of a kernel need besides its machine kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelPlan {
    /// Where the parameters begin in bank 0.
    pub parameter_base: u32,
    /// Bank 0 as the cubin has it, up to the end of the parameters.
    pub bank0: Vec<u8>,
    /// Bank 2.
    pub bank2: Vec<u8>,
    /// Addresses in bank 2.
    pub patches: Vec<Patch>,
}

/// A kernel by name.
#[derive(Debug)]
struct Kernel {
    name: String,
    plan: OnceLock<Result<KernelPlan, NativeError>>,
}

/// A loaded cubin.
#[derive(Debug)]
pub struct NativeModule {
    name: String,
    image: Vec<u8>,
    target: Target,
    kernels: Vec<Kernel>,
    by_name: HashMap<String, usize>,
    /// Bytes of the variables that begin as zeros.
    pub zeroed_bytes: u64,
    /// Initial contents of the other variables.
    pub initialised: Vec<u8>,
    /// Initial contents of bank 3.
    pub constants: Vec<u8>,
    /// Contents of bank 4 before the addresses are known.
    pub addresses: Vec<u8>,
    /// Variables by name.
    pub variables: Vec<NativeVariable>,
    /// Addresses in variables and constants, and all of bank 4.
    pub patches: Vec<Patch>,
    /// Functions that any kernel may reach.
    code: ModuleCode,
}

impl NativeModule {
    /// Reads a cubin; `name` is what messages call it.
    ///
    /// # Errors
    /// The cubin is damaged, for a target that is not known, or has data that is not supported.
    pub fn parse(image: Vec<u8>, name: &str) -> Result<NativeModule, NativeError> {
        let refuse = |error| NativeError::Cubin { file: name.to_owned(), error };
        let cubin = Cubin::parse(&image).map_err(refuse)?;
        let data = cubin.data().map_err(refuse)?;
        let code = ModuleCode::of(&cubin, &data.relocations);
        let addresses = CodeAddresses::of(&cubin, &code.externals);
        let patches = data.relocations.iter().map(|relocation| addresses.patch(relocation)).collect();
        let kernel = |function: &Function<'_>| Kernel { name: function.name.clone(), plan: OnceLock::new() };
        let kernels: Vec<Kernel> = cubin.kernels().map(kernel).collect();
        let variable = |variable: &sass::cubin::Variable<'_>| NativeVariable {
            name: variable.name.to_owned(),
            place: variable.place,
            offset: variable.offset,
            bytes: variable.bytes,
        };
        let module = NativeModule {
            name: name.to_owned(),
            target: cubin.target,
            by_name: kernels.iter().enumerate().map(|(at, kernel)| (kernel.name.clone(), at)).collect(),
            kernels,
            zeroed_bytes: data.zeroed_bytes,
            initialised: data.initialised.to_vec(),
            constants: data.constants.to_vec(),
            addresses: data.addresses.to_vec(),
            variables: data.variables.iter().map(variable).collect(),
            patches,
            image: Vec::new(),
            code,
        };
        Ok(NativeModule { image, ..module })
    }

    /// Reads the cubin of a file (cubin, fat binary, executable, library): one that has all of these kernels if there is
    /// such a one, and of those the one for the oldest known target.
    ///
    /// # Errors
    /// The file cannot be read, is one of NVIDIA's closed libraries, or has no machine code that is known.
    pub fn read(path: &Path, kernels: &[&str]) -> Result<NativeModule, NativeError> {
        let file = path.display().to_string();
        let refuse = |what: String| NativeError::File { file: file.clone(), what };
        let file_name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if let Some(library) = fatbin::closed_library(&file_name) {
            return Err(refuse(format!(
                "this is {library}, one of NVIDIA's closed libraries, whose licence forbids to disassemble it"
            )));
        }
        let bytes = input::read(path, input::IMAGE_BYTES).map_err(|e| refuse(e.to_string()))?;
        let images = fatbin::open(&bytes).map_err(|e| refuse(e.to_string()))?;
        let mut known: Vec<Image> = images.into_iter().filter(is_known).collect();
        // A stable sort: the first of a target in the file is the first here.
        known.sort_by_key(|image| image.arch);
        let has_all = |image: &Image| {
            let names = image.kernels();
            kernels.iter().all(|kernel| names.iter().any(|name| name == kernel))
        };
        let at = known.iter().position(has_all).unwrap_or(0);
        if known.is_empty() {
            let known = known_targets();
            return Err(refuse(format!(
                "there is no machine code for a known target ({known}); `nvcc -cubin -arch=sm_80` makes such a file"
            )));
        }
        NativeModule::parse(known.swap_remove(at).contents, &file)
    }

    /// What messages call it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether device code allocates memory.
    #[must_use]
    pub fn allocates(&self) -> bool {
        self.code.externals.iter().any(|name| name == "malloc")
    }

    /// What it was compiled for.
    #[must_use]
    pub fn target(&self) -> Target {
        self.target
    }

    /// Names of the kernels, in the order of the file.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.kernels.iter().map(|kernel| kernel.name.as_str())
    }

    /// Whether there is a kernel of a name.
    #[must_use]
    pub fn has_kernel(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// What the launches of a kernel need; none if there is no such kernel.
    ///
    /// # Errors
    /// The cubin says something about it that is not supported.
    pub fn plan(&self, name: &str) -> Option<Result<&KernelPlan, &NativeError>> {
        let kernel = &self.kernels[*self.by_name.get(name)?];
        Some(
            kernel
                .plan
                .get_or_init(|| self.with_kernel(name, |cubin, _, info| Ok(self.plan_of(cubin, info))))
                .as_ref(),
        )
    }

    /// Translates a kernel to a machine kernel; none if there is no such kernel. `stack_bytes` are those of a kernel whose
    /// stack the compiler does not know, `base` gives the address of each part of the module's data.
    ///
    /// # Errors
    /// It is not supported, or is one of NVIDIA's closed libraries'.
    pub fn translate(
        &self,
        name: &str,
        stack_bytes: u32,
        base: &dyn Fn(Place) -> u64,
    ) -> Option<Result<MachineKernel, NativeError>> {
        self.by_name.get(name)?;
        Some(self.with_kernel(name, |cubin, function, info| {
            if let Some([x, y, z]) = info.cluster.filter(|blocks| *blocks != [1; 3]) {
                return Err(NativeError::Kernel {
                    file: self.name.clone(),
                    kernel: name.to_owned(),
                    what: format!("is for clusters of {x} x {y} x {z} blocks, which are not supported"),
                });
            }
            let branches = info.indirect_branches.clone();
            let linked = link(cubin, function, branches, &self.code, base, &self.name)?;
            Ok(self.machine_kernel(&linked, function, info, stack_bytes))
        }))
    }

    /// A machine kernel with all that the cubin says about a kernel, and a single instruction instead of its code, which takes
    /// no time; none if there is no such kernel.
    ///
    /// # Errors
    /// As [`NativeModule::plan`].
    pub fn outline(&self, name: &str, stack_bytes: u32) -> Option<Result<MachineKernel, NativeError>> {
        self.by_name.get(name)?;
        Some(self.with_kernel(name, |_, function, info| {
            Ok(MachineKernel {
                name: function.name.clone(),
                regs_per_thread: self.allocated_registers(info),
                static_shared_bytes: info.shared_bytes,
                local_bytes: local_bytes(info, stack_bytes, 0),
                params: params(info),
                param_bytes: info.parameter_bytes,
                max_threads_per_block: info.required_threads.or(info.max_threads),
                insts: vec![Inst::new(Op::Exit {})],
                lines: vec![SourceLine::default()],
                ..MachineKernel::default()
            })
        }))
    }

    /// Registers of a thread: the count of the cubin has those that hardware takes for itself.
    fn allocated_registers(&self, info: &KernelInfo<'_>) -> u16 {
        (info.registers as u16).saturating_sub(hidden_registers(self.target.number()))
    }

    /// The machine kernel: the translated instructions and what the cubin says about them.
    fn machine_kernel(
        &self,
        linked: &Linked,
        function: &Function<'_>,
        info: &KernelInfo<'_>,
        stack_bytes: u32,
    ) -> MachineKernel {
        // The trace holds this name: the same program gives the same trace wherever it lies.
        let file =
            Path::new(&self.name).file_name().map_or(self.name.as_str().into(), OsStr::to_string_lossy);
        let code = translate(&linked.sections, &linked.externals, &file);
        let calls = code.insts.iter().any(|inst| inst.op == Op::CallInd {});
        let allocated = self.allocated_registers(info);
        let local_bytes = local_bytes(info, stack_bytes, code.saved_bytes);
        MachineKernel {
            name: function.name.clone(),
            regs_per_thread: code.registers.max(allocated),
            uniform_registers: code.uniform_registers,
            static_shared_bytes: info.shared_bytes,
            local_bytes,
            barriers: info.barriers,
            params: params(info),
            param_bytes: info.parameter_bytes,
            literals: info.bank2.to_vec(),
            max_threads_per_block: info.required_threads.or(info.max_threads),
            entries: if calls { code.entries } else { Vec::new() },
            functions: code.functions,
            insts: code.insts,
            lines: code.lines,
            control: code.control,
            files: vec![code.listing],
            traps: code.traps,
            ..MachineKernel::default()
        }
    }

    fn plan_of(&self, cubin: &Cubin<'_>, info: &KernelInfo<'_>) -> KernelPlan {
        let addresses = CodeAddresses::of(cubin, &self.code.externals);
        KernelPlan {
            parameter_base: info.parameter_base,
            bank0: info.bank0.to_vec(),
            bank2: info.bank2.to_vec(),
            patches: info.relocations.iter().map(|relocation| addresses.patch(relocation)).collect(),
        }
    }

    fn refuse(&self, error: CubinError) -> NativeError {
        NativeError::Cubin { file: self.name.clone(), error }
    }

    /// Calls a function with a kernel and what the cubin says about it.
    fn with_kernel<T>(
        &self,
        name: &str,
        what: impl FnOnce(&Cubin<'_>, &Function<'_>, &KernelInfo<'_>) -> Result<T, NativeError>,
    ) -> Result<T, NativeError> {
        if let Some(library) = fatbin::closed_kernel(name) {
            return Err(NativeError::Closed { kernel: name.to_owned(), library: library.to_owned() });
        }
        let cubin = Cubin::parse(&self.image).map_err(|error| self.refuse(error))?;
        let Some(function) = cubin.function(name) else {
            let what = "has no code".to_owned();
            return Err(NativeError::Kernel { file: self.name.clone(), kernel: name.to_owned(), what });
        };
        let info = cubin.kernel_info(function).map_err(|error| self.refuse(error))?;
        what(&cubin, function, &info)
    }
}

/// The parameters of a kernel.
fn params(info: &KernelInfo<'_>) -> Vec<Param> {
    let params = info.parameters.iter().enumerate().map(|(number, parameter)| Param {
        name: format!("param_{number}"),
        offset: parameter.offset,
        size: parameter.bytes,
        ty: match parameter.bytes {
            1 | 2 | 4 | 8 => format!("b{}", 8 * parameter.bytes),
            bytes => format!("b8[{bytes}]"),
        },
    });
    params.collect()
}

/// Local memory of a thread: its stack, and registers that our code saves.
fn local_bytes(info: &KernelInfo<'_>, stack_bytes: u32, saved_bytes: u32) -> u32 {
    let stack = info.stack_bytes.unwrap_or_else(|| info.frame_bytes.saturating_add(stack_bytes));
    let bytes = stack.saturating_add(saved_bytes);
    // The stack begins where any access is aligned.
    bytes.checked_next_multiple_of(16).unwrap_or(bytes)
}

/// The targets whose machine code is known, as messages list them.
#[must_use]
pub fn known_targets() -> String {
    Target::ALL.map(|target| target.to_string()).join(", ")
}

/// Whether an image is machine code of a known target, with something in it.
#[must_use]
pub fn is_known(image: &Image) -> bool {
    image.kind == ImageKind::Cubin && Target::from_number(image.arch).is_some() && !image.is_empty()
}
