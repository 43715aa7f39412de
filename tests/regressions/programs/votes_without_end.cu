// Lanes 0 to 15 vote with a mask of the whole warp; the others wait for them at a barrier of the block: nobody can go on.
#include <cstdio>
__global__ void wait(int *out, unsigned mask) {
  if (threadIdx.x % 32 < 16) out[threadIdx.x] = __ballot_sync(mask, threadIdx.x & 1);
  else if (out[threadIdx.x] == 0) __syncthreads();
  out[threadIdx.x] += 1;
  __syncthreads();
}
int main() {
  int *out;
  cudaMalloc(&out, 64 * 4); cudaMemset(out, 0, 64 * 4);
  wait<<<1, 64>>>(out, 0xffffffffu);
  cudaError_t e = cudaDeviceSynchronize();
  printf("%s\n", cudaGetErrorName(e));
  return e ? 1 : 0;
}
