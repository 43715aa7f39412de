// What CUDA's device runtime offers to kernels: launches, streams, events, copies and fills from device code,
// questions about kernels and the device, and the synchronisation of grids. Kernels call it by the names that nvcc's
// headers give it. What it cannot do by itself it asks the system for, by way of the functions named `__warplab_`.
//
// runtime.ptx is made of this file, without the header that declares the same functions:
//   nvcc -std=c++17 -D__CUDA_DEVICE_RUNTIME_API_H__ -rdc=true -arch=compute_75 -ptx runtime.cu -o runtime.ptx

#include <cuda_runtime.h>

#define API extern "C" __device__

// ---- the system ----------------------------------------------------------------------------------------------------

// A kernel to launch. The parameters follow it in memory.
struct Request {
    const void *kernel;
    unsigned grid[3];
    unsigned block[3];
    unsigned shared_bytes;
    unsigned parameter_bytes;
    cudaStream_t stream;
    unsigned long long unused;
};
static_assert(sizeof(Request) == 56);
// Parameters begin at a multiple of what a vector of four words needs.
constexpr unsigned HEAD_BYTES = 64;

// A copy of a box, or a fill of one (when `from` is null).
struct Transfer {
    void *to;
    unsigned long long to_pitch, to_height;
    const void *from;
    unsigned long long from_pitch, from_height;
    unsigned long long width, height, depth;
    cudaStream_t stream;
    unsigned value;
};

enum class What : unsigned { KernelAttribute, DeviceAttribute, Limit, Occupancy };

// A question. What has no answer is answered with all ones.
struct Query {
    const void *kernel;
    What what;
    unsigned number;
    unsigned long long shared_bytes;
};
constexpr unsigned long long NO_ANSWER = ~0ull;

// Attributes of kernels by their numbers in the driver API, and one more.
enum : unsigned { MAX_THREADS, SHARED_BYTES, CONST_BYTES, LOCAL_BYTES, REGISTERS, PTX_VERSION, BINARY_VERSION };
constexpr unsigned PARAMETER_BYTES = 1000;

API unsigned __warplab_launch(const Request *request);
API unsigned __warplab_transfer(const Transfer *transfer);
API unsigned long long __warplab_query(const Query *query);
// Puts a thread's last error into the place of the one before, which it returns; all ones only look.
API unsigned __warplab_error(unsigned error);

static __device__ cudaError_t noted(unsigned error) {
    if (error != cudaSuccess) __warplab_error(error);
    return static_cast<cudaError_t>(error);
}

static __device__ unsigned long long ask(What what, unsigned number, const void *kernel = nullptr,
                                         unsigned long long shared_bytes = 0) {
    Query query = {kernel, what, number, shared_bytes};
    return __warplab_query(&query);
}

// ---- launches ------------------------------------------------------------------------------------------------------

static __device__ void *buffer(const void *kernel, dim3 grid, dim3 block, unsigned shared_bytes, unsigned parameter_bytes) {
    auto request = static_cast<Request *>(malloc(HEAD_BYTES + parameter_bytes));
    if (request == nullptr) return nullptr;
    *request = {kernel, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared_bytes, parameter_bytes, nullptr, 0};
    return reinterpret_cast<char *>(request) + HEAD_BYTES;
}

API void *__cudaCDP2GetParameterBufferV2(void *kernel, dim3 grid, dim3 block, unsigned shared_bytes) {
    unsigned long long bytes = ask(What::KernelAttribute, PARAMETER_BYTES, kernel);
    if (bytes == NO_ANSWER) {
        noted(cudaErrorInvalidDeviceFunction);
        return nullptr;
    }
    void *parameters = buffer(kernel, grid, block, shared_bytes, static_cast<unsigned>(bytes));
    if (parameters == nullptr) noted(cudaErrorMemoryAllocation);
    return parameters;
}

API void *__cudaCDP2GetParameterBuffer(size_t, size_t size) {
    void *parameters = buffer(nullptr, {0, 0, 0}, {0, 0, 0}, 0, static_cast<unsigned>(size));
    if (parameters == nullptr) noted(cudaErrorMemoryAllocation);
    return parameters;
}

API cudaError_t __cudaCDP2LaunchDeviceV2(void *parameters, cudaStream_t stream) {
    if (parameters == nullptr) return noted(cudaErrorInvalidValue);
    auto request = reinterpret_cast<Request *>(static_cast<char *>(parameters) - HEAD_BYTES);
    request->stream = stream;
    unsigned error = __warplab_launch(request);
    free(request);
    return noted(error);
}

