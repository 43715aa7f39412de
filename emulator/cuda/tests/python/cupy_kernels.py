"""CuPy: kernels in CUDA C++, elements, reductions by CUB and by its own kernels, sorting by Thrust, streams and events.

CuPy brings the CUDA runtime and device code along, linked into libraries that Python loads.
"""

import cupy
import numpy as np

assert cupy.cuda.runtime.getDeviceCount() == 1
assert cupy.cuda.runtime.getDeviceProperties(0)["multiProcessorCount"] in (30, 108)

saxpy = cupy.RawKernel(
    r"""
    extern "C" __global__ void saxpy(float a, const float *x, const float *y, float *out, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) out[i] = a * x[i] + y[i];
    }
    """,
    "saxpy",
)
n = 1000
host = np.arange(n, dtype=np.float32)
x, y = cupy.asarray(host), cupy.ones(n, dtype=cupy.float32)
out = cupy.empty_like(x)
saxpy((8,), (128,), (cupy.float32(2), x, y, out, n))
assert (out.get() == 2 * host + 1).all()

module = cupy.RawModule(code="template<class T> __global__ void twice(T *a) { a[threadIdx.x] *= 2; }", name_expressions=["twice<double>"])
doubles = cupy.arange(64, dtype=cupy.float64)
module.get_function("twice<double>")((1,), (64,), (doubles,))
assert (doubles.get() == 2 * np.arange(64)).all()

assert (cupy.sqrt(x * x).get() == host).all()
squares = cupy.ElementwiseKernel("float32 a, float32 b", "float32 c", "c = (a - b) * (a - b)", "squares")
assert (squares(x, y).get() == (host - 1) ** 2).all()
norm = cupy.ReductionKernel("float32 a", "float32 b", "a * a", "a + b", "b = sqrt(a)", "0", "euclidean")
assert norm(cupy.ones(100, dtype=cupy.float32)) == 10

# Whole numbers, whose sums are exact in any order; lengths around those of blocks.
for length in (1, 31, 32, 33, 255, 256, 257, 1000, 5000):
    numbers = np.arange(length, dtype=np.int64) % 7 - 3
    for kind in (np.float32, np.float64, np.int32, np.int64):
        array = cupy.asarray(numbers.astype(kind))
        assert array.sum() == numbers.sum(), (length, kind)
        assert array.max() == numbers.max() and array.argmin() == numbers.argmin(), (length, kind)
        assert (cupy.cumsum(array).get() == np.cumsum(numbers)).all(), (length, kind)
table = cupy.asarray(host.reshape(20, 50))
assert (table.sum(axis=0).get() == host.reshape(20, 50).sum(axis=0)).all()
assert (table.mean(axis=1).get() == host.reshape(20, 50).mean(axis=1)).all()

shuffled = np.random.default_rng(1).permutation(3000).astype(np.int32)
assert (cupy.sort(cupy.asarray(shuffled)).get() == np.arange(3000)).all()
assert (cupy.argsort(cupy.asarray(shuffled)).get() == np.argsort(shuffled)).all()

stream, start, end = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Event(), cupy.cuda.Event()
with stream:
    start.record()
    out += x
    end.record()
stream.synchronize()
assert cupy.cuda.get_elapsed_time(start, end) >= 0
assert (out.get() == 3 * host + 1).all()
print("passed")
