// Asks the management library, as frameworks load it, and compares its answers with those of the CUDA API.
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>
#include <dlfcn.h>

typedef void *Device;
static void *library;
static int failures = 0;

template <typename... Args> static int call(const char *name, Args... args) {
    auto function = (int (*)(Args...))dlsym(library, name);
    if (!function) {
        printf("FAIL there is no %s\n", name);
        failures++;
        return -1;
    }
    return function(args...);
}

static void expect(bool right, const char *what) {
    if (right) return;
    printf("FAIL %s\n", what);
    failures++;
}

struct Memory {
    unsigned long long total, free, used;
};

int main() {
    library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (!library) {
        printf("FAIL %s\n", dlerror());
        return 1;
    }
    unsigned count = 0, index = 7, temperature = 0, utilization[2];
    Device device;
    char name[96], uuid[96], driver[80];
    Memory before, after;
    int version = 0, major = 0, minor = 0;
    expect(call("nvmlDeviceGetCount_v2", &count) == 1, "nothing is known before nvmlInit");
    expect(call("nvmlInit_v2") == 0, "nvmlInit_v2");
    expect(call("nvmlDeviceGetCount_v2", &count) == 0 && count == 1, "one device");
    expect(call("nvmlDeviceGetHandleByIndex_v2", 0u, &device) == 0, "a handle by index");
    expect(call("nvmlDeviceGetHandleByIndex_v2", 1u, &device) == 2, "no second device");
    expect(call("nvmlDeviceGetName", device, name, 96u) == 0, "a name");
    expect(call("nvmlDeviceGetName", device, name, 3u) == 7, "a buffer that is too short");
    expect(call("nvmlDeviceGetName", device, name, 96u) == 0, "a name");
    expect(call("nvmlDeviceGetUUID", device, uuid, 96u) == 0 && !strncmp(uuid, "GPU-", 4) && strlen(uuid) == 40, "a UUID");
    expect(call("nvmlDeviceGetIndex", device, &index) == 0 && index == 0, "an index");
    expect(call("nvmlDeviceGetMemoryInfo", device, &before) == 0, "memory");
    expect(call("nvmlSystemGetCudaDriverVersion_v2", &version) == 0, "the version of CUDA");
    expect(call("nvmlSystemGetDriverVersion", driver, 80u) == 0 && strchr(driver, '.'), "the version of the driver");
    expect(call("nvmlDeviceGetCudaComputeCapability", device, &major, &minor) == 0, "compute capability");
    // What only a board has.
    expect(call("nvmlDeviceGetTemperature", device, 0u, &temperature) == 3, "no temperature");
    expect(call("nvmlDeviceGetUtilizationRates", device, utilization) == 3, "no utilization");
    auto text = ((const char *(*)(int))dlsym(library, "nvmlErrorString"))(3);
    expect(text && strstr(text, "not available"), "a text for an error");

    cudaDeviceProp properties;
    int ours = 0;
    char bus[32];
    void *data;
    expect(cudaGetDeviceProperties(&properties, 0) == cudaSuccess, "properties");
    expect(cudaDriverGetVersion(&ours) == cudaSuccess && ours == version, "one version of CUDA");
    expect(!strcmp(properties.name, name), "one name");
    expect(properties.major == major && properties.minor == minor, "one compute capability");
    expect(properties.totalGlobalMem == before.total, "one size of memory");
    expect(cudaMalloc(&data, 64 << 20) == cudaSuccess, "an allocation");
    expect(call("nvmlDeviceGetMemoryInfo", device, &after) == 0, "memory");
    expect(after.used == before.used + (64 << 20) && after.total == after.free + after.used, "used memory");
    Device again = nullptr;
    expect(cudaDeviceGetPCIBusId(bus, 32, 0) == cudaSuccess, "a bus id");
    expect(call("nvmlDeviceGetHandleByPciBusId_v2", (const char *)bus, &again) == 0 && again == device, "a handle by bus id");
    again = nullptr;
    expect(call("nvmlDeviceGetHandleByUUID", (const char *)uuid, &again) == 0 && again == device, "a handle by UUID");
    expect(call("nvmlShutdown") == 0 && call("nvmlShutdown") == 1, "an end");
    if (!failures) printf("PASS\n");
    return failures != 0;
}
