// Particle filter that tracks an object through frames (Sequential Monte Carlo, after Rodinia's version): particles
// move with noise from a generator of their own, their likelihoods come from the pixels around them, weights are
// normalised, and new particles are drawn by searching the cumulated weights. Integers stand for likelihoods, so
// that sums are exact in any order.
constexpr int THREADS = 128;
constexpr int DISK = 9;

// Linear congruential generator of the original (Park and Miller's multiplier in 31 bits).
__device__ int next(int &seed)
{
    seed = int((1103515245u * unsigned(seed) + 12345u) & 0x7fffffffu);
    return seed >> 16;
}

// Moves the particles and finds their likelihoods; each block leaves the sum of its weights.
extern "C" __global__ void __launch_bounds__(THREADS)
    pf_likelihood(const unsigned char *frame, int *seeds, float *x, float *y, unsigned *weights, unsigned *sums,
                  int particles, int side)
{
    __shared__ unsigned tree[THREADS];
    const int i = blockIdx.x * THREADS + threadIdx.x;
    tree[threadIdx.x] = 0;
    if (i < particles) {
        int seed = seeds[i];
        // A sum of four draws is nearly normal.
        const int dx = next(seed) % 64 + next(seed) % 64 + next(seed) % 64 + next(seed) % 64;
        const int dy = next(seed) % 64 + next(seed) % 64 + next(seed) % 64 + next(seed) % 64;
        seeds[i] = seed;
        x[i] += 1.0f + float(dx - 126) * 0.03125f;
        y[i] += -2.0f + float(dy - 126) * 0.03125f;
        const int column = int(rintf(x[i])), row = int(rintf(y[i]));
        int likelihood = 0;
        for (int d = 0; d < DISK; d++) {
            const int r = row + d / 3 - 1, c = column + d % 3 - 1;
            const int at = min(max(r * side + c, 0), side * side - 1);
            const int value = frame[at];
            // Squares of the distances from the background's and the object's grey.
            likelihood += (value - 100) * (value - 100) - (value - 228) * (value - 228);
        }
        const int scaled = likelihood / (50 * DISK) + 400;
        weights[i] = unsigned(max(scaled, 1));
        tree[threadIdx.x] = weights[i];
    }
    __syncthreads();
    for (int width = THREADS / 2; width > 0; width /= 2) {
        if (threadIdx.x < width)
            tree[threadIdx.x] += tree[threadIdx.x + width];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        sums[blockIdx.x] = tree[0];
}

// Running sums of the blocks' sums, by one thread as in the original.
extern "C" __global__ void pf_sum(unsigned *sums, int blocks)
{
    unsigned running = 0;
    for (int i = 0; i < blocks; i++) {
        const unsigned own = sums[i];
        sums[i] = running;
        running += own;
    }
    sums[blocks] = running;
}

// Cumulated weights.
extern "C" __global__ void __launch_bounds__(THREADS)
    pf_cumulate(const unsigned *weights, const unsigned *sums, unsigned *cumulated, int particles)
{
    __shared__ unsigned scan[THREADS];
    const int i = blockIdx.x * THREADS + threadIdx.x;
    scan[threadIdx.x] = i < particles ? weights[i] : 0;
    __syncthreads();
    for (int distance = 1; distance < THREADS; distance *= 2) {
        const unsigned below = threadIdx.x >= distance ? scan[threadIdx.x - distance] : 0;
        __syncthreads();
        scan[threadIdx.x] += below;
        __syncthreads();
    }
    if (i < particles)
        cumulated[i] = sums[blockIdx.x] + scan[threadIdx.x];
}

// Draws new particles at even steps through the cumulated weights: a linear search, as long as the particle is far.
extern "C" __global__ void __launch_bounds__(THREADS)
    pf_find(const unsigned *cumulated, const unsigned *sums, const float *x, const float *y, float *new_x, float *new_y,
            int particles, int blocks, unsigned offset)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= particles)
        return;
    const unsigned total = sums[blocks];
    const unsigned step = total / unsigned(particles);
    const unsigned wanted = offset % max(step, 1u) + unsigned(i) * step;
    // Blocks first, then within the block that holds it.
    int block = 0;
    while (block + 1 < blocks && sums[block + 1] <= wanted)
        block++;
    int index = block * THREADS;
    while (index + 1 < particles && cumulated[index] <= wanted)
        index++;
    new_x[i] = x[index];
    new_y[i] = y[index];
}
