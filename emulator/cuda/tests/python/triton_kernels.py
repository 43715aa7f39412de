"""Triton: elements under a mask, reductions within a block, and tiles multiplied by tensor-core instructions.

Torch is not needed: a launch takes anything with `data_ptr`, which here is memory from the driver API.
"""

import ctypes

import numpy as np
import triton
import triton.language as tl

cuda = ctypes.CDLL("libcuda.so.1")


def check(status):
    assert status == 0, f"CUDA error {status}"


class Array:
    """An array on the device, with what Triton asks of a tensor."""

    def __init__(self, host):
        self.host, self.address = host, ctypes.c_uint64()
        self.dtype = {"float32": "fp32", "float16": "fp16"}[host.dtype.name]
        check(cuda.cuMemAlloc_v2(ctypes.byref(self.address), ctypes.c_size_t(host.nbytes)))
        check(cuda.cuMemcpyHtoD_v2(self.address, host.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(host.nbytes)))

    def data_ptr(self):
        return self.address.value

    def get(self):
        out = np.empty_like(self.host)
        check(cuda.cuMemcpyDtoH_v2(out.ctypes.data_as(ctypes.c_void_p), self.address, ctypes.c_size_t(out.nbytes)))
        return out


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + i, mask=i < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + i, powers / tl.sum(powers, axis=0), mask=i < columns)


@triton.jit
def matmul(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        left = tl.load(a + m[:, None] * K + (start + k)[None, :])
        right = tl.load(b + (start + k)[:, None] * N + n[None, :])
        sums += tl.dot(left, right)
    tl.store(c + m[:, None] * N + n[None, :], sums)


triton.runtime.driver.active.set_current_device(0)

n = 1000
x, y, out = np.arange(n, dtype=np.float32), np.ones(n, dtype=np.float32), Array(np.zeros(n, np.float32))
add[(triton.cdiv(n, 256),)](Array(x), Array(y), out, n, BLOCK=256)
assert (out.get() == x + y).all()

x = np.random.default_rng(1).standard_normal((8, 100), dtype=np.float32)
out = Array(np.zeros_like(x))
softmax[(8,)](Array(x), out, 100, BLOCK=128)
powers = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
assert np.allclose(out.get(), powers / powers.sum(1, keepdims=True), rtol=1e-5, atol=0)

# Products of small integers are exact in every order of summing.
random = np.random.default_rng(2)
a, b = (random.integers(-4, 5, (64, 64)).astype(np.float16) for _ in range(2))
out = Array(np.zeros((64, 64), np.float32))
matmul[(2, 2)](Array(a), Array(b), out, 64, 64, BM=32, BN=32, BK=32)
assert (out.get() == a.astype(np.float32) @ b.astype(np.float32)).all()
print("passed")
