// Signal handlers that allocate, print and call CUDA while kernels run and the program works with memory itself.
#include "check.h"
#include <csignal>
#include <sys/time.h>

__global__ void spin(unsigned *x, unsigned rounds) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, v = i;
    for (unsigned r = 0; r < rounds; r++) v = v * 1664525u + 1013904223u;
    x[i] = v;
}

static volatile int handled, other;

static void handler(int) {
    void *p = malloc(100 + handled % 5000);
    printf("%s", p ? "" : "no memory");
    free(p);
    void *q = nullptr;
    if (handled % 4 == 0) OK(cudaMalloc(&q, 1000));
    if (q) other = other + 1;
    handled = handled + 1;
}

int main() {
    unsigned *x, host[64 * 64];
    OK(cudaMalloc(&x, sizeof host));
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    CHECK(sigaction(SIGALRM, &action, nullptr) == 0);
    itimerval every = {{0, 1000}, {0, 1000}};
    CHECK(setitimer(ITIMER_REAL, &every, nullptr) == 0);
    for (int round = 0; handled < 60 || round < 40; round++) {
        // Long ones, and short ones that come in numbers.
        if (round % 8 == 0) spin<<<64, 64>>>(x, 3000);
        else spin<<<1, 32>>>(x, 2);
        OK(cudaMemcpyAsync(host, x, sizeof host, cudaMemcpyDeviceToHost));
        CHECK(round < 100000);
    }
    every = {};
    CHECK(setitimer(ITIMER_REAL, &every, nullptr) == 0);
    CHECK(other > 0);
    return passed();
}
