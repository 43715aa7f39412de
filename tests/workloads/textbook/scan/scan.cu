// Exclusive prefix sum of n unsigned integers (modulo 2^32). scan_blocks scans 512 elements per block of
// 256 threads with an up-sweep and a down-sweep over a balanced tree in shared memory and reports the
// block's total; launched again over the totals; add_offsets then lifts every block.
#define THREADS 256
#define SPAN (2 * THREADS)

extern "C" __global__ void scan_blocks(const unsigned *in, unsigned *out, unsigned *totals, int n)
{
    __shared__ unsigned tree[SPAN];

    int tid = threadIdx.x;
    int base = blockIdx.x * SPAN;
    tree[tid] = base + tid < n ? in[base + tid] : 0;
    tree[tid + THREADS] = base + tid + THREADS < n ? in[base + tid + THREADS] : 0;

    int gap = 1;
    for (int active = THREADS; active > 0; active >>= 1) {
        __syncthreads();
        if (tid < active) {
            int left = gap * (2 * tid + 1) - 1;
            tree[left + gap] += tree[left];
        }
        gap *= 2;
    }

    if (tid == 0) {
        totals[blockIdx.x] = tree[SPAN - 1];
        tree[SPAN - 1] = 0;
    }

    for (int active = 1; active <= THREADS; active *= 2) {
        gap >>= 1;
        __syncthreads();
        if (tid < active) {
            int left = gap * (2 * tid + 1) - 1;
            unsigned below = tree[left];
            tree[left] = tree[left + gap];
            tree[left + gap] += below;
        }
    }
    __syncthreads();

    if (base + tid < n)
        out[base + tid] = tree[tid];
    if (base + tid + THREADS < n)
        out[base + tid + THREADS] = tree[tid + THREADS];
}

extern "C" __global__ void add_offsets(unsigned *out, const unsigned *offsets, int n)
{
    unsigned offset = offsets[blockIdx.x];
    int first = blockIdx.x * SPAN + threadIdx.x;
    if (first < n)
        out[first] += offset;
    if (first + THREADS < n)
        out[first + THREADS] += offset;
}
