// Virtual memory management as expandable segments of frameworks use it: memory that is created for export with file
// descriptors, mapped behind other memory, exported, and imported again.
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <unistd.h>

static void check(CUresult status, const char *what) {
    if (status == CUDA_SUCCESS) return;
    const char *name = "?";
    cuGetErrorName(status, &name);
    printf("FAIL %s: %s\n", what, name);
    exit(1);
}
#define CHECK(call) check(call, #call)

int main() {
    CUdevice device;
    CUcontext context;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    int managed = 0, descriptors = 0;
    CHECK(cuDeviceGetAttribute(&managed, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device));
    CHECK(cuDeviceGetAttribute(&descriptors, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, device));
    if (!managed || !descriptors) {
        printf("FAIL attributes %d %d\n", managed, descriptors);
        return 1;
    }
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    size_t chunk;
    CHECK(cuMemGetAllocationGranularity(&chunk, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CUdeviceptr base;
    CHECK(cuMemAddressReserve(&base, 4 * chunk, 0, 0, 0));
    CUmemAccessDesc access = {};
    access.location = prop.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CUmemGenericAllocationHandle memory[2], imported, plain;
    for (int i = 0; i < 2; i++) {
        CHECK(cuMemCreate(&memory[i], chunk, &prop, 0));
        CHECK(cuMemMap(base + i * chunk, chunk, 0, memory[i], 0));
        CHECK(cuMemSetAccess(base + i * chunk, chunk, &access, 1));
        CHECK(cuMemsetD32(base + i * chunk, 10 + i, chunk / 4));
    }
    int descriptor = -1;
    CHECK(cuMemExportToShareableHandle(&descriptor, memory[1], CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CHECK(cuMemImportFromShareableHandle(&imported, (void *)(size_t)descriptor, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(descriptor);
    CHECK(cuMemMap(base + 2 * chunk, chunk, 0, imported, 0));
    CHECK(cuMemSetAccess(base + 2 * chunk, chunk, &access, 1));
    unsigned value = 0;
    CHECK(cuMemcpyDtoH(&value, base + 2 * chunk + 400, 4));
    if (value != 11) {
        printf("FAIL imported memory holds %u, not 11\n", value);
        return 1;
    }
    CHECK(cuMemsetD32(base + 2 * chunk, 77, chunk / 4));
    CHECK(cuMemcpyDtoH(&value, base + chunk + 400, 4));
    if (value != 77) {
        printf("FAIL exported memory holds %u, not 77\n", value);
        return 1;
    }
    CHECK(cuMemcpyDtoH(&value, base + 400, 4));
    if (value != 10) {
        printf("FAIL the neighbour holds %u, not 10\n", value);
        return 1;
    }
    // Memory that was not created for export cannot be.
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
    CHECK(cuMemCreate(&plain, chunk, &prop, 0));
    if (cuMemExportToShareableHandle(&descriptor, plain, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) == CUDA_SUCCESS) {
        printf("FAIL memory is exported that was not made for it\n");
        return 1;
    }
    CHECK(cuMemUnmap(base, 3 * chunk));
    CHECK(cuMemRelease(plain));
    CHECK(cuMemRelease(imported));
    CHECK(cuMemRelease(memory[0]));
    CHECK(cuMemRelease(memory[1]));
    CHECK(cuMemAddressFree(base, 4 * chunk));
    printf("PASS\n");
    return 0;
}
