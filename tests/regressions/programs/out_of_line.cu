// Compiled on its own (-rdc=true), ptxas writes reductions of a warp as functions (__cuda_reduxsync_s32_add), and tables of
// functions as descriptors (R_CUDA_FUNC_DESC_64).
#include <cstdio>
__device__ __noinline__ int twice(int x) { return 2 * x; }
__device__ __noinline__ int square(int x) { return x * x; }
__device__ __noinline__ int less(int x) { return x - 100; }
typedef int (*Function)(int);
__device__ Function functions[3] = {twice, square, less};
__global__ void sums(int *out, const int *which) {
  int lane = threadIdx.x, value = functions[which[lane]](lane), sum = 0;
#if __CUDA_ARCH__ >= 800
  if (lane < 20) sum = __reduce_add_sync(0xfffff, value) + __reduce_max_sync(0xfffff, value);
#else
  for (int i = 0; i < 20; i++) { sum += __shfl_sync(~0u, value, i); }
  int most = -1000;
  for (int i = 0; i < 20; i++) most = max(most, __shfl_sync(~0u, value, i));
  sum = lane < 20 ? sum + most : 0;
#endif
  out[lane] = sum;
}
int main() {
  int which[32], got[32], *device, sum = 0, most = -1000;
  for (int i = 0; i < 32; i++) which[i] = i * 7 % 3;
  for (int i = 0; i < 20; i++) {
    int value = which[i] == 0 ? 2 * i : which[i] == 1 ? i * i : i - 100;
    sum += value;
    most = value > most ? value : most;
  }
  cudaMalloc(&device, 256);
  cudaMemcpy(device + 32, which, 128, cudaMemcpyHostToDevice);
  sums<<<1, 32>>>(device, device + 32);
  cudaError_t e = cudaMemcpy(got, device, 128, cudaMemcpyDeviceToHost);
  if (e) { printf("FAIL %s\n", cudaGetErrorString(e)); return 1; }
  for (int i = 0; i < 32; i++)
    if (got[i] != (i < 20 ? sum + most : 0)) { printf("FAIL lane %d has %d, not %d\n", i, got[i], sum + most); return 1; }
  puts("PASS");
  return 0;
}
