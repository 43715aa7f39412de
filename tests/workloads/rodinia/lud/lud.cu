// LU decomposition without pivoting, in tiles of 16 x 16 (after Rodinia's lud): in each round one block factors the
// diagonal tile, blocks of 32 threads compute the tiles of its row and column, and all others are updated.
constexpr int TILE = 16;

// Makes the matrix diagonally dominant, so that no pivoting is needed.
extern "C" __global__ void lud_strengthen(float *a, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        a[i * n + i] += float(n);
}

extern "C" __global__ void __launch_bounds__(TILE) lud_diagonal(float *a, int n, int offset)
{
    __shared__ float tile[TILE][TILE];
    const int t = threadIdx.x;
    for (int i = 0; i < TILE; i++)
        tile[i][t] = a[(offset + i) * n + offset + t];
    __syncthreads();
    for (int i = 0; i < TILE - 1; i++) {
        if (t > i) {
            for (int j = 0; j < i; j++)
                tile[t][i] = fmaf(-tile[t][j], tile[j][i], tile[t][i]);
            tile[t][i] = tile[t][i] / tile[i][i];
        }
        __syncthreads();
        if (t > i)
            for (int j = 0; j < i + 1; j++)
                tile[i + 1][t] = fmaf(-tile[i + 1][j], tile[j][t], tile[i + 1][t]);
        __syncthreads();
    }
    for (int i = 1; i < TILE; i++)
        a[(offset + i) * n + offset + t] = tile[i][t];
}

// Half of the threads computes a tile of the row, the other half one of the column.
extern "C" __global__ void __launch_bounds__(2 * TILE) lud_perimeter(float *a, int n, int offset)
{
    __shared__ float diagonal[TILE][TILE], row[TILE][TILE], column[TILE][TILE];
    const int t = threadIdx.x % TILE;
    const int across = offset + (blockIdx.x + 1) * TILE;
    for (int i = 0; i < TILE; i++) {
        if (threadIdx.x < TILE) {
            diagonal[i][t] = a[(offset + i) * n + offset + t];
            row[i][t] = a[(offset + i) * n + across + t];
        } else {
            column[i][t] = a[(across + i) * n + offset + t];
        }
    }
    __syncthreads();
    if (threadIdx.x < TILE) {
        for (int i = 1; i < TILE; i++)
            for (int j = 0; j < i; j++)
                row[i][t] = fmaf(-diagonal[i][j], row[j][t], row[i][t]);
    } else {
        for (int i = 0; i < TILE; i++) {
            for (int j = 0; j < i; j++)
                column[t][i] = fmaf(-column[t][j], diagonal[j][i], column[t][i]);
            column[t][i] = column[t][i] / diagonal[i][i];
        }
    }
    __syncthreads();
    for (int i = 0; i < TILE; i++) {
        if (threadIdx.x < TILE)
            a[(offset + i) * n + across + t] = row[i][t];
        else
            a[(across + i) * n + offset + t] = column[i][t];
    }
}

extern "C" __global__ void __launch_bounds__(TILE * TILE) lud_internal(float *a, int n, int offset)
{
    __shared__ float row[TILE][TILE], column[TILE][TILE];
    const int x = threadIdx.x, y = threadIdx.y;
    const int right = offset + (blockIdx.x + 1) * TILE, down = offset + (blockIdx.y + 1) * TILE;
    row[y][x] = a[(offset + y) * n + right + x];
    column[y][x] = a[(down + y) * n + offset + x];
    __syncthreads();
    float value = a[(down + y) * n + right + x];
#pragma unroll
    for (int i = 0; i < TILE; i++)
        value = fmaf(-column[y][i], row[i][x], value);
    a[(down + y) * n + right + x] = value;
}
