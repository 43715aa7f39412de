// Stream compaction that keeps order: the elements above a threshold move to the front. Warps count with
// ballots; block totals are scanned by one warp with shuffles; then every kept element knows its place.
#define THREADS 256
#define WARPS (THREADS / 32)

extern "C" __global__ void compact_count(const int *in, unsigned *counts, int threshold, int n)
{
    __shared__ unsigned warp_counts[WARPS];
    int i = blockIdx.x * THREADS + threadIdx.x;
    bool keep = i < n && in[i] > threshold;
    unsigned kept = __ballot_sync(0xffffffffu, keep);
    if (threadIdx.x % 32 == 0)
        warp_counts[threadIdx.x / 32] = __popc(kept);
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned total = 0;
        for (int w = 0; w < WARPS; w++)
            total += warp_counts[w];
        counts[blockIdx.x] = total;
    }
}

// One warp: offsets[b] = counts[0] + ... + counts[b - 1], and offsets[blocks] the total.
extern "C" __global__ void compact_offsets(const unsigned *counts, unsigned *offsets, int blocks)
{
    unsigned lane = threadIdx.x;
    unsigned carried = 0;
    for (int base = 0; base < blocks; base += 32) {
        int b = base + (int)lane;
        unsigned count = b < blocks ? counts[b] : 0;
        unsigned sum = count;
        for (unsigned distance = 1; distance < 32; distance *= 2) {
            unsigned below = __shfl_up_sync(0xffffffffu, sum, distance);
            if (lane >= distance)
                sum += below;
        }
        if (b < blocks)
            offsets[b] = carried + sum - count;
        carried += __shfl_sync(0xffffffffu, sum, 31);
    }
    if (lane == 0)
        offsets[blocks] = carried;
}

extern "C" __global__ void compact_scatter(const int *in, const unsigned *offsets, int *out, int threshold,
                                           int n)
{
    __shared__ unsigned warp_counts[WARPS];
    unsigned lane = threadIdx.x % 32;
    unsigned warp = threadIdx.x / 32;
    int i = blockIdx.x * THREADS + threadIdx.x;
    int value = i < n ? in[i] : 0;
    bool keep = i < n && value > threshold;
    unsigned kept = __ballot_sync(0xffffffffu, keep);
    if (lane == 0)
        warp_counts[warp] = __popc(kept);
    __syncthreads();

    unsigned place = offsets[blockIdx.x] + __popc(kept & ((1u << lane) - 1));
    for (unsigned w = 0; w < warp; w++)
        place += warp_counts[w];
    if (keep)
        out[place] = value;
}
