// Shares memory and an event with a second process (this program again), which reads, checks, writes and waits.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

static const int COUNT = 10000;

__global__ void fill(int *data, int factor) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < COUNT) data[i] = i * factor;
}

__global__ void add(int *data, int term) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < COUNT) data[i] += term;
}

struct Handles {
    cudaIpcMemHandle_t memory;
    cudaIpcEventHandle_t event;
};

static void check(cudaError_t status, const char *what) {
    if (status == cudaSuccess) return;
    printf("FAIL %s: %s\n", what, cudaGetErrorName(status));
    exit(1);
}
#define CHECK(call) check(call, #call)

static int *checked(const int *device, int factor, int term) {
    int *host = (int *)malloc(COUNT * sizeof(int));
    CHECK(cudaMemcpy(host, device, COUNT * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < COUNT; i++) {
        if (host[i] != i * factor + term) {
            printf("FAIL element %d is %d, not %d\n", i, host[i], i * factor + term);
            exit(1);
        }
    }
    return host;
}

static int second() {
    Handles handles;
    if (read(0, &handles, sizeof handles) != (ssize_t)sizeof handles) return 2;
    int *data, *again;
    cudaEvent_t event;
    CHECK(cudaIpcOpenMemHandle((void **)&data, handles.memory, cudaIpcMemLazyEnablePeerAccess));
    CHECK(cudaIpcOpenMemHandle((void **)&again, handles.memory, cudaIpcMemLazyEnablePeerAccess));
    if (again != data) {
        printf("FAIL one handle has two addresses\n");
        return 1;
    }
    CHECK(cudaIpcOpenEventHandle(&event, handles.event));
    CHECK(cudaStreamWaitEvent(0, event, 0));
    CHECK(cudaEventQuery(event));
    CHECK(cudaEventSynchronize(event));
    checked(data, 3, 0);
    add<<<(COUNT + 255) / 256, 256>>>(data, 7);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaIpcCloseMemHandle(again));
    checked(data, 3, 7);
    if (cudaFree(data) == cudaSuccess) {
        printf("FAIL memory of another process is freed\n");
        return 1;
    }
    CHECK(cudaIpcCloseMemHandle(data));
    CHECK(cudaEventDestroy(event));
    memset(&handles, 1, sizeof handles);
    if (cudaIpcOpenMemHandle((void **)&data, handles.memory, cudaIpcMemLazyEnablePeerAccess) == cudaSuccess) {
        printf("FAIL a wrong handle is opened\n");
        return 1;
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 1) return second();
    int *data, *other;
    CHECK(cudaMalloc(&data, COUNT * sizeof(int)));
    CHECK(cudaMalloc(&other, COUNT * sizeof(int)));
    fill<<<(COUNT + 255) / 256, 256>>>(data, 3);
    fill<<<(COUNT + 255) / 256, 256>>>(other, 5);
    cudaEvent_t event, plain;
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventInterprocess));
    CHECK(cudaEventCreate(&plain));
    CHECK(cudaEventRecord(event));
    Handles handles;
    if (cudaIpcGetEventHandle(&handles.event, plain) == cudaSuccess) {
        printf("FAIL an event of this process is shared\n");
        return 1;
    }
    // A pointer into the allocation stands for all of it.
    CHECK(cudaIpcGetMemHandle(&handles.memory, data + 100));
    CHECK(cudaIpcGetEventHandle(&handles.event, event));
    int *own;
    if (cudaIpcOpenMemHandle((void **)&own, handles.memory, cudaIpcMemLazyEnablePeerAccess) == cudaSuccess) {
        printf("FAIL a process opens its own memory\n");
        return 1;
    }
    (void)cudaGetLastError();
    int ends[2];
    if (pipe(ends) != 0) return 2;
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[0], 0);
        execl("/proc/self/exe", argv[0], "second", (char *)nullptr);
        _exit(3);
    }
    if (write(ends[1], &handles, sizeof handles) != (ssize_t)sizeof handles) return 2;
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        printf("FAIL the second process ends with %d\n", status);
        return 1;
    }
    // What the second process has written, and what it has not.
    checked(data, 3, 7);
    checked(other, 5, 0);
    CHECK(cudaFree(data));
    // The pages are of this process alone again, and zero.
    CHECK(cudaMalloc(&data, COUNT * sizeof(int)));
    checked(data, 0, 0);
    printf("PASS\n");
    return 0;
}
