// Smoothed particle hydrodynamics: density and pressure of each particle from the particles nearby, then forces from
// their pressures and velocities (Mueller, Charypar and Gross, Particle-based fluid simulation for interactive
// applications, 2003). Particles are sorted by the cells of a grid whose side is the smoothing length, so that a
// particle meets those of 27 cells; `starts` gives the first particle of each cell. The number of particles differs
// from cell to cell.
constexpr float LENGTH = 1.0f, MASS = 1.0f, REST = 2.5f, STIFFNESS = 3.0f, VISCOSITY = 0.5f;
constexpr float POLY6 = 1.5666814711f, SPIKY = -14.3239448783f, LAPLACIAN = 14.3239448783f;

// Places the particles: cell c has between 1 and 8 of them, at random places within.
extern "C" __global__ void sph_setup(const float *random, float4 *places, float4 *speeds, int *starts, int side)
{
    const int cells = side * side * side;
    const int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell > cells)
        return;
    // Counts 1 to 8 in a repeated order: eight cells have 36 particles.
    int start = cell / 8 * 36;
    for (int i = 0; i < cell % 8; i++)
        start += (5 * i) % 8 + 1;
    starts[cell] = start;
    if (cell == cells)
        return;
    const int count = (5 * (cell % 8)) % 8 + 1;
    const float x = float(cell % side), y = float(cell / side % side), z = float(cell / (side * side));
    for (int i = start; i < start + count; i++) {
        const float *r = random + 6 * i;
        places[i] = make_float4(x + r[0], y + r[1], z + r[2], 0.0f);
        speeds[i] = make_float4(r[3] - 0.5f, r[4] - 0.5f, r[5] - 0.5f, 0.0f);
    }
}

// Density goes to the fourth component of the place.
extern "C" __global__ void sph_density(const float4 *places, const int *starts, float *density, int particles, int side)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= particles)
        return;
    const float4 own = places[i];
    const int cx = int(own.x), cy = int(own.y), cz = int(own.z);
    float sum = 0.0f;
    for (int z = max(cz - 1, 0); z <= min(cz + 1, side - 1); z++) {
        for (int y = max(cy - 1, 0); y <= min(cy + 1, side - 1); y++) {
            // Cells that are neighbours along x are neighbours in memory.
            const int row = (z * side + y) * side;
            const int first = starts[row + max(cx - 1, 0)], last = starts[row + min(cx + 1, side - 1) + 1];
            for (int j = first; j < last; j++) {
                const float4 other = places[j];
                const float dx = own.x - other.x, dy = own.y - other.y, dz = own.z - other.z;
                const float square = fmaf(dx, dx, fmaf(dy, dy, __fmul_rn(dz, dz)));
                if (square < LENGTH * LENGTH) {
                    const float left = LENGTH * LENGTH - square;
                    sum = fmaf(left * left, left, sum);
                }
            }
        }
    }
    density[i] = sum * (MASS * POLY6);
}

extern "C" __global__ void sph_force(const float4 *places, const float4 *speeds, const int *starts,
                                     const float *density, float4 *forces, int particles, int side)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= particles)
        return;
    const float4 own = places[i], speed = speeds[i];
    const float own_pressure = __fmul_rn(STIFFNESS, density[i] - REST);
    const int cx = int(own.x), cy = int(own.y), cz = int(own.z);
    float fx = 0.0f, fy = 0.0f, fz = 0.0f;
    for (int z = max(cz - 1, 0); z <= min(cz + 1, side - 1); z++) {
        for (int y = max(cy - 1, 0); y <= min(cy + 1, side - 1); y++) {
            for (int x = max(cx - 1, 0); x <= min(cx + 1, side - 1); x++) {
                const int cell = (z * side + y) * side + x;
                for (int j = starts[cell]; j < starts[cell + 1]; j++) {
                    if (j == i)
                        continue;
                    const float4 other = places[j];
                    const float dx = own.x - other.x, dy = own.y - other.y, dz = own.z - other.z;
                    const float square = fmaf(dx, dx, fmaf(dy, dy, __fmul_rn(dz, dz)));
                    if (square >= LENGTH * LENGTH || square == 0.0f)
                        continue;
                    const float distance = sqrtf(square);
                    const float left = LENGTH - distance;
                    const float other_density = density[j];
                    const float pressure = __fmul_rn(STIFFNESS, other_density - REST);
                    // Pressure pushes along the line between the two, viscosity evens out their speeds.
                    const float push = -MASS * (own_pressure + pressure) / (2.0f * other_density) * SPIKY * left * left / distance;
                    const float drag = VISCOSITY * MASS / other_density * LAPLACIAN * left;
                    const float4 its = speeds[j];
                    fx = fmaf(push, dx, fmaf(drag, its.x - speed.x, fx));
                    fy = fmaf(push, dy, fmaf(drag, its.y - speed.y, fy));
                    fz = fmaf(push, dz, fmaf(drag, its.z - speed.z, fz));
                }
            }
        }
    }
    forces[i] = make_float4(fx, fy, fz, own_pressure);
}
