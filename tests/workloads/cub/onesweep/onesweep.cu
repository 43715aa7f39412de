// Radix sort of 32-bit keys, eight bits per pass, that reads and writes the keys once per pass (Adinarayana and
// Merrill, Onesweep, 2022). One kernel counts the digits of all passes. In each pass a block ranks its keys with
// match instructions, one counter per warp and digit in shared memory, and learns from the blocks before it where
// its digits go, while those may still run (decoupled look-back, Merrill and Garland, 2016).
constexpr int THREADS = 256;
constexpr int WARPS = THREADS / 32;
constexpr int KEYS = 6;
constexpr int TILE = THREADS * KEYS;
constexpr int DIGITS = 256;
constexpr unsigned LOCAL = 1u << 30, GLOBAL = 2u << 30, COUNT = LOCAL - 1;

extern "C" __global__ void __launch_bounds__(THREADS)
    onesweep_histogram(const unsigned *keys, unsigned *histograms, int n, int passes)
{
    __shared__ unsigned counts[4][DIGITS];
    for (int pass = 0; pass < passes; pass++)
        counts[pass][threadIdx.x] = 0;
    __syncthreads();
    for (int at = blockIdx.x * THREADS + threadIdx.x; at < n; at += gridDim.x * THREADS) {
        const unsigned key = keys[at];
        for (int pass = 0; pass < passes; pass++)
            atomicAdd(&counts[pass][(key >> (8 * pass)) & 255u], 1);
    }
    __syncthreads();
    for (int pass = 0; pass < passes; pass++)
        atomicAdd(&histograms[pass * DIGITS + threadIdx.x], counts[pass][threadIdx.x]);
}

// Exclusive sums of each pass's histogram, one block per pass.
extern "C" __global__ void __launch_bounds__(DIGITS) onesweep_scan(unsigned *histograms)
{
    __shared__ unsigned sums[WARPS];
    unsigned *histogram = histograms + blockIdx.x * DIGITS;
    const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    const unsigned own = histogram[threadIdx.x];
    unsigned sum = own;
    for (int distance = 1; distance < 32; distance *= 2) {
        const unsigned below = __shfl_up_sync(0xffffffffu, sum, distance);
        sum += lane >= distance ? below : 0;
    }
    if (lane == 31)
        sums[warp] = sum;
    __syncthreads();
    for (int i = 0; i < warp; i++)
        sum += sums[i];
    histogram[threadIdx.x] = sum - own;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    onesweep_pass(const unsigned *keys, unsigned *sorted, const unsigned *starts, volatile unsigned *status, int n,
                  int shift)
{
    __shared__ unsigned counters[WARPS][DIGITS];
    __shared__ unsigned firsts[DIGITS], targets[DIGITS], sums[WARPS];
    __shared__ unsigned exchange[TILE];

    const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    const int base = blockIdx.x * TILE;
    const int count = min(TILE, n - base);
    unsigned mine[KEYS];
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        const int at = warp * 32 * KEYS + k * 32 + lane;
        mine[k] = at < count ? keys[base + at] : 0xffffffffu;
    }
    for (int w = 0; w < WARPS; w++)
        counters[w][threadIdx.x] = 0;
    __syncthreads();

    // Lanes with the same digit agree on who counts for all of them.
    unsigned ranks[KEYS];
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        const unsigned digit = (mine[k] >> shift) & 255u;
        const unsigned peers = __match_any_sync(0xffffffffu, digit);
        const unsigned below = __popc(peers & ((1u << lane) - 1));
        const unsigned before = counters[warp][digit];
        __syncwarp();
        ranks[k] = before + below;
        if (below == 0)
            counters[warp][digit] = before + __popc(peers);
        __syncwarp();
    }
    __syncthreads();

    // A thread per digit: counts of the warps become offsets, the block's count is published.
    const int digit = threadIdx.x;
    unsigned total = 0;
    for (int w = 0; w < WARPS; w++) {
        const unsigned own = counters[w][digit];
        counters[w][digit] = total;
        total += own;
    }
    // Keys beyond the end are ranked as the largest digit, behind all others, and are not published.
    const unsigned published = digit == 255 ? total - (TILE - count) : total;
    volatile unsigned *mailbox = status + blockIdx.x * DIGITS + digit;
    *mailbox = published | (blockIdx.x == 0 ? GLOBAL : LOCAL);
    unsigned inclusive = total;
    for (int distance = 1; distance < 32; distance *= 2) {
        const unsigned below = __shfl_up_sync(0xffffffffu, inclusive, distance);
        inclusive += lane >= distance ? below : 0;
    }
    if (lane == 31)
        sums[warp] = inclusive;
    __syncthreads();
    unsigned first = inclusive - total;
    for (int w = 0; w < warp; w++)
        first += sums[w];
    firsts[digit] = first;

    // Look back: add up the counts of blocks before this one until one knows its sum from the start.
    unsigned before = 0;
    for (int block = int(blockIdx.x) - 1; block >= 0;) {
        const unsigned seen = status[block * DIGITS + digit];
        if (seen & (LOCAL | GLOBAL)) {
            before += seen & COUNT;
            if (seen & GLOBAL)
                break;
            block--;
        }
    }
    if (blockIdx.x > 0)
        *mailbox = (before + published) | GLOBAL;
    targets[digit] = starts[digit] + before - first;
    __syncthreads();

#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        const unsigned digit = (mine[k] >> shift) & 255u;
        exchange[firsts[digit] + counters[warp][digit] + ranks[k]] = mine[k];
    }
    __syncthreads();
    for (int at = threadIdx.x; at < count; at += THREADS) {
        const unsigned key = exchange[at];
        sorted[targets[(key >> shift) & 255u] + at] = key;
    }
}
