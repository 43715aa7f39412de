// C = alpha * A * transposed(B) + beta * C, all by columns, with tiles in registers, in the form of Parboil's sgemm
// (Stratton et al., Parboil, IMPACT-12-01; Volkov and Demmel, SC 2008): a thread holds 16 sums of a row of C, a block of 128
// threads shares 8 rows of B.
#define TILE_N 16
#define TILE_K 8
#define TILE_M (TILE_N * TILE_K)

extern "C" __global__ void sgemm_registers(const float *a, int lda, const float *b, int ldb, float *c, int ldc, int k,
                                           float alpha, float beta)
{
    __shared__ float shared[TILE_K][TILE_N];
    float sums[TILE_N];
    for (int i = 0; i < TILE_N; i++)
        sums[i] = 0.0f;
    int thread = threadIdx.y * TILE_N + threadIdx.x;
    int m = blockIdx.x * TILE_M + thread;
    int n = blockIdx.y * TILE_N + threadIdx.x;
    for (int i = 0; i < k; i += TILE_K) {
        shared[threadIdx.y][threadIdx.x] = b[n + (i + threadIdx.y) * ldb];
        __syncthreads();
        for (int j = 0; j < TILE_K; j++) {
            float value = a[m + (i + j) * lda];
            for (int kk = 0; kk < TILE_N; kk++)
                sums[kk] += value * shared[j][kk];
        }
        __syncthreads();
    }
    int t = ldc * blockIdx.y * TILE_N + m;
    for (int i = 0; i < TILE_N; i++)
        c[t + i * ldc] = c[t + i * ldc] * beta + alpha * sums[i];
}
