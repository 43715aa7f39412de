// Two-point angular correlation of points on the sky (after Parboil's tpacf): histograms of the angles between all
// pairs of data and random points. A block compares one point per thread with others, tile by tile in shared memory; it finds the bin by a search over cosines, and counts in histograms of its own, one per warp.
constexpr int THREADS = 256;
constexpr int BINS = 20;
constexpr int WARPS = THREADS / 32;

// Squares of half chords at the bins' edges, from small to large: each is larger by about 10^(1/5) than the last.
__constant__ float edges[BINS + 1] = {0.0f,         1.0e-6f,  1.58e-6f, 2.51e-6f, 3.98e-6f, 6.31e-6f, 1.0e-5f,
                                      1.58e-5f,     2.51e-5f, 3.98e-5f, 6.31e-5f, 1.0e-4f,  1.58e-4f, 2.51e-4f,
                                      3.98e-4f,     6.31e-4f, 1.0e-3f,  1.0e-2f,  1.0e-1f,  1.0f,     5.0f};

// Points on the unit sphere from random values: x, y and z one list after the other.
extern "C" __global__ void tpacf_setup(const float *random, float *sky, int points)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= points)
        return;
    const float x = random[3 * i], y = random[3 * i + 1], z = random[3 * i + 2];
    const float scale = 1.0f / sqrtf(fmaf(x, x, fmaf(y, y, __fmul_rn(z, z))));
    sky[i] = x * scale;
    sky[points + i] = y * scale;
    sky[2 * points + i] = z * scale;
}

// A set's points with themselves, or with those of another set; of each point with those of at most `partners` points.
extern "C" __global__ void __launch_bounds__(THREADS)
    tpacf_histogram(const float *first, const float *second, unsigned *histogram, int points, int partners,
                    int same)
{
    __shared__ float tile[3][THREADS];
    __shared__ unsigned counts[WARPS][BINS];

    for (int i = threadIdx.x; i < WARPS * BINS; i += THREADS)
        counts[i / BINS][i % BINS] = 0;
    const int own = blockIdx.x * THREADS + threadIdx.x;
    const bool active = own < points;
    const float x = active ? first[own] : 0.0f, y = active ? first[points + own] : 0.0f,
                z = active ? first[2 * points + own] : 0.0f;
    unsigned *mine = counts[threadIdx.x / 32];

    // Pairs of one set are counted once: tiles before this block's are skipped.
    const int begin = same ? blockIdx.x * THREADS : 0;
    const int end = min(points, begin + partners);
    for (int base = begin; base < end; base += THREADS) {
        __syncthreads();
        if (base + threadIdx.x < end)
            for (int axis = 0; axis < 3; axis++)
                tile[axis][threadIdx.x] = second[axis * points + base + threadIdx.x];
        __syncthreads();
        const int count = min(THREADS, end - base);
        for (int j = 0; j < count; j++) {
            if (same && base + j <= own)
                continue;
            const float dx = x - tile[0][j], dy = y - tile[1][j], dz = z - tile[2][j];
            const float chord = fmaf(dx, dx, fmaf(dy, dy, __fmul_rn(dz, dz)));
            int low = 0, high = BINS;
            while (high > low + 1) {
                const int middle = (low + high) / 2;
                if (chord >= edges[middle])
                    low = middle;
                else
                    high = middle;
            }
            // Threads beyond the last point add nothing; a branch would take them to barriers of their own.
            atomicAdd(&mine[low], active ? 1 : 0);
        }
    }
    __syncthreads();
    if (threadIdx.x < BINS) {
        unsigned sum = 0;
        for (int w = 0; w < WARPS; w++)
            sum += counts[w][threadIdx.x];
        atomicAdd(&histogram[threadIdx.x], sum);
    }
}
