// A failed assertion of device code: error 710, and every later call fails with it.
#include "check.h"
#undef NDEBUG
#include <cassert>

__global__ void positive(int x) { assert(x > 0); }

int main() {
    positive<<<1, 32>>>(1);
    OK(cudaDeviceSynchronize());
    positive<<<1, 32>>>(-1);
    FAILS(cudaDeviceSynchronize(), cudaErrorAssert);
    int *x;
    FAILS(cudaMalloc(&x, 4), cudaErrorAssert);
    CHECK(cudaGetLastError() == cudaErrorAssert && (int)cudaErrorAssert == 710);
    printf("PASSED\n");
    return 0;
}
