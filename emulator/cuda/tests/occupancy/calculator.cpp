// NVIDIA's occupancy calculator beside ours: `grid` prints its results for all demands of a list, a byte each;
// `driver MODULE` asks cuOccupancy* about every kernel of a module and compares.

#include <cuda.h>
#include <cuda_occupancy.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

static std::vector<long> list(FILE *from) {
    long count, value;
    std::vector<long> values;
    if (fscanf(from, "%ld", &count) != 1) exit(3);
    for (long i = 0; i < count; i++) {
        if (fscanf(from, "%ld", &value) != 1) exit(3);
        values.push_back(value);
    }
    return values;
}

static int blocks(const cudaOccDeviceProp &device, const cudaOccFuncAttributes &function, int threads, size_t dynamic) {
    cudaOccDeviceState state;
    cudaOccResult result;
    if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &function, &state, threads, dynamic) != CUDA_OCC_SUCCESS) exit(4);
    return result.activeBlocksPerMultiprocessor;
}

// Standard input: numbers of the device, then the list of block sizes and of bytes of shared memory.
static void grid() {
    std::vector<long> d = list(stdin), sizes = list(stdin), shared = list(stdin);
    cudaOccDeviceProp device;
    device.computeMajor = d[0], device.computeMinor = d[1];
    device.maxThreadsPerBlock = d[2], device.maxThreadsPerMultiprocessor = d[3];
    device.regsPerBlock = d[4], device.regsPerMultiprocessor = d[5], device.warpSize = d[6];
    device.sharedMemPerBlock = d[7], device.sharedMemPerMultiprocessor = d[8], device.numSms = d[9];
    device.sharedMemPerBlockOptin = d[10], device.reservedSharedMemPerBlock = d[11];
    for (int opted_in = 0; opted_in < 2; opted_in++)
        for (int registers = 1; registers < 256; registers++)
            for (long threads : sizes)
                for (long bytes : shared) {
                    cudaOccFuncAttributes function;
                    function.maxThreadsPerBlock = 1024, function.numRegs = registers, function.numBlockBarriers = 1;
                    function.maxDynamicSharedSizeBytes = opted_in ? d[10] : d[7];
                    function.shmemLimitConfig = opted_in ? FUNC_SHMEM_LIMIT_OPTIN : FUNC_SHMEM_LIMIT_DEFAULT;
                    putchar(blocks(device, function, threads, bytes));
                }
}

static void check(CUresult status, const char *what) {
    if (status == CUDA_SUCCESS) return;
    printf("%s: %d\n", what, status);
    exit(5);
}
#define CHECK(call) check(call, #call)

static CUdevice gpu;
static int attribute(CUdevice_attribute number) {
    int value;
    CHECK(cuDeviceGetAttribute(&value, number, gpu));
    return value;
}

static size_t by_size(int threads) { return threads * 40; }
static size_t CUDA_CB by_size_callback(int threads) { return by_size(threads); }

static int wrong = 0;
static void compare(const char *what, const char *kernel, long detail, long more, long ours, long theirs) {
    if (ours != theirs && wrong++ < 20)
        printf("%s of %s for %ld, %ld: ours %ld, NVIDIA's %ld\n", what, kernel, detail, more, ours, theirs);
}

