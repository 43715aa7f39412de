// A depth-wise separable block of MobileNet (Howard et al., 2017): a 3 x 3 filter on every channel by itself, then a
// 1 x 1 convolution that mixes the channels; both end with a clipped rectification.
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
