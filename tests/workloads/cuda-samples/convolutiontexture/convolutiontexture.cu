// Separable filter of 17 taps through a texture that clamps coordinates, rows and then columns; the taps are in
// constant memory. A thread per pixel, no shared memory: neighbours are served by the texture cache.
constexpr int RADIUS = 8;

__constant__ float taps[2 * RADIUS + 1] = {0.01f, 0.02f, 0.03f, 0.05f, 0.06f, 0.08f, 0.09f, 0.1f, 0.12f,
                                           0.1f,  0.09f, 0.08f, 0.06f, 0.05f, 0.03f, 0.02f, 0.01f};

extern "C" __global__ void convtex_rows(cudaTextureObject_t image, float *result, int width, int height)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= width || row >= height)
        return;
    const float x = float(column) + 0.5f, y = float(row) + 0.5f;
    float sum = 0.0f;
#pragma unroll
    for (int k = -RADIUS; k <= RADIUS; k++)
        sum = fmaf(tex2D<float>(image, x + float(k), y), taps[RADIUS - k], sum);
    result[row * width + column] = sum;
}

extern "C" __global__ void convtex_columns(cudaTextureObject_t image, float *result, int width, int height)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= width || row >= height)
        return;
    const float x = float(column) + 0.5f, y = float(row) + 0.5f;
    float sum = 0.0f;
#pragma unroll
    for (int k = -RADIUS; k <= RADIUS; k++)
        sum = fmaf(tex2D<float>(image, x, y + float(k)), taps[RADIUS - k], sum);
    result[row * width + column] = sum;
}
