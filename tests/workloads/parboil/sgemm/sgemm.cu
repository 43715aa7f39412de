// c = alpha * a * b + beta * c in single precision with register tiles (Volkov and Demmel, Benchmarking GPUs to tune
// dense linear algebra, 2008, as in Parboil): a thread computes a row of sixteen results, a block of 16 x 8 threads
// a tile of 128 x 16; the tile of b is staged in shared memory, a is read once per thread. Matrices are
// column-major, b is transposed.
constexpr int TILE_M = 128, TILE_N = 16, TILE_K = 8;

extern "C" __global__ void __launch_bounds__(TILE_M)
    sgemm_register_tile(const float *a, const float *b, float *c, int m, int n, int k, float alpha, float beta)
{
    __shared__ float staged[TILE_K][TILE_N];
    const int thread = threadIdx.y * 16 + threadIdx.x;
    const int row = blockIdx.x * TILE_M + thread;
    const int first = blockIdx.y * TILE_N;
    float sums[TILE_N];
#pragma unroll
    for (int j = 0; j < TILE_N; j++)
        sums[j] = 0.0f;
    for (int i = 0; i < k; i += TILE_K) {
        staged[threadIdx.y][threadIdx.x] = b[first + threadIdx.x + (i + threadIdx.y) * n];
        __syncthreads();
#pragma unroll
        for (int p = 0; p < TILE_K; p++) {
            const float value = a[row + (i + p) * m];
#pragma unroll
            for (int j = 0; j < TILE_N; j++)
                sums[j] = fmaf(value, staged[p][j], sums[j]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int j = 0; j < TILE_N; j++) {
        float *target = c + row + (first + j) * m;
        *target = fmaf(*target, beta, __fmul_rn(alpha, sums[j]));
    }
}
