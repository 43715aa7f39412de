// The layers of MobileNet (Howard et al., 2017). A depth-wise separable block: a 3 x 3 filter on every channel by itself,
// then a 1 x 1 convolution that mixes the channels; both end with a clipped rectification. Then, for a whole inference,
// the first convolution, the mean of each map, the fully connected layer and softmax.
extern "C" __global__ void mobilenet_depthwise(const float *input, const float *filters, const float *bias, float *output,
                                               int channels, int side, int stride)
{
    const int out_side = (side - 1) / stride + 1;
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    const int channel = blockIdx.z % channels;
    if (x >= out_side || y >= out_side)
        return;
    const float *plane = input + blockIdx.z * side * side;
    const float *filter = filters + channel * 9;
    float sum = bias[channel];
#pragma unroll
    for (int i = 0; i < 3; i++)
#pragma unroll
        for (int j = 0; j < 3; j++) {
            const int row = y * stride + i - 1, column = x * stride + j - 1;
            if (row >= 0 && row < side && column >= 0 && column < side)
                sum = fmaf(plane[row * side + column], filter[i * 3 + j], sum);
        }
    output[(blockIdx.z * out_side + y) * out_side + x] = fminf(fmaxf(sum, 0.0f), 6.0f);
}

// A thread computes one pixel of one filter; a block of 256 pixels stages the weights of its filter.
extern "C" __global__ void mobilenet_pointwise(const float *input, const float *weights, const float *bias, float *output,
                                               int channels, int filters, int pixels)
{
    extern __shared__ float staged[];
    const int filter = blockIdx.y, image = blockIdx.z;
    for (int c = threadIdx.x; c < channels; c += blockDim.x)
        staged[c] = weights[filter * channels + c];
    __syncthreads();
    const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    if (pixel >= pixels)
        return;
    float sum = bias[filter];
    for (int c = 0; c < channels; c++)
        sum = fmaf(input[(image * channels + c) * pixels + pixel], staged[c], sum);
    output[(image * filters + filter) * pixels + pixel] = fminf(fmaxf(sum, 0.0f), 6.0f);
}

// The first layer: a full 3 x 3 convolution with zeros around the input.
extern "C" __global__ void mobilenet_convolve(const float *input, const float *filters, const float *bias, float *output,
                                              int channels, int maps, int side, int stride)
{
    const int out_side = (side - 1) / stride + 1;
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    const int map = blockIdx.z % maps, image = blockIdx.z / maps;
    if (x >= out_side || y >= out_side)
        return;
    float sum = bias[map];
    for (int c = 0; c < channels; c++) {
        const float *plane = input + (image * channels + c) * side * side;
        const float *filter = filters + (map * channels + c) * 9;
#pragma unroll
        for (int i = 0; i < 3; i++)
#pragma unroll
            for (int j = 0; j < 3; j++) {
                const int row = y * stride + i - 1, column = x * stride + j - 1;
                if (row >= 0 && row < side && column >= 0 && column < side)
                    sum = fmaf(plane[row * side + column], filter[i * 3 + j], sum);
            }
    }
    output[(blockIdx.z * out_side + y) * out_side + x] = fminf(fmaxf(sum, 0.0f), 6.0f);
}

// Mean of all pixels of a map: a warp per map; blockDim is (32, maps of a block).
extern "C" __global__ void mobilenet_average(const float *input, float *output, int maps, int pixels)
{
    const int map = blockIdx.x * blockDim.y + threadIdx.y;
    if (map >= maps)
        return;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < pixels; i += 32)
        sum += input[map * pixels + i];
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    if (threadIdx.x == 0)
        output[map] = sum / float(pixels);
}

// A fully connected layer with a warp per neuron; blockDim is (32, neurons of a block).
extern "C" __global__ void mobilenet_connect(const float *input, const float *weights, const float *bias, float *output,
                                      int inputs, int neurons)
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
        output[image * neurons + neuron] = sum + bias[neuron];
}

// Softmax of the scores of an image: a warp per image.
extern "C" __global__ void mobilenet_softmax(const float *scores, float *probabilities, int classes)
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
