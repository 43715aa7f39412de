// What programs do wrong, and what CUDA calls it; none of it ends the process or changes memory.
#include "check.h"
#include <cstdint>
#include <cstring>

__global__ void store(int *x, int at) { x[at] = 1; }
__global__ void __launch_bounds__(64) small(int *x) { x[threadIdx.x] = 2; }
__global__ void shared_bytes(int *x) {
    __shared__ int fixed[1024];
    extern __shared__ int dynamic[];
    fixed[threadIdx.x] = dynamic[threadIdx.x] = 1;
    x[0] = fixed[0];
}
__device__ int symbol[8];
int no_symbol[8];

// Keeps as many values alive as it is told.
template <int values> __global__ void keep(volatile int *x) {
    int kept[values];
#pragma unroll
    for (int i = 0; i < values; i++) kept[i] = x[i];
#pragma unroll
    for (int i = values; i-- > 0;) x[i] = kept[i];
}

// A launch says what is wrong with it, once.
#define LAUNCH_FAILS(launch, expected)                                                            \
    do {                                                                                          \
        launch;                                                                                   \
        FAILS(cudaPeekAtLastError(), expected);                                                   \
        FAILS(cudaGetLastError(), expected);                                                      \
        OK(cudaGetLastError());                                                                   \
    } while (0)

