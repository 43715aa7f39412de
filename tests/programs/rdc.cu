// Relocatable device code: a kernel here calls a function and uses variables of the other file, and the other way
// round; both files have a static function of the same name.
// nvcc: -rdc=true rdc_other.cu
#include "check.h"

extern __device__ int shared_counter;
extern __constant__ int factors[4];
__device__ int scaled(int value, int which);
cudaError_t launch_other(int *out);

static __device__ int private_number() { return 1000; }
__device__ int from_first(int x) { return x + private_number(); }

__global__ void first(int *out) {
    out[threadIdx.x] = scaled(threadIdx.x, threadIdx.x % 4) + private_number();
    atomicAdd(&shared_counter, 1);
}

int main() {
    int *out, host[32], host_factors[4] = {2, 3, 5, 7}, count;
    OK(cudaMalloc(&out, sizeof host));
    OK(cudaMemcpyToSymbol(factors, host_factors, sizeof host_factors));
    first<<<1, 32>>>(out);
    OK(cudaGetLastError());
    OK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; i++) CHECK(host[i] == i * host_factors[i % 4] + 1000);
    OK(launch_other(out));
    OK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; i++) CHECK(host[i] == i + 1000 + 2000);
    OK(cudaMemcpyFromSymbol(&count, shared_counter, sizeof count));
    CHECK(count == 64);
    return passed();
}
