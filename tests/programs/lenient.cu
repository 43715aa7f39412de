// A kernel that reads 512 bytes before its buffer, as hardware lets it.
#include "check.h"

__global__ void north(const float *from, float *to) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i - 128];
}

int main() {
    float *from, *to, host[256];
    for (int i = 0; i < 256; i++) host[i] = i + 1;
    OK(cudaMalloc(&from, sizeof host));
    OK(cudaMalloc(&to, sizeof host));
    OK(cudaMemcpy(from, host, sizeof host, cudaMemcpyHostToDevice));
    for (int round = 0; round < 3; round++) north<<<2, 128>>>(from, to);
    OK(cudaMemcpy(host, to, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 256; i++) CHECK(host[i] == (i < 128 ? 0 : i - 127));
    return passed();
}
