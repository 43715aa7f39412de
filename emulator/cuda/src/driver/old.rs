//! The first versions of functions, under their names without a version: programs find them by `dlsym`. Most
//! had addresses and sizes of 32 bits until CUDA 3.2. Each forwards to the next version; device memory that
//! they allocate lies at addresses of 32 bits. Other memory has no such address; for it these functions
//! return `CUDA_ERROR_INVALID_CONTEXT`, as CUDA specifies for programs that mix both.

use super::array::{Array3Descriptor, ArrayDescriptor};
use super::copy::{Copy3, Side3};
use super::{
    In, Out, Stream, Text, array, capture, context, copy, fill, functions, general, graph, link, memory,
    stream,
};
use crate::error::{Outcome, Status};
use crate::gpu::gpu;
use std::mem::MaybeUninit;

/// Forwards the result of a later version.
fn passed(status: Status) -> Outcome {
    if status == Status::SUCCESS { Ok(()) } else { Err(status) }
}

/// An address or a size that has to fit 32 bits.
fn narrow(value: u64) -> Outcome<u32> {
    u32::try_from(value).map_err(|_| Status::INVALID_CONTEXT)
}

/// A size, limited to the largest 32-bit value.
fn clipped(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// The result that a later version writes.
fn asked<T: Copy>(call: impl FnOnce(Out<T>) -> Status) -> Outcome<T> {
    let mut value = MaybeUninit::<T>::zeroed();
    passed(call(Out(value.as_mut_ptr())))?;
    // SAFETY: results are plain numbers, for which zeros are a value too.
    Ok(unsafe { value.assume_init() })
}

/// CUDA's `CUDA_MEMCPY2D_v1`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct OldCopy2 {
    from_x: u32,
    from_y: u32,
    from_kind: u32,
    from_host: u64,
    from_device: u32,
    from_array: u64,
    from_pitch: u32,
    to_x: u32,
    to_y: u32,
    to_kind: u32,
    to_host: u64,
    to_device: u32,
    to_array: u64,
    to_pitch: u32,
    width: u32,
    height: u32,
}

/// CUDA's `CUDA_MEMCPY3D_v1`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct OldCopy3 {
    from_at: [u32; 4],
    from_kind: u32,
    from_host: u64,
    from_device: u32,
    from_array: u64,
    from_reserved: u64,
    from_pitch: u32,
    from_height: u32,
    to_at: [u32; 4],
    to_kind: u32,
    to_host: u64,
    to_device: u32,
    to_array: u64,
    to_reserved: u64,
    to_pitch: u32,
    to_height: u32,
    extent: [u32; 3],
}

/// CUDA's `CUDA_ARRAY_DESCRIPTOR_v1`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct OldDescriptor {
    extent: [u32; 2],
    format: u32,
    channels: u32,
}

/// CUDA's `CUDA_ARRAY3D_DESCRIPTOR_v1`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct OldDescriptor3 {
    extent: [u32; 3],
    format: u32,
    channels: u32,
    flags: u32,
}

const _: () = assert!(size_of::<OldCopy2>() == 96 && size_of::<OldCopy3>() == 144);
const _: () = assert!(size_of::<OldDescriptor>() == 16 && size_of::<OldDescriptor3>() == 24);

/// One side of a copy.
fn side(at: [u32; 4], kind: u32, host: u64, device: u32, array: u64, [pitch, height]: [u32; 2]) -> Side3 {
    let [x, y, z, lod] = at.map(|n| n as usize);
    let (pitch, height) = (pitch as usize, height as usize);
    Side3 { x, y, z, lod, kind, host, device: device.into(), array, pitch, height, context: 0 }
}