API cudaError_t __cudaCDP2LaunchDevice(void *kernel, void *parameters, dim3 grid, dim3 block, unsigned shared_bytes,
                                       cudaStream_t stream) {
    // A kernel without parameters needs no room for them.
    if (parameters == nullptr) parameters = __cudaCDP2GetParameterBuffer(0, 0);
    if (parameters == nullptr) return cudaErrorMemoryAllocation;
    auto request = reinterpret_cast<Request *>(static_cast<char *>(parameters) - HEAD_BYTES);
    unsigned bytes = request->parameter_bytes;
    *request = {kernel, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared_bytes, bytes, nullptr, 0};
    return __cudaCDP2LaunchDeviceV2(parameters, stream);
}

API cudaError_t __cudaCDP2LaunchDeviceV2_ptsz(void *parameters, cudaStream_t stream) {
    return __cudaCDP2LaunchDeviceV2(parameters, stream);
}

API cudaError_t __cudaCDP2LaunchDevice_ptsz(void *kernel, void *parameters, dim3 grid, dim3 block,
                                            unsigned shared_bytes, cudaStream_t stream) {
    return __cudaCDP2LaunchDevice(kernel, parameters, grid, block, shared_bytes, stream);
}

// ---- streams and events --------------------------------------------------------------------------------------------
// Work that device code submits is done in the order in which it was submitted, so that streams need not be told
// apart, but by the name that traces show, and events order nothing that is not ordered already.

extern "C" {
__device__ unsigned long long __warplab_handles;
}

API cudaError_t __cudaCDP2StreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
    // The device runtime has streams that do not wait for the default stream only.
    if (stream == nullptr || flags != cudaStreamNonBlocking) return noted(cudaErrorInvalidValue);
    *stream = reinterpret_cast<cudaStream_t>((1ull << 32) + atomicAdd(&__warplab_handles, 1ull));
    return cudaSuccess;
}

API cudaError_t __cudaCDP2StreamDestroy(cudaStream_t) { return cudaSuccess; }

API cudaError_t __cudaCDP2EventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
    if (event == nullptr || flags != cudaEventDisableTiming) return noted(cudaErrorInvalidValue);
    *event = reinterpret_cast<cudaEvent_t>((1ull << 32) + atomicAdd(&__warplab_handles, 1ull));
    return cudaSuccess;
}

API cudaError_t __cudaCDP2EventDestroy(cudaEvent_t) { return cudaSuccess; }
API cudaError_t __cudaCDP2EventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
API cudaError_t __cudaCDP2EventRecord_ptsz(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
API cudaError_t __cudaCDP2EventRecordWithFlags(cudaEvent_t, cudaStream_t, unsigned) { return cudaSuccess; }
API cudaError_t __cudaCDP2EventRecordWithFlags_ptsz(cudaEvent_t, cudaStream_t, unsigned) { return cudaSuccess; }
API cudaError_t __cudaCDP2StreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }
API cudaError_t __cudaCDP2StreamWaitEvent_ptsz(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }

// ---- memory --------------------------------------------------------------------------------------------------------

API cudaError_t __cudaCDP2Malloc(void **address, size_t bytes) {
    if (address == nullptr) return noted(cudaErrorInvalidValue);
    *address = bytes == 0 ? nullptr : malloc(bytes);
    return *address == nullptr && bytes != 0 ? noted(cudaErrorMemoryAllocation) : cudaSuccess;
}

API cudaError_t __cudaCDP2Free(void *address) {
    free(address);
    return cudaSuccess;
}

static __device__ cudaError_t transferred(const Transfer &transfer) {
    if (transfer.width == 0 || transfer.height == 0 || transfer.depth == 0) return cudaSuccess;
    return noted(__warplab_transfer(&transfer));
}

API cudaError_t __cudaCDP2Memcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                                        size_t height, cudaMemcpyKind, cudaStream_t stream) {
    return transferred({to, to_pitch, height, from, from_pitch, height, width, height, 1, stream, 0});
}

API cudaError_t __cudaCDP2MemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
    return transferred({to, bytes, 1, from, bytes, 1, bytes, 1, 1, stream, 0});
}

