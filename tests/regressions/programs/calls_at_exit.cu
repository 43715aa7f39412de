// Calls the API in a destructor of a static object, after the thread's storage is gone, as frameworks do.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <unistd.h>

__global__ void one(int *to) { *to = 1; }

static void check(cudaError_t status, const char *what) {
    if (status == cudaSuccess) return;
    printf("FAIL %s: %s\n", what, cudaGetErrorName(status));
    fflush(stdout);
    _exit(1);
}
#define CHECK(call) check(call, #call)

struct Last {
    int *data = nullptr;
    ~Last() {
        int device = -1, host = 0;
        CHECK(cudaGetDevice(&device));
        one<<<1, 1>>>(data);
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaMemcpy(&host, data, sizeof host, cudaMemcpyDeviceToHost));
        CHECK(cudaFree(data));
        if (host != 1 || device != 0) {
            printf("FAIL %d on device %d\n", host, device);
            return;
        }
        printf("PASS\n");
    }
};
static Last last;

int main() {
    CHECK(cudaMalloc(&last.data, sizeof(int)));
    return 0;
}
