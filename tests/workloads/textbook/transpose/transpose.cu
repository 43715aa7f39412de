// Transpose of a height x width matrix through 32 x 32 tiles in shared memory; the tile has one more
// column than it needs, so that reading it by columns meets no bank conflict. 32 x 8 threads per block.
#define TILE 32
#define ROWS 8

extern "C" __global__ void transpose(const float *in, float *out, int width, int height)
{
    __shared__ float tile[TILE][TILE + 1];

    int col = blockIdx.x * TILE + threadIdx.x;
    int row = blockIdx.y * TILE + threadIdx.y;
    for (int i = 0; i < TILE; i += ROWS)
        if (col < width && row + i < height)
            tile[threadIdx.y + i][threadIdx.x] = in[(row + i) * width + col];
    __syncthreads();

    col = blockIdx.y * TILE + threadIdx.x;
    row = blockIdx.x * TILE + threadIdx.y;
    for (int i = 0; i < TILE; i += ROWS)
        if (col < height && row + i < width)
            out[(row + i) * height + col] = tile[threadIdx.x][threadIdx.y + i];
}
