// The layers of SqueezeNet (Iandola et al., 2016). A fire module: a point-wise convolution squeezes the channels, then a
// point-wise and a 3 x 3 convolution expand them side by side. A thread computes one pixel of four filters, so that a
// loaded pixel serves four sums. Then, for a whole inference, the first convolution, max pooling, the mean of each map
// and softmax.
constexpr int FILTERS = 4;

// Grid: pixels, groups of four filters, images. `total` is the number of channels of the output, `first` the first of these.
extern "C" __global__ void squeeze_1x1(const float *input, const float *weights, const float *bias, float *output,
                                       int channels, int total, int first, int pixels)
{
    const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    const int filter = blockIdx.y * FILTERS, image = blockIdx.z;
    if (pixel >= pixels)
        return;
    float sums[FILTERS];
#pragma unroll
    for (int f = 0; f < FILTERS; f++)
        sums[f] = bias[filter + f];
    for (int c = 0; c < channels; c++) {
        const float value = input[(image * channels + c) * pixels + pixel];
#pragma unroll
        for (int f = 0; f < FILTERS; f++)
            sums[f] = fmaf(value, weights[(filter + f) * channels + c], sums[f]);
    }
#pragma unroll
    for (int f = 0; f < FILTERS; f++)
        output[(image * total + first + filter + f) * pixels + pixel] = fmaxf(sums[f], 0.0f);
}

extern "C" __global__ void expand_3x3(const float *input, const float *weights, const float *bias, float *output,
                                      int channels, int total, int first, int side)
{
    const int pixels = side * side;
    const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    const int filter = blockIdx.y * FILTERS, image = blockIdx.z;
    if (pixel >= pixels)
        return;
    const int x = pixel % side, y = pixel / side;
    float sums[FILTERS];
#pragma unroll
    for (int f = 0; f < FILTERS; f++)
        sums[f] = bias[filter + f];
    for (int c = 0; c < channels; c++) {
        const float *plane = input + (image * channels + c) * pixels;
#pragma unroll
        for (int i = 0; i < 3; i++)
#pragma unroll
            for (int j = 0; j < 3; j++) {
                const int row = y + i - 1, column = x + j - 1;
                if (row >= 0 && row < side && column >= 0 && column < side) {
                    const float value = plane[row * side + column];
#pragma unroll
                    for (int f = 0; f < FILTERS; f++)
                        sums[f] = fmaf(value, weights[((filter + f) * channels + c) * 9 + 3 * i + j], sums[f]);
                }
            }
    }
#pragma unroll
    for (int f = 0; f < FILTERS; f++)
        output[(image * total + first + filter + f) * pixels + pixel] = fmaxf(sums[f], 0.0f);
}

// The first layer: 7 x 7, stride 2, three channels. A block stages the weights of its four filters, tap by tap.
extern "C" __global__ void squeezenet_convolve(const float *input, const float *weights, const float *bias, float *output,
                                               int side, int out_side)
{
    constexpr int K = 7, STRIDE = 2, CHANNELS = 3, TAPS = CHANNELS * K * K;
    __shared__ float staged[TAPS * FILTERS];
    const int pixels = out_side * out_side;
    const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    const int filter = blockIdx.y * FILTERS, image = blockIdx.z, filters = gridDim.y * FILTERS;
    for (int i = threadIdx.x; i < TAPS * FILTERS; i += blockDim.x)
        staged[i] = weights[(filter + i % FILTERS) * TAPS + i / FILTERS];
    __syncthreads();
    if (pixel >= pixels)
        return;
    const int x = pixel % out_side * STRIDE, y = pixel / out_side * STRIDE;
    float sums[FILTERS];
#pragma unroll
    for (int f = 0; f < FILTERS; f++)
        sums[f] = bias[filter + f];
    for (int c = 0; c < CHANNELS; c++)
        for (int i = 0; i < K; i++) {
            const float *row = input + ((image * CHANNELS + c) * side + y + i) * side + x;
#pragma unroll
            for (int j = 0; j < K; j++) {
                const float value = row[j];
#pragma unroll
                for (int f = 0; f < FILTERS; f++)
                    sums[f] = fmaf(value, staged[((c * K + i) * K + j) * FILTERS + f], sums[f]);
            }
        }
#pragma unroll
    for (int f = 0; f < FILTERS; f++)
        output[(image * filters + filter + f) * pixels + pixel] = fmaxf(sums[f], 0.0f);
}

// Largest of 3 x 3 pixels, every second one. A thread per pixel of a map; the grid's y are the maps of all images.
extern "C" __global__ void squeezenet_pool(const float *input, float *output, int side, int out_side)
{
    const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    if (pixel >= out_side * out_side)
        return;
    const int x = pixel % out_side, y = pixel / out_side;
    const float *corner = input + (blockIdx.y * side + 2 * y) * side + 2 * x;
    float most = 0.0f;
#pragma unroll
    for (int i = 0; i < 3; i++)
#pragma unroll
        for (int j = 0; j < 3; j++)
            most = fmaxf(most, corner[i * side + j]);
    output[blockIdx.y * out_side * out_side + pixel] = most;
}

// Mean of all pixels of a map: a warp per map; blockDim is (32, maps of a block).
extern "C" __global__ void squeezenet_average(const float *input, float *output, int maps, int pixels)
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

// Softmax of the scores of an image: a warp per image.
extern "C" __global__ void squeezenet_softmax(const float *scores, float *probabilities, int classes)
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
