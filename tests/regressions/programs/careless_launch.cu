// A kernel that launches another one, whose machine code does not run; the program looks at no error.
#include <cstdio>
__global__ void child(int *x) { *x = 1; }
__global__ void parent(int *x) { child<<<1, 1>>>(x); }
int main(int argc, char **) {
  int *x;
  cudaMalloc(&x, 4);
  parent<<<1, 1>>>(x);
  if (argc > 1) printf("launch: %s\n", cudaGetErrorName(cudaGetLastError()));
  cudaDeviceSynchronize();
  return 0;
}
