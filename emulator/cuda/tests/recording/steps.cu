// Kernels on two streams, with copies, fills and a symbol between them, checked against the host. With arguments:
//   steps N         N rounds
//   steps N exit    exits in the second round
//   steps N crash   writes to address 0 in the second round
//   steps N fork    has a child in the second round, which exits
//   steps N abort   aborts in the second round
//   steps N loop    the last kernel never ends
//   steps N host    the data are the program's own memory, and memory that the host allocates
//   steps N own     the same, and kernels get the host's address of the program's memory
//   steps N fault   the last kernel writes where there is no memory
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

__constant__ int factor;

__global__ void scale(int *data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] = data[i] * factor + 1;
}

__global__ void add(int *to, const int *from, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] += from[i];
}

__global__ void loop(volatile int *data, volatile int *runs) {
    *runs = 1;
    while (data[blockIdx.x] != -1) data[blockIdx.x + 64] = data[blockIdx.x + 64] + 1;
}

__global__ void fault(int *data) {
    if (blockIdx.x == 2) data[1ll << 40] = 1;
    else data[blockIdx.x] = 1;
}

#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { \
    fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e)); exit(1); } } while (0)

int main(int argc, char **argv) {
    const int n = 1000;
    int rounds = argc > 1 ? atoi(argv[1]) : 3;
    const char *end = argc > 2 ? argv[2] : "";
    std::vector<int> a(n), b(n), back(n);
    for (int i = 0; i < n; i++) a[i] = i, b[i] = 7 * i - 3;
    int three = 3, *da, *db;
    cudaStream_t stream;
    cudaEvent_t scaled;
    if (!strcmp(end, "host") || !strcmp(end, "own")) {
        // Large memory lies where the system puts it, small on the heap.
        const size_t bytes = getenv("STEPS_LARGE") ? 8 << 20 : n * sizeof(int);
        int *own = (int *)malloc(bytes);
        CHECK(cudaHostRegister(own, bytes, cudaHostRegisterMapped));
        CHECK(cudaHostGetDevicePointer(&da, own, 0));
        if (!strcmp(end, "own")) da = own;
        CHECK(cudaHostAlloc(&db, n * sizeof(int), cudaHostAllocMapped));
    } else {
        CHECK(cudaMalloc(&da, n * sizeof(int)));
        CHECK(cudaMalloc(&db, n * sizeof(int)));
    }
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreate(&scaled));
    CHECK(cudaMemcpyToSymbol(factor, &three, sizeof three));
    CHECK(cudaMemset(db, 0, n * sizeof(int)));
    CHECK(cudaMemcpy(da, a.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(db, b.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    for (int r = 0; r < rounds; r++) {
        scale<<<8, 128>>>(da, n);
        CHECK(cudaEventRecord(scaled, 0));
        CHECK(cudaStreamWaitEvent(stream, scaled, 0));
        add<<<16, 64, 0, stream>>>(db, da, n);
        if (r == 1) CHECK(cudaDeviceSynchronize());
        CHECK(cudaGetLastError());
        for (int i = 0; i < n; i++) a[i] = a[i] * 3 + 1, b[i] += a[i];
        if (r == 1 && !strcmp(end, "exit")) exit(7);
        if (r == 1 && !strcmp(end, "abort")) abort();
        if (r == 1 && !strcmp(end, "fork")) {
            if (fork() == 0) exit(0);
            wait(nullptr);
        }
        if (r == 1 && !strcmp(end, "crash")) *(volatile int *)0 = 1;
    }
    if (!strcmp(end, "loop")) {
        // Said when the kernel runs: the thread that launches may wait for it.
        int *runs;
        CHECK(cudaHostAlloc(&runs, sizeof(int), cudaHostAllocMapped));
        *runs = 0;
        std::thread([runs] {
            while (!*(volatile int *)runs) usleep(1000);
            fprintf(stderr, "looping\n");
        }).detach();
        loop<<<4, 32>>>(da, runs);
    }
    if (!strcmp(end, "fault")) fault<<<4, 32>>>(da);
    CHECK(cudaMemcpy(back.data(), db, n * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++)
        if (back[i] != b[i]) return fprintf(stderr, "%d: %d, not %d\n", i, back[i], b[i]), 1;
    printf("%d rounds are right\n", rounds);
    return 0;
}
