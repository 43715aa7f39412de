// Image denoising by non-local means (Buades, Coll and Morel, 2005), in the fast variant that weighs 8 x 8 blocks of
// pixels by one comparison per lane of the block: `nlm_blocks`; and the plain one, which compares windows for
// every pixel pair: `nlm_plain`. Images are read through a texture that clamps coordinates.
constexpr int RADIUS = 3, WINDOW = (2 * RADIUS + 1) * (2 * RADIUS + 1);
constexpr int BLOCK_RADIUS = 2;

__device__ float fetch(cudaTextureObject_t image, float x, float y)
{
    return tex2D<float>(image, x, y);
}

extern "C" __global__ void nlm_plain(cudaTextureObject_t image, float *result, int width, int height, float noise, float blend)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= width || row >= height)
        return;
    const float x = float(column) + 0.5f, y = float(row) + 0.5f;
    float weights = 0.0f, sum = 0.0f;
    for (float i = -RADIUS; i <= RADIUS; i++)
        for (float j = -RADIUS; j <= RADIUS; j++) {
            // Distance of the windows around the two pixels.
            float distance = 0.0f;
            for (float n = -BLOCK_RADIUS; n <= BLOCK_RADIUS; n++)
                for (float m = -BLOCK_RADIUS; m <= BLOCK_RADIUS; m++) {
                    const float d = fetch(image, x + j + m, y + i + n) - fetch(image, x + m, y + n);
                    distance += d * d;
                }
            const float weight = __expf(-(distance * noise + (i * i + j * j) * (1.0f / WINDOW)));
            sum += weight * fetch(image, x + j, y + i);
            weights += weight;
        }
    sum /= weights;
    const float own = fetch(image, x, y);
    result[row * width + column] = own + blend * (sum - own);
}

// A block of 8 x 8 threads: each first finds the weight of one shift of the whole block, then all apply them.
extern "C" __global__ void __launch_bounds__(64)
    nlm_blocks(cudaTextureObject_t image, float *result, int width, int height, float noise, float blend)
{
    __shared__ float weights[(2 * RADIUS + 1) * (2 * RADIUS + 1)];
    const int column = blockIdx.x * 8 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    const float x = float(column) + 0.5f, y = float(row) + 0.5f;
    const float centre_x = float(blockIdx.x * 8) + 4.5f, centre_y = float(blockIdx.y * 8) + 4.5f;
    if (threadIdx.x < 2 * RADIUS + 1 && threadIdx.y < 2 * RADIUS + 1) {
        const float j = float(int(threadIdx.x) - RADIUS), i = float(int(threadIdx.y) - RADIUS);
        float distance = 0.0f;
        for (float n = -BLOCK_RADIUS; n <= BLOCK_RADIUS; n++)
            for (float m = -BLOCK_RADIUS; m <= BLOCK_RADIUS; m++) {
                const float d = fetch(image, centre_x + j + m, centre_y + i + n) - fetch(image, centre_x + m, centre_y + n);
                distance += d * d;
            }
        weights[threadIdx.y * (2 * RADIUS + 1) + threadIdx.x] =
            __expf(-(distance * noise + (i * i + j * j) * (1.0f / WINDOW)));
    }
    __syncthreads();
    if (column >= width || row >= height)
        return;
    float total = 0.0f, sum = 0.0f;
    int at = 0;
    for (float i = -RADIUS; i <= RADIUS; i++)
        for (float j = -RADIUS; j <= RADIUS; j++) {
            const float weight = weights[at++];
            sum += weight * fetch(image, x + j, y + i);
            total += weight;
        }
    sum /= total;
    const float own = fetch(image, x, y);
    result[row * width + column] = own + blend * (sum - own);
}
