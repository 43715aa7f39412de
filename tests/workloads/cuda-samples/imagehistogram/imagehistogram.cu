// Histograms of bytes, after Podlozhnyuk's sample (Histogram calculation in CUDA, 2007): with 64 bins each thread counts
// in bytes of its own in shared memory, at permuted places so that lanes use different banks; with 256 bins each
// warp has counters of its own. Blocks leave partial histograms, which a second kernel adds up.
constexpr int THREADS64 = 64, BINS64 = 64;
constexpr int WARPS = 6, THREADS256 = WARPS * 32, BINS256 = 256;

extern "C" __global__ void __launch_bounds__(THREADS64)
    histogram64(const uint4 *data, unsigned *partial, int quads)
{
    __shared__ unsigned char counters[BINS64 * THREADS64];
    // Bits of the thread's number are exchanged, so that the four bytes of a word belong to threads of two half warps.
    const int place = (threadIdx.x & ~63) | (threadIdx.x & 15) << 2 | (threadIdx.x & 48) >> 4;
    for (int i = threadIdx.x; i < BINS64 * THREADS64 / 4; i += THREADS64)
        reinterpret_cast<unsigned *>(counters)[i] = 0;
    __syncthreads();
    // A byte counts to 255: a thread takes at most 15 quads of 16 pixels.
    int taken = 0;
    for (int at = blockIdx.x * THREADS64 + threadIdx.x; at < quads && taken < 15; at += gridDim.x * THREADS64, taken++) {
        const uint4 quad = data[at];
        const unsigned words[4] = {quad.x, quad.y, quad.z, quad.w};
#pragma unroll
        for (int w = 0; w < 4; w++)
#pragma unroll
            for (int b = 0; b < 4; b++)
                counters[(words[w] >> (8 * b + 2) & 63u) * THREADS64 + place]++;
    }
    __syncthreads();
    // A thread per bin; each begins at another counter.
    unsigned sum = 0;
    int position = (threadIdx.x & 15) * 4;
    for (int i = 0; i < THREADS64 / 4; i++) {
        const unsigned char *four = counters + threadIdx.x * THREADS64 + position;
        sum += four[0] + four[1] + four[2] + four[3];
        position = (position + 4) & (THREADS64 - 1);
    }
    partial[blockIdx.x * BINS64 + threadIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(THREADS256)
    histogram256(const unsigned *data, unsigned *partial, int words)
{
    __shared__ unsigned counters[WARPS * BINS256];
    for (int i = threadIdx.x; i < WARPS * BINS256; i += THREADS256)
        counters[i] = 0;
    __syncthreads();
    unsigned *own = counters + threadIdx.x / 32 * BINS256;
    for (int at = blockIdx.x * THREADS256 + threadIdx.x; at < words; at += gridDim.x * THREADS256) {
        const unsigned word = data[at];
        atomicAdd(&own[word & 255u], 1);
        atomicAdd(&own[word >> 8 & 255u], 1);
        atomicAdd(&own[word >> 16 & 255u], 1);
        atomicAdd(&own[word >> 24], 1);
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < BINS256; bin += THREADS256) {
        unsigned sum = 0;
        for (int w = 0; w < WARPS; w++)
            sum += counters[w * BINS256 + bin];
        partial[blockIdx.x * BINS256 + bin] = sum;
    }
}

// A block per bin adds up the partial histograms.
extern "C" __global__ void __launch_bounds__(256)
    histogram_merge(const unsigned *partial, unsigned *histogram, int count, int bins)
{
    __shared__ unsigned sums[256];
    unsigned sum = 0;
    for (int i = threadIdx.x; i < count; i += 256)
        sum += partial[i * bins + blockIdx.x];
    sums[threadIdx.x] = sum;
    for (int width = 128; width > 0; width /= 2) {
        __syncthreads();
        if (threadIdx.x < width)
            sums[threadIdx.x] += sums[threadIdx.x + width];
    }
    if (threadIdx.x == 0)
        histogram[blockIdx.x] = sums[0];
}
