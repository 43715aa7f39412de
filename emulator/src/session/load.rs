//! Loading: buffers of the manifest into device memory before the module's variables, arguments into parameters.

use super::SessionError;
use crate::device::{DEVICE_HEAP, DeviceModule, LoadError, Shape};
use crate::lower::Lowered;
use crate::manifest::{ArgumentValue, LaunchSpec, Manifest, ManifestError, Role};
use crate::memory::{AllocationId, GlobalMemory};
use crate::module::AnyModule;
use crate::texture::ObjectError;
use trace_format::isa::{MachineKernel, Param};
use trace_format::semantics::{Banks, Geometry};

/// Device memory as it is before the first launch.
#[derive(Clone, Debug)]
pub(super) struct Loaded {
    pub memory: GlobalMemory,
    /// Allocation of each buffer of the manifest.
    pub buffers: Vec<AllocationId>,
    pub module: DeviceModule,
    /// Names and handles of textures, surfaces (in the manifest's order) and samplers.
    pub handles: Vec<(String, u64)>,
}

impl Loaded {
    /// Places the manifest's buffers, then the device heap, then the module's variables.
    pub(super) fn new(
        module: &AnyModule,
        manifest: &Manifest,
        heap_bytes: Option<u64>,
    ) -> Result<Loaded, SessionError> {
        let mut memory = GlobalMemory::new();
        let mut buffers = Vec::new();
        for (index, buffer) in manifest.buffers.iter().enumerate() {
            let bytes = buffer.init.contents(buffer.element, buffer.len).map_err(|what| ManifestError {
                place: Some(buffer.place.clone()),
                key: format!("buffers.{}", buffer.name),
                ..ManifestError::file(manifest.path.display().to_string(), what)
            })?;
            let arrays = manifest.objects.iter().filter(|object| object.buffer == index);
            let span = arrays.filter_map(|object| object.recorded_bytes().ok()).max().unwrap_or(0);
            buffers.push(memory.allocate_within(&buffer.name, bytes, span));
        }
        let handles = objects(&mut memory, &buffers, manifest)?;
        if let Some(bytes) = heap_bytes
            && !memory.reserve_heap(bytes)
        {
            return Err(LoadError::OutOfMemory { name: DEVICE_HEAP.into(), bytes }.into());
        }
        let module = DeviceModule::load(module.clone(), &mut memory, handles.clone())?;
        Ok(Loaded { memory, buffers, module, handles })
    }

    /// Constant banks of a launch; the arguments have passed [`check_arguments`].
    pub(super) fn banks(
        &self,
        lowered: &Lowered,
        spec: &LaunchSpec,
        geometry: &Geometry,
        sms: u32,
    ) -> Result<Banks, SessionError> {
        let kernel = &lowered.kernel;
        let mut params = vec![0; kernel.param_bytes as usize];
        let mut put = |at: usize, bytes: &[u8]| {
            if let Some(place) = params.get_mut(at..).and_then(|p| p.get_mut(..bytes.len())) {
                place.copy_from_slice(bytes);
            }
        };
        for (to, argument) in kernel.params.iter().zip(&spec.args) {
            let at = to.offset as usize;
            match &argument.value {
                ArgumentValue::Pointer { buffer, offset_bytes } => {
                    let base = self.memory.allocation(self.buffers[*buffer]).base;
                    put(at, &base.wrapping_add_signed(*offset_bytes).to_le_bytes());
                }
                ArgumentValue::Scalar { bytes, .. } | ArgumentValue::Bytes(bytes) => put(at, bytes),
                ArgumentValue::Object { object } => put(at, &self.handles[*object].1.to_le_bytes()),
            }
        }
        let shape = Shape { geometry, dynamic_shared_bytes: spec.shared_bytes, sms };
        Ok(self.module.banks(&self.memory, lowered, &shape, &params)?)
    }
}

