// Loads CUPTI as profilers do, from the path in the environment: its version is known, everything else is refused at once.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <dlfcn.h>

__global__ void one(int *to) { *to = 1; }

int main() {
    const char *path = getenv("CUPTI");
    void *library = dlopen(path ? path : "libcupti.so.13", RTLD_NOW);
    if (!library) {
        printf("FAIL %s\n", dlerror());
        return 1;
    }
    unsigned version = 0;
    auto get_version = (int (*)(unsigned *))dlsym(library, "cuptiGetVersion");
    auto enable = (int (*)(int))dlsym(library, "cuptiActivityEnable");
    auto subscribe = (int (*)(void **, void *, void *))dlsym(library, "cuptiSubscribe");
    auto result_string = (int (*)(int, const char **))dlsym(library, "cuptiGetResultString");
    if (!get_version || !enable || !subscribe || !result_string) {
        printf("FAIL a function is missing\n");
        return 1;
    }
    void *subscriber = nullptr;
    const char *text = nullptr;
    if (get_version(&version) != 0 || version < 18) {
        printf("FAIL version %u\n", version);
        return 1;
    }
    const int NOT_SUPPORTED = 27;
    int enabled = enable(3), subscribed = subscribe(&subscriber, nullptr, nullptr);
    if (enabled != NOT_SUPPORTED || subscribed != NOT_SUPPORTED) {
        printf("FAIL %d and %d\n", enabled, subscribed);
        return 1;
    }
    if (result_string(enabled, &text) != 0 || strcmp(text, "CUPTI_ERROR_NOT_SUPPORTED")) {
        printf("FAIL the error is called %s\n", text);
        return 1;
    }
    int *device, host = 0;
    if (cudaMalloc(&device, 4) != cudaSuccess) return 1;
    one<<<1, 1>>>(device);
    if (cudaMemcpy(&host, device, 4, cudaMemcpyDeviceToHost) != cudaSuccess || host != 1) {
        printf("FAIL the program itself\n");
        return 1;
    }
    printf("PASS\n");
    return 0;
}
