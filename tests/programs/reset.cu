// A device that is reset gives all its memory back, forgets handles, and is as good as new.
#include "check.h"
#include <vector>

__device__ int counter = 41;
__managed__ int shared_counter = 1;

__global__ void bump(int *x) { *x = ++counter + ++shared_counter; }

static int run() {
    int *x, host;
    OK(cudaMalloc(&x, 4));
    bump<<<1, 1>>>(x);
    OK(cudaMemcpy(&host, x, 4, cudaMemcpyDeviceToHost));
    return host;
}

int main() {
    size_t free_at_first, free_later, total;
    CHECK(run() == 44);
    OK(cudaMemGetInfo(&free_at_first, &total));
    CHECK(shared_counter == 2);
    cudaStream_t stream;
    cudaEvent_t event;
    void *memory;
    OK(cudaStreamCreate(&stream));
    OK(cudaEventCreate(&event));
    OK(cudaMalloc(&memory, 64 << 20));
    OK(cudaDeviceReset());
    FAILS(cudaFree(memory), cudaErrorInvalidValue);
    FAILS(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
    FAILS(cudaEventRecord(event, 0), cudaErrorInvalidResourceHandle);
    cudaGetLastError();
    // Variables are as they were in the beginning.
    CHECK(shared_counter == 1);
    CHECK(run() == 44);
    CHECK(run() == 46);
    OK(cudaMemGetInfo(&free_later, &total));
    CHECK(free_later + 4 == free_at_first);
    // Again and again nothing is lost.
    for (int i = 0; i < 20; i++) {
        OK(cudaMalloc(&memory, total / 2));
        OK(cudaDeviceReset());
    }
    CHECK(run() == 44);
    return passed();
}
