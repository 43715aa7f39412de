// Sobol's sequence by Gray codes (Antonov and Saleev, 1979; Bromley's parallel form, as in the CUDA samples' sobolQRNG): a row
// of blocks per dimension; a thread computes its first vector directly and steps on by the grid's width, a power of two.

extern "C" __global__ void sobol(unsigned int vectors, const unsigned int *directions, float *to)
{
    __shared__ unsigned int v[32];
    directions += 32 * blockIdx.y;
    to += vectors * blockIdx.y;
    if (threadIdx.x < 32)
        v[threadIdx.x] = directions[threadIdx.x];
    __syncthreads();
    unsigned int first = threadIdx.x + blockIdx.x * blockDim.x;
    unsigned int stride = gridDim.x * blockDim.x;
    unsigned int gray = first ^ (first >> 1);
    unsigned int x = 0;
    for (unsigned int bit = 0; bit < __ffs(stride) - 1; bit++) {
        unsigned int mask = -(gray & 1);
        x ^= mask & v[bit];
        gray >>= 1;
    }
    const float scale = 2.3283064e-10f;
    if (first < vectors)
        to[first] = (float)x * scale;
    unsigned int step = v[__ffs(stride) - 2];
    unsigned int low = stride - 1;
    for (unsigned int at = first + stride; at < vectors; at += stride) {
        x ^= step ^ v[__ffs(~((at - stride) | low)) - 1];
        to[at] = (float)x * scale;
    }
}