/// Creates the manifest's textures, surfaces and samplers.
fn objects(
    memory: &mut GlobalMemory,
    buffers: &[AllocationId],
    manifest: &Manifest,
) -> Result<Vec<(String, u64)>, ManifestError> {
    let refuse = |error: ObjectError, place, key: String| ManifestError {
        place,
        key,
        ..ManifestError::file(manifest.path.display().to_string(), error.to_string())
    };
    let mut handles = Vec::new();
    for spec in &manifest.objects {
        let told = |error| refuse(error, Some(spec.place.clone()), spec.name.clone());
        let resource = spec.resource(memory.allocation(buffers[spec.buffer]).base).map_err(told)?;
        let handle = match spec.role {
            Role::Texture(sampler) => memory.objects_mut().create_texture(resource, sampler),
            Role::Surface => memory.objects_mut().create_surface(resource),
        };
        handles.push((spec.name.clone(), handle.map_err(told)?));
    }
    for spec in &manifest.samplers {
        let handle = memory.objects_mut().create_sampler(spec.sampler);
        handles.push((spec.name.clone(), handle.map_err(|error| refuse(error, None, spec.name.clone()))?));
    }
    Ok(handles)
}

/// Checks a launch's arguments against the kernel's parameters.
pub(super) fn check_arguments(
    manifest: &Manifest,
    spec: &LaunchSpec,
    kernel: &MachineKernel,
) -> Result<(), ManifestError> {
    let file = manifest.path.display().to_string();
    let signature = || {
        let list: Vec<String> = kernel.params.iter().map(|p| format!("{} {}", p.ty, p.name)).collect();
        format!("{}({})", kernel.name, list.join(", "))
    };
    if spec.args.len() != kernel.params.len() {
        let (takes, has) = (kernel.params.len(), spec.args.len());
        return Err(ManifestError {
            place: Some(spec.args_place.clone()),
            key: format!("{}.args", spec.key),
            help: Some(format!("the kernel is {}", signature())),
            ..ManifestError::file(
                file,
                format!("kernel `{}` takes {takes} arguments, {has} are given", kernel.name),
            )
        });
    }
    for (i, (argument, param)) in spec.args.iter().zip(&kernel.params).enumerate() {
        if let Err((what, help)) = fits(&argument.value, param) {
            return Err(ManifestError {
                place: Some(argument.place.clone()),
                key: format!("{}.args.{i}", spec.key),
                help: Some(help.unwrap_or_else(|| format!("the kernel is {}", signature()))),
                ..ManifestError::file(file, what)
            });
        }
    }
    Ok(())
}

/// Whether an argument fits a parameter; else what is wrong and what to do.
fn fits(value: &ArgumentValue, param: &Param) -> Result<(), (String, Option<String>)> {
    let (name, ty, size) = (&param.name, &param.ty, param.size as usize);
    match value {
        ArgumentValue::Pointer { .. } if size == 8 => Ok(()),
        ArgumentValue::Pointer { .. } => {
            Err((format!("a pointer has 8 bytes, parameter `{name}` ({ty}) has {size}"), None))
        }
        ArgumentValue::Scalar { element, bytes } if bytes.len() == size => {
            let float = ty.starts_with('f');
            let typed = float || ty.starts_with(['u', 's']);
            if typed && float != element.is_float() {
                let what = format!(
                    "a value of type {} is given for parameter `{name}` of type {ty}",
                    element.name()
                );
                return Err((what, Some(format!("write {{ {ty} = … }}"))));
            }
            Ok(())
        }
        ArgumentValue::Scalar { element, bytes } => {
            let what = format!(
                "a value of type {} has {} bytes, parameter `{name}` ({ty}) has {size}",
                element.name(),
                bytes.len()
            );
            let help = (!ty.contains('[')).then(|| format!("write {{ {} = … }}", ty.replace('b', "u")));
            Err((what, help))
        }
        ArgumentValue::Object { .. } if size == 8 => Ok(()),
        ArgumentValue::Object { .. } => {
            let what = format!("the handle of a texture has 8 bytes, parameter `{name}` ({ty}) has {size}");
            Err((what, None))
        }
        ArgumentValue::Bytes(bytes) if bytes.len() == size => Ok(()),
        ArgumentValue::Bytes(bytes) => {
            Err((format!("{} bytes are given, parameter `{name}` ({ty}) has {size}", bytes.len()), None))
        }
    }
}