static void ask(CUfunction kernel, const char *name, const cudaOccDeviceProp &device) {
    auto get = [&](CUfunction_attribute number) {
        int value;
        CHECK(cuFuncGetAttribute(&value, number, kernel));
        return value;
    };
    cudaOccFuncAttributes function;
    function.maxThreadsPerBlock = get(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    function.numRegs = get(CU_FUNC_ATTRIBUTE_NUM_REGS);
    function.sharedSizeBytes = get(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    function.maxDynamicSharedSizeBytes = get(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
    function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN, function.numBlockBarriers = 1;
    cudaOccDeviceState state;
    for (int threads = 1; threads <= 1056; threads += 31)
        for (size_t dynamic = 0; dynamic <= 240 << 10; dynamic += 3000) {
            int ours = -1;
            CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&ours, kernel, threads, dynamic));
            compare("blocks", name, threads, dynamic, ours, blocks(device, function, threads, dynamic));
        }
    for (size_t dynamic : {0, 5000, 40000, 60000})
        for (int limit : {0, 1, 100, 1024}) {
            int least, size, least_theirs, size_theirs;
            CHECK(cuOccupancyMaxPotentialBlockSize(&least, &size, kernel, nullptr, dynamic, limit));
            cudaOccFuncAttributes limited = function;
            if (limit && limit < limited.maxThreadsPerBlock) limited.maxThreadsPerBlock = limit;
            if (cudaOccMaxPotentialOccupancyBlockSize(&least_theirs, &size_theirs, &device, &limited, &state, dynamic) != CUDA_OCC_SUCCESS) exit(4);
            compare("best block size", name, dynamic, limit, size, size_theirs);
            compare("its grid", name, dynamic, limit, least, least_theirs);
        }
    int least, size, least_theirs, size_theirs;
    CHECK(cuOccupancyMaxPotentialBlockSize(&least, &size, kernel, by_size_callback, 0, 0));
    if (cudaOccMaxPotentialOccupancyBlockSizeVariableSMem(&least_theirs, &size_theirs, &device, &function, &state, by_size) != CUDA_OCC_SUCCESS) exit(4);
    compare("best block size by callback", name, 0, 0, size, size_theirs);
    compare("its grid", name, 0, 0, least, least_theirs);
    for (int threads : {32, 100, 256, 1024})
        for (int wanted = 1; wanted <= 33; wanted++) {
            size_t ours = 0, theirs = 0;
            CUresult status = cuOccupancyAvailableDynamicSMemPerBlock(&ours, kernel, wanted, threads);
            cudaOccError error = cudaOccAvailableDynamicSMemPerBlock(&theirs, &device, &function, &state, wanted, threads);
            if (status != CUDA_SUCCESS) ours = 0;
            if (error != CUDA_OCC_SUCCESS) theirs = 0;
            compare("available shared memory", name, wanted, threads, ours, theirs);
        }
}

static void driver(const char *path, int count) {
    CUcontext context;
    CUmodule module;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&gpu, 0));
    CHECK(cuCtxCreate(&context, nullptr, 0, gpu));
    cudaOccDeviceProp device;
    device.computeMajor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    device.computeMinor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    device.maxThreadsPerBlock = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    device.maxThreadsPerMultiprocessor = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
    device.regsPerBlock = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
    device.regsPerMultiprocessor = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
    device.warpSize = attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
    device.sharedMemPerBlock = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    device.sharedMemPerMultiprocessor = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    device.numSms = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    device.sharedMemPerBlockOptin = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    device.reservedSharedMemPerBlock = attribute(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
    CHECK(cuModuleLoad(&module, path));
    for (int i = 0; i < count; i++) {
        CUfunction kernel;
        std::string name = "k" + std::to_string(i);
        CHECK(cuModuleGetFunction(&kernel, module, name.c_str()));
        ask(kernel, name.c_str(), device);
        int fixed;
        CHECK(cuFuncGetAttribute(&fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel));
        // Part of what may be asked for, and all of it.
        for (int bytes : {(int)device.sharedMemPerBlockOptin / 2 - fixed, (int)device.sharedMemPerBlockOptin - fixed}) {
            if (bytes <= 0) continue;
            CHECK(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes));
            ask(kernel, name.c_str(), device);
        }
    }
    printf(wrong ? "%d are wrong\n" : "passed\n", wrong);
}

int main(int argc, char **argv) {
    if (argc == 2 && !strcmp(argv[1], "grid")) grid();
    else if (argc == 4 && !strcmp(argv[1], "driver")) driver(argv[2], atoi(argv[3]));
    else return 2;
    return wrong != 0;
}
