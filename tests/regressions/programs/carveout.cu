// Launches a kernel with every way to prefer a split of L1 and shared memory, in an order that the test knows.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void tile(float *data) {
    __shared__ float rows[448];
    rows[threadIdx.x] = data[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    data[blockIdx.x * blockDim.x + threadIdx.x] = rows[(threadIdx.x + 1) % blockDim.x] * 2.0f;
}

__global__ void other(float *data) { data[threadIdx.x] += 1.0f; }

static int failures = 0;
static void check(cudaError_t status, const char *what) {
    if (status != cudaSuccess) {
        printf("FAIL %s: %s\n", what, cudaGetErrorName(status));
        failures++;
    }
}
#define CHECK(call) check(call, #call)

static float *data;
static void launch() { tile<<<64, 64>>>(data); }

static void launch_with_attribute(unsigned carveout) {
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributePreferredSharedMemoryCarveout;
    attribute.val.sharedMemCarveout = carveout;
    cudaLaunchConfig_t config = {};
    config.gridDim = 64;
    config.blockDim = 64;
    config.attrs = &attribute;
    config.numAttrs = 1;
    CHECK(cudaLaunchKernelEx(&config, tile, data));
}

int main() {
    CHECK(cudaMalloc(&data, 64 * 64 * sizeof(float)));
    CHECK(cudaMemset(data, 0, 64 * 64 * sizeof(float)));
    launch();                                                                                        // none
    CHECK(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));
    launch();                                                                                        // 0
    CHECK(cudaFuncSetCacheConfig(tile, cudaFuncCachePreferShared));
    launch();                                                                                        // 100
    other<<<1, 32>>>(data);                                                                          // 0, of the device
    CHECK(cudaFuncSetCacheConfig(tile, cudaFuncCachePreferEqual));
    launch();                                                                                        // 50
    CHECK(cudaFuncSetAttribute(tile, cudaFuncAttributePreferredSharedMemoryCarveout, 30));
    launch();                                                                                        // 30
    launch_with_attribute(75);                                                                       // 75
    CHECK(cudaFuncSetAttribute(tile, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutDefault));
    CHECK(cudaFuncSetCacheConfig(tile, cudaFuncCachePreferNone));
    CHECK(cudaDeviceSetCacheConfig(cudaFuncCachePreferNone));
    launch();                                                                                        // none
    if (cudaFuncSetAttribute(tile, cudaFuncAttributePreferredSharedMemoryCarveout, 101) != cudaErrorInvalidValue) {
        printf("FAIL: 101 percent are accepted\n");
        failures++;
    }
    (void)cudaGetLastError();
    // A graph keeps what was preferred when its node was captured.
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaFuncSetCacheConfig(tile, cudaFuncCachePreferL1));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    tile<<<64, 64, 0, stream>>>(data);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaFuncSetCacheConfig(tile, cudaFuncCachePreferNone));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));                                                            // 0
    CHECK(cudaDeviceSynchronize());
    if (failures == 0) printf("PASS\n");
    return failures != 0;
}
