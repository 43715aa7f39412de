// Bitonic sort of unsigned keys, ascending, their number a power of two and a multiple of 1024. Steps
// whose partners lie within 1024 keys run in shared memory, 512 threads and two keys per thread; the
// wider ones are one launch each.
#define THREADS 512
#define SPAN (2 * THREADS)

__device__ __forceinline__ void order(unsigned &low, unsigned &high, bool ascending)
{
    if ((low > high) == ascending) {
        unsigned kept = low;
        low = high;
        high = kept;
    }
}

// Runs the steps of distance `distance`, distance / 2, ... 1 of the stage that merges runs of `size` keys.
__device__ __forceinline__ void merge_in_shared(unsigned *keys, unsigned first, unsigned size,
                                                unsigned distance)
{
    for (; distance > 0; distance /= 2) {
        __syncthreads();
        unsigned low = 2 * threadIdx.x - (threadIdx.x & (distance - 1));
        order(keys[low], keys[low + distance], ((first + low) & size) == 0);
    }
    __syncthreads();
}

// Sorts spans of 1024 keys, alternately upwards and downwards.
extern "C" __global__ void bitonic_sort_spans(unsigned *keys)
{
    __shared__ unsigned span[SPAN];
    unsigned first = blockIdx.x * SPAN;
    span[threadIdx.x] = keys[first + threadIdx.x];
    span[threadIdx.x + THREADS] = keys[first + threadIdx.x + THREADS];
    for (unsigned size = 2; size <= SPAN; size *= 2)
        merge_in_shared(span, first, size, size / 2);
    keys[first + threadIdx.x] = span[threadIdx.x];
    keys[first + threadIdx.x + THREADS] = span[threadIdx.x + THREADS];
}

// One step of a distance that spans blocks; one thread per pair.
extern "C" __global__ void bitonic_step(unsigned *keys, unsigned size, unsigned distance)
{
    unsigned pair = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned low = 2 * pair - (pair & (distance - 1));
    order(keys[low], keys[low + distance], (low & size) == 0);
}

// The rest of a stage, once its distances fit in a span.
extern "C" __global__ void bitonic_merge_spans(unsigned *keys, unsigned size)
{
    __shared__ unsigned span[SPAN];
    unsigned first = blockIdx.x * SPAN;
    span[threadIdx.x] = keys[first + threadIdx.x];
    span[threadIdx.x + THREADS] = keys[first + threadIdx.x + THREADS];
    merge_in_shared(span, first, size, THREADS);
    keys[first + threadIdx.x] = span[threadIdx.x];
    keys[first + threadIdx.x + THREADS] = span[threadIdx.x + THREADS];
}
