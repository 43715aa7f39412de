// Memory pools: the default one and one of our own, their attributes, allocations in a stream.
#include "check.h"
#include <cstdint>

__global__ void fill(int *x, int value) { x[threadIdx.x] = value; }

int main() {
    cudaMemPool_t pool, own;
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    uint64_t threshold = UINT64_MAX, got = 0, used = 1;
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &got));
    CHECK(got == threshold);
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    CHECK(used == 0);
    int *x, host[32];
    OK(cudaMallocAsync(&x, sizeof host, stream));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    CHECK(used >= sizeof host);
    fill<<<1, 32, 0, stream>>>(x, 9);
    OK(cudaMemcpyAsync(host, x, sizeof host, cudaMemcpyDeviceToHost, stream));
    OK(cudaFreeAsync(x, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(host[31] == 9);
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &got));
    CHECK(used == 0 && got >= sizeof host);
    OK(cudaMemPoolTrimTo(pool, 0));
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    OK(cudaMemPoolCreate(&own, &properties));
    OK(cudaMallocFromPoolAsync(&x, sizeof host, own, stream));
    OK(cudaMemPoolGetAttribute(own, cudaMemPoolAttrUsedMemCurrent, &used));
    CHECK(used >= sizeof host);
    OK(cudaFree(x));
    OK(cudaMemPoolDestroy(own));
    FAILS(cudaMemPoolDestroy(own), cudaErrorInvalidValue);
    FAILS(cudaMallocAsync(&x, (size_t)1 << 50, stream), cudaErrorMemoryAllocation);
    cudaGetLastError();
    return passed();
}
