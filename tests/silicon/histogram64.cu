// Histogram of the upper six bits of bytes with a byte counter per thread and bin in shared memory (the scheme of the
// CUDA samples' histogram64, described in their white paper "Histogram calculation in CUDA"): 64 threads count at most 255
// bytes each, their counters lie so that the threads of a half-warp meet different banks.
#define BINS 64
#define THREADS 64

__device__ void count(unsigned char *mine, unsigned int bin)
{
    mine[bin * THREADS]++;
}

__device__ void count_word(unsigned char *mine, unsigned int word)
{
    count(mine, (word >> 2) & 0x3F);
    count(mine, (word >> 10) & 0x3F);
    count(mine, (word >> 18) & 0x3F);
    count(mine, (word >> 26) & 0x3F);
}

extern "C" __global__ void histogram64(unsigned int *partial, const uint4 *data, unsigned int quads)
{
    __shared__ unsigned char counters[BINS * THREADS];
    const unsigned int place = (threadIdx.x & ~63u) | ((threadIdx.x & 15) << 2) | ((threadIdx.x & 48) >> 4);
    unsigned char *mine = counters + place;
#pragma unroll
    for (int i = 0; i < BINS / 4; i++)
        ((unsigned int *)counters)[threadIdx.x + i * THREADS] = 0;
    __syncthreads();
    for (unsigned int at = blockIdx.x * blockDim.x + threadIdx.x; at < quads; at += blockDim.x * gridDim.x) {
        uint4 quad = data[at];
        count_word(mine, quad.x);
        count_word(mine, quad.y);
        count_word(mine, quad.z);
        count_word(mine, quad.w);
    }
    __syncthreads();
    // Each thread sums a bin, four counters at a time, from a word of its own.
    if (threadIdx.x < BINS) {
        const unsigned char *bin = counters + threadIdx.x * THREADS;
        unsigned int sum = 0;
        unsigned int at = 4 * (threadIdx.x & 15);
#pragma unroll
        for (int i = 0; i < THREADS / 4; i++) {
            sum += bin[at] + bin[at + 1] + bin[at + 2] + bin[at + 3];
            at = (at + 4) & (THREADS - 1);
        }
        partial[blockIdx.x * BINS + threadIdx.x] = sum;
    }
}
