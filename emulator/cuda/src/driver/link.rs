//! Linking at run time.

use super::jit;
use super::{In, Out, Text, functions};
use crate::error::{Outcome, Status};
use crate::gpu::gpu;
use crate::modules::Linker;
use crate::modules::link::Link;
use warplab_host::input;

/// Kinds of input that may hold PTX: machine code, PTX, fat binaries, objects, libraries; NVVM code does not.
const MOST_INPUT_KIND: u32 = 4;

fn add(state: u64, kind: u32, image: &[u8], name: &str) -> Outcome {
    let mut gpu = gpu()?;
    // Taken out of the table, since the GPU is borrowed below.
    let linker = gpu.modules.linkers.get_mut(state)?;
    let (mut link, options) = (std::mem::take(&mut linker.link), linker.options);
    let added = if kind <= MOST_INPUT_KIND {
        link.add(gpu.device, image, name)
    } else {
        Err((Status::NOT_SUPPORTED, format!("{name}: NVVM code cannot be linked; PTX can")))
    };
    gpu.modules.linkers.get_mut(state)?.link = link;
    options.finish(added)
}

functions! {
    "cuLinkCreate_v2" 6050 Context link_create(
        count: u32, options: In<u32>, values: In<usize>, state: Out<u64>,
    ) {
        let options = jit::read(count, options, values)?;
        state.set(gpu()?.modules.linkers.insert(Linker { link: Link::default(), options }))
    }

    "cuLinkAddData_v2" 6050 Context link_add_data(
        state: u64, kind: u32, data: In<u8>, bytes: usize, name: Text, _count: u32, _options: In<u32>,
        _values: In<usize>,
    ) {
        let name = name.get().unwrap_or_else(|_| "a text without name".into());
        add(state, kind, &data.list(bytes)?, &name)
    }

    "cuLinkAddFile_v2" 6050 Context link_add_file(
        state: u64, kind: u32, path: Text, _count: u32, _options: In<u32>, _values: In<usize>,
    ) {
        let path = path.get()?;
        let image = input::read(path.as_ref(), input::IMAGE_BYTES).map_err(|_| Status::FILE_NOT_FOUND)?;
        add(state, kind, &image, &path)
    }

    "cuLinkComplete" 5050 Context link_complete(state: u64, image: Out<*const u8>, bytes: Out<usize>) {
        let mut gpu = gpu()?;
        let linker = gpu.modules.linkers.get_mut(state)?;
        let text = linker.options.finish(linker.link.complete(linker.options.most_registers))?;
        bytes.offer(text.len());
        image.set(text.as_ptr())
    }

    "cuLinkDestroy" 5050 Context link_destroy(state: u64) { gpu()?.modules.linkers.remove(state).map(drop) }
}
