// Kernels whose functions are in another file, and that print, allocate, vote and assert.
#include <cassert>
#include <cstdio>

extern __device__ double curve(double, int);
extern __device__ int fibonacci(int);
extern __device__ void say(int, double);
extern __device__ int calls;
extern __device__ int weights[4];

typedef double (*Curve)(double, int);
__device__ double line(double x, int kind) { return 2 * x + kind; }
__device__ Curve curves[2] = {curve, line};

__global__ void all(double *out, int n) {
  int i = threadIdx.x;
  double value = curve(i + 0.5, i) + curves[n + i & 1](i + 1, i + 1) + weights[i & 3] * fibonacci(i & 7);
  double *kept = (double *)malloc(2 * sizeof(double));
  kept[i & 1] = value;
  if (i % 10 < 2) say(i, value);
  out[i] = kept[i & 1];
  free(kept);
}

// Lanes that are together vote in two groups.
__global__ void vote(double *out) {
  int i = threadIdx.x;
  out[i] = __ballot_sync(i & 1 ? 0xaaaaaaaa : 0x55555555, i % 3 == 0);
}

__global__ void count(double *out) { out[0] = calls; }

__global__ void limited(int n) { assert(threadIdx.x < n && "there are few threads"); }

int main() {
  double *device, host[32], found;
  cudaMalloc(&device, sizeof host);
  all<<<1, 32>>>(device, 1);
  cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);
  for (double value : host) printf("%.9g ", value);
  vote<<<1, 32>>>(device);
  cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);
  printf("\nvotes %.0f and %.0f\n", host[0], host[31]);
  count<<<1, 1>>>(device);
  cudaMemcpy(&found, device, sizeof found, cudaMemcpyDeviceToHost);
  printf("%g calls, %s\n", found, cudaGetErrorString(cudaGetLastError()));
  limited<<<1, 4>>>(3);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  return 0;
}
