// Virtual memory management: addresses and memory apart.
#include <cuda.h>
#include "check.h"

static const char *PTX =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry write(.param .u64 p) {\n .reg .b32 %r<3>; .reg .b64 %d<4>;\n"
    " mov.u32 %r1, %tid.x; ld.param.u64 %d1, [p]; mul.wide.u32 %d2, %r1, 4; add.u64 %d3, %d1, %d2;\n"
    " st.global.u32 [%d3], %r1; ret;\n}\n";

int main(void) {
    CUcontext context;
    CUmodule module;
    CUfunction write;
    CUmemGenericAllocationHandle a, b, same;
    CUdeviceptr base, second, middle;
    size_t chunk, before, after, all;
    unsigned words[32];
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}}}, asked;
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, {0}}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    OK(cuModuleLoadData(&module, PTX));
    OK(cuModuleGetFunction(&write, module, "write"));
    OK(cuMemGetInfo(&before, &all));
    OK(cuMemGetAllocationGranularity(&chunk, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    EXPECT(cuMemAddressReserve(&base, chunk + 1, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAddressReserve(&base, 2 * chunk, 0, 0, 0));
    OK(cuMemAddressReserve(&second, chunk, 0, 0, 0));
    OK(cuMemCreate(&a, chunk, &prop, 0));
    OK(cuMemCreate(&b, chunk, &prop, 0));
    OK(cuMemGetInfo(&after, &all));
    HOLDS(before - after == 2 * chunk);
    OK(cuMemMap(base, chunk, 0, a, 0));
    EXPECT(cuMemMap(base, chunk, 0, b, 0), CUDA_ERROR_INVALID_VALUE);
    // Mapped is not accessible.
    EXPECT(cuMemsetD32(base, 1, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemMap(base + chunk, chunk, 0, b, 0));
    OK(cuMemSetAccess(base, 2 * chunk, &access, 1));
    OK(cuMemGetAllocationPropertiesFromHandle(&asked, a));
    HOLDS(asked.type == prop.type && asked.location.type == prop.location.type);
    OK(cuMemRetainAllocationHandle(&same, (void *)(base + chunk + 8)));
    HOLDS(same == b);
    OK(cuMemRelease(same));

    // A warp's stores, and a copy, across the border of two memories.
    middle = base + chunk - 64;
    void *args[] = {&middle};
    OK(cuLaunchKernel(write, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
    OK(cuMemcpyDtoH(words, middle, sizeof words));
    for (unsigned i = 0; i < 32; i++) HOLDS(words[i] == i);
    // The bytes stay when the memory moves.
    OK(cuMemUnmap(base, 2 * chunk));
    EXPECT(cuMemcpyDtoH(words, middle, 4), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemMap(second, chunk, 0, b, 0));
    OK(cuMemSetAccess(second, chunk, &access, 1));
    OK(cuMemcpyDtoH(words, second, 64));
    for (unsigned i = 0; i < 16; i++) HOLDS(words[i] == 16 + i);
    OK(cuMemRelease(b));
    EXPECT(cuMemAddressFree(second, chunk), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemUnmap(second, chunk));
    OK(cuMemRelease(a));
    OK(cuMemAddressFree(second, chunk));
    OK(cuMemAddressFree(base, 2 * chunk));
    OK(cuMemGetInfo(&after, &all));
    HOLDS(before == after);

    // More memories than a process has files, mapped side by side: each has its own bytes, and zeros when it is new.
    enum { COUNT = 2000 };
    static CUmemGenericAllocationHandle many[COUNT];
    unsigned word;
    for (int round = 0; round < 2; round++) {
        OK(cuMemAddressReserve(&base, COUNT * chunk, 0, 0, 0));
        for (int i = 0; i < COUNT; i++) {
            OK(cuMemCreate(&many[i], chunk, &prop, 0));
            OK(cuMemMap(base + i * chunk, chunk, 0, many[i], 0));
        }
        OK(cuMemSetAccess(base, COUNT * chunk, &access, 1));
        for (int i = 0; i < COUNT; i++) {
            OK(cuMemcpyDtoH(&word, base + i * chunk, 4));
            HOLDS(word == 0);
            OK(cuMemsetD32(base + i * chunk, i + 1, 1));
        }
        for (int i = 0; i < COUNT; i++) {
            OK(cuMemcpyDtoH(&word, base + i * chunk, 4));
            HOLDS(word == i + 1);
        }
        OK(cuMemUnmap(base, COUNT * chunk));
        for (int i = 0; i < COUNT; i++) OK(cuMemRelease(many[i]));
        OK(cuMemAddressFree(base, COUNT * chunk));
    }
    OK(cuMemGetInfo(&after, &all));
    HOLDS(before == after);
    printf("passed\n");
    return 0;
}
