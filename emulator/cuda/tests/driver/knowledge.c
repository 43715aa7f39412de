// What programs say about memory, and what they are told when they ask.
#include <cuda.h>
#include "check.h"

static int word(CUmem_range_attribute attribute, CUdeviceptr address, size_t bytes) {
    int value = 77;
    CUresult status = cuMemRangeGetAttribute(&value, sizeof value, attribute, address, bytes);
    return status == CUDA_SUCCESS ? value : 1000 + (int)status;
}

static int advice(void) {
    const CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, {0}}, host = {CU_MEM_LOCATION_TYPE_HOST, {0}};
    const CUmemLocation other = {CU_MEM_LOCATION_TYPE_DEVICE, {7}};
    const size_t bytes = 1 << 20, half = bytes / 2;
    CUdeviceptr memory, plain;
    int several[3], mostly, place;
    OK(cuMemAllocManaged(&memory, bytes, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemAlloc(&plain, bytes));
    HOLDS(word(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, bytes) == 0);
    HOLDS(word(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, memory, bytes) == CU_DEVICE_INVALID);
    HOLDS(word(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, memory, bytes) == CU_DEVICE_INVALID);
    OK(cuMemAdvise(memory, bytes, CU_MEM_ADVISE_SET_READ_MOSTLY, device));
    OK(cuMemAdvise(memory, half, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host));
    OK(cuMemAdvise(memory + half, half, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device));
    OK(cuMemAdvise(memory, bytes, CU_MEM_ADVISE_SET_ACCESSED_BY, host));
    OK(cuMemAdvise(memory, half, CU_MEM_ADVISE_SET_ACCESSED_BY, device));
    HOLDS(word(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, bytes) == 1);
    HOLDS(word(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, memory, half) == CU_DEVICE_CPU);
    HOLDS(word(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, memory + half, half) == 0);
    HOLDS(word(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, memory, bytes) == CU_DEVICE_INVALID);
    OK(cuMemRangeGetAttribute(several, sizeof several, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, memory, half));
    HOLDS(several[0] == 0 && several[1] == CU_DEVICE_CPU && several[2] == CU_DEVICE_INVALID);
    OK(cuMemRangeGetAttribute(several, sizeof several, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, memory, bytes));
    HOLDS(several[0] == CU_DEVICE_CPU && several[1] == CU_DEVICE_INVALID);
    // A page has one advice; a byte of it stands for all.
    OK(cuMemAdvise(memory + 5, 1, CU_MEM_ADVISE_UNSET_READ_MOSTLY, device));
    HOLDS(word(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, 4096) == 0);
    HOLDS(word(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory + 4096, bytes - 4096) == 1);
    OK(cuMemPrefetchAsync(memory, bytes, device, 0, NULL));
    HOLDS(word(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, memory, bytes) == 0);
    HOLDS(word(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE, memory, bytes) == CU_MEM_LOCATION_TYPE_DEVICE);
    OK(cuMemPrefetchAsync(memory, half, host, 0, NULL));
    HOLDS(word(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, memory, bytes) == CU_DEVICE_INVALID);
    void *to[] = {&mostly, &place};
    size_t sizes[] = {sizeof mostly, sizeof place};
    CUmem_range_attribute asked[] = {CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION};
    OK(cuMemRangeGetAttributes(to, sizes, asked, 2, memory, half));
    HOLDS(mostly == 0 && place == CU_DEVICE_CPU);

    EXPECT(cuMemAdvise(memory, bytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, other), CUDA_ERROR_INVALID_DEVICE);
    EXPECT(cuMemAdvise(memory, bytes + 1, CU_MEM_ADVISE_SET_READ_MOSTLY, device), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemAdvise(memory, bytes, (CUmem_advise)77, device), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemAdvise(plain, bytes, CU_MEM_ADVISE_SET_READ_MOSTLY, device), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemRangeGetAttribute(several, 6, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, memory, bytes), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemRangeGetAttribute(several, 8, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, bytes), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemRangeGetAttribute(several, 4, (CUmem_range_attribute)77, memory, bytes), CUDA_ERROR_INVALID_VALUE);
    // Memory at the same place later has no advice.
    CUdeviceptr again;
    OK(cuMemFree(memory));
    OK(cuMemAllocManaged(&again, bytes, CU_MEM_ATTACH_GLOBAL));
    HOLDS(word(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, again, half) == CU_DEVICE_INVALID);
    HOLDS(word(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, again + half, half) == 0);
    OK(cuMemFree(again));
    OK(cuMemFree(plain));
    return 0;
}

static int pointers(void) {
    CUdeviceptr memory;
    unsigned synchronous = 7, on = 1, off = 0;
    OK(cuMemAlloc(&memory, 64));
    OK(cuPointerGetAttribute(&synchronous, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory));
    HOLDS(synchronous == 0);
    OK(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory));
    OK(cuPointerGetAttribute(&synchronous, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory + 8));
    HOLDS(synchronous == 1);
    OK(cuPointerSetAttribute(&off, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory + 8));
    OK(cuPointerGetAttribute(&synchronous, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory));
    HOLDS(synchronous == 0);
    OK(cuMemFree(memory));
    return 0;
}

// Memory of graphs counts from the first launch on, until it is trimmed.
static int graphs(void) {
    const size_t bytes = 1 << 16;
    CUgraph graph;
    CUgraphExec executable;
    CUgraphNode allocated, freed;
    CUDA_MEM_ALLOC_NODE_PARAMS params = {.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                       .location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}}},
                                         .bytesize = bytes};
    cuuint64_t counts[4], zero = 0;
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddMemAllocNode(&allocated, graph, NULL, 0, &params));
    OK(cuGraphAddMemFreeNode(&freed, graph, &allocated, 1, params.dptr));
    OK(cuGraphInstantiate(&executable, graph, 0));
    for (int i = 0; i < 4; i++) {
        OK(cuDeviceGetGraphMemAttribute(0, (CUgraphMem_attribute)i, &counts[i]));
        HOLDS(counts[i] == 0);
    }
    for (int round = 0; round < 2; round++) {
        OK(cuGraphLaunch(executable, NULL));
        for (int i = 0; i < 4; i++) {
            OK(cuDeviceGetGraphMemAttribute(0, (CUgraphMem_attribute)i, &counts[i]));
            HOLDS(counts[i] >= bytes && counts[i] == counts[0]);
        }
    }
    OK(cuDeviceGraphMemTrim(0));
    OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &counts[0]));
    OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH, &counts[1]));
    HOLDS(counts[0] == 0 && counts[1] >= bytes);
    OK(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH, &zero));
    OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH, &counts[1]));
    HOLDS(counts[1] == 0);
    OK(cuGraphExecDestroy(executable));
    OK(cuGraphDestroy(graph));
    return 0;
}

int main(void) {
    CUcontext context;
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    if (advice() || pointers() || graphs()) return 1;
    puts("passed");
    return 0;
}
