// What another file calls: functions with and without a slow path, recursion, a jump table, and what the system has.
#include <cstdio>

__device__ int calls;
__device__ int weights[4] = {1, 2, 3, 4};

__device__ __noinline__ double curve(double x, int kind) {
  switch (kind & 7) {
    case 0: return x * 1.2345678901;
    case 1: return x + kind;
    case 2: return sqrt(x) / 3.1;
    case 3: return 1.0 / x;
    case 4: return x * x + 0.1;
    case 5: return kind;
    case 6: return x - 7.77;
    default: atomicAdd(&calls, 1); return -x;
  }
}

__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

__device__ void say(int thread, double value) {
  printf("thread %d has %.9g %s\n", thread, value, thread & 1 ? "odd" : "even");
}
