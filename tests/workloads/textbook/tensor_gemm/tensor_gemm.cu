// c = alpha * a * b on tensor cores: halves in, singles accumulated, n x n with n a multiple of 32. A block of
// four warps computes 32 x 32 elements from tiles in shared memory, each warp 16 x 16 of them.
#include <mma.h>

using namespace nvcuda;

extern "C" __global__ void to_halves(const float *in, half *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = __float2half_rn(in[i]);
}

extern "C" __global__ void tensor_gemm(const half *a, const half *b, float *c, float alpha, int n)
{
    __shared__ __align__(32) half tile_a[32 * 16];
    __shared__ __align__(32) half tile_b[16 * 32];
    int t = threadIdx.x, warp = t / 32;
    int row = blockIdx.y * 32, col = blockIdx.x * 32;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int k = 0; k < n; k += 16) {
        // Four halves of each tile per thread.
        int at = 4 * t;
        *(uint2 *)&tile_a[at] = *(const uint2 *)&a[(row + at / 16) * n + k + at % 16];
        *(uint2 *)&tile_b[at] = *(const uint2 *)&b[(k + at / 32) * n + col + at % 32];
        __syncthreads();
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
        wmma::load_matrix_sync(fa, &tile_a[warp / 2 * 16 * 16], 16);
        wmma::load_matrix_sync(fb, &tile_b[warp % 2 * 16], 32);
        wmma::mma_sync(sum, fa, fb, sum);
        __syncthreads();
    }
    for (int i = 0; i < sum.num_elements; i++)
        sum.x[i] *= alpha;
    wmma::store_matrix_sync(&c[(row + warp / 2 * 16) * n + col + warp % 2 * 16], sum, n, wmma::mem_row_major);
}
