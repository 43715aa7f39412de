// Kernels that launch kernels: default, named, fire-and-forget and tail streams, what a grid's completion means, copies
// and fills from device code, questions, errors, the depth of nesting.
//
// nvcc: -rdc=true -lcudadevrt
// expect: child 2 'a' 1.500000
// expect: child 0 'a' 6.000000
// expect: error cudaErrorInvalidConfiguration: invalid configuration argument

#include "check.h"
#include <cstring>

struct Wide {
    char c;
    double d[3];
    short s;
};

__global__ void child(int depth, double x, char c, int *count) {
    if (threadIdx.x == 0 && blockIdx.x == 0) printf("child %d '%c' %f\n", depth, c, x);
    if (threadIdx.x == 0) atomicAdd(count, 1);
    if (depth > 0 && threadIdx.x == 0) child<<<2, 32, 16>>>(depth - 1, x * 2, c, count);
}

__global__ void parent(int *count) {
    if (threadIdx.x == 0) child<<<1, 64>>>(2, 1.5, 'a', count);
}

__global__ void append(int *log, int what) { log[atomicAdd(log, 1) + 1] = what; }

__global__ void level(int *log, int what) {
    append<<<1, 1, 0, cudaStreamTailLaunch>>>(log, what + 3);
    append<<<1, 1>>>(log, what + 1);
    append<<<1, 1>>>(log, what + 2);
    append<<<1, 1, 0, cudaStreamTailLaunch>>>(log, what + 4);
    log[atomicAdd(log, 1) + 1] = what;
}

// What a grid is followed by waits for all that the grid has launched.
__global__ void ordered(int *log) {
    level<<<1, 1>>>(log, 10);
    level<<<1, 1, 0, cudaStreamTailLaunch>>>(log, 30);
    level<<<1, 1>>>(log, 20);
}

__global__ void take(Wide wide, const int *from, Wide *to) {
    *to = wide;
    to->s += *from;
}

__global__ void pass(const int *from, Wide *to) {
    Wide wide = {'w', {1, 2, 3}, 40};
    take<<<1, 1>>>(wide, from, to);
}

__global__ void bump(int *value) { ++*value; }

__global__ void streams(int *data, int *out) {
    cudaStream_t stream;
    cudaEvent_t event;
    out[0] = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    out[1] = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    out[2] = cudaMemsetAsync(data, 7, 64 * sizeof(int), stream);
    bump<<<1, 1, 0, stream>>>(data);
    cudaEventRecord(event, stream);
    cudaStreamWaitEvent(0, event, 0);
    out[3] = cudaMemcpyAsync(data + 64, data, 64 * sizeof(int), cudaMemcpyDeviceToDevice, stream);
    out[4] = cudaMemcpy2DAsync(data + 128, 8, data, 32, 8, 8, cudaMemcpyDeviceToDevice, stream);
    out[5] = cudaEventDestroy(event);
    out[6] = cudaStreamDestroy(stream);
    out[7] = cudaMemset2DAsync(data + 16, 16, 0, 4, 3, 0);
}

__global__ void questions(int *out) {
    out[0] = cudaGetDevice(&out[1]);
    out[2] = cudaDeviceGetAttribute(&out[3], cudaDevAttrMultiProcessorCount, 0);
    out[4] = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&out[5], child, 64, 0);
    cudaFuncAttributes attributes;
    out[6] = cudaFuncGetAttributes(&attributes, child);
    out[7] = attributes.numRegs;
    out[8] = attributes.maxThreadsPerBlock;
    size_t limit = 0;
    out[9] = cudaDeviceGetLimit(&limit, cudaLimitDevRuntimePendingLaunchCount);
    out[10] = (int)limit;
    int *room = nullptr;
    out[11] = cudaMalloc(&room, 400);
    room[99] = 5;
    out[12] = cudaFree(room);
}

