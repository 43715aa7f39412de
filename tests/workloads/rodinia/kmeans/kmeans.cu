// One round of k-means clustering after Rodinia's version: points arrive point after point and are turned to
// feature-major layout, so that threads with neighbouring points load neighbouring words; each thread finds
// the nearest of the centres, which are in constant memory; then the points of each centre are summed per
// block, a thread per centre and feature, and the sums of the blocks are added up.
constexpr int FEATURES = 34;
constexpr int CENTRES = 5;
constexpr int POINTS_PER_BLOCK = 256;

// Centres drawn by a linear congruential generator, multiples of 1/256 below 1.
struct Centres {
    float at[CENTRES][FEATURES];

    constexpr Centres() : at{}
    {
        unsigned state = 88172645u;
        for (int c = 0; c < CENTRES; c++)
            for (int f = 0; f < FEATURES; f++) {
                state = state * 1664525u + 1013904223u;
                at[c][f] = float(state >> 24) / 256.0f;
            }
    }
};

__constant__ Centres centres = Centres();

extern "C" __global__ void kmeans_swap(const float *points, float *features, int n)
{
    const int point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point < n)
        for (int f = 0; f < FEATURES; f++)
            features[f * n + point] = points[point * FEATURES + f];
}

extern "C" __global__ void kmeans_assign(const float *features, int *membership, int n)
{
    const int point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point >= n)
        return;
    int nearest = -1;
    float least = 3.4e38f;
    for (int c = 0; c < CENTRES; c++) {
        float sum = 0.0f;
        for (int f = 0; f < FEATURES; f++) {
            const float difference = features[f * n + point] - centres.at[c][f];
            sum = fmaf(difference, difference, sum);
        }
        if (sum < least) {
            least = sum;
            nearest = c;
        }
    }
    membership[point] = nearest;
}

// A block sums up its 256 points. Thread t is responsible for centre t / FEATURES and feature t % FEATURES.
extern "C" __global__ void kmeans_accumulate(const float *points, const int *membership, float *sums, int *counts, int n)
{
    __shared__ int members[POINTS_PER_BLOCK];
    const int base = blockIdx.x * POINTS_PER_BLOCK;
    if (base + threadIdx.x < n)
        members[threadIdx.x] = membership[base + threadIdx.x];
    __syncthreads();
    const int centre = threadIdx.x / FEATURES, feature = threadIdx.x % FEATURES;
    if (centre >= CENTRES)
        return;
    float sum = 0.0f;
    int count = 0;
    const int last = min(POINTS_PER_BLOCK, n - base);
    for (int i = 0; i < last; i++) {
        if (members[i] == centre) {
            sum += points[(base + i) * FEATURES + feature];
            count++;
        }
    }
    sums[(blockIdx.x * CENTRES + centre) * FEATURES + feature] = sum;
    if (feature == 0)
        counts[blockIdx.x * CENTRES + centre] = count;
}

extern "C" __global__ void kmeans_finish(const float *sums, const int *counts, float *moved, int blocks)
{
    const int centre = threadIdx.x / FEATURES, feature = threadIdx.x % FEATURES;
    if (centre >= CENTRES)
        return;
    float sum = 0.0f;
    int count = 0;
    for (int b = 0; b < blocks; b++) {
        sum += sums[(b * CENTRES + centre) * FEATURES + feature];
        count += counts[b * CENTRES + centre];
    }
    moved[threadIdx.x] = count > 0 ? sum / float(count) : centres.at[centre][feature];
}
