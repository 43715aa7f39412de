// Memory that the program unmaps while it is registered: a kernel that touches it fails with a code, what is left of it works.
#include "check.h"
#include <cstring>
#include <sys/mman.h>

__global__ void fill(int *x, int n, int value) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = value;
}

int main() {
    const size_t page = 4096;
    const int words = page / sizeof(int);
    char *memory = (char *)mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int *device;
    OK(cudaHostRegister(memory, 4 * page, cudaHostRegisterMapped));
    OK(cudaHostGetDevicePointer(&device, memory, 0));
    fill<<<4 * words / 256, 256>>>(device, 4 * words, 1);
    OK(cudaDeviceSynchronize());
    // Without its second page.
    OK(munmap(memory + page, page) == 0 ? cudaSuccess : cudaErrorUnknown);
    fill<<<words / 256, 256>>>(device, words, 2);
    fill<<<2 * words / 256, 256>>>((int *)(memory + 2 * page), 2 * words, 3);
    OK(cudaDeviceSynchronize());
    CHECK(((int *)memory)[words - 1] == 2 && ((int *)memory)[2 * words] == 3 && ((int *)memory)[4 * words - 1] == 3);
    FAILS(cudaMemcpy(memory, device + words, 64, cudaMemcpyDefault), cudaErrorInvalidValue);
    cudaGetLastError();
    // Taken back, it can be registered again, and so can what is mapped anew.
    OK(cudaHostUnregister(memory));
    OK(cudaHostRegister(memory + 2 * page, page, cudaHostRegisterMapped));
    fill<<<words / 256, 256>>>((int *)(memory + 2 * page), words, 4);
    OK(cudaDeviceSynchronize());
    CHECK(((int *)memory)[2 * words] == 4);
    OK(cudaHostUnregister(memory + 2 * page));
    // Without its last page.
    OK(cudaHostRegister(memory + 2 * page, 2 * page, cudaHostRegisterMapped));
    OK(cudaHostGetDevicePointer(&device, memory + 2 * page, 0));
    munmap(memory + 3 * page, page);
    fill<<<words / 256, 256>>>(device, words, 5);
    OK(cudaDeviceSynchronize());
    CHECK(((int *)memory)[2 * words] == 5);
    fill<<<2 * words / 256, 256>>>(device, 2 * words, 6);
    FAILS(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    FAILS(cudaGetLastError(), cudaErrorIllegalAddress);
    printf("PASSED\n");
    return 0;
}
