// The first program of every course, with its device queries, events and launch errors.
#include "check.h"

__global__ void add(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

int main() {
    int devices;
    OK(cudaGetDeviceCount(&devices));
    CHECK(devices == 1);
    OK(cudaSetDevice(0));
    FAILS(cudaSetDevice(1), cudaErrorInvalidDevice);
    CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
    cudaDeviceProp properties;
    OK(cudaGetDeviceProperties(&properties, 0));
    int warp;
    OK(cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, 0));
    CHECK(properties.warpSize == 32 && warp == 32 && properties.maxThreadsPerBlock == 1024);
    const int n = 1000;
    float a[n], b[n], c[n], *da, *db, *dc;
    for (int i = 0; i < n; i++) a[i] = i * 0.5f, b[i] = 100.0f - i;
    OK(cudaMalloc(&da, sizeof a));
    OK(cudaMalloc(&db, sizeof b));
    OK(cudaMalloc(&dc, sizeof c));
    OK(cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice));
    cudaEvent_t start, stop;
    OK(cudaEventCreate(&start));
    OK(cudaEventCreate(&stop));
    OK(cudaEventRecord(start));
    add<<<(n + 255) / 256, 256>>>(da, db, dc, n);
    OK(cudaGetLastError());
    OK(cudaEventRecord(stop));
    OK(cudaEventSynchronize(stop));
    float milliseconds = -1;
    OK(cudaEventElapsedTime(&milliseconds, start, stop));
    CHECK(milliseconds > 0);
    OK(cudaMemcpy(c, dc, sizeof c, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) CHECK(c[i] == a[i] + b[i]);
    add<<<1, 2048>>>(da, db, dc, n);
    CHECK(cudaPeekAtLastError() == cudaErrorInvalidConfiguration);
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration && cudaGetLastError() == cudaSuccess);
    FAILS(cudaMalloc(&da, (size_t)1 << 50), cudaErrorMemoryAllocation);
    CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
    OK(cudaFree(db));
    OK(cudaFree(dc));
    OK(cudaFree(nullptr));
    return passed();
}
