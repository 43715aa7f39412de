// The first thread ends before the program does: with `pthread_exit`, while another one goes on.
#include "check.h"
#include <pthread.h>
#include <thread>
#include <unistd.h>

__global__ void add(int *x) { *x += threadIdx.x + 1; }

int main() {
    int *x;
    OK(cudaMalloc(&x, 4));
    OK(cudaMemset(x, 0, 4));
    add<<<1, 1>>>(x);
    OK(cudaDeviceSynchronize());
    std::thread([x] {
        usleep(300000);
        int value = 0;
        add<<<1, 1>>>(x);
        OK(cudaMemcpy(&value, x, sizeof value, cudaMemcpyDeviceToHost));
        CHECK(value == 2);
        passed();
    }).detach();
    pthread_exit(nullptr);
}
