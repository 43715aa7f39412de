// Streams with copies in parts, pinned and mapped host memory, callbacks, events that are not there.
#include "check.h"

__global__ void square(int *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= x[i];
}

static int called;
static void callback(cudaStream_t, cudaError_t status, void *data) { called += status == cudaSuccess ? *(int *)data : 0; }

int main() {
    const int n = 1 << 12, parts = 4;
    int *host, *device, *mapped, *alias;
    OK(cudaHostAlloc(&host, n * sizeof(int), cudaHostAllocDefault));
    OK(cudaMalloc(&device, n * sizeof(int)));
    for (int i = 0; i < n; i++) host[i] = i % 1000;
    int least, greatest;
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CHECK(greatest <= least);
    cudaStream_t streams[parts];
    for (auto &s : streams) OK(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, greatest));
    int priority;
    unsigned flags;
    OK(cudaStreamGetPriority(streams[0], &priority));
    OK(cudaStreamGetFlags(streams[0], &flags));
    CHECK(priority == greatest && flags == cudaStreamNonBlocking);
    int seven = 7;
    for (int p = 0; p < parts; p++) {
        int at = p * n / parts, bytes = n / parts * sizeof(int);
        OK(cudaMemcpyAsync(device + at, host + at, bytes, cudaMemcpyHostToDevice, streams[p]));
        square<<<8, 128, 0, streams[p]>>>(device + at, n / parts);
        OK(cudaMemcpyAsync(host + at, device + at, bytes, cudaMemcpyDeviceToHost, streams[p]));
        OK(cudaStreamAddCallback(streams[p], callback, &seven, 0));
    }
    for (auto &s : streams) OK(cudaStreamSynchronize(s));
    OK(cudaStreamQuery(streams[0]));
    for (int i = 0; i < n; i++) CHECK(host[i] == (i % 1000) * (i % 1000));
    CHECK(called == 28);
    for (auto &s : streams) OK(cudaStreamDestroy(s));

    OK(cudaSetDeviceFlags(cudaDeviceMapHost));
    OK(cudaHostAlloc(&mapped, 100 * sizeof(int), cudaHostAllocMapped));
    OK(cudaHostGetDevicePointer(&alias, mapped, 0));
    for (int i = 0; i < 100; i++) mapped[i] = i;
    square<<<1, 128>>>(alias, 100);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 100; i++) CHECK(mapped[i] == i * i);
    cudaPointerAttributes what;
    OK(cudaPointerGetAttributes(&what, mapped));
    CHECK(what.type == cudaMemoryTypeHost && what.hostPointer == mapped);
    OK(cudaPointerGetAttributes(&what, device));
    CHECK(what.type == cudaMemoryTypeDevice && what.devicePointer == device && what.hostPointer == nullptr);
    OK(cudaPointerGetAttributes(&what, &n));
    CHECK(what.type == cudaMemoryTypeUnregistered);
    static int own[64];
    OK(cudaHostRegister(own, sizeof own, cudaHostRegisterDefault));
    FAILS(cudaHostRegister(own, sizeof own, 0), cudaErrorHostMemoryAlreadyRegistered);
    own[3] = 12;
    square<<<1, 64>>>(own, 64);
    OK(cudaDeviceSynchronize());
    CHECK(own[3] == 144);
    OK(cudaHostUnregister(own));
    FAILS(cudaHostUnregister(own), cudaErrorHostMemoryNotRegistered);
    OK(cudaFreeHost(mapped));
    OK(cudaFreeHost(host));
    cudaEvent_t event, other;
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    OK(cudaEventCreate(&other));
    float ms;
    FAILS(cudaEventElapsedTime(&ms, event, other), cudaErrorInvalidResourceHandle);
    OK(cudaEventDestroy(event));
    FAILS(cudaEventDestroy(event), cudaErrorInvalidResourceHandle);
    cudaGetLastError();

    // Hints are kept for those who ask.
    cudaStream_t hinted, like;
    OK(cudaStreamCreate(&hinted));
    OK(cudaStreamCreate(&like));
    cudaStreamAttrValue hint = {}, told = {};
    hint.accessPolicyWindow.num_bytes = 4096;
    hint.accessPolicyWindow.hitRatio = 0.5f;
    OK(cudaStreamSetAttribute(hinted, cudaLaunchAttributeAccessPolicyWindow, &hint));
    OK(cudaStreamGetAttribute(like, cudaLaunchAttributeAccessPolicyWindow, &told));
    CHECK(told.accessPolicyWindow.num_bytes == 0);
    OK(cudaStreamCopyAttributes(like, hinted));
    OK(cudaStreamGetAttribute(like, cudaLaunchAttributeAccessPolicyWindow, &told));
    CHECK(told.accessPolicyWindow.num_bytes == 4096 && told.accessPolicyWindow.hitRatio == 0.5f);
    FAILS(cudaStreamGetAttribute(hinted, (cudaStreamAttrID)55, &told), cudaErrorInvalidValue);
    cudaGetLastError();
    OK(cudaStreamDestroy(hinted));
    OK(cudaStreamDestroy(like));
    return passed();
}
