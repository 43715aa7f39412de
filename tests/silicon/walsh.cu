// Fast Walsh transform in natural (Hadamard) order, radix 4 (Cooley and Tukey's scheme with signs only): large strides in
// global memory, the last 2048 elements of each part in shared memory.

__device__ void butterfly(float &a, float &b, float &c, float &d)
{
    float sum = a + c, difference = a - c;
    float sum2 = b + d, difference2 = b - d;
    a = sum + sum2;
    b = sum - sum2;
    c = difference + difference2;
    d = difference - difference2;
}

// All stages of 2^log2n elements per block; blockDim.x is a quarter of them.
extern "C" __global__ void walsh_shared(float *to, const float *from, int log2n)
{
    extern __shared__ float data[];
    const int n = 1 << log2n;
    const int base = blockIdx.x << log2n;
    from += base;
    to += base;
    for (int at = threadIdx.x; at < n; at += blockDim.x)
        data[at] = from[at];
    const int at = threadIdx.x;
    for (int stride = n >> 2; stride > 0; stride >>= 2) {
        int low = at & (stride - 1);
        int i = ((at - low) << 2) + low;
        __syncthreads();
        float a = data[i], b = data[i + stride], c = data[i + 2 * stride], d = data[i + 3 * stride];
        butterfly(a, b, c, d);
        data[i] = a;
        data[i + stride] = b;
        data[i + 2 * stride] = c;
        data[i + 3 * stride] = d;
    }
    // One stage of radix 2 is left if log2n is odd.
    if (log2n & 1) {
        __syncthreads();
        for (int pair = threadIdx.x; pair < n / 2; pair += blockDim.x) {
            float a = data[2 * pair], b = data[2 * pair + 1];
            data[2 * pair] = a + b;
            data[2 * pair + 1] = a - b;
        }
    }
    __syncthreads();
    for (int at = threadIdx.x; at < n; at += blockDim.x)
        to[at] = data[at];
}

// One stage of radix 4 in global memory; blockIdx.y counts parts of four strides.
extern "C" __global__ void walsh_global(float *to, const float *from, int stride)
{
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    const int n = blockDim.x * gridDim.x * 4;
    from += blockIdx.y * n;
    to += blockIdx.y * n;
    int low = at & (stride - 1);
    int i = ((at - low) << 2) + low;
    float a = from[i], b = from[i + stride], c = from[i + 2 * stride], d = from[i + 3 * stride];
    butterfly(a, b, c, d);
    to[i] = a;
    to[i + stride] = b;
    to[i + 2 * stride] = c;
    to[i + 3 * stride] = d;
}