__global__ void errors(int *out) {
    child<<<1, 4096>>>(0, 0, 'x', out);
    out[0] = cudaPeekAtLastError();
    cudaError_t error = cudaGetLastError();
    out[1] = error;
    out[2] = cudaGetLastError();
    child<<<0, 1>>>(0, 0, 'x', out);
    out[3] = cudaGetLastError();
    child<<<1, 1, 1 << 20>>>(0, 0, 'x', out);
    out[4] = cudaGetLastError() != cudaSuccess;
    cudaStream_t stream;
    out[5] = cudaStreamCreateWithFlags(&stream, cudaStreamDefault);
    printf("error %s: %s\n", cudaGetErrorName(error), cudaGetErrorString(error));
}

__global__ void deeper(int *deepest, int depth) {
    atomicMax(deepest, depth);
    deeper<<<1, 1>>>(deepest, depth + 1);
    cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) deepest[1] = error;
}

// A loop of launches, which are no deeper than one another.
__global__ void again(int *left) {
    if (--*left > 0) again<<<1, 1, 0, cudaStreamTailLaunch>>>(left);
}

__global__ void many(int *count) { append<<<1, 1, 0, cudaStreamFireAndForget>>>(count, blockIdx.x * 32 + threadIdx.x); }

template <typename... P, typename... A> static void launch(void (*kernel)(P...), A... arguments) {
    kernel<<<1, 1>>>(arguments...);
    OK(cudaGetLastError());
    OK(cudaDeviceSynchronize());
}

static bool is(const int *values, std::initializer_list<int> expected) {
    return std::equal(expected.begin(), expected.end(), values);
}

int main() {
    int *data;
    OK(cudaMallocManaged(&data, 1 << 20));
    auto clear = [&] { memset(data, 0, 1 << 20); };
    clear();
    launch(parent, data);
    CHECK(data[0] == 1 + 2 + 4);
    clear();
    launch(ordered, data);
    CHECK(data[0] == 15);
    CHECK(is(data + 1, {10, 11, 12, 13, 14, 20, 21, 22, 23, 24, 30, 31, 32, 33, 34}));
    clear();
    data[0] = 2;
    Wide *wide = reinterpret_cast<Wide *>(data + 4);
    launch(pass, data, wide);
    CHECK(wide->c == 'w' && wide->d[0] == 1 && wide->d[2] == 3 && wide->s == 42);
    clear();
    int *out = data + 1024;
    launch(streams, data, out);
    CHECK(is(out, {0, 0, 0, 0, 0, 0, 0, 0}));
    const int filled = 0x07070707;
    CHECK(data[0] == filled + 1 && data[1] == filled && data[63] == filled && data[64] == filled + 1);
    CHECK(data[128] == filled + 1 && data[129] == filled && data[143] == filled && data[144] == 0);
    CHECK(data[16] == 0 && data[17] == filled && data[20] == 0 && data[24] == 0 && data[28] == filled);
    clear();
    launch(questions, data);
    int sms, registers;
    OK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    cudaFuncAttributes attributes;
    OK(cudaFuncGetAttributes(&attributes, child));
    registers = attributes.numRegs;
    int blocks;
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, child, 64, 0));
    CHECK(is(data, {0, 0, 0, sms, 0, blocks, 0, registers, attributes.maxThreadsPerBlock, 0, 2048, 0, 0}));
    clear();
    launch(errors, data);
    CHECK(is(data, {cudaErrorInvalidConfiguration, cudaErrorInvalidConfiguration, cudaSuccess,
                     cudaErrorInvalidConfiguration, 1, cudaErrorInvalidValue}));
    clear();
    launch(deeper, data, 0);
    CHECK(is(data, {24, cudaErrorLaunchMaxDepthExceeded}));
    clear();
    data[0] = 1000;
    launch(again, data);
    CHECK(data[0] == 0);
    clear();
    many<<<64, 32>>>(data);
    OK(cudaDeviceSynchronize());
    CHECK(data[0] == 2048);
    for (int i = 0; i < 2048; i++) CHECK(data[1 + i] == i);
    return passed();
}
