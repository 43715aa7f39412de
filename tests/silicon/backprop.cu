// The weight update of a fully connected layer by gradient descent with momentum, in the form of Rodinia's backprop (Che
// et al., IISWC 2009): 16 hidden units, 16 inputs per block, rates in double precision, both sums computed anew.
#define HEIGHT 16
#define RATE 0.3
#define MOMENTUM 0.3

extern "C" __global__ void adjust_weights(const float *delta, int hidden, const float *units, float *weights,
                                          float *change)
{
    int by = blockIdx.y;
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int index = (hidden + 1) * HEIGHT * by + (hidden + 1) * ty + tx + 1 + (hidden + 1);
    int unit = HEIGHT * by + ty + 1;
    int output = tx + 1;

    weights[index] += RATE * delta[output] * units[unit] + MOMENTUM * change[index];
    change[index] = RATE * delta[output] * units[unit] + MOMENTUM * change[index];
    __syncthreads();
    if (ty == 0 && by == 0) {
        weights[output] += RATE * delta[output] + MOMENTUM * change[output];
        change[output] = RATE * delta[output] + MOMENTUM * change[output];
    }
}
