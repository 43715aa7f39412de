// Waits for a number of cycles that is the same in all lanes: the clock is read into a uniform register (S2UR).
#include <cstdio>
__global__ void wait(long long *cycles, int least) {
  int start = clock(), passed = 0;
  while (passed < least) passed = clock() - start;
  cycles[blockIdx.x * blockDim.x + threadIdx.x] = passed;
}
int main() {
  long long *p, got[128];
  cudaMalloc(&p, sizeof got);
  wait<<<2, 64>>>(p, 2000);
  cudaError_t e = cudaMemcpy(got, p, sizeof got, cudaMemcpyDeviceToHost);
  if (e) { printf("FAIL %s\n", cudaGetErrorString(e)); return 1; }
  for (int i = 0; i < 128; i++)
    if (got[i] < 2000 || got[i] > 1000000) { printf("FAIL thread %d waited %lld cycles\n", i, got[i]); return 1; }
  puts("PASS");
  return 0;
}
