// A kernel that calls a function and reads a variable by addresses in its code. linked.sm_80.cubin is made of this file by
// nvcc -rdc=true -arch=sm_80 -cubin linked.cu -o object.cubin; nvlink -arch=sm_80 object.cubin -o linked.sm_80.cubin
__device__ int weights[4] = {1, 2, 3, 4};
__device__ __noinline__ int twice(int x) { return x < 10 ? 2 * x : x * x; }
extern "C" __global__ void linked(int *out, int n) {
  int i = threadIdx.x;
  if (i < n) out[i] = twice(i) + weights[i & 3];
}