API cudaError_t __cudaCDP2Memcpy3DAsync(const cudaMemcpy3DParms *p, cudaStream_t stream) {
    if (p->srcArray != nullptr || p->dstArray != nullptr) return noted(cudaErrorNotSupported);
    auto first = [](const cudaPitchedPtr &side, const cudaPos &at) {
        return static_cast<char *>(side.ptr) + (at.z * side.ysize + at.y) * side.pitch + at.x;
    };
    return transferred({first(p->dstPtr, p->dstPos), p->dstPtr.pitch, p->dstPtr.ysize, first(p->srcPtr, p->srcPos),
                        p->srcPtr.pitch, p->srcPtr.ysize, p->extent.width, p->extent.height, p->extent.depth, stream, 0});
}

API cudaError_t __cudaCDP2Memset3DAsync(cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream) {
    return transferred({to.ptr, to.pitch, to.ysize, nullptr, 0, 0, extent.width, extent.height, extent.depth, stream,
                        static_cast<unsigned char>(value)});
}

API cudaError_t __cudaCDP2Memset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height,
                                        cudaStream_t stream) {
    return __cudaCDP2Memset3DAsync({to, pitch, width, height}, value, {width, height, 1}, stream);
}

API cudaError_t __cudaCDP2MemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream) {
    return __cudaCDP2Memset3DAsync({to, bytes, bytes, 1}, value, {bytes, 1, 1}, stream);
}

API cudaError_t __cudaCDP2MemcpyAsync_ptsz(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                                           cudaStream_t stream) {
    return __cudaCDP2MemcpyAsync(to, from, bytes, kind, stream);
}

API cudaError_t __cudaCDP2Memcpy2DAsync_ptsz(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                                             size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
    return __cudaCDP2Memcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, stream);
}

API cudaError_t __cudaCDP2Memcpy3DAsync_ptsz(const cudaMemcpy3DParms *p, cudaStream_t stream) {
    return __cudaCDP2Memcpy3DAsync(p, stream);
}

API cudaError_t __cudaCDP2MemsetAsync_ptsz(void *to, int value, size_t bytes, cudaStream_t stream) {
    return __cudaCDP2MemsetAsync(to, value, bytes, stream);
}

API cudaError_t __cudaCDP2Memset2DAsync_ptsz(void *to, size_t pitch, int value, size_t width, size_t height,
                                             cudaStream_t stream) {
    return __cudaCDP2Memset2DAsync(to, pitch, value, width, height, stream);
}

API cudaError_t __cudaCDP2Memset3DAsync_ptsz(cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream) {
    return __cudaCDP2Memset3DAsync(to, value, extent, stream);
}

// ---- questions -----------------------------------------------------------------------------------------------------

template <typename T> static __device__ cudaError_t answer(T *place, unsigned long long value, cudaError_t otherwise) {
    if (place == nullptr) return noted(cudaErrorInvalidValue);
    if (value == NO_ANSWER) return noted(otherwise);
    *place = static_cast<T>(value);
    return cudaSuccess;
}

API cudaError_t __cudaCDP2GetLastError() { return static_cast<cudaError_t>(__warplab_error(cudaSuccess)); }
API cudaError_t __cudaCDP2PeekAtLastError() { return static_cast<cudaError_t>(__warplab_error(~0u)); }

API cudaError_t __cudaCDP2GetDeviceCount(int *count) { return answer(count, 1, cudaErrorInvalidValue); }
API cudaError_t __cudaCDP2GetDevice(int *device) { return answer(device, 0, cudaErrorInvalidValue); }
API cudaError_t __cudaCDP2RuntimeGetVersion(int *version) {
    return answer(version, CUDART_VERSION, cudaErrorInvalidValue);
}
API cudaError_t __cudaCDP2DeviceGetCacheConfig(cudaFuncCache *config) {
    return answer(config, cudaFuncCachePreferNone, cudaErrorInvalidValue);
}
API cudaError_t __cudaCDP2DeviceGetSharedMemConfig(cudaSharedMemConfig *config) {
    return answer(config, cudaSharedMemBankSizeFourByte, cudaErrorInvalidValue);
}

API cudaError_t __cudaCDP2DeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device) {
    if (device != 0) return noted(cudaErrorInvalidDevice);
    return answer(value, ask(What::DeviceAttribute, attribute), cudaErrorInvalidValue);
}

API cudaError_t __cudaCDP2DeviceGetLimit(size_t *value, cudaLimit limit) {
    return answer(value, ask(What::Limit, limit), cudaErrorUnsupportedLimit);
}

