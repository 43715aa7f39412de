// Cooperative groups: a barrier of the whole grid, tiles, dynamic shared memory beyond the default, occupancy.
#include "check.h"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

__global__ void sums(const int *in, int *blocks, int *out) {
    extern __shared__ int shared[];
    auto grid = cg::this_grid();
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    int mine = cg::reduce(tile, in[grid.thread_rank()], cg::plus<int>());
    if (tile.thread_rank() == 0) shared[tile.meta_group_rank()] = mine;
    __syncthreads();
    if (threadIdx.x == 0) {
        int sum = 0;
        for (int i = 0; i < blockDim.x / 32; i++) sum += shared[i];
        blocks[blockIdx.x] = sum;
    }
    grid.sync();
    if (grid.thread_rank() == 0) {
        int sum = 0;
        for (int i = 0; i < gridDim.x; i++) sum += blocks[i];
        *out = sum;
    }
}

int main() {
    const int n = 4 * 128;
    int host[n], *in, *blocks, *out, result, expected = 0;
    for (int i = 0; i < n; i++) expected += host[i] = i * 7 % 100;
    OK(cudaMalloc(&in, sizeof host));
    OK(cudaMalloc(&blocks, 4 * sizeof(int)));
    OK(cudaMalloc(&out, sizeof(int)));
    OK(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
    void *args[] = {&in, &blocks, &out};
    OK(cudaLaunchCooperativeKernel((void *)sums, dim3(4), dim3(128), args, 4096, 0));
    OK(cudaMemcpy(&result, out, sizeof result, cudaMemcpyDeviceToHost));
    CHECK(result == expected);
    FAILS(cudaLaunchCooperativeKernel((void *)sums, dim3(100000), dim3(128), args, 4096, 0),
          cudaErrorCooperativeLaunchTooLarge);
    FAILS(cudaLaunchCooperativeKernel((void *)sums, dim3(4), dim3(128), args, 60000, 0), cudaErrorInvalidValue);
    cudaGetLastError();
    OK(cudaFuncSetAttribute(sums, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000));
    OK(cudaLaunchCooperativeKernel((void *)sums, dim3(4), dim3(128), args, 60000, 0));
    int per_sm, small, grid, block;
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, sums, 128, 0));
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&small, sums, 128, 60000));
    CHECK(per_sm > small && small >= 1);
    OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, sums));
    CHECK(block % 32 == 0 && block > 0 && grid > 0);
    return passed();
}
