// The first layers of AlexNet (Krizhevsky, Sutskever and Hinton, 2012): an 11 x 11 convolution with stride 4, local
// response normalisation across channels, and max pooling 3 x 3 with stride 2. A block of the convolution computes
// a tile of 16 x 16 pixels of one map with the filter of each channel in shared memory.
constexpr int K = 11, STRIDE = 4;

extern "C" __global__ void alexnet_convolve(const float *input, const float *filters, const float *bias, float *output,
                                            int channels, int maps, int side, int out_side)
{
    __shared__ float filter[K * K];
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    const int map = blockIdx.z % maps, image = blockIdx.z / maps;
    const int thread = threadIdx.y * blockDim.x + threadIdx.x;
    const bool active = x < out_side && y < out_side;
    float sum = bias[map];
    for (int c = 0; c < channels; c++) {
        __syncthreads();
        if (thread < K * K)
            filter[thread] = filters[(map * channels + c) * K * K + thread];
        __syncthreads();
        if (active) {
            const float *corner = input + ((image * channels + c) * side + y * STRIDE) * side + x * STRIDE;
            for (int i = 0; i < K; i++)
#pragma unroll
                for (int j = 0; j < K; j++)
                    sum = fmaf(corner[i * side + j], filter[i * K + j], sum);
        }
    }
    if (active)
        output[(blockIdx.z * out_side + y) * out_side + x] = fmaxf(sum, 0.0f);
}

// Divides by a power of the squares' sum over five neighbouring channels: (2 + 1e-4 * sum) to the power 3/4.
extern "C" __global__ void alexnet_normalise(const float *input, float *output, int maps, int pixels)
{
    const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    const int map = blockIdx.y, image = blockIdx.z;
    if (pixel >= pixels)
        return;
    float squares = 0.0f;
    for (int c = max(map - 2, 0); c <= min(map + 2, maps - 1); c++) {
        const float value = input[(image * maps + c) * pixels + pixel];
        squares = fmaf(value, value, squares);
    }
    const float base = fmaf(1.0e-4f, squares, 2.0f);
    const float root = sqrtf(base);
    output[(image * maps + map) * pixels + pixel] = input[(image * maps + map) * pixels + pixel] / (root * sqrtf(root));
}

extern "C" __global__ void alexnet_pool(const float *input, float *output, int side, int out_side)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= out_side || y >= out_side)
        return;
    float most = 0.0f;
#pragma unroll
    for (int i = 0; i < 3; i++)
#pragma unroll
        for (int j = 0; j < 3; j++)
            most = fmaxf(most, input[(blockIdx.z * side + 2 * y + i) * side + 2 * x + j]);
    output[(blockIdx.z * out_side + y) * out_side + x] = most;
}
