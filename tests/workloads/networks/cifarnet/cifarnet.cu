// The layers of CifarNet (the quick network of Krizhevsky's cuda-convnet): 5 x 5 convolution with padding, max
// pooling 3 x 3 with stride 2, rectification, average pooling, and for a whole inference fully connected layers and
// softmax. A thread computes one pixel of one map, all loads from global memory; the grid's x and y cover a map, z the
// maps of all images.
extern "C" __global__ void cifar_convolve(const float *input, const float *filters, const float *bias, float *output,
                                          int channels, int maps, int side)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    const int map = blockIdx.z % maps, image = blockIdx.z / maps;
    if (x >= side || y >= side)
        return;
    float sum = bias[map];
    for (int c = 0; c < channels; c++)
        for (int i = 0; i < 5; i++)
            for (int j = 0; j < 5; j++) {
                const int row = y + i - 2, column = x + j - 2;
                if (row >= 0 && row < side && column >= 0 && column < side)
                    sum = fmaf(input[((image * channels + c) * side + row) * side + column],
                               filters[((map * channels + c) * 5 + i) * 5 + j], sum);
            }
    output[(blockIdx.z * side + y) * side + x] = sum;
}

// Largest of 3 x 3 pixels, every second one; the last window is cut off at the border. Negative ones become zero.
extern "C" __global__ void cifar_pool_max(const float *input, float *output, int side)
{
    const int half = side / 2;
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= half || y >= half)
        return;
    float most = 0.0f;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const int row = 2 * y + i, column = 2 * x + j;
            if (row < side && column < side)
                most = fmaxf(most, input[(blockIdx.z * side + row) * side + column]);
        }
    output[(blockIdx.z * half + y) * half + x] = most;
}

extern "C" __global__ void cifar_pool_average(const float *input, float *output, int side)
{
    const int half = side / 2;
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= half || y >= half)
        return;
    float sum = 0.0f;
    int count = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const int row = 2 * y + i, column = 2 * x + j;
            if (row < side && column < side) {
                sum += fmaxf(input[(blockIdx.z * side + row) * side + column], 0.0f);
                count++;
            }
        }
    output[(blockIdx.z * half + y) * half + x] = sum / float(count);
}

// A fully connected layer with a thread per neuron; the images are the grid's y. Neighbouring threads read rows of the
// weights, far apart from each other.
extern "C" __global__ void cifar_connect(const float *input, const float *weights, const float *bias, float *output,
                                         int inputs, int neurons)
{
    const int neuron = blockIdx.x * blockDim.x + threadIdx.x, image = blockIdx.y;
    if (neuron >= neurons)
        return;
    float sum = bias[neuron];
    for (int i = 0; i < inputs; i++)
        sum = fmaf(input[image * inputs + i], weights[neuron * inputs + i], sum);
    output[image * neurons + neuron] = sum;
}

// Softmax of the scores of an image: a warp per image.
extern "C" __global__ void cifar_softmax(const float *scores, float *probabilities, int classes)
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