API cudaError_t __cudaCDP2FuncGetAttributes(cudaFuncAttributes *attributes, const void *kernel) {
    if (attributes == nullptr) return noted(cudaErrorInvalidValue);
    if (ask(What::KernelAttribute, REGISTERS, kernel) == NO_ANSWER) return noted(cudaErrorInvalidDeviceFunction);
    *attributes = {};
    attributes->sharedSizeBytes = ask(What::KernelAttribute, SHARED_BYTES, kernel);
    attributes->constSizeBytes = ask(What::KernelAttribute, CONST_BYTES, kernel);
    attributes->localSizeBytes = ask(What::KernelAttribute, LOCAL_BYTES, kernel);
    attributes->maxThreadsPerBlock = static_cast<int>(ask(What::KernelAttribute, MAX_THREADS, kernel));
    attributes->numRegs = static_cast<int>(ask(What::KernelAttribute, REGISTERS, kernel));
    attributes->ptxVersion = static_cast<int>(ask(What::KernelAttribute, PTX_VERSION, kernel));
    attributes->binaryVersion = static_cast<int>(ask(What::KernelAttribute, BINARY_VERSION, kernel));
    return cudaSuccess;
}

API cudaError_t __cudaCDP2OccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *kernel, int threads,
                                                                             size_t shared_bytes, unsigned) {
    return answer(blocks, ask(What::Occupancy, threads, kernel, shared_bytes), cudaErrorInvalidDeviceFunction);
}

API cudaError_t __cudaCDP2OccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *kernel, int threads,
                                                                    size_t shared_bytes) {
    return __cudaCDP2OccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, kernel, threads, shared_bytes, 0);
}

// ---- grids ---------------------------------------------------------------------------------------------------------
// The barrier of a grid is a word of its workspace, whose address the special registers hold. Its highest bit turns
// over each time that all blocks have arrived.

struct Workspace {
    unsigned size;
    unsigned barrier;
};

API unsigned long long cudaCGGetIntrinsicHandle(unsigned scope) {
    constexpr unsigned GRID = 1;
    if (scope != GRID) return 0;
    unsigned low, high;
    asm volatile("mov.u32 %0, %%envreg2;" : "=r"(low));
    asm volatile("mov.u32 %0, %%envreg1;" : "=r"(high));
    return static_cast<unsigned long long>(high) << 32 | low;
}

API cudaError_t cudaCGSynchronize(unsigned long long handle, unsigned) {
    if (handle == 0) return cudaErrorInvalidValue;
    auto barrier = &reinterpret_cast<Workspace *>(handle)->barrier;
    __syncthreads();
    if (threadIdx.x + threadIdx.y + threadIdx.z == 0) {
        unsigned blocks = gridDim.x * gridDim.y * gridDim.z;
        // The first block makes the sum of all turn the highest bit over.
        bool is_first = blockIdx.x + blockIdx.y + blockIdx.z == 0;
        unsigned share = is_first ? 0x80000000u - (blocks - 1) : 1;
        __threadfence();
        unsigned before = atomicAdd(barrier, share);
        while (((before ^ *static_cast<volatile unsigned *>(barrier)) & 0x80000000u) == 0) {
        }
        __threadfence();
    }
    __syncthreads();
    return cudaSuccess;
}

API cudaError_t cudaCGSynchronizeGrid(unsigned long long handle, unsigned flags) { return cudaCGSynchronize(handle, flags); }

API cudaError_t cudaCGGetSize(unsigned *threads, unsigned *members, unsigned long long handle) {
    if (handle == 0) return cudaErrorInvalidValue;
    unsigned blocks = gridDim.x * gridDim.y * gridDim.z;
    if (threads != nullptr) *threads = blocks * blockDim.x * blockDim.y * blockDim.z;
    if (members != nullptr) *members = blocks;
    return cudaSuccess;
}

API cudaError_t cudaCGGetRank(unsigned *thread, unsigned *member, unsigned long long handle) {
    if (handle == 0) return cudaErrorInvalidValue;
    unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned in_block = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    if (thread != nullptr) *thread = block * blockDim.x * blockDim.y * blockDim.z + in_block;
    if (member != nullptr) *member = block;
    return cudaSuccess;
}

// ---- graphs --------------------------------------------------------------------------------------------------------

// The handle of a condition is the address of its value.
API void cudaGraphSetConditional(cudaGraphConditionalHandle condition, unsigned value) {
    *reinterpret_cast<unsigned *>(condition) = value;
}
