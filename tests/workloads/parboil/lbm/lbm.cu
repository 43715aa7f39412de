// Lattice Boltzmann method, D3Q19 with the BGK collision (Qian, d'Humieres and Lallemand, 1992; as in Parboil): a thread
// reads the nineteen distributions of its cell from nineteen arrays, collides them, and stores each to the
// neighbour that it moves to. Solid cells send theirs back.
constexpr int DIRECTIONS = 19;

// Directions in pairs of opposites after the first.
__constant__ int move_x[DIRECTIONS] = {0, 1, -1, 0, 0, 0, 0, 1, -1, 1, -1, 1, -1, 1, -1, 0, 0, 0, 0};
__constant__ int move_y[DIRECTIONS] = {0, 0, 0, 1, -1, 0, 0, 1, -1, -1, 1, 0, 0, 0, 0, 1, -1, 1, -1};
__constant__ int move_z[DIRECTIONS] = {0, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 1, -1, -1, 1, 1, -1, -1, 1};

extern "C" __global__ void lbm_step(const float *from, float *to, const unsigned char *solid, int nx, int ny, int nz,
                                    float omega)
{
    // A block is a row of cells, as in the original.
    const int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y;
    const int cells = nx * ny * nz;
    const int cell = x + nx * (y + ny * z);
    float f[DIRECTIONS];
#pragma unroll
    for (int d = 0; d < DIRECTIONS; d++)
        f[d] = from[d * cells + cell];

    // Neighbours, with periodic borders.
    const int east = (x + 1 < nx ? x + 1 : 0), west = (x > 0 ? x - 1 : nx - 1);
    const int north = (y + 1 < ny ? y + 1 : 0), south = (y > 0 ? y - 1 : ny - 1);
    const int top = (z + 1 < nz ? z + 1 : 0), bottom = (z > 0 ? z - 1 : nz - 1);

    const bool wall = solid[cell] < 26;
    float density = 0.0f;
#pragma unroll
    for (int d = 0; d < DIRECTIONS; d++)
        density += f[d];
    float ux = 0.0f, uy = 0.0f, uz = 0.0f;
#pragma unroll
    for (int d = 1; d < DIRECTIONS; d++) {
        ux = fmaf(float(move_x[d]), f[d], ux);
        uy = fmaf(float(move_y[d]), f[d], uy);
        uz = fmaf(float(move_z[d]), f[d], uz);
    }
    ux = ux / density;
    uy = uy / density;
    uz = uz / density;
    const float square = __fmul_rn(1.5f, fmaf(ux, ux, fmaf(uy, uy, __fmul_rn(uz, uz))));

#pragma unroll
    for (int d = 0; d < DIRECTIONS; d++) {
        // Constants of the unrolled loop.
        constexpr int X[DIRECTIONS] = {0, 1, -1, 0, 0, 0, 0, 1, -1, 1, -1, 1, -1, 1, -1, 0, 0, 0, 0};
        constexpr int Y[DIRECTIONS] = {0, 0, 0, 1, -1, 0, 0, 1, -1, -1, 1, 0, 0, 0, 0, 1, -1, 1, -1};
        constexpr int Z[DIRECTIONS] = {0, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 1, -1, -1, 1, 1, -1, -1, 1};
        const float weight = d == 0 ? 1.0f / 3.0f : d < 7 ? 1.0f / 18.0f : 1.0f / 36.0f;
        const float along = fmaf(float(X[d]), ux, fmaf(float(Y[d]), uy, __fmul_rn(float(Z[d]), uz)));
        const float shape = fmaf(along, fmaf(4.5f, along, 3.0f), 1.0f - square);
        const float moved = fmaf(omega, __fmul_rn(weight * density, shape), __fmul_rn(1.0f - omega, f[d]));
        const int opposite = d == 0 ? 0 : d % 2 ? d + 1 : d - 1;
        const float value = wall ? f[opposite] : moved;
        const int tx = X[d] == 0 ? x : X[d] > 0 ? east : west;
        const int ty = Y[d] == 0 ? y : Y[d] > 0 ? north : south;
        const int tz = Z[d] == 0 ? z : Z[d] > 0 ? top : bottom;
        to[d * cells + tx + nx * (ty + ny * tz)] = value;
    }
}
