// What a cooperative grid says of itself, and a reduction in three rounds of all its blocks, in one, two and three dimensions.
#include <cooperative_groups.h>
#include <cstdio>
namespace cg = cooperative_groups;
__global__ void reduce(const int *in, int *out, unsigned *said, int n) {
  auto grid = cg::this_grid();
  unsigned rank = grid.thread_rank(), size = grid.size();
  if (rank == 0) { said[0] = size; said[1] = grid.is_valid(); said[2] = grid.num_blocks(); said[3] = grid.dim_blocks().y; }
  if (rank == size - 1) said[4] = grid.block_rank();
  for (int i = rank; i < n; i += size) out[i] = in[i] * 3;
  grid.sync();
  for (int step = n / 2; step > 0; step /= 2) {
    for (int i = rank; i < step; i += size) out[i] += out[i + step];
    auto token = grid.barrier_arrive();
    grid.barrier_wait(std::move(token));
  }
}
int main() {
  const int n = 2048;
  int in[n], sum = 0, got, *a, *b;
  unsigned said[5], *s;
  for (int i = 0; i < n; i++) sum += 3 * (in[i] = i * 7 % 101);
  cudaMalloc(&a, sizeof in); cudaMalloc(&b, sizeof in); cudaMalloc(&s, sizeof said);
  cudaMemcpy(a, in, sizeof in, cudaMemcpyHostToDevice);
  dim3 grids[] = {dim3(5), dim3(2, 3), dim3(2, 1, 3)}, blocks[] = {dim3(96), dim3(8, 12), dim3(4, 4, 8)};
  for (int k = 0; k < 3; k++) {
    int count = n;
    void *args[] = {&a, &b, &s, &count};
    cudaError_t l = cudaLaunchCooperativeKernel((void *)reduce, grids[k], blocks[k], args, 0, 0), e = cudaDeviceSynchronize();
    if (l || e) { printf("FAIL %d: %s, %s\n", k, cudaGetErrorString(l), cudaGetErrorString(e)); return 1; }
    cudaMemcpy(&got, b, 4, cudaMemcpyDeviceToHost); cudaMemcpy(said, s, sizeof said, cudaMemcpyDeviceToHost);
    unsigned members = grids[k].x * grids[k].y * grids[k].z, threads = blocks[k].x * blocks[k].y * blocks[k].z;
    unsigned want[] = {members * threads, 1, members, grids[k].y, members - 1};
    if (got != sum) { printf("FAIL %d: the sum is %d, not %d\n", k, got, sum); return 1; }
    for (int i = 0; i < 5; i++) if (said[i] != want[i]) { printf("FAIL %d: property %d is %u, not %u\n", k, i, said[i], want[i]); return 1; }
  }
  puts("PASS");
}
