// A fire module of SqueezeNet (Iandola et al., 2016): a point-wise convolution squeezes the channels, then a point-wise
// and a 3 x 3 convolution expand them side by side. A thread computes one pixel of four filters, so that a loaded
// pixel serves four sums.
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
