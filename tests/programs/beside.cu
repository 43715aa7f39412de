// Kernels that wait for what the host, or work of another stream, has yet to write: their launches return, the host
// goes on, and what comes after them in their stream waits. A kernel that nobody can help is ended.
#include "check.h"
#include <atomic>
#include <cstring>
#include <thread>
#include <unistd.h>

__global__ void waits(volatile int *flag, int value, int *out) {
    if (threadIdx.x == 0) while (*flag != value) {}
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] += value;
}

// The same with a count of tries, so that no two rounds are alike.
__global__ void counts(volatile int *flag, int *out) {
    int tries = 0;
    while (*flag == 0) tries++;
    *out = tries > 0 ? 5 : 4;
}

__global__ void sets(volatile int *flag, int value) { *flag = value; }

static std::atomic<int> called;
static void CUDART_CB note(void *seen) { called = *(volatile int *)seen; }

static void host_memory(int *flag, int *seen_by_device, int *out) {
    OK(cudaMemset(out, 0, 256 * sizeof(int)));
    *flag = 0;
    waits<<<4, 64>>>(seen_by_device, 7, out);
    OK(cudaGetLastError());
    FAILS(cudaStreamQuery(0), cudaErrorNotReady);
    usleep(20000);
    *(volatile int *)flag = 7;
    OK(cudaDeviceSynchronize());
    OK(cudaStreamQuery(0));
    int host[256];
    OK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    for (int value : host) CHECK(value == 7);
}

int main() {
    int *mapped, *mapped_device, *managed, *registered, *flag, *out, zero = 0, one = 1, back = 0;
    OK(cudaMalloc(&out, 4096));
    OK(cudaMalloc(&flag, 64));
    OK(cudaHostAlloc(&mapped, 64, cudaHostAllocMapped));
    OK(cudaHostGetDevicePointer(&mapped_device, mapped, 0));
    host_memory(mapped, mapped_device, out);
    OK(cudaMallocManaged(&managed, 64));
    host_memory(managed, managed, out);
    registered = (int *)aligned_alloc(4096, 4096);
    OK(cudaHostRegister(registered, 4096, cudaHostRegisterMapped));
    host_memory(registered, registered, out);

    cudaStream_t a, b;
    cudaEvent_t event;
    OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    OK(cudaEventCreate(&event));
    // The flag comes by a copy of another stream; the first stream's other work waits meanwhile.
    OK(cudaMemcpy(flag, &zero, sizeof zero, cudaMemcpyHostToDevice));
    OK(cudaMemset(out, 0, 4096));
    waits<<<1, 32, 0, a>>>(flag, 1, out);
    int late = 40;
    OK(cudaMemcpyAsync(out + 100, &late, sizeof late, cudaMemcpyHostToDevice, a));
    late = 41;
    OK(cudaMemcpyAsync(&back, out, sizeof back, cudaMemcpyDeviceToHost, a));
    OK(cudaLaunchHostFunc(a, note, &back));
    OK(cudaEventRecord(event, a));
    OK(cudaStreamWaitEvent(b, event, 0));
    FAILS(cudaEventQuery(event), cudaErrorNotReady);
    FAILS(cudaStreamQuery(a), cudaErrorNotReady);
    CHECK(back == 0 && called == 0);
    cudaStream_t c;
    OK(cudaStreamCreateWithFlags(&c, cudaStreamNonBlocking));
    OK(cudaStreamQuery(c));
    OK(cudaMemcpyAsync(flag, &one, sizeof one, cudaMemcpyHostToDevice, c));
    OK(cudaEventSynchronize(event));
    CHECK(back == 1 && called == 1);
    OK(cudaStreamSynchronize(b));
    OK(cudaMemcpy(&back, out + 100, sizeof back, cudaMemcpyDeviceToHost));
    CHECK(back == 40);

    // A kernel of another stream sets the flag, and the default stream waits for both.
    cudaStream_t d, e;
    OK(cudaStreamCreate(&d));
    OK(cudaStreamCreate(&e));
    waits<<<2, 32, 0, d>>>(flag, 2, out);
    sets<<<1, 1, 0, e>>>(flag, 2);
    OK(cudaMemcpy(&back, out + 33, sizeof back, cudaMemcpyDeviceToHost));
    CHECK(back == 2);

    // Two kernels at once that are let go in the other order, by another thread.
    mapped[0] = mapped[1] = 0;
    OK(cudaMemset(out, 0, 4096));
    waits<<<1, 1, 0, a>>>(mapped_device, 1, out);
    waits<<<1, 1, 0, b>>>(mapped_device + 1, 1, out + 1);
    std::thread helper([&] {
        usleep(30000);
        ((volatile int *)mapped)[1] = 1;
        usleep(30000);
        ((volatile int *)mapped)[0] = 1;
    });
    OK(cudaStreamSynchronize(b));
    FAILS(cudaStreamQuery(a), cudaErrorNotReady);
    OK(cudaDeviceSynchronize());
    helper.join();
    OK(cudaMemcpy(&back, out + 1, sizeof back, cudaMemcpyDeviceToHost));
    CHECK(back == 1);

    mapped[0] = 0;
    counts<<<1, 1>>>(mapped_device, out);
    usleep(20000);
    *(volatile int *)mapped = 1;
    OK(cudaMemcpy(&back, out, sizeof back, cudaMemcpyDeviceToHost));
    CHECK(back == 5);

    // Nobody is left to help this one.
    mapped[0] = 0;
    waits<<<1, 1>>>(mapped_device, 9, out);
    OK(cudaGetLastError());
    FAILS(cudaDeviceSynchronize(), cudaErrorLaunchTimeout);
    printf("PASSED\n");
    return 0;
}
