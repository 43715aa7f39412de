// Separable filter of an image: nine taps from constant memory along rows, then along columns, both with
// a halo in shared memory. Beyond the rim the image is zero. 32 x 8 threads per block.
#define RADIUS 4
#define COLS 32
#define ROWS 8

__constant__ float taps[2 * RADIUS + 1] = {0.02f, 0.06f, 0.12f, 0.19f, 0.22f, 0.19f, 0.12f, 0.06f, 0.02f};

extern "C" __global__ void convolve_rows(const float *in, float *out, int width, int height)
{
    __shared__ float strip[ROWS][COLS + 2 * RADIUS];

    int row = blockIdx.y * ROWS + threadIdx.y;
    int left = (int)blockIdx.x * COLS - RADIUS;
    for (int i = threadIdx.x; i < COLS + 2 * RADIUS; i += COLS) {
        int col = left + i;
        strip[threadIdx.y][i] = row < height && col >= 0 && col < width ? in[row * width + col] : 0.0f;
    }
    __syncthreads();

    int col = blockIdx.x * COLS + threadIdx.x;
    if (row >= height || col >= width)
        return;
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k <= 2 * RADIUS; k++)
        sum += taps[k] * strip[threadIdx.y][threadIdx.x + k];
    out[row * width + col] = sum;
}

extern "C" __global__ void convolve_columns(const float *in, float *out, int width, int height)
{
    __shared__ float strip[ROWS + 2 * RADIUS][COLS];

    int col = blockIdx.x * COLS + threadIdx.x;
    int top = (int)blockIdx.y * ROWS - RADIUS;
    for (int i = threadIdx.y; i < ROWS + 2 * RADIUS; i += ROWS) {
        int row = top + i;
        strip[i][threadIdx.x] = col < width && row >= 0 && row < height ? in[row * width + col] : 0.0f;
    }
    __syncthreads();

    int row = blockIdx.y * ROWS + threadIdx.y;
    if (row >= height || col >= width)
        return;
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k <= 2 * RADIUS; k++)
        sum += taps[k] * strip[threadIdx.y + k][threadIdx.x];
    out[row * width + col] = sum;
}
