// printf of device code comes out in order, before the host goes on.
// expect: block 0 thread 0 of 3: 0.50 text
// expect: block 2 thread 1 of 3: 3.50 text
#include "check.h"

__global__ void speak() {
    printf("block %d thread %d of %u: %.2f %s\n", blockIdx.x, threadIdx.x, gridDim.x,
           blockIdx.x + threadIdx.x + 0.5, "text");
}

int main() {
    OK(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 2 << 20));
    size_t limit;
    OK(cudaDeviceGetLimit(&limit, cudaLimitPrintfFifoSize));
    CHECK(limit >= 2 << 20);
    speak<<<3, 2>>>();
    return passed();
}
