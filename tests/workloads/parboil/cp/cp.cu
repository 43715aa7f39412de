// Coulombic potential of point charges on the points of a plane (Stone et al., Accelerating molecular modeling
// applications with graphics processors, 2007). The charges are in constant memory, which all threads read in step;
// `cp_plain` computes one point per thread, `cp_unrolled` eight points along x, whose distances in y and z are the
// same. A launch adds the potentials of the first `count` charges. Results are added to a grid, as several sets of charges would be.
constexpr int ATOMS = 512;  // at most
constexpr int UNROLL = 8;

// Place and charge of an atom; the third component is the square of its distance from the plane. The places are
// multiples of 1/16 in a box of 64 x 64 x 16, drawn by a linear congruential generator.
struct Atom {
    float x, y, z_squared, charge;
};

struct Atoms {
    Atom list[ATOMS];

    constexpr Atoms() : list{}
    {
        unsigned state = 2463534242u;
        auto draw = [&state](unsigned below) constexpr {
            state = state * 1664525u + 1013904223u;
            return float((state >> 16) % below);
        };
        for (int i = 0; i < ATOMS; i++) {
            list[i].x = draw(1024) / 16.0f;
            list[i].y = draw(1024) / 16.0f;
            const float z = 1.0f + draw(256) / 16.0f;
            list[i].z_squared = z * z;
            list[i].charge = draw(64) / 16.0f - 2.0f;
        }
    }
};

__constant__ Atoms atoms = Atoms();

extern "C" __global__ void cp_plain(float *energies, int width, float spacing, int count)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const float x = spacing * float(column), y = spacing * float(row);
    float energy = 0.0f;
    for (int i = 0; i < count; i++) {
        const float dx = x - atoms.list[i].x, dy = y - atoms.list[i].y;
        energy += atoms.list[i].charge * rsqrtf(dx * dx + dy * dy + atoms.list[i].z_squared);
    }
    energies[row * width + column] += energy;
}

// A block covers 8 * blockDim.x columns; neighbouring threads store neighbouring points.
extern "C" __global__ void cp_unrolled(float *energies, int width, float spacing, int count)
{
    const int column = blockIdx.x * blockDim.x * UNROLL + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const float x = spacing * float(column), y = spacing * float(row);
    const float apart = spacing * float(blockDim.x);
    float energy[UNROLL];
#pragma unroll
    for (int k = 0; k < UNROLL; k++)
        energy[k] = 0.0f;
    for (int i = 0; i < count; i++) {
        const float dy = y - atoms.list[i].y;
        const float away = dy * dy + atoms.list[i].z_squared;
        const float charge = atoms.list[i].charge;
        float dx = x - atoms.list[i].x;
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            energy[k] += charge * rsqrtf(dx * dx + away);
            dx += apart;
        }
    }
#pragma unroll
    for (int k = 0; k < UNROLL; k++)
        energies[row * width + column + k * blockDim.x] += energy[k];
}