static void memory() {
    char *x, *y, host[64], *nothing = nullptr;
    memset(host, 7, sizeof host);
    OK(cudaMalloc(&x, 64));
    OK(cudaMalloc(&y, 64));
    OK(cudaMemset(x, 3, 64));
    FAILS(cudaMalloc(nullptr, 64), cudaErrorInvalidValue);
    FAILS(cudaMalloc(&nothing, (size_t)1 << 60), cudaErrorMemoryAllocation);
    CHECK(!nothing);
    FAILS(cudaFree(x + 4), cudaErrorInvalidValue);
    FAILS(cudaFree(host), cudaErrorInvalidValue);
    FAILS(cudaFreeHost(x), cudaErrorInvalidValue);
    OK(cudaFree(nullptr));
    OK(cudaFreeHost(nullptr));
    // Beyond the end, before the beginning, far away, nowhere.
    FAILS(cudaMemcpy(x + 1, host, 64, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    FAILS(cudaMemcpy(host, x + 1, 64, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    FAILS(cudaMemcpy(y, x + 63, 2, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
    FAILS(cudaMemcpy(y + 63, x, 2, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
    FAILS(cudaMemcpy(nullptr, host, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    FAILS(cudaMemcpy(host, nullptr, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    FAILS(cudaMemcpy(x, host, SIZE_MAX, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    FAILS(cudaMemcpy(x, host, 4, (cudaMemcpyKind)9), cudaErrorInvalidMemcpyDirection);
    FAILS(cudaMemcpyAsync(host, x, 65, cudaMemcpyDeviceToHost, 0), cudaErrorInvalidValue);
    FAILS(cudaMemset(x, 9, 65), cudaErrorInvalidValue);
    FAILS(cudaMemset(nullptr, 9, 4), cudaErrorInvalidValue);
    FAILS(cudaMemcpy2D(x, 8, host, 16, 16, 4, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
    FAILS(cudaMemcpy2D(x, 16, host, 16, 16, 5, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    OK(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyDefault));
    OK(cudaMemcpy(host, x, 64, cudaMemcpyDeviceToHost));
    for (char c : host) CHECK(c == 3);
    FAILS(cudaMemcpyToSymbol(no_symbol, host, 4), cudaErrorInvalidSymbol);
    FAILS(cudaMemcpyToSymbol(symbol, host, 33), cudaErrorInvalidValue);
    FAILS(cudaMemcpyToSymbol(symbol, host, 4, 29), cudaErrorInvalidValue);
    FAILS(cudaMemcpyFromSymbol(host, symbol, 4, 0, cudaMemcpyHostToDevice), cudaErrorInvalidMemcpyDirection);
    void *address;
    FAILS(cudaGetSymbolAddress(&address, no_symbol), cudaErrorInvalidSymbol);
    FAILS(cudaHostUnregister(host), cudaErrorHostMemoryNotRegistered);
    void *managed;
    FAILS(cudaMallocManaged(&managed, 0), cudaErrorInvalidValue);
    OK(cudaFree(x));
    FAILS(cudaFree(x), cudaErrorInvalidValue);
    FAILS(cudaMemcpy(host, x, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    OK(cudaFree(y));
    FAILS(cudaGetLastError(), cudaErrorInvalidValue);
    OK(cudaGetLastError());
}

// What the attribute says can be launched, and not a warp more: registers are handed out in units.
template <int values> static void registers(int *x) {
    cudaFuncAttributes attributes;
    OK(cudaFuncGetAttributes(&attributes, keep<values>));
    const int most = attributes.maxThreadsPerBlock;
    keep<values><<<1, most>>>(x);
    OK(cudaGetLastError());
    if (most < 1024) LAUNCH_FAILS((keep<values><<<1, most + 32>>>(x)), cudaErrorLaunchOutOfResources);
    if constexpr (values < 130) registers<values + 5>(x);
}

static void launches() {
    int *x;
    OK(cudaMalloc(&x, 4096 * 4));
    LAUNCH_FAILS((store<<<1, 1025>>>(x, 0)), cudaErrorInvalidConfiguration);
    LAUNCH_FAILS((store<<<1, dim3(1, 1, 65)>>>(x, 0)), cudaErrorInvalidConfiguration);
    LAUNCH_FAILS((store<<<0, 1>>>(x, 0)), cudaErrorInvalidConfiguration);
    LAUNCH_FAILS((store<<<1, 0>>>(x, 0)), cudaErrorInvalidConfiguration);
    LAUNCH_FAILS((store<<<dim3(1, 65536), 1>>>(x, 0)), cudaErrorInvalidConfiguration);
    LAUNCH_FAILS((store<<<dim3(1, 1, 65536), 1>>>(x, 0)), cudaErrorInvalidConfiguration);
    LAUNCH_FAILS((small<<<1, 65>>>(x)), cudaErrorInvalidValue);
    registers<40>(x);
    LAUNCH_FAILS((store<<<1, 1, 49153>>>(x, 0)), cudaErrorInvalidValue);
    LAUNCH_FAILS((shared_bytes<<<1, 1, 45057>>>(x)), cudaErrorInvalidValue);
    FAILS(cudaFuncSetAttribute(shared_bytes, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20), cudaErrorInvalidValue);
    FAILS(cudaFuncSetAttribute(store, (cudaFuncAttribute)77, 1), cudaErrorInvalidValue);
    cudaFuncAttributes attributes;
    FAILS(cudaFuncGetAttributes(&attributes, (const void *)no_symbol), cudaErrorInvalidDeviceFunction);
    void *args[] = {&x};
    FAILS(cudaLaunchKernel((const void *)no_symbol, dim3(1), dim3(1), args, 0, 0), cudaErrorInvalidDeviceFunction);
    FAILS(cudaLaunchKernel(nullptr, dim3(1), dim3(1), args, 0, 0), cudaErrorInvalidDeviceFunction);
    FAILS(cudaLaunchCooperativeKernel((void *)small, dim3(1 << 20), dim3(64), args, 0, 0), cudaErrorCooperativeLaunchTooLarge);
    int blocks;
    FAILS(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, small, 0, 0), cudaErrorInvalidValue);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, small, 1025, 0));
    CHECK(blocks == 0);
    cudaGetLastError();
    small<<<1, 64>>>(x);
    OK(cudaDeviceSynchronize());
    OK(cudaFree(x));
}

static void handles() {
    cudaStream_t stream, other, made_up = (cudaStream_t)0x1234;
    cudaEvent_t event, unrecorded;
    float ms;
    OK(cudaStreamCreate(&stream));
    OK(cudaEventCreate(&event));
    OK(cudaEventCreate(&unrecorded));
    OK(cudaEventRecord(event, stream));
    FAILS(cudaEventElapsedTime(&ms, event, unrecorded), cudaErrorInvalidResourceHandle);
    FAILS(cudaEventElapsedTime(nullptr, event, event), cudaErrorInvalidValue);
    FAILS(cudaEventCreateWithFlags(&event, 0x80), cudaErrorInvalidValue);
    FAILS(cudaStreamCreateWithFlags(&other, 0x80), cudaErrorInvalidValue);
    FAILS(cudaStreamCreate(nullptr), cudaErrorInvalidValue);
    FAILS(cudaLaunchHostFunc(stream, nullptr, nullptr), cudaErrorInvalidValue);
    OK(cudaStreamDestroy(stream));
    OK(cudaEventDestroy(event));
    OK(cudaStreamCreate(&other));
    CHECK(other != stream);
    for (cudaStream_t dead : {stream, made_up, (cudaStream_t)event}) {
        FAILS(cudaStreamDestroy(dead), cudaErrorInvalidResourceHandle);
        FAILS(cudaStreamSynchronize(dead), cudaErrorInvalidResourceHandle);
        FAILS(cudaStreamQuery(dead), cudaErrorInvalidResourceHandle);
        FAILS(cudaEventRecord(unrecorded, dead), cudaErrorInvalidResourceHandle);
        FAILS(cudaMemsetAsync(nullptr, 0, 0, dead), cudaErrorInvalidResourceHandle);
        int *x = nullptr;
        cudaGetLastError();
        LAUNCH_FAILS((store<<<1, 1, 0, dead>>>(x, 0)), cudaErrorInvalidResourceHandle);
    }
    FAILS(cudaEventDestroy(event), cudaErrorInvalidResourceHandle);
    FAILS(cudaEventQuery(event), cudaErrorInvalidResourceHandle);
    FAILS(cudaStreamWaitEvent(other, event, 0), cudaErrorInvalidResourceHandle);
    OK(cudaStreamDestroy(other));
    OK(cudaEventDestroy(unrecorded));

    cudaGraph_t graph, gone;
    cudaGraphExec_t executable;
    cudaGraphNode_t a, b, foreign;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphCreate(&gone, 0));
    OK(cudaGraphAddEmptyNode(&a, graph, nullptr, 0));
    OK(cudaGraphAddEmptyNode(&b, graph, &a, 1));
    OK(cudaGraphAddEmptyNode(&foreign, gone, nullptr, 0));
    FAILS(cudaGraphAddDependencies(graph, &b, &a, nullptr, 1), cudaErrorInvalidValue);
    FAILS(cudaGraphAddDependencies(graph, &foreign, &a, nullptr, 1), cudaErrorInvalidValue);
    OK(cudaGraphDestroy(gone));
    FAILS(cudaGraphDestroy(gone), cudaErrorInvalidValue);
    FAILS(cudaGraphInstantiate(&executable, gone, 0), cudaErrorInvalidValue);
    FAILS(cudaGraphAddEmptyNode(&a, gone, nullptr, 0), cudaErrorInvalidValue);
    FAILS(cudaGraphDestroyNode(foreign), cudaErrorInvalidValue);
    OK(cudaGraphInstantiate(&executable, graph, 0));
    OK(cudaGraphLaunch(executable, 0));
    OK(cudaGraphExecDestroy(executable));
    FAILS(cudaGraphLaunch(executable, 0), cudaErrorInvalidValue);
    FAILS(cudaGraphExecDestroy(executable), cudaErrorInvalidValue);
    OK(cudaGraphDestroy(graph));
    FAILS(cudaStreamEndCapture(0, &graph), cudaErrorIllegalState);
    FAILS(cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);
    cudaGetLastError();
}

static void devices() {
    int value, count;
    OK(cudaGetDeviceCount(&count));
    cudaDeviceProp properties;
    for (int wrong : {-1, count}) {
        FAILS(cudaSetDevice(wrong), cudaErrorInvalidDevice);
        FAILS(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, wrong), cudaErrorInvalidDevice);
        FAILS(cudaGetDeviceProperties(&properties, wrong), cudaErrorInvalidDevice);
    }
    FAILS(cudaDeviceGetAttribute(&value, (cudaDeviceAttr)99999, 0), cudaErrorInvalidValue);
    FAILS(cudaDeviceSetLimit((cudaLimit)99, 1), cudaErrorUnsupportedLimit);
    FAILS(cudaGetDeviceCount(nullptr), cudaErrorInvalidValue);
    CHECK(!strcmp(cudaGetErrorName(cudaErrorInvalidDevice), "cudaErrorInvalidDevice"));
    CHECK(!strcmp(cudaGetErrorString(cudaErrorInvalidDevice), "invalid device ordinal"));
    CHECK(!strcmp(cudaGetErrorString((cudaError_t)12345), "unrecognized error code"));
    FAILS(cudaGetLastError(), cudaErrorInvalidValue);
    OK(cudaGetLastError());
}

int main() {
    memory();
    launches();
    handles();
    devices();
    // After a fault of a kernel everything fails with its code, until the process ends.
    int *x, host;
    OK(cudaMalloc(&x, 64));
    store<<<1, 1>>>(x, 1 << 28);
    FAILS(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    FAILS(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    FAILS(cudaMemcpy(&host, x, 4, cudaMemcpyDeviceToHost), cudaErrorIllegalAddress);
    FAILS(cudaMalloc(&x, 4), cudaErrorIllegalAddress);
    store<<<1, 1>>>(x, 0);
    FAILS(cudaGetLastError(), cudaErrorIllegalAddress);
    FAILS(cudaGetLastError(), cudaErrorIllegalAddress);
    FAILS(cudaDeviceReset(), cudaErrorIllegalAddress);
    printf("PASSED\n");
    return 0;
}
