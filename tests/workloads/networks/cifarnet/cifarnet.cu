// The first layers of CifarNet (the quick network of Krizhevsky's cuda-convnet): 5 x 5 convolution with padding, max
// pooling 3 x 3 with stride 2, rectification, the second convolution, and average pooling. A thread computes one
// pixel of one map, all loads from global memory; the grid's x and y cover a map, z the maps of all images.
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
