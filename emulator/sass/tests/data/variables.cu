// Kernels with everything that a cubin says besides code; variables.sm_75.cubin is nvcc's -cubin -arch=sm_75 of this file.
#include <cstdio>

__constant__ float table[16];
__constant__ int scale = 3;
__device__ int counter = 7;
__device__ float big[100];
__device__ int *to_counter = &counter;
__device__ float *middle = big + 5;

struct Large {
    int a[300];
};

extern "C" __global__ void __launch_bounds__(256, 2) switches(int *out, int k, int n) {
    int i = threadIdx.x, v = 0;
    switch (k) {
    case 0: v = __popc(n + i); out[i + 1] = 3; break;
    case 1: v = n * 7 + i; break;
    case 2: v = __clz(n ^ i); break;
    case 3: v = n / 3; __syncthreads(); break;
    case 4: v = __brev(n); break;
    case 5: v = atomicAdd(out, n); break;
    case 6: v = n % 5; break;
    case 7: v = n << 3; out[7] = v; break;
    default: v = -1;
    }
    out[i] = v;
}

extern "C" __global__ void variables(int *out, Large large, float f) {
    __shared__ float row[64];
    extern __shared__ float dynamic[];
    row[threadIdx.x] = f + table[threadIdx.x & 15];
    __syncthreads();
    dynamic[threadIdx.x] = row[63 - threadIdx.x];
    __syncthreads();
    atomicAdd(&counter, scale);
    out[threadIdx.x] = *to_counter + large.a[threadIdx.x] + (int)dynamic[threadIdx.x ^ 1] + (int)*middle;
    big[threadIdx.x] = f;
    if (out[0] == 9) printf("%d\n", out[1]);
}

__device__ int touched[2];

extern "C" __global__ void no_parameters() {
    touched[1] = gridDim.x + 40;
}
