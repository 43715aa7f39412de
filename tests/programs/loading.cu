// Device code that a program loads itself, and what the runtime tells of kernels.
#include "check.h"
#include <cstring>

static const char *text = R"(
.version 6.4
.target sm_75
.address_size 64
.visible .global .align 4 .u32 total = 5;
.visible .entry scale(.param .u64 to, .param .u16 by, .param .f32 unused) {
    .reg .b64 %rd<4>;
    .reg .b32 %r<6>;
    ld.param.u64 %rd1, [to];
    ld.param.u16 %r1, [by];
    mov.u32 %r2, %tid.x;
    mad.lo.u32 %r3, %r2, %r1, 0;
    ld.global.u32 %r4, [total];
    add.u32 %r5, %r3, %r4;
    mul.wide.u32 %rd2, %r2, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r5;
    ret;
}
.visible .entry other() { ret; }
)";

__global__ void own(double a, char b, int *c) { *c = (int)a + b; }

int main() {
    cudaLibrary_t library;
    cudaKernel_t kernel, all[2], again;
    OK(cudaLibraryLoadData(&library, text, nullptr, nullptr, 0, nullptr, nullptr, 0));
    unsigned count;
    OK(cudaLibraryGetKernelCount(&count, library));
    CHECK(count == 2);
    OK(cudaLibraryGetKernel(&kernel, library, "scale"));
    OK(cudaLibraryEnumerateKernels(all, 2, library));
    CHECK(all[0] == kernel || all[1] == kernel);
    FAILS(cudaLibraryGetKernel(&again, library, "nothing"), cudaErrorSymbolNotFound);
    int *total, *x, host[8], seven = 7;
    size_t bytes;
    OK(cudaLibraryGetGlobal((void **)&total, &bytes, library, "total"));
    CHECK(bytes == 4);
    OK(cudaMemcpy(total, &seven, 4, cudaMemcpyHostToDevice));
    OK(cudaMalloc(&x, sizeof host));
    unsigned short by = 3;
    float unused = 0;
    void *args[] = {&x, &by, &unused};
    OK(cudaLaunchKernel((const void *)kernel, dim3(1), dim3(8), args, 0, 0));
    OK(cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 8; i++) CHECK(host[i] == 3 * i + 7);
    const char *name;
    OK(cudaFuncGetName(&name, (const void *)kernel));
    CHECK(!strcmp(name, "scale"));
    OK(cudaKernelSetAttributeForDevice(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024, 0));

    // What a program's own kernels are called, and where their parameters lie.
    OK(cudaFuncGetName(&name, (const void *)own));
    CHECK(!strcmp(name, "_Z3owndcPi"));
    size_t offset, size, shared;
    const size_t offsets[] = {0, 8, 16}, sizes[] = {8, 1, 8};
    for (size_t i = 0; i < 3; i++) {
        OK(cudaFuncGetParamInfo((const void *)own, i, &offset, &size));
        CHECK(offset == offsets[i] && size == sizes[i]);
    }
    FAILS(cudaFuncGetParamInfo((const void *)own, 3, &offset, &size), cudaErrorInvalidValue);
    OK(cudaGetKernel(&again, (const void *)own));
    double a = 40;
    char b = 2;
    void *own_args[] = {&a, &b, &x};
    OK(cudaLaunchKernel((const void *)again, dim3(1), dim3(1), own_args, 0, 0));
    OK(cudaMemcpy(host, x, 4, cudaMemcpyDeviceToHost));
    CHECK(host[0] == 42);
    OK(cudaOccupancyAvailableDynamicSMemPerBlock(&shared, (const void *)own, 2, 128));
    int blocks;
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, own, 128, shared));
    CHECK(blocks >= 2);

    // Many copies at once.
    int from[2] = {11, 12}, to[2] = {0, 0};
    void *targets[] = {x, x + 1}, *backs[] = {to, to + 1}, *sources[] = {from, from + 1};
    size_t each[] = {4, 4}, first = 0;
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    cudaMemcpyAttributes order = {};
    order.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    OK(cudaMemcpyBatchAsync((void *const *)targets, (const void *const *)sources, each, 2, &order, &first, 1, stream));
    OK(cudaMemcpyBatchAsync((void *const *)backs, (const void *const *)targets, each, 2, &order, &first, 1, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(to[0] == 11 && to[1] == 12);

    OK(cudaLibraryUnload(library));
    FAILS(cudaLibraryUnload(library), cudaErrorInvalidResourceHandle);
    FAILS(cudaLaunchKernel((const void *)kernel, dim3(1), dim3(8), args, 0, 0), cudaErrorInvalidDeviceFunction);
    FAILS(cudaLibraryLoadData(&library, ".version nonsense", nullptr, nullptr, 0, nullptr, nullptr, 0), cudaErrorInvalidPtx);
    cudaGetLastError();
    return passed();
}
