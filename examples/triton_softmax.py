"""A softmax of rows in Triton, without PyTorch: emu record -o softmax.wtrace -- python3 triton_softmax.py (needs triton, numpy)."""
import ctypes
import numpy as np
import triton
import triton.language as tl

cuda = ctypes.CDLL("libcuda.so.1")


class Array:
    """A copy of an array on the device: all that a Triton kernel asks of a tensor is its address and its type."""

    def __init__(self, host):
        self.host, self.dtype, self.address = host, "fp32", ctypes.c_uint64()
        assert cuda.cuMemAlloc_v2(ctypes.byref(self.address), ctypes.c_size_t(host.nbytes)) == 0
        assert cuda.cuMemcpyHtoD_v2(self.address, ctypes.c_void_p(host.ctypes.data), ctypes.c_size_t(host.nbytes)) == 0

    def data_ptr(self):
        return self.address.value

    def get(self):
        out = np.empty_like(self.host)
        assert cuda.cuMemcpyDtoH_v2(ctypes.c_void_p(out.ctypes.data), self.address, ctypes.c_size_t(out.nbytes)) == 0
        return out


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + i, mask=i < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + i, powers / tl.sum(powers, axis=0), mask=i < columns)


triton.runtime.driver.active.set_current_device(0)
x = np.random.default_rng(1).standard_normal((256, 1000), dtype=np.float32)
out = Array(np.zeros_like(x))
softmax[(256,)](Array(x), out, 1000, BLOCK=1024)
powers = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
print("largest error:", np.abs(out.get() - powers / powers.sum(axis=1, keepdims=True)).max() < 1e-6 and "below 1e-6")
