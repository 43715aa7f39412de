// A kernel fails, and the program does not look.
#include <cstdio>

__global__ void wild(int *x) { x[1ll << 40] = 1; }

int main() {
    int *x;
    cudaMalloc(&x, 4);
    wild<<<1, 1>>>(x);
    cudaDeviceSynchronize();
    printf("PASSED");
    return 0;
}
