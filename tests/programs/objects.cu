// C++ on the device: virtual functions, new and delete, function pointers, recursion.
#include "check.h"

struct Shape {
    __device__ virtual ~Shape() {}
    __device__ virtual int area() const = 0;
};
struct Square : Shape {
    int side;
    __device__ Square(int s) : side(s) {}
    __device__ int area() const override { return side * side; }
};
struct Box : Shape {
    int w, h;
    __device__ Box(int a, int b) : w(a), h(b) {}
    __device__ int area() const override { return w * h; }
};

typedef int (*Function)(int);
__device__ int twice(int x) { return 2 * x; }
__device__ int factorial(int x) { return x < 2 ? 1 : x * factorial(x - 1); }
__device__ Function chosen = factorial;

__global__ void work(int *out) {
    int i = threadIdx.x;
    Shape *shape = i % 2 ? (Shape *)new Square(i) : (Shape *)new Box(i, i + 1);
    Function f = i % 3 ? twice : chosen;
    out[i] = shape->area() * 1000 + f(i % 7);
    delete shape;
}

__global__ void apply(Function f, int *out) { out[threadIdx.x] = f(threadIdx.x); }

int main() {
    int *out, host[64];
    OK(cudaMalloc(&out, sizeof host));
    OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16 << 20));
    OK(cudaDeviceSetLimit(cudaLimitStackSize, 4096));
    work<<<1, 64>>>(out);
    OK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    int f[] = {1, 1, 2, 6, 24, 120, 720};
    for (int i = 0; i < 64; i++)
        CHECK(host[i] == (i % 2 ? i * i : i * (i + 1)) * 1000 + (i % 3 ? 2 * (i % 7) : f[i % 7]));
    Function pointer;
    OK(cudaMemcpyFromSymbol(&pointer, chosen, sizeof pointer));
    apply<<<1, 8>>>(pointer, out);
    OK(cudaMemcpy(host, out, 7 * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < 7; i++) CHECK(host[i] == f[i]);
    return passed();
}
