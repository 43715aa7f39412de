// Pointers to structures and strings that lead nowhere: each is an error, none ends the process.
// nvcc: -lcuda
#include "check.h"
#include <cstdint>
#include <cstring>
#include <cuda.h>
#include <sys/mman.h>

static const size_t page = 4096;

__global__ void nothing(int) {}

template <typename T> static T *at(uintptr_t address) { return reinterpret_cast<T *>(address); }

static void runtime(uintptr_t p, cudaArray_t array) {
    const cudaError_t invalid = cudaErrorInvalidValue;
    FAILS(cudaGetDeviceProperties(at<cudaDeviceProp>(p), 0), invalid);
    FAILS(cudaMemcpy3D(at<cudaMemcpy3DParms>(p)), invalid);
    FAILS(cudaMemcpy3DAsync(at<cudaMemcpy3DParms>(p), 0), invalid);
    FAILS(cudaMemcpy3DPeer(at<cudaMemcpy3DPeerParms>(p)), invalid);
    FAILS(cudaMemcpy3DPeerAsync(at<cudaMemcpy3DPeerParms>(p), 0), invalid);
    cudaArray_t made;
    FAILS(cudaMallocArray(&made, at<cudaChannelFormatDesc>(p), 8, 8, 0), invalid);
    cudaPointerAttributes attributes;
    FAILS(cudaPointerGetAttributes(at<cudaPointerAttributes>(p), &attributes), invalid);
    FAILS(cudaFuncGetAttributes(at<cudaFuncAttributes>(p), nothing), invalid);
    cudaTextureObject_t texture;
    cudaResourceDesc resource = {};
    cudaTextureDesc description = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    FAILS(cudaCreateTextureObject(&texture, at<cudaResourceDesc>(p), &description, nullptr), invalid);
    FAILS(cudaCreateTextureObject(&texture, &resource, at<cudaTextureDesc>(p), nullptr), invalid);
    if (p) FAILS(cudaCreateTextureObject(&texture, &resource, &description, at<cudaResourceViewDesc>(p)), invalid);
    FAILS(cudaCreateSurfaceObject(&texture, at<cudaResourceDesc>(p)), invalid);
    int device;
    FAILS(cudaDeviceGetByPCIBusId(&device, at<char>(p)), invalid);
    FAILS(cudaDeviceGetPCIBusId(at<char>(p), 64, 0), invalid);
    FAILS(cudaLaunchKernelExC(at<cudaLaunchConfig_t>(p), (const void *)nothing, nullptr), invalid);
    cudaGraph_t graph;
    cudaGraphNode_t node;
    OK(cudaGraphCreate(&graph, 0));
    FAILS(cudaGraphAddKernelNode(&node, graph, nullptr, 0, at<cudaKernelNodeParams>(p)), invalid);
    FAILS(cudaGraphAddMemsetNode(&node, graph, nullptr, 0, at<cudaMemsetParams>(p)), invalid);
    FAILS(cudaGraphAddMemcpyNode(&node, graph, nullptr, 0, at<cudaMemcpy3DParms>(p)), invalid);
    OK(cudaGraphDestroy(graph));
    void *function;
    cudaDriverEntryPointQueryResult found;
    FAILS(cudaGetDriverEntryPointByVersion(at<char>(p), &function, 13000, 0, &found), invalid);
}

#define INVALID(call) CHECK((call) == CUDA_ERROR_INVALID_VALUE)

static void driver(uintptr_t p, CUmodule module) {
    CUfunction function;
    CUdeviceptr address;
    CUdevice device;
    size_t bytes;
    CUarray array;
    INVALID(cuModuleGetFunction(&function, module, at<char>(p)));
    INVALID(cuModuleGetGlobal(&address, &bytes, module, at<char>(p)));
    CHECK(cuModuleLoad(&module, at<char>(p)) != CUDA_SUCCESS);
    CHECK(cuModuleLoadData(&module, at<char>(p)) != CUDA_SUCCESS);
    INVALID(cuDeviceGetByPCIBusId(&device, at<char>(p)));
    INVALID(cuDeviceGetName(at<char>(p), 64, 0));
    INVALID(cuMemcpy2D(at<CUDA_MEMCPY2D>(p)));
    INVALID(cuMemcpy3D(at<CUDA_MEMCPY3D>(p)));
    INVALID(cuMemcpy3DAsync(at<CUDA_MEMCPY3D>(p), 0));
    INVALID(cuArrayCreate(&array, at<CUDA_ARRAY_DESCRIPTOR>(p)));
    INVALID(cuArray3DCreate(&array, at<CUDA_ARRAY3D_DESCRIPTOR>(p)));
    INVALID(cuLaunchKernelEx(at<CUlaunchConfig>(p), nullptr, nullptr, nullptr));
}

int main() {
    char *end = (char *)mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + page;
    munmap(end, page);
    memset(end - page, 'x', page);
    cudaArray_t array;
    cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
    OK(cudaMallocArray(&array, &floats, 8, 8, cudaArraySurfaceLoadStore));
    CUmodule module;
    CHECK(cuModuleLoadData(&module, ".version 7.0\n.target sm_60\n.address_size 64\n") == CUDA_SUCCESS);
    // None, in the first page, behind the end, and over the end with a part of what is asked for.
    for (uintptr_t p : {(uintptr_t)0, (uintptr_t)16, (uintptr_t)end, (uintptr_t)(end - 8), UINTPTR_MAX - 7}) {
        runtime(p, array);
        driver(p, module);
    }
    cudaGetLastError();
    // What ends where memory does is read as far as it goes.
    strcpy(end - 13, "0000:01:00.0");
    int device = 1;
    OK(cudaDeviceGetByPCIBusId(&device, end - 13));
    CHECK(device == 0);
    cudaDeviceProp *properties = (cudaDeviceProp *)(end - sizeof(cudaDeviceProp));
    OK(cudaGetDeviceProperties(properties, 0));
    CHECK(properties->warpSize == 32);
    return passed();
}
