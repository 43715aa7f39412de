// More allocations than a process may have mappings: all live at once, each of its own, and the memory of those that are
// freed is the system's again.
#include "check.h"
#include <cstdio>
#include <cstring>
#include <vector>

__global__ void mark(int **places, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) places[i][15] = places[i][0] + 1;
}

// KiB of memory that the process has.
static long resident() {
    char line[256];
    long kib = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, status)) sscanf(line, "VmRSS: %ld", &kib);
    fclose(status);
    return kib;
}

int main() {
    const int n = 50000;
    std::vector<int *> all(n);
    int **places, host[16];
    OK(cudaMalloc(&places, n * sizeof(int *)));
    long most = 0;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < n; i++) {
            OK(cudaMalloc(&all[i], 64));
            OK(cudaMemcpy(all[i], &i, 4, cudaMemcpyHostToDevice));
        }
        OK(cudaMemcpy(places, all.data(), n * sizeof(int *), cudaMemcpyHostToDevice));
        mark<<<n / 256 + 1, 256>>>(places, n);
        OK(cudaDeviceSynchronize());
        for (int i = 0; i < n; i += 97) {
            OK(cudaMemcpy(host, all[i], 64, cudaMemcpyDeviceToHost));
            CHECK(host[0] == i && host[1] == 0 && host[15] == i + 1);
        }
        const long full = resident();
        for (int i = 0; i < n; i++) OK(cudaFree(all[(i * 31) % n]));
        CHECK(resident() < full - n * 3);
        CHECK(!most || full < most + most / 4);
        if (!most) most = full;
    }
    return passed();
}
