// Limits that a program raises before it needs them: stacks for deep recursion, a heap for large allocations.
#include "check.h"

// Sums 1 to n the hard way; what it keeps across the call is on the stack.
__device__ __noinline__ unsigned sum(unsigned n, volatile unsigned *where) {
    unsigned kept[16];
    for (int i = 0; i < 16; i++) kept[i] = n + where[i & 3];
    unsigned rest = n ? sum(n - 1, where) : 0;
    return rest + kept[n & 15];
}

__global__ void recurse(unsigned *to, unsigned depth, unsigned *zeros) { *to = sum(depth, zeros); }

__global__ void allocate(unsigned *to, size_t bytes) {
    unsigned *memory = (unsigned *)malloc(bytes);
    if (!memory) {
        *to = 0;
        return;
    }
    memory[bytes / 4 - 1] = 77;
    *to = memory[bytes / 4 - 1];
    free(memory);
}

int main() {
    size_t value;
    OK(cudaDeviceGetLimit(&value, cudaLimitStackSize));
    CHECK(value == 1024);
    OK(cudaDeviceSetLimit(cudaLimitStackSize, 400 << 10));
    OK(cudaDeviceGetLimit(&value, cudaLimitStackSize));
    CHECK(value == 400 << 10);
    const size_t heap = 256 << 20;
    OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, heap));
    OK(cudaDeviceGetLimit(&value, cudaLimitMallocHeapSize));
    CHECK(value == heap);
    unsigned *x, host;
    OK(cudaMalloc(&x, 64));
    OK(cudaMemset(x, 0, 64));
    const unsigned depth = 1500;
    recurse<<<1, 1>>>(x, depth, x + 4);
    OK(cudaMemcpy(&host, x, 4, cudaMemcpyDeviceToHost));
    CHECK(host == depth * (depth + 1) / 2);
    allocate<<<1, 1>>>(x, heap / 4 * 3);
    OK(cudaMemcpy(&host, x, 4, cudaMemcpyDeviceToHost));
    CHECK(host == 77);
    allocate<<<1, 1>>>(x, heap * 2);
    OK(cudaMemcpy(&host, x, 4, cudaMemcpyDeviceToHost));
    CHECK(host == 0);
    return passed();
}
