"""A Triton kernel without PyTorch, for `warplab.record`: a launch takes anything with `data_ptr`."""

import ctypes

import numpy
import triton
import triton.language as tl


class Array:
    """An array on the device, with what Triton asks of a tensor."""

    def __init__(self, host):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.host, self.address = host, ctypes.c_uint64()
        self.dtype = {"float32": "fp32"}[host.dtype.name]
        assert self.cuda.cuMemAlloc_v2(ctypes.byref(self.address), ctypes.c_size_t(host.nbytes)) == 0
        data = host.ctypes.data_as(ctypes.c_void_p)
        assert self.cuda.cuMemcpyHtoD_v2(self.address, data, ctypes.c_size_t(host.nbytes)) == 0

    def data_ptr(self):
        return self.address.value

    def get(self):
        out = numpy.empty_like(self.host)
        data = out.ctypes.data_as(ctypes.c_void_p)
        assert self.cuda.cuMemcpyDtoH_v2(data, self.address, ctypes.c_size_t(out.nbytes)) == 0
        return out


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)


def add(n):
    """Returns the sum of 0 + 1, 1 + 1, …"""
    triton.runtime.driver.active.set_current_device(0)
    x, y = numpy.arange(n, dtype=numpy.float32), numpy.ones(n, dtype=numpy.float32)
    out = Array(numpy.zeros(n, numpy.float32))
    add_kernel[(triton.cdiv(n, 256),)](Array(x), Array(y), out, n, BLOCK=256)
    return float(out.get().astype(numpy.float64).sum())
