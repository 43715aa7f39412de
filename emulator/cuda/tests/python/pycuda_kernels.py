"""PyCUDA: kernels that nvcc compiles, constants, arrays with generated kernels and reductions, streams and events."""

import numpy as np
import pycuda.autoinit  # noqa: F401
import pycuda.driver as driver
from pycuda import gpuarray
from pycuda.compiler import SourceModule
from pycuda.elementwise import ElementwiseKernel
from pycuda.reduction import ReductionKernel

module = SourceModule(
    """
    __constant__ float factor;
    __global__ void saxpy(const float *x, const float *y, float *out, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) out[i] = factor * x[i] + y[i];
    }
    __global__ void turned(float *out) {
        extern __shared__ float values[];
        values[threadIdx.x] = out[threadIdx.x];
        __syncthreads();
        out[threadIdx.x] = values[blockDim.x - 1 - threadIdx.x];
    }
    """
)
n = 1000
x, y, out = np.arange(n, dtype=np.float32), np.ones(n, dtype=np.float32), np.zeros(n, dtype=np.float32)
factor, size = module.get_global("factor")
assert size == 4
driver.memcpy_htod(factor, np.float32(2))
saxpy = module.get_function("saxpy")
saxpy(driver.In(x), driver.In(y), driver.Out(out), np.int32(n), block=(128, 1, 1), grid=(8, 1))
assert (out == 2 * x + 1).all()

values = np.arange(64, dtype=np.float32)
module.get_function("turned")(driver.InOut(values), block=(64, 1, 1), shared=256)
assert (values == np.arange(64)[::-1]).all()
# The same with a list of types that was prepared.
prepared = module.get_function("turned").prepare("P")
on_device = gpuarray.to_gpu(values)
prepared.prepared_call((1, 1), (64, 1, 1), on_device.gpudata, shared_size=256)
assert (on_device.get() == np.arange(64)).all()

array = gpuarray.to_gpu(x)
assert ((array * 2 + 1).get() == 2 * x + 1).all()
assert gpuarray.sum(gpuarray.to_gpu(np.ones(n, dtype=np.float32))).get() == n
assert gpuarray.max(array).get() == n - 1
squares = ElementwiseKernel("float *a", "a[i] = a[i] * a[i]", "squares")
squares(array)
assert (array.get() == x * x).all()
dot = ReductionKernel(np.float32, "0", "a + b", "x[i] * y[i]", "const float *x, const float *y")
ones = gpuarray.to_gpu(np.ones(5000, dtype=np.float32))
assert dot(ones, ones).get() == 5000

stream, start, end = driver.Stream(), driver.Event(), driver.Event()
start.record(stream)
squares(ones, stream=stream)
end.record(stream)
end.synchronize()
assert start.time_till(end) >= 0
print("passed")
