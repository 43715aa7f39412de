// Fluxes of a finite-volume solver of the three-dimensional Euler equations on an unstructured mesh (after Corrigan,
// Camelli, Loehner and Wallin, 2009, as in Rodinia): a thread owns a cell, gathers the state of its four neighbours
// through indices, and adds up the fluxes through its faces. Faces at a wall and at the far field have negative
// neighbours. States are stored variable by variable.
constexpr int FACES = 4;
constexpr float GAMMA = 1.4f, SMOOTHING = 0.2f;

struct Vector {
    float x, y, z;
};

struct State {
    float density, energy;
    Vector momentum, velocity;
    float pressure, speed, sound;
};

struct Flux {
    Vector x, y, z, energy;
};

__device__ State state_of(float density, Vector momentum, float energy)
{
    State s;
    s.density = density;
    s.energy = energy;
    s.momentum = momentum;
    s.velocity = {momentum.x / density, momentum.y / density, momentum.z / density};
    const float square = fmaf(s.velocity.x, s.velocity.x, fmaf(s.velocity.y, s.velocity.y, __fmul_rn(s.velocity.z, s.velocity.z)));
    s.speed = sqrtf(square);
    s.pressure = __fmul_rn(GAMMA - 1.0f, fmaf(-0.5f * density, square, energy));
    s.sound = sqrtf(GAMMA * s.pressure / density);
    return s;
}

__device__ Flux flux_of(const State &s)
{
    const Vector &m = s.momentum, &v = s.velocity;
    const float carried = s.energy + s.pressure;
    const float xy = __fmul_rn(v.x, m.y), xz = __fmul_rn(v.x, m.z), yz = __fmul_rn(v.y, m.z);
    return {{fmaf(v.x, m.x, s.pressure), xy, xz},
            {xy, fmaf(v.y, m.y, s.pressure), yz},
            {xz, yz, fmaf(v.z, m.z, s.pressure)},
            {__fmul_rn(v.x, carried), __fmul_rn(v.y, carried), __fmul_rn(v.z, carried)}};
}

__device__ State load(const float *variables, int cell, int cells)
{
    const Vector momentum = {variables[cells + cell], variables[2 * cells + cell], variables[3 * cells + cell]};
    return state_of(variables[cell], momentum, variables[4 * cells + cell]);
}

// States from random values between 0 and 1: slow air of about the far field's density, with enough energy for a
// positive pressure.
extern "C" __global__ void cfd_setup(const float *random, float *variables, int cells)
{
    const int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= cells)
        return;
    variables[cell] = 1.0f + random[cell];
    for (int v = 1; v < 4; v++)
        variables[v * cells + cell] = random[v * cells + cell] - 0.5f;
    variables[4 * cells + cell] = 2.5f + random[4 * cells + cell];
}

// The time step of each cell, from its size and the fastest wave.
extern "C" __global__ void cfd_step_factor(const float *variables, const float *areas, float *factors, int cells)
{
    const int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= cells)
        return;
    const State s = load(variables, cell, cells);
    factors[cell] = 0.5f / (sqrtf(areas[cell]) * (s.speed + s.sound));
}

struct Sums {
    float density, energy;
    Vector momentum;
};

// Adds the flux along one axis: `share` times the sum of both sides' fluxes.
__device__ void add(Sums &sums, float share, float density, float energy, float x, float y, float z)
{
    sums.density = fmaf(share, density, sums.density);
    sums.energy = fmaf(share, energy, sums.energy);
    sums.momentum.x = fmaf(share, x, sums.momentum.x);
    sums.momentum.y = fmaf(share, y, sums.momentum.y);
    sums.momentum.z = fmaf(share, z, sums.momentum.z);
}

// Fluxes through a face between two states, with half of its normal.
__device__ void add_face(Sums &sums, const State &a, const Flux &f, const State &b, const Flux &g, Vector half)
{
    add(sums, half.x, a.momentum.x + b.momentum.x, f.energy.x + g.energy.x, f.x.x + g.x.x, f.y.x + g.y.x, f.z.x + g.z.x);
    add(sums, half.y, a.momentum.y + b.momentum.y, f.energy.y + g.energy.y, f.x.y + g.x.y, f.y.y + g.y.y, f.z.y + g.z.y);
    add(sums, half.z, a.momentum.z + b.momentum.z, f.energy.z + g.energy.z, f.x.z + g.x.z, f.y.z + g.y.z, f.z.z + g.z.z);
}

extern "C" __global__ void cfd_fluxes(const int *neighbours, const float *normals, const float *variables, float *fluxes,
                                      int cells)
{
    const int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= cells)
        return;
    const State own = load(variables, cell, cells);
    const Flux own_flux = flux_of(own);
    Sums sums = {0.0f, 0.0f, {0.0f, 0.0f, 0.0f}};
    for (int face = 0; face < FACES; face++) {
        const int at = face * cells + cell;
        const int other = neighbours[at];
        const Vector n = {normals[at], normals[FACES * cells + at], normals[2 * FACES * cells + at]};
        const Vector half = {0.5f * n.x, 0.5f * n.y, 0.5f * n.z};
        if (other >= 0) {
            const State its = load(variables, other, cells);
            // Artificial viscosity evens out differences.
            const float length = sqrtf(fmaf(n.x, n.x, fmaf(n.y, n.y, __fmul_rn(n.z, n.z))));
            const float factor = -length * SMOOTHING * 0.5f * (own.speed + its.speed + own.sound + its.sound);
            add(sums, factor, own.density - its.density, own.energy - its.energy, own.momentum.x - its.momentum.x,
                own.momentum.y - its.momentum.y, own.momentum.z - its.momentum.z);
            add_face(sums, own, own_flux, its, flux_of(its), half);
        } else if (other == -1) {
            // A wall: only its pressure acts.
            sums.momentum.x = fmaf(n.x, own.pressure, sums.momentum.x);
            sums.momentum.y = fmaf(n.y, own.pressure, sums.momentum.y);
            sums.momentum.z = fmaf(n.z, own.pressure, sums.momentum.z);
        } else {
            const State far = state_of(1.4f, {1.68f, 0.0f, 0.0f}, 3.508f);
            add_face(sums, own, own_flux, far, flux_of(far), half);
        }
    }
    fluxes[cell] = sums.density;
    fluxes[cells + cell] = sums.momentum.x;
    fluxes[2 * cells + cell] = sums.momentum.y;
    fluxes[3 * cells + cell] = sums.momentum.z;
    fluxes[4 * cells + cell] = sums.energy;
}

extern "C" __global__ void cfd_advance(const float *variables, float *advanced, const float *factors, const float *fluxes,
                                       int cells)
{
    const int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= cells)
        return;
    const float factor = factors[cell];
    for (int v = 0; v < 5; v++)
        advanced[v * cells + cell] = fmaf(factor, fluxes[v * cells + cell], variables[v * cells + cell]);
}
