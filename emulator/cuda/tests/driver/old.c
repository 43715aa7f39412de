// The first versions of functions, with addresses and sizes of 32 bits, as programs find them that ask the loader for
// names without a version.
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include "check.h"

typedef unsigned old_pointer;
typedef struct {
    unsigned fromX, fromY, fromKind;
    const void *fromHost;
    old_pointer fromDevice;
    CUarray fromArray;
    unsigned fromPitch, toX, toY, toKind;
    void *toHost;
    old_pointer toDevice;
    CUarray toArray;
    unsigned toPitch, width, height;
} OldCopy2;

static void *find(const char *name) {
    void *found = dlsym(RTLD_DEFAULT, name);
    if (!found) printf("there is no %s\n", name);
    HOLDS(found);
    return found;
}

static const char *PTX =
    ".version 7.0\n.target sm_75\n.address_size 64\n.visible .global .align 4 .u32 known;\n"
    ".visible .entry write(.param .u64 p) {\n .reg .b32 %r<3>; .reg .b64 %d<4>;\n"
    " mov.u32 %r1, %tid.x; ld.param.u64 %d1, [p]; mul.wide.u32 %d2, %r1, 4; add.u64 %d3, %d1, %d2;\n"
    " st.global.u32 [%d3], %r1; ret;\n}\n";

int main(void) {
    CUresult (*create)(CUcontext *, unsigned, CUdevice) = find("cuCtxCreate");
    CUresult (*destroy)(CUcontext) = find("cuCtxDestroy");
    CUresult (*total)(unsigned *, CUdevice) = find("cuDeviceTotalMem");
    CUresult (*info)(unsigned *, unsigned *) = find("cuMemGetInfo");
    CUresult (*allocate)(old_pointer *, unsigned) = find("cuMemAlloc");
    CUresult (*allocate_pitch)(old_pointer *, unsigned *, unsigned, unsigned, unsigned) = find("cuMemAllocPitch");
    CUresult (*release)(old_pointer) = find("cuMemFree");
    CUresult (*range)(old_pointer *, unsigned *, old_pointer) = find("cuMemGetAddressRange");
    CUresult (*htod)(old_pointer, const void *, unsigned) = find("cuMemcpyHtoD");
    CUresult (*dtoh)(void *, old_pointer, unsigned) = find("cuMemcpyDtoH");
    CUresult (*dtod)(old_pointer, old_pointer, unsigned) = find("cuMemcpyDtoD");
    CUresult (*copy2)(const OldCopy2 *) = find("cuMemcpy2D");
    CUresult (*fill)(old_pointer, unsigned, unsigned) = find("cuMemsetD32");
    CUresult (*fill2)(old_pointer, unsigned, unsigned char, unsigned, unsigned) = find("cuMemsetD2D8");
    CUresult (*variable)(old_pointer *, unsigned *, CUmodule, const char *) = find("cuModuleGetGlobal");
    CUresult (*to_device)(old_pointer *, void *, unsigned) = find("cuMemHostGetDevicePointer");
    CUcontext context;
    CUmodule module;
    CUfunction write;
    old_pointer a, b, base, pitched;
    unsigned bytes, rest, words[64];
    OK(cuInit(0));
    OK(create(&context, 0, 0));
    OK(total(&bytes, 0));
    HOLDS(bytes > 1u << 30);
    OK(info(&rest, &bytes));
    HOLDS(rest > 0 && rest <= bytes);
    EXPECT(allocate(&a, 0), CUDA_ERROR_INVALID_VALUE);
    OK(allocate(&a, 256));
    OK(allocate(&b, 256));
    OK(range(&base, &bytes, a + 17));
    HOLDS(base == a && bytes == 256);

    // A kernel takes the address like any other.
    CUdeviceptr wide = a;
    void *args[] = {&wide};
    OK(cuModuleLoadData(&module, PTX));
    OK(cuModuleGetFunction(&write, module, "write"));
    OK(cuLaunchKernel(write, 1, 1, 1, 64, 1, 1, 0, NULL, args, NULL));
    OK(dtod(b, a, 256));
    OK(fill(b + 4, 77, 2));
    OK(dtoh(words, b, 256));
    for (unsigned i = 0; i < 64; i++) HOLDS(words[i] == (i == 1 || i == 2 ? 77 : i));
    EXPECT(dtoh(words, b + 4, 256), CUDA_ERROR_INVALID_VALUE);
    words[3] = 5;
    OK(htod(a, words, 16));
    OldCopy2 copy = {.fromKind = CU_MEMORYTYPE_DEVICE, .fromDevice = a, .fromPitch = 16, .fromX = 4,
                     .toKind = CU_MEMORYTYPE_HOST, .toHost = words, .toPitch = 8, .width = 8, .height = 2};
    OK(copy2(&copy));
    HOLDS(words[0] == 77 && words[1] == 77 && words[2] == 5 && words[3] == 6);
    unsigned pitch;
    OK(allocate_pitch(&pitched, &pitch, 100, 3, 4));
    HOLDS(pitch >= 100);
    OK(fill2(pitched, pitch, 9, 100, 3));
    OK(release(pitched));

    // Memory that has no such address belongs to a later API.
    EXPECT(variable(&a, &bytes, module, "known"), CUDA_ERROR_INVALID_CONTEXT);
    void *host;
    OK(cuMemAllocHost(&host, 64));
    EXPECT(to_device(&base, host, 0), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuMemFreeHost(host));
    OK(release(b));
    EXPECT(release(b), CUDA_ERROR_INVALID_VALUE);

    // Every name that the driver's header calls by a later version.
    const char *others[] = {"cuArray3DCreate", "cuArray3DGetDescriptor", "cuArrayCreate", "cuArrayGetDescriptor",
        "cuCtxPopCurrent", "cuCtxPushCurrent", "cuEventDestroy", "cuGraphExecUpdate", "cuGraphInstantiate",
        "cuGraphicsResourceGetMappedPointer", "cuGraphicsResourceSetMapFlags", "cuIpcOpenMemHandle", "cuLinkAddData",
        "cuLinkAddFile", "cuLinkCreate", "cuMemAllocHost", "cuMemHostRegister", "cuMemcpy2DAsync",
        "cuMemcpy2DUnaligned", "cuMemcpy3D", "cuMemcpy3DAsync", "cuMemcpyAtoA", "cuMemcpyAtoD", "cuMemcpyAtoH",
        "cuMemcpyAtoHAsync", "cuMemcpyDtoA", "cuMemcpyDtoDAsync", "cuMemcpyDtoHAsync", "cuMemcpyHtoA",
        "cuMemcpyHtoAAsync", "cuMemcpyHtoDAsync", "cuMemsetD16", "cuMemsetD2D16", "cuMemsetD2D32", "cuMemsetD8",
        "cuStreamBeginCapture", "cuStreamBeginCapture_ptsz", "cuStreamDestroy", "cuStreamWaitValue32",
        "cuStreamWaitValue64", "cuStreamWriteValue32", "cuStreamWriteValue64", "cuTexRefGetAddress",
        "cuTexRefSetAddress", "cuTexRefSetAddress2D"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) find(others[i]);
    OK(destroy(context));
    printf("passed\n");
    return 0;
}
