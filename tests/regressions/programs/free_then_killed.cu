// Launches a kernel, frees its memory, and is killed, or with an argument waits until that file exists. Launches whose end
// cudaFree has reported are in the trace.
#include <csignal>
#include <cstdio>
#include <unistd.h>

__global__ void fill(int *out) { out[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x; }

int main(int count, char **words) {
    int *out = nullptr;
    if (cudaMalloc(&out, 4 * 256) != cudaSuccess) return printf("FAIL cudaMalloc\n"), 1;
    fill<<<2, 128>>>(out);
    if (cudaFree(out) != cudaSuccess) return printf("FAIL cudaFree\n"), 1;
    if (count == 1) {
        printf("PASS\n");
        fflush(stdout);
        kill(getpid(), SIGKILL);
    }
    while (access(words[1], F_OK) != 0) usleep(1000);
    printf("PASS\n");
    return 0;
}
