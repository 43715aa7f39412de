// An access beyond an allocation is found, and sticks.
#include "check.h"

__global__ void store(int *x, int at) { x[at] = 1; }

int main() {
    int *x;
    OK(cudaMalloc(&x, 128));
    store<<<1, 1>>>(x, 31);
    OK(cudaDeviceSynchronize());
    store<<<1, 1>>>(x, 1 << 20);
    OK(cudaPeekAtLastError() == cudaErrorIllegalAddress ? cudaSuccess : cudaPeekAtLastError());
    FAILS(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    CHECK(cudaGetLastError() == cudaErrorIllegalAddress);
    CHECK(cudaGetLastError() == cudaErrorIllegalAddress);
    FAILS(cudaFree(x), cudaErrorIllegalAddress);
    printf("PASSED\n");
    return 0;
}