impl From<OldCopy2> for Copy3 {
    fn from(c: OldCopy2) -> Copy3 {
        let from = side(
            [c.from_x, c.from_y, 0, 0],
            c.from_kind,
            c.from_host,
            c.from_device,
            c.from_array,
            [c.from_pitch, 0],
        );
        let to = side([c.to_x, c.to_y, 0, 0], c.to_kind, c.to_host, c.to_device, c.to_array, [c.to_pitch, 0]);
        Copy3 { from, to, width: c.width as usize, height: c.height as usize, depth: 1 }
    }
}

impl From<OldCopy3> for Copy3 {
    fn from(c: OldCopy3) -> Copy3 {
        let from_rows = [c.from_pitch, c.from_height];
        let from = side(c.from_at, c.from_kind, c.from_host, c.from_device, c.from_array, from_rows);
        let to = side(c.to_at, c.to_kind, c.to_host, c.to_device, c.to_array, [c.to_pitch, c.to_height]);
        let [width, height, depth] = c.extent.map(|n| n as usize);
        Copy3 { from, to, width, height, depth }
    }
}

fn copy_now(copy: Copy3) -> Outcome {
    passed(copy::memcpy_3d(In(&raw const copy)))
}

fn copy_later(copy: Copy3, stream: Stream) -> Outcome {
    passed(copy::memcpy_3d_async(In(&raw const copy), stream))
}

