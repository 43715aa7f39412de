// The layers of AlexNet (Krizhevsky, Sutskever and Hinton, 2012). The first ones: an 11 x 11 convolution with stride 4,
// local response normalisation across channels, and max pooling 3 x 3 with stride 2. A block of the convolution computes
// a tile of 16 x 16 pixels of one map with the filter of each channel in shared memory. Then, for a whole inference, the
// deeper convolutions, fully connected layers and softmax.
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

// The deeper convolutions: K x K, stride 1, zeros around the input, as many pixels as before. The maps are in groups that
// see only their own share of the channels (the original's halves ran on two GPUs). A block of 16 x 16 threads stages,
// channel after channel, the filter and the tile of the input with its border.
template <int K>
__device__ void convolve_padded(const float *input, const float *filters, const float *bias, float *output, int channels,
                                int maps, int groups, int side)
{
    constexpr int TILE = 16, WIDTH = TILE + K - 1, THREADS = TILE * TILE;
    __shared__ float tile[WIDTH * WIDTH];
    __shared__ float filter[K * K];
    const int left = blockIdx.x * TILE, top = blockIdx.y * TILE;
    const int x = left + threadIdx.x, y = top + threadIdx.y;
    const int map = blockIdx.z % maps, image = blockIdx.z / maps;
    const int thread = threadIdx.y * TILE + threadIdx.x;
    const int own = channels / groups, first = map / (maps / groups) * own;
    float sum = bias[map];
    for (int c = 0; c < own; c++) {
        const float *plane = input + (image * channels + first + c) * side * side;
        __syncthreads();
#pragma unroll
        for (int i = thread; i < WIDTH * WIDTH; i += THREADS) {
            const int row = top + i / WIDTH - K / 2, column = left + i % WIDTH - K / 2;
            const bool inside = row >= 0 && row < side && column >= 0 && column < side;
            tile[i] = inside ? plane[row * side + column] : 0.0f;
        }
        if (thread < K * K)
            filter[thread] = filters[(map * own + c) * K * K + thread];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < K; i++)
#pragma unroll
            for (int j = 0; j < K; j++)
                sum = fmaf(tile[(threadIdx.y + i) * WIDTH + threadIdx.x + j], filter[i * K + j], sum);
    }
    if (x < side && y < side)
        output[(blockIdx.z * side + y) * side + x] = fmaxf(sum, 0.0f);
}

extern "C" __global__ void alexnet_convolve_5x5(const float *input, const float *filters, const float *bias, float *output,
                                                int channels, int maps, int groups, int side)
{
    convolve_padded<5>(input, filters, bias, output, channels, maps, groups, side);
}

extern "C" __global__ void alexnet_convolve_3x3(const float *input, const float *filters, const float *bias, float *output,
                                                int channels, int maps, int groups, int side)
{
    convolve_padded<3>(input, filters, bias, output, channels, maps, groups, side);
}

// A fully connected layer with a warp per neuron; blockDim is (32, neurons of a block).
extern "C" __global__ void alexnet_connect(const float *input, const float *weights, const float *bias, float *output,
                                      int inputs, int neurons, int rectify)
{
    const int neuron = blockIdx.x * blockDim.y + threadIdx.y, image = blockIdx.z;
    if (neuron >= neurons)
        return;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < inputs; i += 32)
        sum = fmaf(input[image * inputs + i], weights[neuron * inputs + i], sum);
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    if (threadIdx.x == 0)
        {
        sum += bias[neuron];
        output[image * neurons + neuron] = rectify ? fmaxf(sum, 0.0f) : sum;
    }
}

// Softmax of the scores of an image: a warp per image.
extern "C" __global__ void alexnet_softmax(const float *scores, float *probabilities, int classes)
{
    const float *own = scores + blockIdx.x * classes;
    float most = own[0];
    for (int i = threadIdx.x; i < classes; i += 32)
        most = fmaxf(most, own[i]);
    for (int distance = 16; distance > 0; distance /= 2)
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, distance));
    float sum = 0.0f;
    for (int i = threadIdx.x; i < classes; i += 32)
        sum += expf(own[i] - most);
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    for (int i = threadIdx.x; i < classes; i += 32)
        probabilities[blockIdx.x * classes + i] = expf(own[i] - most) / sum;
}
