// One training step of a fully connected layer. Inputs are units 1..inputs (unit 0 is the bias, whose
// value the host sets), hidden units are 1..HIDDEN; weights[i * (HIDDEN + 1) + j] joins input i with
// hidden unit j. A 16 x 16 block works on 16 inputs (y) and all hidden units (x).
#define HIDDEN 16
#define ROWS 16

// partial[block * HIDDEN + j - 1] = sum over this block's inputs of input * weight, as a tree over y.
extern "C" __global__ void layer_forward(const float *input, const float *weights, float *partial, int inputs)
{
    __shared__ float unit[ROWS];
    __shared__ float product[ROWS][HIDDEN];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int i = blockIdx.x * ROWS + ty + 1;
    bool present = i <= inputs;

    if (tx == 0)
        unit[ty] = present ? input[i] : 0.0f;
    __syncthreads();

    product[ty][tx] = present ? unit[ty] * weights[i * (HIDDEN + 1) + tx + 1] : 0.0f;
    __syncthreads();

    for (int stride = 1; stride < ROWS; stride *= 2) {
        if (ty % (2 * stride) == 0)
            product[ty][tx] += product[ty + stride][tx];
        __syncthreads();
    }
    if (ty == 0)
        partial[blockIdx.x * HIDDEN + tx] = product[0][tx];
}

// Gradient descent with momentum; the first block also moves the weights of the bias.
extern "C" __global__ void adjust_weights(const float *input, const float *delta, float *weights,
                                          float *change, int inputs, float rate, float momentum)
{
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int i = blockIdx.x * ROWS + ty + 1;
    int j = tx + 1;

    if (i <= inputs) {
        int w = i * (HIDDEN + 1) + j;
        float step = fmaf(rate * delta[j], input[i], momentum * change[w]);
        weights[w] += step;
        change[w] = step;
    }
    if (blockIdx.x == 0 && ty == 0) {
        float step = fmaf(rate * delta[j], input[0], momentum * change[j]);
        weights[j] += step;
        change[j] = step;
    }
}
