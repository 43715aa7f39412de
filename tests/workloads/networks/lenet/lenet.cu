// Inference of LeNet-5's layers (LeCun et al., 1998) on a batch of images of 28 x 28: a convolution kernel that stages
// the image and its filter in shared memory, a block per output map; max pooling; and fully connected layers
// with a warp per neuron. One image per index z of the grid.

// Block: the output map's pixels in two dimensions. Filters are k x k, no padding.
extern "C" __global__ void lenet_convolve(const float *input, const float *filters, const float *bias, float *output,
                                          int channels, int side, int k)
{
    extern __shared__ float staged[];
    const int map = blockIdx.x, image = blockIdx.z, maps = gridDim.x;
    const int out_side = side - k + 1;
    const int threads = blockDim.x * blockDim.y, thread = threadIdx.y * blockDim.x + threadIdx.x;
    float *filter = staged + side * side;
    float sum = bias[map];
    for (int c = 0; c < channels; c++) {
        __syncthreads();
        const float *from = input + (image * channels + c) * side * side;
        for (int i = thread; i < side * side; i += threads)
            staged[i] = from[i];
        for (int i = thread; i < k * k; i += threads)
            filter[i] = filters[(map * channels + c) * k * k + i];
        __syncthreads();
        for (int i = 0; i < k; i++)
            for (int j = 0; j < k; j++)
                sum = fmaf(staged[(threadIdx.y + i) * side + threadIdx.x + j], filter[i * k + j], sum);
    }
    output[((image * maps + map) * out_side + threadIdx.y) * out_side + threadIdx.x] = sum;
}

// Largest of 2 x 2 pixels.
extern "C" __global__ void lenet_pool(const float *input, float *output, int side)
{
    const int half = side / 2;
    const int map = blockIdx.z * gridDim.x + blockIdx.x;
    const float *from = input + (map * side + 2 * threadIdx.y) * side + 2 * threadIdx.x;
    output[(map * half + threadIdx.y) * half + threadIdx.x] = fmaxf(fmaxf(from[0], from[1]), fmaxf(from[side], from[side + 1]));
}

// A warp per neuron; blockDim is (32, neurons of a block).
extern "C" __global__ void lenet_connect(const float *input, const float *weights, const float *bias, float *output,
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
    if (threadIdx.x == 0) {
        sum += bias[neuron];
        output[image * neurons + neuron] = rectify ? fmaxf(sum, 0.0f) : sum;
    }
}
