// C = A * B for n x n row-major matrices, each block computing one TILE x TILE square of C from
// tiles staged in shared memory. Sizes that are no multiple of the tile are padded with zeros.
template <int TILE>
__device__ __forceinline__ void multiply_tiles(const float *a, const float *b, float *c, int n)
{
    __shared__ float a_tile[TILE][TILE];
    __shared__ float b_tile[TILE][TILE];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    float sum = 0.0f;

    for (int base = 0; base < n; base += TILE) {
        int k_col = base + tx;
        int k_row = base + ty;
        a_tile[ty][tx] = (row < n && k_col < n) ? a[row * n + k_col] : 0.0f;
        b_tile[ty][tx] = (k_row < n && col < n) ? b[k_row * n + col] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; k++)
            sum += a_tile[ty][k] * b_tile[k][tx];
        __syncthreads();
    }
    if (row < n && col < n)
        c[row * n + col] = sum;
}

extern "C" __global__ void matmul_tiled_32(const float *a, const float *b, float *c, int n)
{
    multiply_tiles<32>(a, b, c, n);
}

extern "C" __global__ void matmul_tiled_16(const float *a, const float *b, float *c, int n)
{
    multiply_tiles<16>(a, b, c, n);
}
