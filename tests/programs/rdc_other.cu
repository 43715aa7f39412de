// The second file of rdc.cu.
#include <cuda_runtime.h>

__device__ int shared_counter;
__constant__ int factors[4];
__device__ int from_first(int x);

static __device__ int private_number() { return 2000; }
__device__ int scaled(int value, int which) { return value * factors[which]; }

__global__ void second(int *out) {
    out[threadIdx.x] = from_first(threadIdx.x) + private_number();
    atomicAdd(&shared_counter, 1);
}

cudaError_t launch_other(int *out) {
    second<<<1, 32>>>(out);
    return cudaGetLastError();
}
