// Memory of the program that kernels access: at its own address, and at one of the device that is the same in every run.
#include "check.h"
#include <cstdlib>
#include <cstring>
#include <vector>

__global__ void twice(int *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 2 * x[i];
}

// Reads what other blocks write, under the memory's other address.
__global__ void chain(volatile int *to, const volatile int *from) {
    if (threadIdx.x == 0) to[blockIdx.x + 1] = from[blockIdx.x] + 1;
}

int main() {
    const int n = 5000;
    int can;
    OK(cudaDeviceGetAttribute(&can, cudaDevAttrCanUseHostPointerForRegisteredMem, 0));
    CHECK(can == 0);
    // Not aligned to anything but its own elements.
    int *host = (int *)malloc(n * sizeof(int) + 64) + 3, *device, *inside;
    for (int i = 0; i < n; i++) host[i] = i;
    OK(cudaHostRegister(host, n * sizeof(int), cudaHostRegisterMapped));
    FAILS(cudaHostRegister(host + 1, 4, cudaHostRegisterMapped), cudaErrorHostMemoryAlreadyRegistered);
    cudaGetLastError();
    OK(cudaHostGetDevicePointer(&device, host, 0));
    OK(cudaHostGetDevicePointer(&inside, host + 7, 0));
    CHECK(inside == device + 7);
    CHECK((size_t)device % 4096 == (size_t)host % 4096);
    twice<<<n / 256 + 1, 256>>>(device, n);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < n; i++) CHECK(host[i] == 2 * i);
    // The host's address works too.
    twice<<<n / 256 + 1, 256>>>(host, n);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < n; i++) CHECK(host[i] == 4 * i);
    cudaPointerAttributes attributes;
    for (int *p : {host + 5, device + 5}) {
        OK(cudaPointerGetAttributes(&attributes, p));
        CHECK(attributes.type == cudaMemoryTypeHost);
        CHECK(attributes.hostPointer == host + 5 && attributes.devicePointer == device + 5);
    }
    unsigned flags;
    OK(cudaHostGetFlags(&flags, host));
    CHECK(flags & cudaHostAllocMapped);
    // Copies and fills take either.
    std::vector<int> copy(n);
    OK(cudaMemset(device, 1, 8));
    OK(cudaMemcpy(copy.data(), device, 12, cudaMemcpyDefault));
    CHECK(copy[0] == 0x01010101 && copy[1] == 0x01010101 && copy[2] == 8);
    OK(cudaMemcpy(host + 2, device, 4, cudaMemcpyDefault));
    CHECK(host[2] == 0x01010101);
    FAILS(cudaMemcpy(copy.data(), device + n - 1, 8, cudaMemcpyDefault), cudaErrorInvalidValue);
    cudaGetLastError();
    // Blocks in order see what the ones before have written, whichever address they use.
    memset(host, 0, n * sizeof(int));
    chain<<<400, 64>>>(device, host);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i <= 400; i++) CHECK(host[i] == i);
    FAILS(cudaHostUnregister(device), cudaErrorHostMemoryNotRegistered);
    cudaGetLastError();
    OK(cudaHostUnregister(host));
    FAILS(cudaHostGetDevicePointer(&device, host, 0), cudaErrorInvalidValue);
    cudaGetLastError();
    int *again;
    OK(cudaHostRegister(host, 64, cudaHostRegisterDefault));
    OK(cudaHostGetDevicePointer(&again, host, 0));
    OK(cudaHostUnregister(host));
    return passed();
}
