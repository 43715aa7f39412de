// One sweep of the Laplace operator in three dimensions after M. Giles's lecture example (2008): a block of threads
// covers a tile of a plane and marches along z. Three planes of the tile, with a halo, are kept in shared memory and
// used in turn; threads of the block's edge load the halo.
constexpr int BLOCK_X = 32, BLOCK_Y = 4;
constexpr int PITCH = BLOCK_X + 2;
constexpr int PLANE = PITCH * (BLOCK_Y + 2);
constexpr float SIXTH = 1.0f / 6.0f;

extern "C" __global__ void laplace3d(const float *from, float *to, int nx, int ny, int nz)
{
    __shared__ float planes[3 * PLANE];

    const int i = blockIdx.x * BLOCK_X + threadIdx.x;
    const int j = blockIdx.y * BLOCK_Y + threadIdx.y;
    const int thread = threadIdx.y * BLOCK_X + threadIdx.x;
    const bool active = i < nx && j < ny;

    // The halo: two rows of PITCH values, then two columns of BLOCK_Y.
    int halo_i, halo_j, halo_at;
    bool halo = thread < 2 * (BLOCK_X + BLOCK_Y + 2);
    if (thread < 2 * PITCH) {
        halo_i = thread % PITCH - 1;
        halo_j = thread < PITCH ? -1 : BLOCK_Y;
    } else {
        halo_i = (thread - 2 * PITCH) < BLOCK_Y ? -1 : BLOCK_X;
        halo_j = (thread - 2 * PITCH) % BLOCK_Y;
    }
    halo_at = (halo_j + 1) * PITCH + halo_i + 1;
    halo_i += blockIdx.x * BLOCK_X;
    halo_j += blockIdx.y * BLOCK_Y;
    halo = halo && halo_i >= 0 && halo_i < nx && halo_j >= 0 && halo_j < ny;

    const int own = (threadIdx.y + 1) * PITCH + threadIdx.x + 1;
    const int size = nx * ny;
    int at = j * nx + i, halo_from = halo_j * nx + halo_i;
    int below = 0, here = PLANE, above = 2 * PLANE;
    if (active)
        planes[here + own] = from[at];
    if (halo)
        planes[here + halo_at] = from[halo_from];

    for (int k = 0; k < nz; k++) {
        if (k + 1 < nz) {
            if (active)
                planes[above + own] = from[at + size];
            if (halo)
                planes[above + halo_at] = from[halo_from + size];
        }
        __syncthreads();
        if (active) {
            float value;
            if (i == 0 || i == nx - 1 || j == 0 || j == ny - 1 || k == 0 || k == nz - 1) {
                value = planes[here + own];
            } else {
                const float *centre = planes + here + own;
                const float sides = centre[-1] + centre[1] + centre[-PITCH] + centre[PITCH];
                value = (sides + planes[below + own] + planes[above + own]) * SIXTH;
            }
            to[at] = value;
        }
        at += size;
        halo_from += size;
        const int oldest = below;
        below = here;
        here = above;
        above = oldest;
        __syncthreads();
    }
}
