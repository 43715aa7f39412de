// Several host threads, each with its own stream, memory and last error.
#include "check.h"
#include <thread>
#include <vector>

__global__ void fill(int *x, int value) { x[blockIdx.x * blockDim.x + threadIdx.x] = value; }

static void work(int number, int *wrong) {
    cudaStream_t stream;
    int *x, host[256];
    *wrong = 1;
    if (cudaGetLastError() != cudaSuccess) return;
    OK(cudaStreamCreate(&stream));
    OK(cudaMalloc(&x, sizeof host));
    for (int round = 0; round < 10; round++) {
        fill<<<4, 64, 0, stream>>>(x, number * 100 + round);
        OK(cudaMemcpyAsync(host, x, sizeof host, cudaMemcpyDeviceToHost, stream));
        OK(cudaStreamSynchronize(stream));
        for (int value : host) CHECK(value == number * 100 + round);
    }
    if (number % 2) FAILS(cudaMemcpy(x, nullptr, 4, cudaMemcpyDefault), cudaErrorInvalidValue);
    *wrong = cudaGetLastError() != (number % 2 ? cudaErrorInvalidValue : cudaSuccess);
    OK(cudaFree(x));
    OK(cudaStreamDestroy(stream));
}

int main() {
    FAILS(cudaSetDevice(-1), cudaErrorInvalidDevice);
    std::vector<std::thread> threads;
    int wrong[6];
    for (int i = 0; i < 6; i++) threads.emplace_back(work, i, &wrong[i]);
    for (auto &t : threads) t.join();
    for (int w : wrong) CHECK(!w);
    CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
    return passed();
}
