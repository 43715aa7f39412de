// The runtime initialises the driver: functions found with cudaGetDriverEntryPoint work without cuInit, as NCCL calls them.
#include <cstdio>
#include <cuda.h>
#include <cuda_runtime.h>

int main() {
    CUresult (*get)(CUdevice *, int) = nullptr;
    cudaDriverEntryPointQueryResult found;
    if (cudaGetDriverEntryPointByVersion("cuDeviceGet", (void **)&get, 12000, cudaEnableDefault, &found) != cudaSuccess || !get) {
        printf("FAIL cuDeviceGet is not found\n");
        return 1;
    }
    CUdevice device = -1;
    CUresult status = get(&device, 0);
    if (status != CUDA_SUCCESS || device != 0) {
        printf("FAIL cuDeviceGet: %d\n", (int)status);
        return 1;
    }
    printf("PASS\n");
    return 0;
}
