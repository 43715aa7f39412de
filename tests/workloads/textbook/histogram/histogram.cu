// Histogram of n bytes: each block counts into shared memory with atomics, four bytes per load, then
// merges its 256 bins into the global ones. The last n % 4 bytes are read one at a time.
#define BINS 256

extern "C" __global__ void histogram(const unsigned char *data, unsigned *bins, int n)
{
    __shared__ unsigned local_bins[BINS];

    for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x)
        local_bins[bin] = 0;
    __syncthreads();

    const unsigned *words = (const unsigned *)data;
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = thread; i < n / 4; i += gridDim.x * blockDim.x) {
        unsigned word = words[i];
        atomicAdd(&local_bins[word & 0xff], 1u);
        atomicAdd(&local_bins[(word >> 8) & 0xff], 1u);
        atomicAdd(&local_bins[(word >> 16) & 0xff], 1u);
        atomicAdd(&local_bins[word >> 24], 1u);
    }
    if (thread < n % 4)
        atomicAdd(&local_bins[data[n - 1 - thread]], 1u);
    __syncthreads();

    for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x) {
        unsigned count = local_bins[bin];
        if (count != 0)
            atomicAdd(&bins[bin], count);
    }
}
