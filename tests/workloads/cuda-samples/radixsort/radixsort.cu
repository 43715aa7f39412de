// Radix sort of 32-bit keys with values, four bits per pass, in three kernels per pass (Merrill and Grimshaw,
// Revisiting sorting for GPGPU stream architectures, 2010): the upsweep counts the digits of each block's keys, the
// scan turns the counts into offsets, the downsweep ranks the keys of a block, sorts them in shared memory and writes
// them out in runs. A thread has four keys; its counters of 16 digits are 16-bit halves of 32-bit words in shared
// memory, so that one scan over the words ranks two digits at once.
constexpr int THREADS = 128;
constexpr int KEYS = 4;
constexpr int TILE = THREADS * KEYS;
constexpr int BITS = 4;
constexpr int DIGITS = 1 << BITS;
constexpr int LANES = DIGITS / 2;

__device__ unsigned warp_scan(unsigned value)
{
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
        const unsigned below = __shfl_up_sync(0xffffffffu, value, distance);
        if (lane >= distance)
            value += below;
    }
    return value;
}

// Exclusive sum over the threads of a block; `total` is the sum of all.
template <int WARPS>
__device__ unsigned block_scan(unsigned value, unsigned *warp_sums, unsigned &total)
{
    const unsigned inclusive = warp_scan(value);
    const int warp = threadIdx.x / 32;
    if ((threadIdx.x & 31) == 31)
        warp_sums[warp] = inclusive;
    __syncthreads();
    unsigned before = 0;
    total = 0;
#pragma unroll
    for (int i = 0; i < WARPS; i++) {
        if (i == warp)
            before = total;
        total += warp_sums[i];
    }
    __syncthreads();
    return before + inclusive - value;
}

// Counts per digit and block, the blocks of a digit side by side.
extern "C" __global__ void __launch_bounds__(THREADS)
    radix_upsweep(const unsigned *keys, unsigned *counts, int n, int shift)
{
    __shared__ __align__(4) unsigned char counters[DIGITS / 4][THREADS][4];
    __shared__ unsigned sums[DIGITS];
#pragma unroll
    for (int word = 0; word < DIGITS / 4; word++)
        *reinterpret_cast<unsigned *>(counters[word][threadIdx.x]) = 0;
    if (threadIdx.x < DIGITS)
        sums[threadIdx.x] = 0;
    const int base = blockIdx.x * TILE;
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        const int at = base + k * THREADS + threadIdx.x;
        if (at < n) {
            const unsigned digit = (keys[at] >> shift) & (DIGITS - 1);
            counters[digit / 4][threadIdx.x][digit % 4]++;
        }
    }
    __syncthreads();
    // Eight threads add up the counters of a digit.
    const int digit = threadIdx.x % DIGITS;
    unsigned sum = 0;
    for (int thread = threadIdx.x / DIGITS; thread < THREADS; thread += THREADS / DIGITS)
        sum += counters[digit / 4][thread][digit % 4];
    atomicAdd(&sums[digit], sum);
    __syncthreads();
    if (threadIdx.x < DIGITS)
        counts[threadIdx.x * gridDim.x + blockIdx.x] = sums[threadIdx.x];
}

// Exclusive sums of all counts, by one block.
extern "C" __global__ void __launch_bounds__(256) radix_scan(unsigned *counts, int n)
{
    __shared__ unsigned warp_sums[8];
    unsigned before = 0;
    for (int base = 0; base < n; base += 1024) {
        const int at = base + 4 * threadIdx.x;
        unsigned values[4], sum = 0;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            values[i] = at + i < n ? counts[at + i] : 0;
            sum += values[i];
        }
        unsigned total;
        unsigned running = before + block_scan<8>(sum, warp_sums, total);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if (at + i < n)
                counts[at + i] = running;
            running += values[i];
        }
        before += total;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    radix_downsweep(const unsigned *keys, const unsigned *values, unsigned *sorted_keys, unsigned *sorted_values,
                    const unsigned *offsets, int n, int shift)
{
    __shared__ unsigned counters[LANES][THREADS];
    __shared__ unsigned warp_sums[THREADS / 32];
    __shared__ unsigned starts[DIGITS], offsets_of_digits[DIGITS];
    __shared__ unsigned exchange[TILE];

    const int base = blockIdx.x * TILE;
    const int count = min(TILE, n - base);
    // A thread ranks neighbouring keys, so that keys with equal digits stay in order.
    unsigned mine[KEYS];
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        const int at = KEYS * threadIdx.x + k;
        mine[k] = at < count ? keys[base + at] : 0xffffffffu;
    }
#pragma unroll
    for (int lane = 0; lane < LANES; lane++)
        counters[lane][threadIdx.x] = 0;
    if (threadIdx.x < DIGITS)
        offsets_of_digits[threadIdx.x] = offsets[threadIdx.x * gridDim.x + blockIdx.x];

    // Keys before each one of this thread with the same digit.
    unsigned ranks[KEYS];
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        const unsigned digit = (mine[k] >> shift) & (DIGITS - 1);
        unsigned short *half = reinterpret_cast<unsigned short *>(&counters[digit % LANES][threadIdx.x]) + digit / LANES;
        ranks[k] = *half;
        *half = static_cast<unsigned short>(ranks[k] + 1);
    }
    __syncthreads();

    // Scan over the words, digit after digit: a thread takes LANES words in a row. The sum of the low halves is
    // then added to the high ones, since the upper digits come after all lower ones.
    unsigned *row = &counters[0][0] + threadIdx.x * LANES;
    unsigned words[LANES], sum = 0;
#pragma unroll
    for (int i = 0; i < LANES; i++) {
        words[i] = row[i];
        sum += words[i];
    }
    unsigned total;
    unsigned running = block_scan<THREADS / 32>(sum, warp_sums, total);
    running += total << 16;
#pragma unroll
    for (int i = 0; i < LANES; i++) {
        row[i] = running;
        running += words[i];
    }
    __syncthreads();
    if (threadIdx.x < DIGITS) {
        const unsigned word = counters[threadIdx.x % LANES][0];
        starts[threadIdx.x] = threadIdx.x < LANES ? word & 0xffffu : word >> 16;
    }
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        const unsigned digit = (mine[k] >> shift) & (DIGITS - 1);
        const unsigned word = counters[digit % LANES][threadIdx.x];
        ranks[k] += digit < LANES ? word & 0xffffu : word >> 16;
        exchange[ranks[k]] = mine[k];
    }
    __syncthreads();

    // Keys of one digit are now side by side and go to side by side places.
    unsigned targets[KEYS];
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        const int at = k * THREADS + threadIdx.x;
        if (at < count) {
            const unsigned key = exchange[at];
            const unsigned digit = (key >> shift) & (DIGITS - 1);
            targets[k] = offsets_of_digits[digit] + at - starts[digit];
            sorted_keys[targets[k]] = key;
        }
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        const int at = KEYS * threadIdx.x + k;
        if (at < count)
            exchange[ranks[k]] = values[base + at];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        const int at = k * THREADS + threadIdx.x;
        if (at < count)
            sorted_values[targets[k]] = exchange[at];
    }
}
