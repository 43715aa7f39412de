//! Modules, libraries, and their contents. A library is a module, and its kernels are the module's functions.

use super::jit;
use super::{In, Out, Text, functions};
use crate::error::{Outcome, Status};
use crate::gpu::gpu;
use crate::modules::closed;
use crate::modules::image::image_at;
use crate::modules::jit::Options;
use warplab_host::input;

fn load_image(to: Out<u64>, image: *const u8, options: &Options) -> Outcome {
    if let Some(library) = closed::library_at(image as usize) {
        closed::tell_once(&closed::reason(&library, None));
        return Err(Status::NO_KERNEL_IMAGE_FOR_DEVICE);
    }
    let image = image_at(image)?;
    load(to, &image, "PTX", options)
}

fn load(to: Out<u64>, image: &[u8], name: &str, options: &Options) -> Outcome {
    if !to.wanted() {
        return Err(Status::INVALID_VALUE);
    }
    let loaded = {
        let gpu = &mut *gpu()?;
        let loaded = gpu.modules.try_load(&mut gpu.memory, image, name);
        if let (Ok(module), Some(most)) = (&loaded, options.most_registers) {
            gpu.modules.all.get_mut(*module)?.most_registers = Some(most);
        }
        loaded
    };
    to.set(options.finish(loaded)?)
}

/// Loads a library, which outlives the contexts that it is used in.
fn load_library(to: Out<u64>, load: impl FnOnce() -> Outcome) -> Outcome {
    load()?;
    gpu()?.modules.make_library(to.before()?).map(drop)
}

fn load_file(to: Out<u64>, path: Text, options: &Options) -> Outcome {
    let path = path.get()?;
    let image = input::read(path.as_ref(), input::IMAGE_BYTES).map_err(|_| Status::FILE_NOT_FOUND)?;
    load(to, &image, &path, options)
}

fn kernel(to: Out<u64>, module: u64, name: Text) -> Outcome {
    if !to.wanted() {
        return Err(Status::INVALID_VALUE);
    }
    to.set(gpu()?.kernel(module, &name.get()?)?)
}

fn names(module: u64) -> Outcome<Vec<String>> {
    let gpu = gpu()?;
    Ok(gpu.modules.all.get(module)?.device.source().kernels().into_iter().map(str::to_owned).collect())
}

fn enumerate(to: Out<u64>, room: u32, module: u64) -> Outcome {
    for (i, name) in names(module)?.iter().take(room as usize).enumerate() {
        to.set_at(i, gpu()?.kernel(module, name)?)?;
    }
    Ok(())
}

fn variable(address: Out<u64>, bytes: Out<usize>, module: u64, name: Text) -> Outcome {
    if !address.wanted() && !bytes.wanted() {
        return Err(Status::INVALID_VALUE);
    }
    let found = gpu()?.modules.all.get(module)?.device.variable(&name.get()?);
    let (place, length) = found.ok_or(Status::SYMBOL_NOT_FOUND)?;
    address.offer(place);
    bytes.offer(length as usize);
    Ok(())
}

functions! {
    "cuModuleLoad" 2000 Context module_load(module: Out<u64>, path: Text) {
        load_file(module, path, &Options::default())
    }

    "cuModuleLoadData" 2000 Context module_load_data(module: Out<u64>, image: *const u8) {
        load_image(module, image, &Options::default())
    }

    "cuModuleLoadDataEx" 2010 Context module_load_data_ex(
        module: Out<u64>, image: *const u8, count: u32, options: In<u32>, values: In<usize>,
    ) {
        load_image(module, image, &jit::read(count, options, values)?)
    }

    "cuModuleLoadFatBinary" 2000 Context module_load_fat_binary(module: Out<u64>, image: *const u8) {
        load_image(module, image, &Options::default())
    }

    "cuModuleUnload" 2000 Context module_unload(module: u64) { gpu()?.unload(module) }

    "cuModuleGetLoadingMode" 11070 Init module_get_loading_mode(mode: Out<u32>) {
        // Lazy: kernels are translated on first use.
        mode.set(2)
    }

    "cuModuleGetFunction" 2000 Context module_get_function(function: Out<u64>, module: u64, name: Text) {
        kernel(function, module, name)
    }

    "cuModuleGetFunctionCount" 12040 Context module_get_function_count(count: Out<u32>, module: u64) {
        count.set(names(module)?.len() as u32)
    }

    "cuModuleEnumerateFunctions" 12040 Context module_enumerate_functions(
        functions: Out<u64>, room: u32, module: u64,
    ) {
        enumerate(functions, room, module)
    }

    "cuModuleGetGlobal_v2" 3020 Context module_get_global(
        address: Out<u64>, bytes: Out<usize>, module: u64, name: Text,
    ) {
        variable(address, bytes, module, name)
    }

    "cuLibraryLoadData" 12000 Init library_load_data(
        library: Out<u64>, image: *const u8, options: In<u32>, values: In<usize>, count: u32,
        _library_options: In<u32>, _library_values: In<usize>, _library_count: u32,
    ) {
        load_library(library, || load_image(library, image, &jit::read(count, options, values)?))
    }

    "cuLibraryLoadFromFile" 12000 Init library_load_from_file(
        library: Out<u64>, path: Text, options: In<u32>, values: In<usize>, count: u32,
        _library_options: In<u32>, _library_values: In<usize>, _library_count: u32,
    ) {
        load_library(library, || load_file(library, path, &jit::read(count, options, values)?))
    }

    "cuLibraryUnload" 12000 Init library_unload(library: u64) { gpu()?.unload(library) }

    "cuLibraryGetKernel" 12000 Init library_get_kernel(function: Out<u64>, library: u64, name: Text) {
        kernel(function, library, name)
    }

    "cuLibraryGetKernelCount" 12040 Init library_get_kernel_count(count: Out<u32>, library: u64) {
        count.set(names(library)?.len() as u32)
    }

    "cuLibraryEnumerateKernels" 12040 Init library_enumerate_kernels(
        kernels: Out<u64>, room: u32, library: u64,
    ) {
        enumerate(kernels, room, library)
    }

    "cuLibraryGetModule" 12000 Context library_get_module(module: Out<u64>, library: u64) {
        gpu()?.modules.all.get(library)?;
        module.set(library)
    }

    "cuLibraryGetGlobal" 12000 Context library_get_global(
        address: Out<u64>, bytes: Out<usize>, library: u64, name: Text,
    ) {
        variable(address, bytes, library, name)
    }

    "cuLibraryGetManaged" 12000 Init library_get_managed(
        address: Out<u64>, bytes: Out<usize>, library: u64, name: Text,
    ) {
        // Every variable is at an address that host and device share.
        variable(address, bytes, library, name)
    }

    "cuKernelGetFunction" 12000 Context kernel_get_function(function: Out<u64>, kernel: u64) {
        gpu()?.modules.kernels.get(kernel)?;
        function.set(kernel)
    }

    "cuKernelGetLibrary" 12050 Init kernel_get_library(library: Out<u64>, kernel: u64) {
        library.set(gpu()?.modules.kernels.get(kernel)?.module)
    }

    "cuFuncGetModule" 11000 Context func_get_module(module: Out<u64>, function: u64) {
        module.set(gpu()?.modules.kernels.get(function)?.module)
    }
}
