// Sum of n floats: a grid-stride pass per thread, a tree in shared memory down to one warp, and a
// shuffle tree inside that warp. The host launches it twice: over the data, then over the partial sums.
// blockDim.x must be a power of two and at least 64.
extern "C" __global__ void reduce_sum(const float *in, float *out, int n)
{
    extern __shared__ float partial[];
    unsigned tid = threadIdx.x;

    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + tid; i < n; i += gridDim.x * blockDim.x)
        sum += in[i];
    partial[tid] = sum;
    __syncthreads();

    for (unsigned width = blockDim.x / 2; width >= 32; width >>= 1) {
        if (tid < width)
            partial[tid] += partial[tid + width];
        __syncthreads();
    }

    if (tid < 32) {
        float lane_sum = partial[tid];
        for (int offset = 16; offset > 0; offset >>= 1)
            lane_sum += __shfl_down_sync(0xffffffffu, lane_sum, offset);
        if (tid == 0)
            out[blockIdx.x] = lane_sum;
    }
}