functions! {
    "cuDeviceTotalMem" 2000 Init device_total_mem(bytes: Out<u32>, ordinal: i32) {
        bytes.set(clipped(asked(|to: Out<usize>| general::device_total_mem(to, ordinal))? as u64))
    }
    "cuCtxCreate" 2000 Init create(context: Out<u64>, flags: u32, ordinal: i32) {
        passed(context::create_v2(context, flags, ordinal))
    }
    "cuCtxDestroy" 2000 Init destroy(context: u64) { passed(context::destroy(context)) }
    "cuCtxPushCurrent" 2000 Init push_current(context: u64) { passed(context::push_current(context)) }
    "cuCtxPopCurrent" 2000 Init pop_current(context: Out<u64>) { passed(context::pop_current(context)) }
    "cuModuleGetGlobal" 2000 Context module_get_global(
        address: Out<u32>, bytes: Out<u32>, module: u64, name: Text,
    ) {
        let mut length = 0;
        let found = asked(|to| super::module::module_get_global(to, Out(&raw mut length), module, name))?;
        address.offer(narrow(found)?);
        bytes.offer(clipped(length as u64));
        Ok(())
    }
    "cuMemGetInfo" 2000 Context mem_get_info(free: Out<u32>, total: Out<u32>) {
        let (rest, all) = gpu()?.memory.info();
        free.set(clipped(rest))?;
        total.set(clipped(all))
    }
    "cuMemAlloc" 2000 Context mem_alloc(address: Out<u32>, bytes: u32) {
        if bytes == 0 || !address.wanted() {
            return Err(Status::INVALID_VALUE);
        }
        address.set(gpu()?.memory.allocate_low("cuMemAlloc", bytes)?)
    }
    "cuMemAllocPitch" 2000 Context mem_alloc_pitch(
        address: Out<u32>, pitch: Out<u32>, width: u32, height: u32, element: u32,
    ) {
        let (row, bytes) = memory::pitched(width as usize, height as usize, element)?;
        if !pitch.wanted() || !address.wanted() {
            return Err(Status::INVALID_VALUE);
        }
        let bytes = u32::try_from(bytes).map_err(|_| Status::MEMORY_ALLOCATION)?;
        address.set(gpu()?.memory.allocate_low("cuMemAllocPitch", bytes)?)?;
        pitch.set(row as u32)
    }
    "cuMemFree" 2000 Context mem_free(address: u32) { passed(memory::mem_free(address.into())) }
    "cuMemGetAddressRange" 2000 Context mem_get_address_range(base: Out<u32>, bytes: Out<u32>, address: u32) {
        let mut length = 0;
        let start = asked(|to| memory::mem_get_address_range(to, Out(&raw mut length), address.into()))?;
        base.offer(narrow(start)?);
        bytes.offer(clipped(length as u64));
        Ok(())
    }
    "cuMemAllocHost" 2000 Context mem_alloc_host(address: Out<u64>, bytes: u32) {
        passed(memory::mem_alloc_host(address, bytes as usize))
    }
    "cuMemHostGetDevicePointer" 2020 Context mem_host_get_device_pointer(
        to: Out<u32>, address: u64, flags: u32,
    ) {
        to.set(narrow(asked(|to| memory::mem_host_get_device_pointer(to, address, flags))?)?)
    }
    "cuMemHostRegister" 4000 Context mem_host_register(address: u64, bytes: usize, flags: u32) {
        passed(memory::mem_host_register(address, bytes, flags))
    }
    "cuMemcpyHtoD" 2000 Context memcpy_htod(to: u32, from: u64, count: u32) {
        passed(copy::memcpy_htod(to.into(), from, count as usize))
    }
    "cuMemcpyDtoH" 2000 Context memcpy_dtoh(to: u64, from: u32, count: u32) {
        passed(copy::memcpy_dtoh(to, from.into(), count as usize))
    }
    "cuMemcpyDtoD" 2000 Context memcpy_dtod(to: u32, from: u32, count: u32) {
        passed(copy::memcpy_dtod(to.into(), from.into(), count as usize))
    }
    "cuMemcpyDtoA" 2000 Context memcpy_dtoa(to: u64, offset: u32, from: u32, count: u32) {
        passed(copy::memcpy_dtoa(to, offset as usize, from.into(), count as usize))
    }
    "cuMemcpyAtoD" 2000 Context memcpy_atod(to: u32, from: u64, offset: u32, count: u32) {
        passed(copy::memcpy_atod(to.into(), from, offset as usize, count as usize))
    }
    "cuMemcpyHtoA" 2000 Context memcpy_htoa(to: u64, offset: u32, from: u64, count: u32) {
        passed(copy::memcpy_htoa(to, offset as usize, from, count as usize))
    }
    "cuMemcpyAtoH" 2000 Context memcpy_atoh(to: u64, from: u64, offset: u32, count: u32) {
        passed(copy::memcpy_atoh(to, from, offset as usize, count as usize))
    }
    "cuMemcpyAtoA" 2000 Context memcpy_atoa(to: u64, to_offset: u32, from: u64, from_offset: u32, count: u32) {
        passed(copy::memcpy_atoa(to, to_offset as usize, from, from_offset as usize, count as usize))
    }
    "cuMemcpyHtoAAsync" 2000 Context memcpy_htoa_async(
        to: u64, offset: u32, from: u64, count: u32, stream: Stream,
    ) {
        passed(copy::memcpy_htoa_async(to, offset as usize, from, count as usize, stream))
    }
    "cuMemcpyAtoHAsync" 2000 Context memcpy_atoh_async(
        to: u64, from: u64, offset: u32, count: u32, stream: Stream,
    ) {
        passed(copy::memcpy_atoh_async(to, from, offset as usize, count as usize, stream))
    }
    "cuMemcpy2D" 2000 Context memcpy_2d(copy: In<OldCopy2>) { copy_now(copy.get()?.into()) }
    "cuMemcpy2DUnaligned" 2000 Context memcpy_2d_unaligned(copy: In<OldCopy2>) { copy_now(copy.get()?.into()) }
    "cuMemcpy3D" 2000 Context memcpy_3d(copy: In<OldCopy3>) { copy_now(copy.get()?.into()) }
    "cuMemcpyHtoDAsync" 2000 Context memcpy_htod_async(to: u32, from: u64, count: u32, stream: Stream) {
        passed(copy::memcpy_htod_async(to.into(), from, count as usize, stream))
    }
    "cuMemcpyDtoHAsync" 2000 Context memcpy_dtoh_async(to: u64, from: u32, count: u32, stream: Stream) {
        passed(copy::memcpy_dtoh_async(to, from.into(), count as usize, stream))
    }
    "cuMemcpyDtoDAsync" 3000 Context memcpy_dtod_async(to: u32, from: u32, count: u32, stream: Stream) {
        passed(copy::memcpy_dtod_async(to.into(), from.into(), count as usize, stream))
    }
    "cuMemcpy2DAsync" 2000 Context memcpy_2d_async(copy: In<OldCopy2>, stream: Stream) {
        copy_later(copy.get()?.into(), stream)
    }
    "cuMemcpy3DAsync" 2000 Context memcpy_3d_async(copy: In<OldCopy3>, stream: Stream) {
        copy_later(copy.get()?.into(), stream)
    }
    "cuMemsetD8" 2000 Context memset_d8(to: u32, value: u8, width: u32) {
        passed(fill::memset_d8(to.into(), value, width as usize))
    }
    "cuMemsetD16" 2000 Context memset_d16(to: u32, value: u16, width: u32) {
        passed(fill::memset_d16(to.into(), value, width as usize))
    }
    "cuMemsetD32" 2000 Context memset_d32(to: u32, value: u32, width: u32) {
        passed(fill::memset_d32(to.into(), value, width as usize))
    }
    "cuMemsetD2D8" 2000 Context memset_2d_d8(to: u32, pitch: u32, value: u8, width: u32, height: u32) {
        passed(fill::memset_2d_d8(to.into(), pitch as usize, value, width as usize, height as usize))
    }
    "cuMemsetD2D16" 2000 Context memset_2d_d16(to: u32, pitch: u32, value: u16, width: u32, height: u32) {
        passed(fill::memset_2d_d16(to.into(), pitch as usize, value, width as usize, height as usize))
    }
    "cuMemsetD2D32" 2000 Context memset_2d_d32(to: u32, pitch: u32, value: u32, width: u32, height: u32) {
        passed(fill::memset_2d_d32(to.into(), pitch as usize, value, width as usize, height as usize))
    }
    "cuArrayCreate" 2000 Context array_create(array: Out<u64>, descriptor: In<OldDescriptor>) {
        let OldDescriptor { extent: [width, height], format, channels } = descriptor.get()?;
        let new = ArrayDescriptor { width: width as usize, height: height as usize, format, channels };
        passed(array::array_create(array, In(&raw const new)))
    }
    "cuArrayGetDescriptor" 2000 Context array_get_descriptor(to: Out<OldDescriptor>, array: u64) {
        let ArrayDescriptor { width, height, format, channels } =
            asked(|to| array::array_get_descriptor(to, array))?;
        to.set(OldDescriptor { extent: [width as u32, height as u32], format, channels })
    }
    "cuArray3DCreate" 2000 Context array_3d_create(array: Out<u64>, descriptor: In<OldDescriptor3>) {
        let OldDescriptor3 { extent, format, channels, flags } = descriptor.get()?;
        let new = Array3Descriptor { extent: extent.map(|n| n as usize), format, channels, flags };
        passed(array::array_3d_create(array, In(&raw const new)))
    }
    "cuArray3DGetDescriptor" 2000 Context array_3d_get_descriptor(to: Out<OldDescriptor3>, array: u64) {
        let Array3Descriptor { extent, format, channels, flags } =
            asked(|to| array::array_3d_get_descriptor(to, array))?;
        to.set(OldDescriptor3 { extent: extent.map(|n| n as u32), format, channels, flags })
    }
    "cuStreamDestroy" 2000 Context stream_destroy(stream: u64) { passed(stream::stream_destroy(stream)) }
    "cuEventDestroy" 2000 Context event_destroy(event: u64) { passed(stream::event_destroy(event)) }
    "cuStreamBeginCapture" / "cuStreamBeginCapture_ptsz" 10000 Context stream_begin_capture(stream: Stream) {
        // The first version had no mode: capture was global.
        passed(capture::stream_begin_capture(stream, 0))
    }
    "cuStreamWaitValue32" / "cuStreamWaitValue32_ptsz" 8000 Context stream_wait_value_32(
        stream: Stream, address: u64, value: u32, flags: u32,
    ) {
        passed(stream::stream_wait_value_32(stream, address, value, flags))
    }
    "cuStreamWaitValue64" / "cuStreamWaitValue64_ptsz" 9000 Context stream_wait_value_64(
        stream: Stream, address: u64, value: u64, flags: u32,
    ) {
        passed(stream::stream_wait_value_64(stream, address, value, flags))
    }
    "cuStreamWriteValue32" / "cuStreamWriteValue32_ptsz" 8000 Context stream_write_value_32(
        stream: Stream, address: u64, value: u32, flags: u32,
    ) {
        passed(stream::stream_write_value_32(stream, address, value, flags))
    }
    "cuStreamWriteValue64" / "cuStreamWriteValue64_ptsz" 9000 Context stream_write_value_64(
        stream: Stream, address: u64, value: u64, flags: u32,
    ) {
        passed(stream::stream_write_value_64(stream, address, value, flags))
    }
    "cuGraphInstantiate" 10000 Context graph_instantiate(
        executable: Out<u64>, graph: u64, bad_node: Out<u64>, log: usize, log_bytes: usize,
    ) {
        passed(graph::graph_instantiate_v2(executable, graph, bad_node, log, log_bytes))
    }
    "cuGraphExecUpdate" 10020 Context graph_exec_update(
        executable: u64, graph: u64, bad_node: Out<u64>, result: Out<u32>,
    ) {
        let mut found = [0u64; 3];
        let status = graph::graph_exec_update(executable, graph, Out(&raw mut found));
        bad_node.offer(found[1]);
        result.offer(found[0] as u32);
        passed(status)
    }
    "cuLinkCreate" 5050 Context link_create(count: u32, options: In<u32>, values: In<usize>, state: Out<u64>) {
        passed(link::link_create(count, options, values, state))
    }
    "cuLinkAddData" 5050 Context link_add_data(
        state: u64, kind: u32, data: In<u8>, bytes: usize, name: Text, count: u32, options: In<u32>,
        values: In<usize>,
    ) {
        passed(link::link_add_data(state, kind, data, bytes, name, count, options, values))
    }
    "cuLinkAddFile" 5050 Context link_add_file(
        state: u64, kind: u32, path: Text, count: u32, options: In<u32>, values: In<usize>,
    ) {
        passed(link::link_add_file(state, kind, path, count, options, values))
    }
    "cuIpcOpenMemHandle" 4010 Context ipc_open_mem_handle(
        address: Out<u64>, handle: super::ipc::IpcHandle, flags: u32,
    ) {
        passed(super::ipc::ipc_open_mem_handle(address, handle, flags))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Export, exports};
    use std::collections::BTreeSet;

    /// Every function of which there is a later version has its first one too, and `dlsym` finds it.
    #[test]
    fn every_versioned_name_has_its_first_version() {
        let names: BTreeSet<&str> = exports().map(|e: &Export| e.name).collect();
        // These began with a later version of the API that gave them their suffix.
        let missing =
            names.iter().filter_map(|name| name.strip_suffix("_v2")).filter(|base| !names.contains(base));
        assert_eq!(missing.collect::<Vec<_>>(), Vec::<&str>::new());
    }

    #[test]
    fn memory_has_low_addresses() {
        let device = &crate::device::Device::all()[0];
        let mut gpu =
            crate::gpu::Gpu::new(device, emulator::exec::Options::default()).expect("there are addresses");
        let address = gpu.memory.allocate_low("a", 1 << 20).expect("there is room");
        assert!(gpu.memory.global.write(u64::from(address) + 5, &[1, 2]));
        assert_eq!(gpu.memory.allocate_low("a", u32::MAX), Err(crate::error::Status::MEMORY_ALLOCATION));
        assert_eq!(gpu.memory.free_device(address.into()), Ok(()));
    }
}
