// Tiled matrix multiply: C = A * B, all n by n, row-major.
#define TILE 16

/* Each block computes one TILE x TILE tile of C
   and walks along a row of tiles of A and a column of tiles of B. */
__device__ float load(const float* m, int n, int row, int column)
{
    return row < n && column < n ? m[row * n + column] : 0.0f;
}

template <typename T>
struct Tile {
    T value[TILE][TILE];
};

__device__ const char* name()
{
    return "matmul_tiled";
}

extern "C" __global__ void matmul_tiled(const float* a, const float* b, float* c, int n)
{
    __shared__ Tile<float> ta;
    __shared__ Tile<float> tb;

    const int x = threadIdx.x;
    const int y = threadIdx.y;
    const int row = blockIdx.y * TILE + y;
    const int column = blockIdx.x * TILE + x;

    float acc = 0.0f;
    for (int t = 0; t < n; t += TILE) {
        ta.value[y][x] = load(a, n, row, t + x);
        tb.value[y][x] = load(b, n, t + y, column);
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            acc += ta.value[y][k] * tb.value[k][x];
        __syncthreads();
    }

    if (row < n && column < n)
        c[row * n + column] = acc;
}
