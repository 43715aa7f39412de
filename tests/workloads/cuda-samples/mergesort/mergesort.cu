// Merge sort of keys with values (after Satish, Harris and Garland, Designing efficient sorting algorithms for manycore
// GPUs, 2009): blocks sort tiles in shared memory by binary searches in pairs of sorted lists; then pairs of
// sorted lists are merged, each element finding its place by a search of the other list.
constexpr int TILE = 512;

// Elements of `list` that are smaller than the key, or also those that are equal.
template <bool INCLUSIVE>
__device__ unsigned rank_in(unsigned key, const unsigned *list, unsigned count, unsigned step)
{
    unsigned rank = 0;
    for (; step > 0; step >>= 1) {
        const unsigned next = min(rank + step, count);
        if (INCLUSIVE ? list[next - 1] <= key : list[next - 1] < key)
            rank = next;
    }
    return rank;
}

extern "C" __global__ void __launch_bounds__(TILE / 2)
    mergesort_tiles(const unsigned *keys, const unsigned *values, unsigned *sorted_keys, unsigned *sorted_values)
{
    __shared__ unsigned k[TILE], v[TILE];
    const int base = blockIdx.x * TILE;
    k[threadIdx.x] = keys[base + threadIdx.x];
    v[threadIdx.x] = values[base + threadIdx.x];
    k[threadIdx.x + TILE / 2] = keys[base + threadIdx.x + TILE / 2];
    v[threadIdx.x + TILE / 2] = values[base + threadIdx.x + TILE / 2];
    for (unsigned stride = 1; stride < TILE; stride *= 2) {
        // Thread t takes one element of each of two lists of `stride` elements.
        const unsigned at = threadIdx.x & (stride - 1);
        unsigned *list = k + 2 * (threadIdx.x - at);
        unsigned *list_values = v + 2 * (threadIdx.x - at);
        __syncthreads();
        const unsigned key_a = list[at], value_a = list_values[at];
        const unsigned key_b = list[at + stride], value_b = list_values[at + stride];
        const unsigned to_a = rank_in<false>(key_a, list + stride, stride, stride) + at;
        const unsigned to_b = rank_in<true>(key_b, list, stride, stride) + at;
        __syncthreads();
        list[to_a] = key_a;
        list_values[to_a] = value_a;
        list[to_b] = key_b;
        list_values[to_b] = value_b;
    }
    __syncthreads();
    sorted_keys[base + threadIdx.x] = k[threadIdx.x];
    sorted_values[base + threadIdx.x] = v[threadIdx.x];
    sorted_keys[base + threadIdx.x + TILE / 2] = k[threadIdx.x + TILE / 2];
    sorted_values[base + threadIdx.x + TILE / 2] = v[threadIdx.x + TILE / 2];
}

// Merges lists of `stride` elements, two and two; a block's first key bounds the search of its threads.
extern "C" __global__ void __launch_bounds__(256)
    mergesort_merge(const unsigned *keys, const unsigned *values, unsigned *merged_keys, unsigned *merged_values, unsigned stride)
{
    __shared__ unsigned low, high;
    const unsigned at = blockIdx.x * 256 + threadIdx.x;
    const unsigned within = at & (stride - 1);
    const bool second = at & stride;
    const unsigned first = at - within - (second ? stride : 0);
    const unsigned *other = keys + first + (second ? 0 : stride);
    const unsigned key = keys[at];
    if (threadIdx.x == 0)
        low = second ? rank_in<true>(key, other, stride, stride) : rank_in<false>(key, other, stride, stride);
    if (threadIdx.x == 255)
        high = second ? rank_in<true>(key, other, stride, stride) : rank_in<false>(key, other, stride, stride);
    __syncthreads();
    // Ranks grow with the key, so that a thread's rank lies between those two.
    unsigned from = low, to = high;
    while (from < to) {
        const unsigned middle = (from + to) / 2;
        const bool before = second ? other[middle] <= key : other[middle] < key;
        if (before)
            from = middle + 1;
        else
            to = middle;
    }
    merged_keys[first + within + from] = key;
    merged_values[first + within + from] = values[at];
}
