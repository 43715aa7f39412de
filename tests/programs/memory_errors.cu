// Copies, fills and registrations of what is not memory: each is an error, none ends the process or writes anything.
#include "check.h"
#include <cstdint>
#include <cstring>
#include <sys/mman.h>

__global__ void keep_heap(void **to) { *to = malloc(16); }

// Pages: to read and write, to read, none at all.
static char *written, *constant, *nothing;
static const size_t page = 4096;

static void places() {
    written = (char *)mmap(nullptr, 8 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    constant = written + 2 * page;
    nothing = written + 4 * page;
    memset(written, 5, 8 * page);
    mprotect(constant, 2 * page, PROT_READ);
    munmap(nothing, 2 * page);
}

static void bytes(char *x) {
    const cudaError_t invalid = cudaErrorInvalidValue;
    char *code = (char *)(void *)places;
    for (char *p : {nothing, (char *)16, (char *)UINTPTR_MAX - 3, (char *)(1ull << 62)}) {
        FAILS(cudaMemcpy(x, p, 64, cudaMemcpyHostToDevice), invalid);
        FAILS(cudaMemcpy(p, x, 64, cudaMemcpyDeviceToHost), invalid);
        FAILS(cudaMemcpy(p, written, 64, cudaMemcpyHostToHost), invalid);
        FAILS(cudaMemcpy(p, x, 64, cudaMemcpyDefault), invalid);
        FAILS(cudaMemcpyAsync(x, p, 64, cudaMemcpyHostToDevice, 0), invalid);
        FAILS(cudaMemcpyAsync(p, x, 64, cudaMemcpyDeviceToHost, 0), invalid);
        FAILS(cudaMemcpyPeer(p, 0, x, 0, 64), invalid);
        FAILS(cudaMemcpyPeerAsync(x, 0, p, 0, 64, 0), invalid);
        FAILS(cudaMemset(p, 1, 64), invalid);
        FAILS(cudaMemsetAsync(p, 1, 64, 0), invalid);
        FAILS(cudaMemset2D(p, 16, 1, 8, 4), invalid);
        FAILS(cudaMemset3D(make_cudaPitchedPtr(p, 16, 16, 2), 1, make_cudaExtent(8, 2, 2)), invalid);
        FAILS(cudaMemcpy2D(x, 16, p, 16, 8, 4, cudaMemcpyHostToDevice), invalid);
        FAILS(cudaMemcpy2DAsync(p, 16, x, 16, 8, 4, cudaMemcpyDeviceToHost, 0), invalid);
        cudaMemcpy3DParms box = {};
        box.srcPtr = make_cudaPitchedPtr(x, 16, 16, 2);
        box.dstPtr = make_cudaPitchedPtr(p, 16, 16, 2);
        box.extent = make_cudaExtent(8, 2, 2);
        box.kind = cudaMemcpyDefault;
        FAILS(cudaMemcpy3D(&box), invalid);
        FAILS(cudaMemcpy3DAsync(&box, 0), invalid);
        FAILS(cudaHostRegister(p, 64, cudaHostRegisterDefault), invalid);
        FAILS(cudaMemPrefetchAsync(p, 64, cudaMemLocation{cudaMemLocationTypeDevice, 0}, 0, 0), invalid);
        cudaGetLastError();
    }
    // To the last byte and no further, in either direction.
    OK(cudaMemcpy(x, nothing - 64, 64, cudaMemcpyHostToDevice));
    FAILS(cudaMemcpy(x, nothing - 63, 64, cudaMemcpyHostToDevice), invalid);
    FAILS(cudaMemcpy(x, nothing + 2 * page - 1, 2, cudaMemcpyHostToDevice), invalid);
    // What may only be read.
    for (char *p : {constant, code, constant - 32}) {
        OK(cudaMemcpy(x, p, 64, cudaMemcpyHostToDevice));
        FAILS(cudaMemcpy(p, x, 64, cudaMemcpyDeviceToHost), invalid);
        FAILS(cudaMemcpy2D(p, 32, x, 32, 32, 2, cudaMemcpyDeviceToHost), invalid);
        FAILS(cudaHostRegister(p, 64, cudaHostRegisterDefault), invalid);
    }
    // A fill's memory has to be known, a copy's need not.
    FAILS(cudaMemset(written, 1, 64), invalid);
    OK(cudaMemcpy(written, written + 64, 64, cudaMemcpyHostToHost));
    for (size_t i = 0; i < 2 * page; i++) CHECK(written[i] == 5);
    // Rows with a hole between them are good, rows in the hole are not.
    OK(cudaMemcpy2D(x, 8, constant, 4 * page, 8, 2, cudaMemcpyHostToDevice));
    FAILS(cudaMemcpy2D(x, 8, constant, 2 * page, 8, 3, cudaMemcpyHostToDevice), invalid);
    cudaGetLastError();
}

// Rows of a rectangle that begin in one allocation and end in another.
static void between() {
    char *a, *b, host[4 * 16];
    OK(cudaMalloc(&a, 64));
    OK(cudaMalloc(&b, 64));
    if (a > b) {
        char *c = a;
        a = b;
        b = c;
    }
    const size_t half = (b - a) / 2;
    FAILS(cudaMemcpy2D(a, half, host, 16, 16, 3, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    FAILS(cudaMemcpy2D(host, 16, a, b - a, 16, 2, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    FAILS(cudaMemset2D(a, half, 1, 16, 3), cudaErrorInvalidValue);
    cudaGetLastError();
    OK(cudaFree(a));
    OK(cudaFree(b));
}

static void limits() {
    size_t before, now, free, all;
    OK(cudaMemGetInfo(&free, &all));
    OK(cudaDeviceGetLimit(&before, cudaLimitMallocHeapSize));
    for (size_t bytes : {SIZE_MAX, SIZE_MAX / 2, (size_t)1 << 50, free + 1}) {
        FAILS(cudaDeviceSetLimit(cudaLimitMallocHeapSize, bytes), cudaErrorMemoryAllocation);
        FAILS(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, bytes), cudaErrorMemoryAllocation);
        FAILS(cudaDeviceSetLimit(cudaLimitStackSize, bytes), cudaErrorInvalidValue);
    }
    OK(cudaDeviceGetLimit(&now, cudaLimitMallocHeapSize));
    CHECK(now == before);
    cudaGetLastError();
    // A heap as large as the device is costs nothing before it is used.
    const size_t large = free / 8 * 7;
    OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, large));
    void **to;
    OK(cudaMallocManaged(&to, 8));
    keep_heap<<<1, 1>>>(to);
    OK(cudaDeviceSynchronize());
    CHECK(*to != nullptr);
}

int main() {
    places();
    char *x;
    OK(cudaMalloc(&x, 4096));
    bytes(x);
    between();
    limits();
    printf("PASSED\n");
    return 0;
}
