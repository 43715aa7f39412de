// Fast Walsh-Hadamard transform: radix-4 steps in global memory while a transform is larger than shared memory, then
// radix-4 steps within shared memory, with a radix-2 step if the number of steps is odd.
constexpr int LOG_SHARED = 11;

// One radix-4 step: a thread combines four values that are `stride` apart.
extern "C" __global__ void __launch_bounds__(256) walsh_radix4(float *data, int n, int stride)
{
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    const int low = at & (stride - 1);
    const int i = ((at - low) << 2) + low;
    if (i >= n)
        return;
    const float a = data[i], b = data[i + stride], c = data[i + 2 * stride], d = data[i + 3 * stride];
    const float ac = a + c, a_c = a - c, bd = b + d, b_d = b - d;
    data[i] = ac + bd;
    data[i + stride] = ac - bd;
    data[i + 2 * stride] = a_c + b_d;
    data[i + 3 * stride] = a_c - b_d;
}

// A block of n / 4 threads transforms n = 2^log_n values.
extern "C" __global__ void __launch_bounds__(512) walsh_block(const float *from, float *to, int log_n)
{
    __shared__ float s[1 << LOG_SHARED];
    const int n = 1 << log_n, base = blockIdx.x << log_n;
    for (int at = threadIdx.x; at < n; at += blockDim.x)
        s[at] = from[base + at];
    int stride = n >> 2;
    for (; stride > 0; stride >>= 2) {
        const int low = threadIdx.x & (stride - 1);
        const int i = ((threadIdx.x - low) << 2) + low;
        __syncthreads();
        const float a = s[i], b = s[i + stride], c = s[i + 2 * stride], d = s[i + 3 * stride];
        const float ac = a + c, a_c = a - c, bd = b + d, b_d = b - d;
        s[i] = ac + bd;
        s[i + stride] = ac - bd;
        s[i + 2 * stride] = a_c + b_d;
        s[i + 3 * stride] = a_c - b_d;
    }
    if (log_n & 1) {
        __syncthreads();
        for (int pair = threadIdx.x; pair < n / 2; pair += blockDim.x) {
            const float a = s[2 * pair], b = s[2 * pair + 1];
            s[2 * pair] = a + b;
            s[2 * pair + 1] = a - b;
        }
    }
    __syncthreads();
    for (int at = threadIdx.x; at < n; at += blockDim.x)
        to[base + at] = s[at];
}
