"""A function that launches a kernel through CUDA's driver API, for `warplab.record`."""

import ctypes
from pathlib import Path


def saxpy(n, a):
    """Returns the first elements of a * i + 1."""
    cuda = ctypes.CDLL("libcuda.so.1")

    def check(status):
        assert status == 0, f"CUDA error {status}"

    context, module, kernel = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    check(cuda.cuInit(0))
    check(cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0))
    text = (Path(__file__).parent / "saxpy.ptx").read_bytes()
    check(cuda.cuModuleLoadData(ctypes.byref(module), text))
    check(cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"saxpy"))
    arrays = [(ctypes.c_float * n)(*range(n)), (ctypes.c_float * n)(*[1.0] * n)]
    addresses = []
    for array in arrays:
        address = ctypes.c_uint64()
        check(cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4 * n)))
        check(cuda.cuMemcpyHtoD_v2(address, array, ctypes.c_size_t(4 * n)))
        addresses.append(address)
    values = [*addresses, ctypes.c_float(a), ctypes.c_uint32(n)]
    pointers = (ctypes.c_void_p * 4)(*[ctypes.addressof(value) for value in values])
    check(cuda.cuLaunchKernel(kernel, -(-n // 128), 1, 1, 128, 1, 1, 0, None, pointers, None))
    check(cuda.cuMemcpyDtoH_v2(arrays[1], addresses[1], ctypes.c_size_t(4 * n)))
    return list(arrays[1])[:4]
