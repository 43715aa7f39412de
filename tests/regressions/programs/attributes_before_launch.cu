// Asks about and sets attributes of kernels before their first launch, as NCCL does for all of its kernels.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

__global__ void sum(int *to, int count) {
    extern __shared__ int values[];
    for (int i = threadIdx.x; i < count; i += blockDim.x) values[i] = i;
    __syncthreads();
    if (threadIdx.x == 0) {
        int all = 0;
        for (int i = 0; i < count; i++) all += values[i];
        *to = all;
    }
}

__global__ void __launch_bounds__(96) bounded(int *to) {
    __shared__ int words[300];
    int local[40];
    for (int i = 0; i < 40; i++) local[i] = to[i] * 2;
    words[threadIdx.x] = local[to[0] + threadIdx.x % 40];
    __syncthreads();
    to[threadIdx.x] = words[95 - threadIdx.x];
}

static void check(cudaError_t status, const char *what) {
    if (status == cudaSuccess) return;
    printf("FAIL %s: %s\n", what, cudaGetErrorName(status));
    exit(1);
}
#define CHECK(call) check(call, #call)

static void same(int found, int expected, const char *what) {
    if (found == expected) return;
    printf("FAIL %s is %d, not %d\n", what, found, expected);
    exit(1);
}

int main() {
    const int COUNT = 15000;
    cudaFuncAttributes before, after;
    CHECK(cudaFuncGetAttributes(&before, sum));
    CHECK(cudaFuncSetAttribute(sum, cudaFuncAttributeMaxDynamicSharedMemorySize, COUNT * sizeof(int)));
    CHECK(cudaFuncSetAttribute(sum, cudaFuncAttributePreferredSharedMemoryCarveout, 100));
    int *to, host = 0;
    CHECK(cudaMalloc(&to, 96 * sizeof(int)));
    CHECK(cudaMemset(to, 0, 96 * sizeof(int)));
    sum<<<1, 64, COUNT * sizeof(int)>>>(to, COUNT);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&host, to, sizeof host, cudaMemcpyDeviceToHost));
    same(host, COUNT / 2 * (COUNT - 1), "the sum");
    CHECK(cudaFuncGetAttributes(&after, sum));
    same(after.maxDynamicSharedSizeBytes, COUNT * sizeof(int), "dynamic shared memory");
    same(after.preferredShmemCarveout, 100, "the carve-out");
    same(after.numRegs, before.numRegs, "registers of sum");
    same(after.maxThreadsPerBlock, before.maxThreadsPerBlock, "threads of sum");

    CHECK(cudaFuncGetAttributes(&before, bounded));
    same(before.maxThreadsPerBlock, 96, "the bound");
    same(before.sharedSizeBytes, 1200, "static shared memory");
    CHECK(cudaMemset(to, 0, 96 * sizeof(int)));
    bounded<<<1, 96>>>(to);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFuncGetAttributes(&after, bounded));
    same(after.numRegs, before.numRegs, "registers of bounded");
    same(after.localSizeBytes, before.localSizeBytes, "local memory of bounded");
    printf("PASS\n");
    return 0;
}
