// Resident blocks by NVIDIA's cuda_occupancy.h: a line of numbers in, a number out; -1 where the header refuses.
//
// Input: compute capability (major, minor), threads, registers and shared bytes of an SM, shared bytes of a block,
// with opt-in, taken by the driver, SMs; then threads of the block, registers, static and dynamic shared bytes.

#include <cuda_occupancy.h>

#include <climits>
#include <cstdio>

int main() {
    cudaOccDeviceProp device;
    device.maxThreadsPerBlock = 1024;
    device.warpSize = 32;
    int threads, registers;
    size_t fixed, dynamic;
    while (std::scanf("%d %d %d %d %zu %zu %zu %zu %d %d %d %zu %zu", &device.computeMajor, &device.computeMinor,
                      &device.maxThreadsPerMultiprocessor, &device.regsPerMultiprocessor,
                      &device.sharedMemPerMultiprocessor, &device.sharedMemPerBlock, &device.sharedMemPerBlockOptin,
                      &device.reservedSharedMemPerBlock, &device.numSms, &threads, &registers, &fixed,
                      &dynamic) == 13) {
        device.regsPerBlock = device.regsPerMultiprocessor;
        cudaOccFuncAttributes kernel;
        kernel.maxThreadsPerBlock = INT_MAX;
        kernel.numRegs = registers;
        kernel.sharedSizeBytes = fixed;
        kernel.partitionedGCConfig = PARTITIONED_GC_OFF;
        kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
        kernel.maxDynamicSharedSizeBytes = dynamic;
        kernel.numBlockBarriers = 1;
        cudaOccDeviceState state;
        cudaOccResult result;
        cudaOccError error = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state, threads, dynamic);
        std::printf("%d\n", error == CUDA_OCC_SUCCESS ? result.activeBlocksPerMultiprocessor : -1);
    }
}
