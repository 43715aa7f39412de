// Coulombic potential with a cutoff on a grid of points (Rodrigues et al., GPU acceleration of cutoff pair potentials,
// 2008, as in Parboil): atoms are sorted into bins of eight places; a block owns a cube of grid points and loads the
// bins around it into shared memory, several at a time. A thread owns four points along z.
constexpr int SLOTS = 8;
constexpr int LOADED = 16;
constexpr int POINTS = 4;
constexpr float BIN = 4.0f, SPACING = 0.5f, CUTOFF = 4.0f;

// A block covers 8 x 8 x 8 points, the volume of one bin, with 8 x 8 x 2 threads; bins around have an edge of empty
// bins on all sides of the grid.
extern "C" __global__ void __launch_bounds__(128)
    cutcp(const float4 *bins, const int *neighbours, float *grid, int neighbour_count, int bins_x, int bins_y, int points_x,
          int points_y)
{
    __shared__ float4 atoms[LOADED * SLOTS];

    const int thread = (threadIdx.z * 8 + threadIdx.y) * 8 + threadIdx.x;
    const int i = blockIdx.x * 8 + threadIdx.x, j = blockIdx.y * 8 + threadIdx.y;
    const int k = blockIdx.z * 8 + threadIdx.z * POINTS;
    const float x = SPACING * float(i), y = SPACING * float(j), z = SPACING * float(k);
    float energy[POINTS];
#pragma unroll
    for (int p = 0; p < POINTS; p++)
        energy[p] = 0.0f;

    const int home = ((blockIdx.z + 1) * bins_y + blockIdx.y + 1) * bins_x + blockIdx.x + 1;
    for (int first = 0; first < neighbour_count; first += LOADED) {
        const int count = min(LOADED, neighbour_count - first);
        __syncthreads();
        if (thread < count * SLOTS)
            atoms[thread] = bins[(home + neighbours[first + thread / SLOTS]) * SLOTS + thread % SLOTS];
        __syncthreads();
        for (int a = 0; a < count * SLOTS; a++) {
            const float4 atom = atoms[a];
            // Bins are filled from the front; the first free place ends one.
            if (atom.w == 0.0f) {
                a |= SLOTS - 1;
                continue;
            }
            const float dx = atom.x - x, dy = atom.y - y;
            const float flat = fmaf(dx, dx, __fmul_rn(dy, dy));
            if (flat >= CUTOFF * CUTOFF)
                continue;
#pragma unroll
            for (int p = 0; p < POINTS; p++) {
                const float dz = atom.z - (z + SPACING * float(p));
                const float square = fmaf(dz, dz, flat);
                if (square < CUTOFF * CUTOFF) {
                    const float smooth = fmaf(square, -1.0f / (CUTOFF * CUTOFF), 1.0f);
                    energy[p] += atom.w * rsqrtf(square) * smooth * smooth;
                }
            }
        }
    }
#pragma unroll
    for (int p = 0; p < POINTS; p++)
        grid[((k + p) * points_y + j) * points_x + i] = energy[p];
}

// Fills bins from random bits: up to eight atoms per bin, none in the bins of the edge.
extern "C" __global__ void cutcp_setup(const unsigned *bits, float4 *bins, int bins_x, int bins_y, int bins_z)
{
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= bins_x * bins_y * bins_z)
        return;
    const int bx = at % bins_x, by = at / bins_x % bins_y, bz = at / (bins_x * bins_y);
    const bool edge = bx == 0 || bx == bins_x - 1 || by == 0 || by == bins_y - 1 || bz == 0 || bz == bins_z - 1;
    const int count = edge ? 0 : (at * 5) % 9;
    for (int slot = 0; slot < SLOTS; slot++) {
        const unsigned draw = bits[at * SLOTS + slot];
        float4 atom = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (slot < count) {
            // Between grid points, so that no distance is zero.
            atom.x = BIN * float(bx - 1) + float(draw & 31u) * 0.125f + 0.0625f;
            atom.y = BIN * float(by - 1) + float((draw >> 5) & 31u) * 0.125f + 0.0625f;
            atom.z = BIN * float(bz - 1) + float((draw >> 10) & 31u) * 0.125f + 0.0625f;
            atom.w = float((draw >> 16) & 15u) * 0.125f + 0.125f;
        }
        bins[at * SLOTS + slot] = atom;
    }
}

// Distances of the bins that a block needs, in bins.
extern "C" __global__ void cutcp_neighbours(int *neighbours, int bins_x, int bins_y)
{
    const int at = threadIdx.x;
    if (at < 27)
        neighbours[at] = ((at / 9 - 1) * bins_y + at / 3 % 3 - 1) * bins_x + at % 3 - 1;
}
